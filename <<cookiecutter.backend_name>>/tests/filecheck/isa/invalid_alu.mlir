// RUN: <<cookiecutter.distribution_name>> opt %s --split-input-file --verify-diagnostics | filecheck %s

// Arithmetic, logic, comparison.

%f = "test.op"() : () -> (f32)
// CHECK: Operation does not verify: the operands must be integers of 8, 16, 32 or 64 bits, not f32
%r = <<cookiecutter.backend_name>>.addi %f, %f : f32

// -----

%vp = "test.op"() : () -> (vector<8xi1>)
// CHECK: Operation does not verify: the operands must be integers of 8, 16, 32 or 64 bits, not vector<8xi1>
%r = <<cookiecutter.backend_name>>.addi %vp, %vp : vector<8xi1>

// -----

%v = "test.op"() : () -> (vector<8xf32>)
// CHECK: Operation does not verify: the operands must be integers of 1, 8, 16, 32 or 64 bits, not vector<8xf32>
%r = <<cookiecutter.backend_name>>.xor %v, %v : vector<8xf32>

// -----

%i, %l = "test.op"() : () -> (i32, i64)
// CHECK: attribute i32 expected from variable 'T', but got i64
%r = "<<cookiecutter.backend_name>>.addi"(%i, %l) : (i32, i64) -> i32

// -----

%v = "test.op"() : () -> (vector<8xf32>)
// CHECK: attribute vector<8xf32> expected from variable 'T', but got f32
%r = "<<cookiecutter.backend_name>>.addf"(%v, %v) : (vector<8xf32>, vector<8xf32>) -> f32

// -----

%i = "test.op"() : () -> (i32)
// CHECK: Operation does not verify: the operands must be f32 or f64, not i32
%r = <<cookiecutter.backend_name>>.addf %i, %i : i32

// -----

%h = "test.op"() : () -> (f16)
// CHECK: Operation does not verify: the operands must be f32 or f64, not f16
%r = <<cookiecutter.backend_name>>.mulf %h, %h : f16

// -----

%h = "test.op"() : () -> (f16)
// CHECK: Operation does not verify: the operand must be f32 or f64, not f16
%r = <<cookiecutter.backend_name>>.exp %h : f16

// -----

%f = "test.op"() : () -> (f32)
// CHECK: Operation does not verify: the operand must be integers of 8, 16, 32 or 64 bits, not f32
%r = <<cookiecutter.backend_name>>.popc %f : f32

// -----

%vi = "test.op"() : () -> (vector<8xi32>)
// CHECK: Operation does not verify: the operands must be f32 or f64, not vector<8xi32>
%r = <<cookiecutter.backend_name>>.fma %vi, %vi, %vi : vector<8xi32>

// -----

%f, %d = "test.op"() : () -> (f32, f64)
// CHECK: Operation does not verify: an argument must be f32 or i32, not f64
%r = <<cookiecutter.backend_name>>.math "pow"(%f, %d) : (f32, f64) -> f32

// -----

%i = "test.op"() : () -> (i32)
// CHECK: Operation does not verify: the result must be f32 or f64, not i32
%r = <<cookiecutter.backend_name>>.math "abs"(%i) : (i32) -> i32

// -----

// CHECK: Operation does not verify: a function has at least one argument
%r = "<<cookiecutter.backend_name>>.math"() <{callee = "pi"}> : () -> f32

// -----

%i = "test.op"() : () -> (i32)
// CHECK: Operation does not verify: the predicate must be one of eq, ne, slt, sle, sgt, sge, ult, ule, ugt, uge, not 'oeq'
%r = <<cookiecutter.backend_name>>.cmpi oeq, %i, %i : i32 -> i1

// -----

%vi = "test.op"() : () -> (vector<8xi32>)
// CHECK: Operation does not verify: the result must have 8 lanes, as vector<8xi32> has, not i1
%r = <<cookiecutter.backend_name>>.cmpi eq, %vi, %vi : vector<8xi32> -> i1

// -----

%i = "test.op"() : () -> (i32)
// CHECK: Operation does not verify: the operands must be f32 or f64, not i32
%r = <<cookiecutter.backend_name>>.cmpf false, %i, %i : i32 -> i1

// -----

%f = "test.op"() : () -> (f32)
// CHECK: Operation does not verify: the result must be a predicate (i1), not i32
%r = <<cookiecutter.backend_name>>.cmpf false, %f, %f : f32 -> i32

// -----

%v, %wp = "test.op"() : () -> (vector<8xf32>, vector<4xi1>)
// CHECK: Operation does not verify: the condition must have 8 lanes, as vector<8xf32> has, not vector<4xi1>
%r = <<cookiecutter.backend_name>>.select %wp, %v, %v : vector<4xi1>, vector<8xf32>

// -----

%i, %f = "test.op"() : () -> (i32, f32)
// CHECK: Operation does not verify: the condition must be a predicate (i1), not i32
%r = <<cookiecutter.backend_name>>.select %i, %f, %f : i32, f32

// -----

%f = "test.op"() : () -> (f32)
// CHECK: Operation does not verify: the kind must be one of linear, relu, {{.*}}, tanh, not 'swish'
%r = <<cookiecutter.backend_name>>.act "swish", %f, %f, %f : f32

// -----

%h = "test.op"() : () -> (f16)
// CHECK: Operation does not verify: the operands must be f32 or f64, not f16
%r = <<cookiecutter.backend_name>>.act "relu", %h, %h, %h : f16
