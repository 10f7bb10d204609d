// RUN: <<cookiecutter.distribution_name>> opt -p lower %s | filecheck %s

// Two shifts of one block: it is written to the scratchpad once, with margins for both, and what is read from there, at
// offsets, needs neither mask nor gather.

// CHECK: <<cookiecutter.backend_name>>.kernel @taps([[X:%[a-z0-9]+]]: i64, [[Y:%[a-z0-9]+]]: i64)
// CHECK-NOT: masked
// CHECK-NOT: gather
// CHECK: [[VALUE:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.load [[X]] : vector<4xf32>
// Two elements of margin before the block, and one behind it.
// CHECK-NEXT: [[BLOCK:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.scratch 8
// CHECK-NEXT: <<cookiecutter.backend_name>>.store [[VALUE]], [[BLOCK]] : vector<4xf32>
// CHECK-NEXT: [[START:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.scratch 0
// CHECK-NEXT: [[FILL:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.splat {{%[a-z0-9]+}} : f32 -> vector<2xf32>
// CHECK-NEXT: <<cookiecutter.backend_name>>.store [[FILL]], [[START]] : vector<2xf32>
// CHECK-NEXT: [[BEHIND:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.scratch 24
// CHECK-NEXT: <<cookiecutter.backend_name>>.store {{%[a-z0-9]+}}, [[BEHIND]] : f32
// CHECK-NEXT: [[UP:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.load [[START]] : vector<4xf32>
// CHECK-NEXT: [[AT:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.scratch 12
// CHECK-NEXT: [[DOWN:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.load [[AT]] : vector<4xf32>
// CHECK-NEXT: [[SUM:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.addf [[UP]], [[DOWN]] : vector<4xf32>
// CHECK-NEXT: <<cookiecutter.backend_name>>.store [[SUM]], [[Y]] : vector<4xf32>
module {
  tt.func public @taps(%arg0: !tt.ptr<f32>, %arg1: !tt.ptr<f32>) attributes {noinline = false} {
    %zero = arith.constant 0.000000e+00 : f32
    %0 = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
    %1 = tt.splat %arg0 : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
    %2 = tt.addptr %1, %0 : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
    %3 = tt.load %2 : tensor<4x!tt.ptr<f32>>
    %4 = tt.extern_elementwise %3, %zero {libname = "", libpath = "", pure = false, symbol = "block.shift.0.2"} : (tensor<4xf32>, f32) -> tensor<4xf32>
    %5 = tt.extern_elementwise %3, %zero {libname = "", libpath = "", pure = false, symbol = "block.shift.0.-1"} : (tensor<4xf32>, f32) -> tensor<4xf32>
    %6 = arith.addf %4, %5 : tensor<4xf32>
    %7 = tt.splat %arg1 : !tt.ptr<f32> -> tensor<4x!tt.ptr<f32>>
    %8 = tt.addptr %7, %0 : tensor<4x!tt.ptr<f32>>, tensor<4xi32>
    tt.store %8, %6 : tensor<4x!tt.ptr<f32>>
    tt.return
  }
}
