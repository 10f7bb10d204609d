// RUN: <<cookiecutter.distribution_name>> opt -p stream-prefetches %s | filecheck %s

// A loop that computes much on what it streams asks for it a little ahead; scratchpad and whole rows apart.

// CHECK-LABEL: <<cookiecutter.backend_name>>.kernel @much
// CHECK: [[AHEAD:%[a-z0-9_]+]] = <<cookiecutter.backend_name>>.const 1024 : i64
// CHECK: scf.for
// CHECK: [[FROM:%[a-z0-9_]+]] = <<cookiecutter.backend_name>>.addi %in
// CHECK-NEXT: [[LATER:%[a-z0-9_]+]] = <<cookiecutter.backend_name>>.addi [[FROM]], [[AHEAD]] : i64
// CHECK-NEXT: <<cookiecutter.backend_name>>.prefetch "read" 64 from [[LATER]]
// CHECK-NEXT: <<cookiecutter.backend_name>>.load [[FROM]]
// CHECK: [[TO:%[a-z0-9_]+]] = <<cookiecutter.backend_name>>.addi %out
// CHECK-NEXT: [[LATER:%[a-z0-9_]+]] = <<cookiecutter.backend_name>>.addi [[TO]], [[AHEAD]] : i64
// CHECK-NEXT: <<cookiecutter.backend_name>>.prefetch "write" 64 from [[LATER]]
// CHECK-NEXT: <<cookiecutter.backend_name>>.store
// CHECK-NOT: <<cookiecutter.backend_name>>.prefetch
// CHECK: <<cookiecutter.backend_name>>.return
<<cookiecutter.backend_name>>.kernel @much(%in: i64, %out: i64) attributes {scratch_bytes = 4096 : i64, traps = []} {
  %zero = <<cookiecutter.backend_name>>.const 0 : i64 : i64
  %end = <<cookiecutter.backend_name>>.const 4096 : i64 : i64
  %step = <<cookiecutter.backend_name>>.const 64 : i64 : i64
  %kept = <<cookiecutter.backend_name>>.scratch 0
  scf.for %i = %zero to %end step %step : i64 {
    %from = <<cookiecutter.backend_name>>.addi %in, %i : i64
    %x = <<cookiecutter.backend_name>>.load %from : vector<16xf32>
    %y0 = <<cookiecutter.backend_name>>.addf %x, %x : vector<16xf32>
    %y1 = <<cookiecutter.backend_name>>.addf %y0, %x : vector<16xf32>
    %y2 = <<cookiecutter.backend_name>>.addf %y1, %x : vector<16xf32>
    %y3 = <<cookiecutter.backend_name>>.addf %y2, %x : vector<16xf32>
    %y4 = <<cookiecutter.backend_name>>.addf %y3, %x : vector<16xf32>
    %y5 = <<cookiecutter.backend_name>>.addf %y4, %x : vector<16xf32>
    %y6 = <<cookiecutter.backend_name>>.addf %y5, %x : vector<16xf32>
    %y7 = <<cookiecutter.backend_name>>.addf %y6, %x : vector<16xf32>
    %y8 = <<cookiecutter.backend_name>>.addf %y7, %x : vector<16xf32>
    %y9 = <<cookiecutter.backend_name>>.addf %y8, %x : vector<16xf32>
    %y10 = <<cookiecutter.backend_name>>.addf %y9, %x : vector<16xf32>
    %y11 = <<cookiecutter.backend_name>>.addf %y10, %x : vector<16xf32>
    %y12 = <<cookiecutter.backend_name>>.addf %y11, %x : vector<16xf32>
    %y13 = <<cookiecutter.backend_name>>.addf %y12, %x : vector<16xf32>
    %y14 = <<cookiecutter.backend_name>>.addf %y13, %x : vector<16xf32>
    %y15 = <<cookiecutter.backend_name>>.addf %y14, %x : vector<16xf32>
    %y16 = <<cookiecutter.backend_name>>.addf %y15, %x : vector<16xf32>
    %y17 = <<cookiecutter.backend_name>>.addf %y16, %x : vector<16xf32>
    %y18 = <<cookiecutter.backend_name>>.addf %y17, %x : vector<16xf32>
    %y19 = <<cookiecutter.backend_name>>.addf %y18, %x : vector<16xf32>
    %y20 = <<cookiecutter.backend_name>>.addf %y19, %x : vector<16xf32>
    %y21 = <<cookiecutter.backend_name>>.addf %y20, %x : vector<16xf32>
    %y22 = <<cookiecutter.backend_name>>.addf %y21, %x : vector<16xf32>
    %y23 = <<cookiecutter.backend_name>>.addf %y22, %x : vector<16xf32>
    %y24 = <<cookiecutter.backend_name>>.addf %y23, %x : vector<16xf32>
    %y25 = <<cookiecutter.backend_name>>.addf %y24, %x : vector<16xf32>
    %y26 = <<cookiecutter.backend_name>>.addf %y25, %x : vector<16xf32>
    %y27 = <<cookiecutter.backend_name>>.addf %y26, %x : vector<16xf32>
    %y28 = <<cookiecutter.backend_name>>.addf %y27, %x : vector<16xf32>
    %y29 = <<cookiecutter.backend_name>>.addf %y28, %x : vector<16xf32>
    %y30 = <<cookiecutter.backend_name>>.addf %y29, %x : vector<16xf32>
    %y31 = <<cookiecutter.backend_name>>.addf %y30, %x : vector<16xf32>
    %to = <<cookiecutter.backend_name>>.addi %out, %i : i64
    <<cookiecutter.backend_name>>.store %y31, %to : vector<16xf32>
    %aside = <<cookiecutter.backend_name>>.addi %kept, %i : i64
    <<cookiecutter.backend_name>>.store %y31, %aside : vector<16xf32>
  }
  <<cookiecutter.backend_name>>.return
}

