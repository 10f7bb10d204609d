// REQUIRES: matrix
// RUN: <<cookiecutter.distribution_name>> opt %s --split-input-file --verify-diagnostics | filecheck %s

// The matrix unit.

%l = "test.op"() : () -> (i64)
// CHECK: Operation does not verify: m must be from 1 to [[TILE_M]], not 4096
<<cookiecutter.backend_name>>.mma %l, %l, %l tile(4096, 1, 4) pitch(4, 4, 4) : f32 -> f32

// -----

%l = "test.op"() : () -> (i64)
// CHECK: Operation does not verify: n must be from 1 to [[TILE_N]], not 4096
<<cookiecutter.backend_name>>.mma %l, %l, %l tile(1, 4096, 4) pitch(4, 4096, 4096) : f32 -> f32

// -----

%l = "test.op"() : () -> (i64)
// CHECK: Operation does not verify: k must be from 1 to [[TILE_K]], not 0
<<cookiecutter.backend_name>>.mma %l, %l, %l tile(1, 1, 0) pitch(4, 4, 4) : f32 -> f32

// -----

// One instruction takes no more steps than the unit does.
%l = "test.op"() : () -> (i64)
// CHECK: Operation does not verify: k must be from 1 to [[TILE_K]], not 4096
<<cookiecutter.backend_name>>.mma %l, %l, %l tile(1, 1, 4096) pitch(4096, 4, 4) : f32 -> f32

// -----

%l = "test.op"() : () -> (i64)
// CHECK: Operation does not verify: the pitch of a must be at least 4, not 2
<<cookiecutter.backend_name>>.mma %l, %l, %l tile(1, 1, 4) pitch(2, 4, 4) : f32 -> f32

// -----

%l = "test.op"() : () -> (i64)
// CHECK: Operation does not verify: the pitch of b must be at least 1, not 0
<<cookiecutter.backend_name>>.mma %l, %l, %l tile(1, 1, 4) pitch(8, 0, 1) : f32 -> f32

// -----

%l = "test.op"() : () -> (i64)
// CHECK: Operation does not verify: the pitch of the accumulator must be at least 1, not 0
<<cookiecutter.backend_name>>.mma %l, %l, %l tile(1, 1, 4) pitch(8, 1, 0) : f32 -> f32

// -----

%l = "test.op"() : () -> (i64)
// CHECK: Operation does not verify: the types must be one of f32 -> f32, {{.*}}, not f16 -> f64
<<cookiecutter.backend_name>>.mma %l, %l, %l tile(1, 1, 4) pitch(8, 8, 8) : f16 -> f64

// -----

%l = "test.op"() : () -> (i64)
// CHECK: Operation does not verify: parts must be from 1 to 3, not 4
<<cookiecutter.backend_name>>.mma %l, %l, %l tile(1, 1, 4) pitch(8, 8, 8) parts 4 : f32 -> f32

// -----

%l = "test.op"() : () -> (i64)
// CHECK: Operation does not verify: parts must be from 1 to 3, not 0
<<cookiecutter.backend_name>>.mma %l, %l, %l tile(1, 1, 4) pitch(8, 8, 8) parts 0 : f32 -> f32

// -----

%l = "test.op"() : () -> (i64)
// CHECK: Operation does not verify: only f32 -> f32 is multiplied in parts, not bf16 -> f32
<<cookiecutter.backend_name>>.mma %l, %l, %l tile(1, 1, 4) pitch(8, 8, 8) parts 2 : bf16 -> f32

// -----

// CHECK: Operation does not verify: the access ends at byte 112 of the scratchpad, of which the kernel has 64
<<cookiecutter.backend_name>>.kernel @k(%p: i64) attributes {scratch_bytes = 64 : i64, traps = []} {
  %a = <<cookiecutter.backend_name>>.scratch 0
  <<cookiecutter.backend_name>>.mma %p, %a, %p tile(4, 1, 4) pitch(8, 4, 4) : f32 -> f32
  <<cookiecutter.backend_name>>.return
}
