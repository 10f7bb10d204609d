// RUN: <<cookiecutter.distribution_name>> opt %s --split-input-file --verify-diagnostics | filecheck %s

// What no register holds.

%three = "test.op"() : () -> (vector<3xf32>)
// CHECK: Operation does not verify: a register has a power of two of lanes, at least 2 (one lane is a scalar), which vector<3xf32> does not
%r = <<cookiecutter.backend_name>>.negf %three : vector<3xf32>

// -----

%one = "test.op"() : () -> (vector<1xf32>)
// CHECK: Operation does not verify: a register has a power of two of lanes, at least 2 (one lane is a scalar), which vector<1xf32> does not
%r = <<cookiecutter.backend_name>>.negf %one : vector<1xf32>

// -----

%grid = "test.op"() : () -> (vector<2x2xf32>)
// CHECK: Operation does not verify: a register has a power of two of lanes, at least 2 (one lane is a scalar), which vector<2x2xf32> does not
%r = <<cookiecutter.backend_name>>.negf %grid : vector<2x2xf32>

// -----

%big = "test.op"() : () -> (i128)
// CHECK: Operation does not verify: no register holds i128; elements are i1, i8, i16, i32, i64, f8E5M2,
%r = <<cookiecutter.backend_name>>.popc %big : i128

// -----

%x = "test.op"() : () -> (index)
// CHECK: Operation does not verify: no register holds index
%r = <<cookiecutter.backend_name>>.popc %x : index

// -----

// CHECK: Operation does not verify: all registers of the machine together hold {{[0-9]+}} lanes of f32, which vector<1048576xf32> exceeds
%r = <<cookiecutter.backend_name>>.const 0.0 : f32 : vector<1048576xf32>
