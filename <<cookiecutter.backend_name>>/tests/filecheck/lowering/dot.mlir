// REQUIRES: matrix
// RUN: <<cookiecutter.distribution_name>> opt -p lower %s | filecheck %s

// A product of tiles runs on the matrix unit, which reads both operands and the sums from the scratchpad: copies in,
// a nest of instructions on pieces of its size (without the loops over sides that the unit takes whole), a copy out.

// CHECK: <<cookiecutter.backend_name>>.kernel @mm([[A:%[a-z0-9]+]]: i64, [[B:%[a-z0-9]+]]: i64, [[C:%[a-z0-9]+]]: i64) attributes {scratch_bytes = [[BYTES:[1-9][0-9]*]] : i64,
// CHECK-NOT: <<cookiecutter.backend_name>>.mma
// CHECK: <<cookiecutter.backend_name>>.load
// CHECK: <<cookiecutter.backend_name>>.store
// CHECK: scf.for
// CHECK: <<cookiecutter.backend_name>>.mma {{%[a-z0-9]+}}, {{%[a-z0-9]+}}, {{%[a-z0-9]+}} tile([[PART_M]], [[PART_N]], [[PART_K]]) pitch(64, 64, 64) : f32 -> f32
// CHECK-NOT: <<cookiecutter.backend_name>>.mma
// CHECK: <<cookiecutter.backend_name>>.load
// CHECK: <<cookiecutter.backend_name>>.store
// CHECK: <<cookiecutter.backend_name>>.return

module {
  tt.func public @mm(%arg0: !tt.ptr<f32>, %arg1: !tt.ptr<f32>, %arg2: !tt.ptr<f32>) attributes {noinline = false} {
    %cst = arith.constant dense<0.000000e+00> : tensor<64x64xf32>
    %cst_0 = arith.constant dense<64> : tensor<64x1xi32>
    %0 = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %1 = tt.expand_dims %0 {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %2 = tt.expand_dims %0 {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %3 = arith.muli %1, %cst_0 : tensor<64x1xi32>
    %4 = tt.splat %arg0 : !tt.ptr<f32> -> tensor<64x1x!tt.ptr<f32>>
    %5 = tt.addptr %4, %3 : tensor<64x1x!tt.ptr<f32>>, tensor<64x1xi32>
    %6 = tt.broadcast %5 : tensor<64x1x!tt.ptr<f32>> -> tensor<64x64x!tt.ptr<f32>>
    %7 = tt.broadcast %2 : tensor<1x64xi32> -> tensor<64x64xi32>
    %8 = tt.addptr %6, %7 : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
    %9 = tt.load %8 : tensor<64x64x!tt.ptr<f32>>
    %10 = tt.splat %arg1 : !tt.ptr<f32> -> tensor<64x1x!tt.ptr<f32>>
    %11 = tt.addptr %10, %3 : tensor<64x1x!tt.ptr<f32>>, tensor<64x1xi32>
    %12 = tt.broadcast %11 : tensor<64x1x!tt.ptr<f32>> -> tensor<64x64x!tt.ptr<f32>>
    %13 = tt.addptr %12, %7 : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
    %14 = tt.load %13 : tensor<64x64x!tt.ptr<f32>>
    %15 = tt.splat %arg2 : !tt.ptr<f32> -> tensor<64x1x!tt.ptr<f32>>
    %16 = tt.addptr %15, %3 : tensor<64x1x!tt.ptr<f32>>, tensor<64x1xi32>
    %17 = tt.broadcast %16 : tensor<64x1x!tt.ptr<f32>> -> tensor<64x64x!tt.ptr<f32>>
    %18 = tt.addptr %17, %7 : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
    %19 = tt.dot %9, %14, %cst, inputPrecision = tf32 : tensor<64x64xf32> * tensor<64x64xf32> -> tensor<64x64xf32>
    tt.store %18, %19 : tensor<64x64x!tt.ptr<f32>>
    tt.return
  }
}
