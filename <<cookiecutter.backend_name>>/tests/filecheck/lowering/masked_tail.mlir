// RUN: <<cookiecutter.distribution_name>> opt -p lower %s | filecheck %s

// A mask `offsets < n` costs nothing where it holds for whole vectors: a loop without it up to the last full vector,
// then at most one masked round.

// CHECK: <<cookiecutter.backend_name>>.kernel @tail([[X:%[a-z0-9]+]]: i64, [[Y:%[a-z0-9]+]]: i64, [[N:%[a-z0-9]+]]: i32)
// The elements of this program below n, between 0 and all of them, and of those the full vectors.
// CHECK: [[LEFT:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.mins {{%[a-z0-9]+}}, {{%[a-z0-9]+}} : i64
// CHECK: [[FULL:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.and [[LEFT]], {{%[a-z0-9]+}} : i64
// CHECK: scf.for {{%[a-z0-9]+}} = {{%[a-z0-9]+}} to [[FULL]] step [[STEP:%[a-z0-9]+]] : i64 {
// CHECK-NOT: masked
// CHECK: <<cookiecutter.backend_name>>.load {{%[a-z0-9]+}} : [[TYPE:vector<[0-9]+xf32>]]
// CHECK-NOT: masked
// CHECK: <<cookiecutter.backend_name>>.store {{%[a-z0-9]+}}, {{%[a-z0-9]+}} : [[TYPE]]
// CHECK-NEXT: }
// CHECK: scf.for {{%[a-z0-9]+}} = [[FULL]] to {{%[a-z0-9]+}} step {{%[a-z0-9]+}} : i64 {
// CHECK: [[MASK:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.cmpi slt,
// CHECK: <<cookiecutter.backend_name>>.load.masked {{%[a-z0-9]+}}, [[MASK]],
// CHECK: <<cookiecutter.backend_name>>.store.masked {{%[a-z0-9]+}}, {{%[a-z0-9]+}}, [[MASK]] :
// CHECK-NEXT: }
// CHECK-NEXT: <<cookiecutter.backend_name>>.return

module {
  tt.func public @tail(%arg0: !tt.ptr<f32>, %arg1: !tt.ptr<f32>, %arg2: i32) attributes {noinline = false} {
    %cst = arith.constant dense<2.000000e+00> : tensor<1024xf32>
    %c1024_i32 = arith.constant 1024 : i32
    %0 = tt.get_program_id x : i32
    %1 = arith.muli %0, %c1024_i32 : i32
    %2 = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
    %3 = tt.splat %1 : i32 -> tensor<1024xi32>
    %4 = arith.addi %3, %2 : tensor<1024xi32>
    %5 = tt.splat %arg2 : i32 -> tensor<1024xi32>
    %6 = arith.cmpi slt, %4, %5 : tensor<1024xi32>
    %7 = tt.splat %arg1 : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %8 = tt.addptr %7, %4 : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    %9 = tt.splat %arg0 : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %10 = tt.addptr %9, %4 : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    %11 = tt.load %10, %6 : tensor<1024x!tt.ptr<f32>>
    %12 = arith.mulf %11, %cst : tensor<1024xf32>
    tt.store %8, %12, %6 : tensor<1024x!tt.ptr<f32>>
    tt.return
  }
}
