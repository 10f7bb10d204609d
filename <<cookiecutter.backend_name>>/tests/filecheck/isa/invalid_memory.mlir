// RUN: <<cookiecutter.distribution_name>> opt %s --split-input-file --verify-diagnostics | filecheck %s

// Loads, stores and atomics.

// CHECK: Operation does not verify: the offset must be at least 0, not -64
%r = <<cookiecutter.backend_name>>.scratch -64

// -----

// CHECK: Operation does not verify: the offset must be from 0 to 63, not 64
<<cookiecutter.backend_name>>.kernel @k() attributes {scratch_bytes = 64 : i64, traps = []} {
  %r = <<cookiecutter.backend_name>>.scratch 64
  <<cookiecutter.backend_name>>.return
}

// -----

// CHECK: Operation does not verify: the access ends at byte 68 of the scratchpad, of which the kernel has 64
<<cookiecutter.backend_name>>.kernel @k() attributes {scratch_bytes = 64 : i64, traps = []} {
  %a = <<cookiecutter.backend_name>>.scratch 36
  %r = <<cookiecutter.backend_name>>.load %a : vector<8xf32>
  <<cookiecutter.backend_name>>.return
}

// -----

// CHECK: Operation does not verify: the access ends at byte 65 of the scratchpad, of which the kernel has 64
<<cookiecutter.backend_name>>.kernel @k(%v: i16) attributes {scratch_bytes = 64 : i64, traps = []} {
  %a = <<cookiecutter.backend_name>>.scratch 63
  <<cookiecutter.backend_name>>.store %v, %a : i16
  <<cookiecutter.backend_name>>.return
}

// -----

%l = "test.op"() : () -> (i64)
// CHECK: Operation does not verify: the result must be whole bytes (extend predicates to i8), not vector<8xi1>
%r = <<cookiecutter.backend_name>>.load %l : vector<8xi1>

// -----

%i = "test.op"() : () -> (i32)
// CHECK: Expected attribute i64 but got i32
%r = "<<cookiecutter.backend_name>>.load"(%i) : (i32) -> f32

// -----

%l, %v, %wp = "test.op"() : () -> (i64, vector<8xf32>, vector<4xi1>)
// CHECK: Operation does not verify: the mask must have 8 lanes, as vector<8xf32> has, not vector<4xi1>
%r = <<cookiecutter.backend_name>>.load.masked %l, %wp, %v : vector<4xi1>, vector<8xf32>

// -----

%i, %l, %f = "test.op"() : () -> (i32, i64, f32)
// CHECK: Operation does not verify: the mask must be a predicate (i1), not i32
%r = <<cookiecutter.backend_name>>.load.masked %l, %i, %f : i32, f32

// -----

%v, %vi, %vp = "test.op"() : () -> (vector<8xf32>, vector<8xi32>, vector<8xi1>)
// CHECK: Operation does not verify: the addresses must be addresses (i64), not vector<8xi32>
%r = <<cookiecutter.backend_name>>.gather %vi, %vp, %v : vector<8xi32>, vector<8xi1>, vector<8xf32>

// -----

%v, %wl, %vp = "test.op"() : () -> (vector<8xf32>, vector<4xi64>, vector<8xi1>)
// CHECK: Operation does not verify: the addresses must have 8 lanes, as vector<8xf32> has, not vector<4xi64>
%r = <<cookiecutter.backend_name>>.gather %wl, %vp, %v : vector<4xi64>, vector<8xi1>, vector<8xf32>

// -----

%l, %p = "test.op"() : () -> (i64, i1)
// CHECK: Operation does not verify: the value must be whole bytes (extend predicates to i8), not i1
<<cookiecutter.backend_name>>.store %p, %l : i1

// -----

%l, %p, %v = "test.op"() : () -> (i64, i1, vector<8xf32>)
// CHECK: Operation does not verify: the mask must have 8 lanes, as vector<8xf32> has, not i1
<<cookiecutter.backend_name>>.store.masked %v, %l, %p : vector<8xf32>, i1

// -----

%v, %vl, %wp = "test.op"() : () -> (vector<8xf32>, vector<8xi64>, vector<4xi1>)
// CHECK: Operation does not verify: the mask must have 8 lanes, as vector<8xf32> has, not vector<4xi1>
<<cookiecutter.backend_name>>.scatter %v, %vl, %wp : vector<8xf32>, vector<8xi64>, vector<4xi1>

// -----

%i, %l, %p = "test.op"() : () -> (i32, i64, i1)
// CHECK: Operation does not verify: the kind must be one of and, or, xor, add, max, min, umax, umin, fadd, xchg, not 'nand'
%r = <<cookiecutter.backend_name>>.atomic.rmw "nand", "acq_rel", %l, %i, %p : i64, i1, i32

// -----

%i, %l, %p = "test.op"() : () -> (i32, i64, i1)
// CHECK: Operation does not verify: the ordering must be one of monotonic, acquire, release, acq_rel, seq_cst, not 'relaxed'
%r = <<cookiecutter.backend_name>>.atomic.rmw "add", "relaxed", %l, %i, %p : i64, i1, i32

// -----

%l, %p, %f = "test.op"() : () -> (i64, i1, f32)
// CHECK: Operation does not verify: the value of an atomic add must be integers of 8, 16, 32 or 64 bits, not f32
%r = <<cookiecutter.backend_name>>.atomic.rmw "add", "acquire", %l, %f, %p : i64, i1, f32

// -----

%i, %l, %p = "test.op"() : () -> (i32, i64, i1)
// CHECK: Operation does not verify: the value of an atomic fadd must be f16, bf16, f32 or f64, not i32
%r = <<cookiecutter.backend_name>>.atomic.rmw "fadd", "acquire", %l, %i, %p : i64, i1, i32

// -----

%i, %vl = "test.op"() : () -> (i32, vector<8xi64>)
// CHECK: Operation does not verify: the addresses must have one lane, as i32 has, not vector<8xi64>
%r = <<cookiecutter.backend_name>>.atomic.cas "acquire", %vl, %i, %i : vector<8xi64>, i32

// -----

%l = "test.op"() : () -> (i64)
// CHECK: Operation does not verify: the intent must be one of read, write, not 'keep'
<<cookiecutter.backend_name>>.prefetch "keep" 64 from %l

// -----

%l = "test.op"() : () -> (i64)
// CHECK: Operation does not verify: the size must be at least 1, not 0
<<cookiecutter.backend_name>>.prefetch "read" 0 from %l
