// RUN: <<cookiecutter.distribution_name>> opt -p streaming-stores %s | filecheck %s

// Each program writes a piece of an output of its own: together they may write more than the caches hold.

// CHECK-LABEL: <<cookiecutter.backend_name>>.kernel @pieces
// CHECK: [[N:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.num_programs 0
// CHECK: <<cookiecutter.backend_name>>.cmpi
// CHECK: scf.for
// CHECK-NOT: <<cookiecutter.backend_name>>.prefetch "write"
// CHECK: <<cookiecutter.backend_name>>.store.streaming {{%[a-z0-9]+}}, {{%[a-z0-9]+}} if {{%[a-z0-9]+}} : vector<64xf32>
<<cookiecutter.backend_name>>.kernel @pieces(%in: i64, %out: i64) attributes {scratch_bytes = 0 : i64, traps = []} {
  %zero = <<cookiecutter.backend_name>>.const 0 : i64 : i64
  %end = <<cookiecutter.backend_name>>.const 4096 : i64 : i64
  %step = <<cookiecutter.backend_name>>.const 64 : i64 : i64
  %size = <<cookiecutter.backend_name>>.const 4 : i64 : i64
  %pid = <<cookiecutter.backend_name>>.program_id 0
  %wide = <<cookiecutter.backend_name>>.exts %pid : i32 -> i64
  %first = <<cookiecutter.backend_name>>.muli %wide, %end : i64
  scf.for %i = %zero to %end step %step : i64 {
    %at = <<cookiecutter.backend_name>>.addi %first, %i : i64
    %offset = <<cookiecutter.backend_name>>.muli %at, %size : i64
    %from = <<cookiecutter.backend_name>>.addi %in, %offset : i64
    %to = <<cookiecutter.backend_name>>.addi %out, %offset : i64
    %x = <<cookiecutter.backend_name>>.load %from : vector<64xf32>
    <<cookiecutter.backend_name>>.prefetch "write" 256 from %to
    <<cookiecutter.backend_name>>.store %x, %to : vector<64xf32>
  }
  <<cookiecutter.backend_name>>.return
}

// What the kernel reads again is not sent away.

// CHECK-LABEL: <<cookiecutter.backend_name>>.kernel @in_place
// CHECK-NOT: streaming
// CHECK: <<cookiecutter.backend_name>>.return
<<cookiecutter.backend_name>>.kernel @in_place(%out: i64) attributes {scratch_bytes = 0 : i64, traps = []} {
  %pid = <<cookiecutter.backend_name>>.program_id 0
  %wide = <<cookiecutter.backend_name>>.exts %pid : i32 -> i64
  %size = <<cookiecutter.backend_name>>.const 256 : i64 : i64
  %offset = <<cookiecutter.backend_name>>.muli %wide, %size : i64
  %to = <<cookiecutter.backend_name>>.addi %out, %offset : i64
  %x = <<cookiecutter.backend_name>>.load %to : vector<64xf32>
  <<cookiecutter.backend_name>>.store %x, %to : vector<64xf32>
  <<cookiecutter.backend_name>>.return
}

// A loop that writes to one place again and again, and addresses that come around, use little memory.

// CHECK-LABEL: <<cookiecutter.backend_name>>.kernel @again
// CHECK-NOT: streaming
// CHECK: <<cookiecutter.backend_name>>.return
<<cookiecutter.backend_name>>.kernel @again(%out: i64, %n: i64, %x: f32) attributes {scratch_bytes = 0 : i64, traps = []} {
  %zero = <<cookiecutter.backend_name>>.const 0 : i64 : i64
  %one = <<cookiecutter.backend_name>>.const 1 : i64 : i64
  %v = <<cookiecutter.backend_name>>.splat %x : f32 -> vector<64xf32>
  scf.for %i = %zero to %n step %one : i64 {
    <<cookiecutter.backend_name>>.store %v, %out : vector<64xf32>
  }
  %pid = <<cookiecutter.backend_name>>.program_id 0
  %wide = <<cookiecutter.backend_name>>.exts %pid : i32 -> i64
  %groups = <<cookiecutter.backend_name>>.const 16 : i64 : i64
  %group = <<cookiecutter.backend_name>>.rems %wide, %groups : i64
  %size = <<cookiecutter.backend_name>>.const 256 : i64 : i64
  %offset = <<cookiecutter.backend_name>>.muli %group, %size : i64
  %to = <<cookiecutter.backend_name>>.addi %out, %offset : i64
  <<cookiecutter.backend_name>>.store %v, %to : vector<64xf32>
  <<cookiecutter.backend_name>>.return
}

// A pointer that a loop carries moves with it.

// CHECK-LABEL: <<cookiecutter.backend_name>>.kernel @carried
// CHECK: <<cookiecutter.backend_name>>.store.streaming
<<cookiecutter.backend_name>>.kernel @carried(%out: i64, %n: i64, %x: f32) attributes {scratch_bytes = 0 : i64, traps = []} {
  %zero = <<cookiecutter.backend_name>>.const 0 : i64 : i64
  %one = <<cookiecutter.backend_name>>.const 1 : i64 : i64
  %size = <<cookiecutter.backend_name>>.const 256 : i64 : i64
  %v = <<cookiecutter.backend_name>>.splat %x : f32 -> vector<64xf32>
  %end = scf.for %i = %zero to %n step %one iter_args(%to = %out) -> (i64) : i64 {
    <<cookiecutter.backend_name>>.store %v, %to : vector<64xf32>
    %next = <<cookiecutter.backend_name>>.addi %to, %size : i64
    scf.yield %next : i64
  }
  <<cookiecutter.backend_name>>.return
}

// The scratchpad is no memory of that kind, and short vectors are not worth it.

// CHECK-LABEL: <<cookiecutter.backend_name>>.kernel @small
// CHECK-NOT: streaming
// CHECK: <<cookiecutter.backend_name>>.return
<<cookiecutter.backend_name>>.kernel @small(%out: i64, %x: f32) attributes {scratch_bytes = 256 : i64, traps = []} {
  %v = <<cookiecutter.backend_name>>.splat %x : f32 -> vector<64xf32>
  %to = <<cookiecutter.backend_name>>.scratch 0
  <<cookiecutter.backend_name>>.store %v, %to : vector<64xf32>
  %s = <<cookiecutter.backend_name>>.splat %x : f32 -> vector<8xf32>
  %pid = <<cookiecutter.backend_name>>.program_id 0
  %wide = <<cookiecutter.backend_name>>.exts %pid : i32 -> i64
  %size = <<cookiecutter.backend_name>>.const 32 : i64 : i64
  %offset = <<cookiecutter.backend_name>>.muli %wide, %size : i64
  %place = <<cookiecutter.backend_name>>.addi %out, %offset : i64
  <<cookiecutter.backend_name>>.store %s, %place : vector<8xf32>
  <<cookiecutter.backend_name>>.return
}
