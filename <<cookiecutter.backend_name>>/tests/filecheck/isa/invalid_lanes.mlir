// RUN: <<cookiecutter.distribution_name>> opt %s --split-input-file --verify-diagnostics | filecheck %s

// Constants and cross-lane instructions.

// CHECK: Operation does not verify: the value of a register of i64 must be of type i64, not i32
%r = <<cookiecutter.backend_name>>.const 1 : i32 : i64

// -----

// CHECK: Operation does not verify: the value of a register of vector<4xf8E5M2> must be of type i8, not f32
%r = <<cookiecutter.backend_name>>.const 1.0 : f32 : vector<4xf8E5M2>

// -----

// CHECK: Operation does not verify: the value must be a number, not "one"
%r = <<cookiecutter.backend_name>>.const "one" : i32

// -----

// CHECK: Operation does not verify: as many values as lanes of vector<4xi32> are needed, not 3
%r = <<cookiecutter.backend_name>>.lanes [0, 1, 2] : vector<4xi32>

// -----

// CHECK: Operation does not verify: 256 does not fit 8 bits
%r = <<cookiecutter.backend_name>>.lanes [0, 256] : vector<2xi8>

// -----

// CHECK: Operation does not verify: the result must be integers of 8, 16, 32 or 64 bits, not vector<2xf32>
%r = <<cookiecutter.backend_name>>.lanes [0, 1] : vector<2xf32>

// -----

%i = "test.op"() : () -> (vector<8xi32>)
// CHECK: Operation does not verify: a table has 2, 4, 8, 16, 32 elements, not 3
%r = <<cookiecutter.backend_name>>.lookup %i, [0, 1, 2] : vector<8xi32> -> vector<8xf32>

// -----

%i = "test.op"() : () -> (vector<8xi32>)
// CHECK: Operation does not verify: -1 are not the bits of an element of vector<8xf32>
%r = <<cookiecutter.backend_name>>.lookup %i, [-1, 1] : vector<8xi32> -> vector<8xf32>

// -----

%i = "test.op"() : () -> (vector<8xi64>)
// CHECK: Operation does not verify: the index must be i32, not vector<8xi64>
%r = <<cookiecutter.backend_name>>.lookup %i, [0, 1] : vector<8xi64> -> vector<8xf32>

// -----

%i = "test.op"() : () -> (vector<8xi32>)
// CHECK: Operation does not verify: the result must be f32 or i32, not vector<8xf64>
%r = <<cookiecutter.backend_name>>.lookup %i, [0, 1] : vector<8xi32> -> vector<8xf64>

// -----

%i = "test.op"() : () -> (vector<8xi32>)
// CHECK: Operation does not verify: the result must have 8 lanes, as vector<8xi32> has, not vector<4xf32>
%r = <<cookiecutter.backend_name>>.lookup %i, [0, 1] : vector<8xi32> -> vector<4xf32>

// -----

%v = "test.op"() : () -> (vector<8xf32>)
// CHECK: Operation does not verify: the operand must be a scalar, not vector<8xf32>
%r = <<cookiecutter.backend_name>>.splat %v : vector<8xf32> -> vector<8xf32>

// -----

%f = "test.op"() : () -> (f32)
// CHECK: Operation does not verify: the result must have elements of f32, not vector<8xi32>
%r = <<cookiecutter.backend_name>>.splat %f : f32 -> vector<8xi32>

// -----

%v = "test.op"() : () -> (vector<8xf32>)
// CHECK: Operation does not verify: the lane must be from 0 to 7, not 8
%r = <<cookiecutter.backend_name>>.extract %v[8] : vector<8xf32> -> f32

// -----

%v = "test.op"() : () -> (vector<8xf32>)
// CHECK: Operation does not verify: the result must be a scalar, not vector<2xf32>
%r = <<cookiecutter.backend_name>>.extract %v[0] : vector<8xf32> -> vector<2xf32>

// -----

%w = "test.op"() : () -> (vector<4xf32>)
// CHECK: Operation does not verify: lane 8 is picked, but the operands have lanes 0 to 7
%r = <<cookiecutter.backend_name>>.shuffle %w, %w, [0, 8] : vector<4xf32> -> vector<2xf32>

// -----

%w = "test.op"() : () -> (vector<4xf32>)
// CHECK: Operation does not verify: lane -2 is picked, but the operands have lanes 0 to 7
%r = <<cookiecutter.backend_name>>.shuffle %w, %w, [0, -2] : vector<4xf32> -> vector<2xf32>

// -----

%w = "test.op"() : () -> (vector<4xf32>)
// CHECK: Operation does not verify: as many lanes as vector<2xf32> has must be picked, not 3
%r = <<cookiecutter.backend_name>>.shuffle %w, %w, [0, 1, 2] : vector<4xf32> -> vector<2xf32>

// -----

%w = "test.op"() : () -> (vector<4xf32>)
// CHECK: Operation does not verify: the result must have elements of f32, not vector<2xi32>
%r = <<cookiecutter.backend_name>>.shuffle %w, %w, [0, 1] : vector<4xf32> -> vector<2xi32>

// -----

%vi = "test.op"() : () -> (vector<8xi32>)
// CHECK: Operation does not verify: the operand must be a predicate (i1), not vector<8xi32>
%r = <<cookiecutter.backend_name>>.any %vi : vector<8xi32>
