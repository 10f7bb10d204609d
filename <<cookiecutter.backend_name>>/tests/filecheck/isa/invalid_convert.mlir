// RUN: <<cookiecutter.distribution_name>> opt %s --split-input-file --verify-diagnostics | filecheck %s

// Conversions.

%l = "test.op"() : () -> (i64)
// CHECK: Operation does not verify: the result must be wider than i64, which i32 is not
%r = <<cookiecutter.backend_name>>.exts %l : i64 -> i32

// -----

%i = "test.op"() : () -> (i32)
// CHECK: Operation does not verify: the result must be wider than i32, which i32 is not
%r = <<cookiecutter.backend_name>>.extu %i : i32 -> i32

// -----

%f = "test.op"() : () -> (f32)
// CHECK: Operation does not verify: the operand must be integers of 1, 8, 16, 32 or 64 bits, not f32
%r = <<cookiecutter.backend_name>>.extu %f : f32 -> i64

// -----

%vi = "test.op"() : () -> (vector<8xi32>)
// CHECK: Operation does not verify: the result must have 8 lanes, as vector<8xi32> has, not vector<4xi64>
%r = <<cookiecutter.backend_name>>.exts %vi : vector<8xi32> -> vector<4xi64>

// -----

%i = "test.op"() : () -> (i32)
// CHECK: Operation does not verify: the result must be narrower than i32, which i64 is not
%r = <<cookiecutter.backend_name>>.trunci %i : i32 -> i64

// -----

%f = "test.op"() : () -> (f32)
// CHECK: Operation does not verify: the operand must be integers of 1, 8, 16, 32 or 64 bits, not f32
%r = <<cookiecutter.backend_name>>.sitof %f : f32 -> f64

// -----

%i = "test.op"() : () -> (i32)
// CHECK: Operation does not verify: the result must be f32 or f64, not f16
%r = <<cookiecutter.backend_name>>.uitof %i : i32 -> f16

// -----

%h = "test.op"() : () -> (f16)
// CHECK: Operation does not verify: the operand must be f32 or f64, not f16
%r = <<cookiecutter.backend_name>>.ftosi %h : f16 -> i32

// -----

%f = "test.op"() : () -> (f32)
// CHECK: Operation does not verify: the result must be integers of 8, 16, 32 or 64 bits, not i1
%r = <<cookiecutter.backend_name>>.ftoui %f : f32 -> i1

// -----

%d = "test.op"() : () -> (f64)
// CHECK: Operation does not verify: the result must be wider than f64, which f32 is not
%r = <<cookiecutter.backend_name>>.extf %d : f64 -> f32

// -----

%i = "test.op"() : () -> (i32)
// CHECK: Operation does not verify: the operand must be f64, f32, f16, bf16, f8E5M2 or f8E4M3FN, not i32
%r = <<cookiecutter.backend_name>>.extf %i : i32 -> f64

// -----

%f = "test.op"() : () -> (f32)
// CHECK: Operation does not verify: the result must be narrower than f32, which f64 is not
%r = <<cookiecutter.backend_name>>.truncf "rtne", %f : f32 -> f64

// -----

%f = "test.op"() : () -> (f32)
// CHECK: Operation does not verify: the rounding must be one of rtne, rtz, not 'up'
%r = <<cookiecutter.backend_name>>.truncf "up", %f : f32 -> f16

// -----

%f = "test.op"() : () -> (f32)
// CHECK: Operation does not verify: f32 and i64 have elements of different widths
%r = <<cookiecutter.backend_name>>.bitcast %f : f32 -> i64

// -----

%h = "test.op"() : () -> (f16)
// CHECK: Operation does not verify: the operand must be f32, f64, or integers of 8, 16, 32 or 64 bits, not f16
%r = <<cookiecutter.backend_name>>.sats %h : f16 -> i8

// -----

%f = "test.op"() : () -> (f32)
// CHECK: Operation does not verify: the result must be integers of 8, 16, 32 or 64 bits, not f16
%r = <<cookiecutter.backend_name>>.satu %f : f32 -> f16

// -----

%v = "test.op"() : () -> (vector<8xf32>)
// CHECK: Operation does not verify: the result must have 8 lanes, as vector<8xf32> has, not vector<4xi8>
%r = <<cookiecutter.backend_name>>.satu %v : vector<8xf32> -> vector<4xi8>
