// RUN: <<cookiecutter.distribution_name>> opt -p spread-prefetches %s | filecheck %s

// The second loop computes on what the first has loaded: there is time for the next row.

// CHECK-LABEL: <<cookiecutter.backend_name>>.kernel @rows
// CHECK: scf.for
// CHECK-NOT: <<cookiecutter.backend_name>>.prefetch
// CHECK: scf.for [[I:%[a-z0-9_]+]]
// CHECK-NEXT: [[AT:%[a-z0-9_]+]] = <<cookiecutter.backend_name>>.addi %next, [[I]] : i64
// CHECK-NEXT: <<cookiecutter.backend_name>>.prefetch "read" 256 from [[AT]]
<<cookiecutter.backend_name>>.kernel @rows(%in: i64, %next: i64) attributes {scratch_bytes = 4096 : i64, traps = []} {
  %zero = <<cookiecutter.backend_name>>.const 0 : i64 : i64
  %end = <<cookiecutter.backend_name>>.const 4096 : i64 : i64
  %step = <<cookiecutter.backend_name>>.const 256 : i64 : i64
  %kept = <<cookiecutter.backend_name>>.scratch 0
  scf.for %i = %zero to %end step %step : i64 {
    %from = <<cookiecutter.backend_name>>.addi %in, %i : i64
    %x = <<cookiecutter.backend_name>>.load %from : vector<64xf32>
    %later = <<cookiecutter.backend_name>>.addi %next, %i : i64
    <<cookiecutter.backend_name>>.prefetch "read" 256 from %later
    %to = <<cookiecutter.backend_name>>.addi %kept, %i : i64
    <<cookiecutter.backend_name>>.store %x, %to : vector<64xf32>
  }
  scf.for %j = %zero to %end step %step : i64 {
    %to = <<cookiecutter.backend_name>>.addi %kept, %j : i64
    %x = <<cookiecutter.backend_name>>.load %to : vector<64xf32>
    %y = <<cookiecutter.backend_name>>.mulf %x, %x : vector<64xf32>
    %z = <<cookiecutter.backend_name>>.addf %y, %x : vector<64xf32>
    <<cookiecutter.backend_name>>.store %z, %to : vector<64xf32>
  }
  <<cookiecutter.backend_name>>.return
}

// A loop over another range, or one that waits for memory itself, is no better place.

// CHECK-LABEL: <<cookiecutter.backend_name>>.kernel @nowhere
// CHECK: scf.for
// CHECK: <<cookiecutter.backend_name>>.prefetch
// CHECK: scf.for
// CHECK-NOT: <<cookiecutter.backend_name>>.prefetch
// CHECK: <<cookiecutter.backend_name>>.return
<<cookiecutter.backend_name>>.kernel @nowhere(%in: i64, %next: i64) attributes {scratch_bytes = 4096 : i64, traps = []} {
  %zero = <<cookiecutter.backend_name>>.const 0 : i64 : i64
  %end = <<cookiecutter.backend_name>>.const 4096 : i64 : i64
  %step = <<cookiecutter.backend_name>>.const 256 : i64 : i64
  %other = <<cookiecutter.backend_name>>.const 128 : i64 : i64
  %kept = <<cookiecutter.backend_name>>.scratch 0
  scf.for %i = %zero to %end step %step : i64 {
    %from = <<cookiecutter.backend_name>>.addi %in, %i : i64
    %x = <<cookiecutter.backend_name>>.load %from : vector<64xf32>
    %later = <<cookiecutter.backend_name>>.addi %next, %i : i64
    <<cookiecutter.backend_name>>.prefetch "read" 256 from %later
    %to = <<cookiecutter.backend_name>>.addi %kept, %i : i64
    <<cookiecutter.backend_name>>.store %x, %to : vector<64xf32>
  }
  scf.for %j = %zero to %end step %other : i64 {
    %to = <<cookiecutter.backend_name>>.addi %kept, %j : i64
    %x = <<cookiecutter.backend_name>>.load %to : vector<32xf32>
    %y = <<cookiecutter.backend_name>>.mulf %x, %x : vector<32xf32>
    <<cookiecutter.backend_name>>.store %y, %to : vector<32xf32>
  }
  scf.for %j = %zero to %end step %step : i64 {
    %from = <<cookiecutter.backend_name>>.addi %in, %j : i64
    %x = <<cookiecutter.backend_name>>.load %from : vector<64xf32>
    %y = <<cookiecutter.backend_name>>.mulf %x, %x : vector<64xf32>
    <<cookiecutter.backend_name>>.store %y, %from : vector<64xf32>
  }
  <<cookiecutter.backend_name>>.return
}
