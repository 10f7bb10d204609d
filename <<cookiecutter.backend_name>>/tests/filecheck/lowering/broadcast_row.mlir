// RUN: <<cookiecutter.distribution_name>> opt -p lower %s | filecheck %s

// A row that is broadcast is read once, before the loop over rows: the output may be the tensor that holds it. It is kept
// as a row, in a register or in 256 bytes, never written out as a matrix.

// CHECK: <<cookiecutter.backend_name>>.kernel @brow([[X:%[a-z0-9]+]]: i64, [[Y:%[a-z0-9]+]]: i64, [[ROW:%[a-z0-9]+]]: i64) attributes {scratch_bytes = {{0|256}} : i64,
// CHECK: <<cookiecutter.backend_name>>.load
// CHECK-NOT: <<cookiecutter.backend_name>>.splat
// CHECK-NOT: <<cookiecutter.backend_name>>.gather
// CHECK: <<cookiecutter.backend_name>>.mulf
// CHECK: <<cookiecutter.backend_name>>.store
// CHECK: <<cookiecutter.backend_name>>.return

module {
  tt.func public @brow(%arg0: !tt.ptr<f32>, %arg1: !tt.ptr<f32>, %arg2: !tt.ptr<f32>) attributes {noinline = false} {
    %cst = arith.constant dense<64> : tensor<64x1xi32>
    %0 = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %1 = tt.expand_dims %0 {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %2 = tt.expand_dims %0 {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %3 = tt.splat %arg1 : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %4 = tt.addptr %3, %0 : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %5 = tt.load %4 : tensor<64x!tt.ptr<f32>>
    %6 = arith.muli %1, %cst : tensor<64x1xi32>
    %7 = tt.splat %arg2 : !tt.ptr<f32> -> tensor<64x1x!tt.ptr<f32>>
    %8 = tt.addptr %7, %6 : tensor<64x1x!tt.ptr<f32>>, tensor<64x1xi32>
    %9 = tt.broadcast %8 : tensor<64x1x!tt.ptr<f32>> -> tensor<64x64x!tt.ptr<f32>>
    %10 = tt.broadcast %2 : tensor<1x64xi32> -> tensor<64x64xi32>
    %11 = tt.addptr %9, %10 : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
    %12 = tt.splat %arg0 : !tt.ptr<f32> -> tensor<64x1x!tt.ptr<f32>>
    %13 = tt.addptr %12, %6 : tensor<64x1x!tt.ptr<f32>>, tensor<64x1xi32>
    %14 = tt.broadcast %13 : tensor<64x1x!tt.ptr<f32>> -> tensor<64x64x!tt.ptr<f32>>
    %15 = tt.addptr %14, %10 : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
    %16 = tt.load %15 : tensor<64x64x!tt.ptr<f32>>
    %17 = tt.expand_dims %5 {axis = 0 : i32} : tensor<64xf32> -> tensor<1x64xf32>
    %18 = tt.broadcast %17 : tensor<1x64xf32> -> tensor<64x64xf32>
    %19 = arith.mulf %16, %18 : tensor<64x64xf32>
    tt.store %11, %19 : tensor<64x64x!tt.ptr<f32>>
    tt.return
  }
}