// Little arithmetic: memory is all there is to wait for.

// CHECK-LABEL: <<cookiecutter.backend_name>>.kernel @little
// CHECK-NOT: <<cookiecutter.backend_name>>.prefetch
// CHECK: <<cookiecutter.backend_name>>.return
<<cookiecutter.backend_name>>.kernel @little(%in: i64, %out: i64) attributes {scratch_bytes = 0 : i64, traps = []} {
  %zero = <<cookiecutter.backend_name>>.const 0 : i64 : i64
  %end = <<cookiecutter.backend_name>>.const 4096 : i64 : i64
  %step = <<cookiecutter.backend_name>>.const 64 : i64 : i64
  scf.for %i = %zero to %end step %step : i64 {
    %from = <<cookiecutter.backend_name>>.addi %in, %i : i64
    %x = <<cookiecutter.backend_name>>.load %from : vector<16xf32>
    %y = <<cookiecutter.backend_name>>.mulf %x, %x : vector<16xf32>
    %to = <<cookiecutter.backend_name>>.addi %out, %i : i64
    <<cookiecutter.backend_name>>.store %y, %to : vector<16xf32>
  }
  <<cookiecutter.backend_name>>.return
}

// What does not move on by its own length is no stream: every second vector, and the same one all the time.

// CHECK-LABEL: <<cookiecutter.backend_name>>.kernel @no_stream
// CHECK-NOT: <<cookiecutter.backend_name>>.prefetch
// CHECK: <<cookiecutter.backend_name>>.return
<<cookiecutter.backend_name>>.kernel @no_stream(%in: i64, %out: i64) attributes {scratch_bytes = 0 : i64, traps = []} {
  %zero = <<cookiecutter.backend_name>>.const 0 : i64 : i64
  %end = <<cookiecutter.backend_name>>.const 4096 : i64 : i64
  %step = <<cookiecutter.backend_name>>.const 128 : i64 : i64
  scf.for %i = %zero to %end step %step : i64 {
    %from = <<cookiecutter.backend_name>>.addi %in, %i : i64
    %x = <<cookiecutter.backend_name>>.load %from : vector<16xf32>
    %y0 = <<cookiecutter.backend_name>>.addf %x, %x : vector<16xf32>
    %y1 = <<cookiecutter.backend_name>>.addf %y0, %x : vector<16xf32>
    %y2 = <<cookiecutter.backend_name>>.addf %y1, %x : vector<16xf32>
    %y3 = <<cookiecutter.backend_name>>.addf %y2, %x : vector<16xf32>
    %y4 = <<cookiecutter.backend_name>>.addf %y3, %x : vector<16xf32>
    %y5 = <<cookiecutter.backend_name>>.addf %y4, %x : vector<16xf32>
    %y6 = <<cookiecutter.backend_name>>.addf %y5, %x : vector<16xf32>
    %y7 = <<cookiecutter.backend_name>>.addf %y6, %x : vector<16xf32>
    %y8 = <<cookiecutter.backend_name>>.addf %y7, %x : vector<16xf32>
    %y9 = <<cookiecutter.backend_name>>.addf %y8, %x : vector<16xf32>
    %y10 = <<cookiecutter.backend_name>>.addf %y9, %x : vector<16xf32>
    %y11 = <<cookiecutter.backend_name>>.addf %y10, %x : vector<16xf32>
    %y12 = <<cookiecutter.backend_name>>.addf %y11, %x : vector<16xf32>
    %y13 = <<cookiecutter.backend_name>>.addf %y12, %x : vector<16xf32>
    %y14 = <<cookiecutter.backend_name>>.addf %y13, %x : vector<16xf32>
    %y15 = <<cookiecutter.backend_name>>.addf %y14, %x : vector<16xf32>
    %y16 = <<cookiecutter.backend_name>>.addf %y15, %x : vector<16xf32>
    %y17 = <<cookiecutter.backend_name>>.addf %y16, %x : vector<16xf32>
    %y18 = <<cookiecutter.backend_name>>.addf %y17, %x : vector<16xf32>
    %y19 = <<cookiecutter.backend_name>>.addf %y18, %x : vector<16xf32>
    %y20 = <<cookiecutter.backend_name>>.addf %y19, %x : vector<16xf32>
    %y21 = <<cookiecutter.backend_name>>.addf %y20, %x : vector<16xf32>
    %y22 = <<cookiecutter.backend_name>>.addf %y21, %x : vector<16xf32>
    %y23 = <<cookiecutter.backend_name>>.addf %y22, %x : vector<16xf32>
    %y24 = <<cookiecutter.backend_name>>.addf %y23, %x : vector<16xf32>
    %y25 = <<cookiecutter.backend_name>>.addf %y24, %x : vector<16xf32>
    %y26 = <<cookiecutter.backend_name>>.addf %y25, %x : vector<16xf32>
    %y27 = <<cookiecutter.backend_name>>.addf %y26, %x : vector<16xf32>
    %y28 = <<cookiecutter.backend_name>>.addf %y27, %x : vector<16xf32>
    %y29 = <<cookiecutter.backend_name>>.addf %y28, %x : vector<16xf32>
    %y30 = <<cookiecutter.backend_name>>.addf %y29, %x : vector<16xf32>
    %y31 = <<cookiecutter.backend_name>>.addf %y30, %x : vector<16xf32>
    <<cookiecutter.backend_name>>.store %y31, %out : vector<16xf32>
  }
  <<cookiecutter.backend_name>>.return
}
