// RUN: <<cookiecutter.distribution_name>> opt -p lower %s | filecheck %s

// A tensor of pointers that a loop advances by a constant is carried as one address; sums that a register holds, in one.

// CHECK: <<cookiecutter.backend_name>>.kernel @carried([[X:%[a-z0-9]+]]: i64,
// CHECK: [[LAST:%[a-z0-9]+]], [[TOTAL:%[a-z0-9]+]] = scf.for {{.*}} iter_args([[AT:%[a-z0-9]+]] = [[X]], [[SUM:%[a-z0-9]+]] = {{%[a-z0-9]+}}) -> (i64, vector<16xf32>) : i32 {
// CHECK: [[NEXT:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.addi [[AT]], {{%[a-z0-9]+}} : i64
// CHECK-NOT: gather
// CHECK: [[ONE:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.load [[AT]] : vector<
// CHECK: [[NEW:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.addf [[SUM]], [[ONE]] : vector<16xf32>
// CHECK: scf.yield [[NEXT]], [[NEW]] : i64, vector<16xf32>
// CHECK: <<cookiecutter.backend_name>>.store [[TOTAL]],

module {
  tt.func public @carried(%arg0: !tt.ptr<f32>, %arg1: !tt.ptr<f32>, %arg2: i32) attributes {noinline = false} {
    %cst = arith.constant dense<0.000000e+00> : tensor<16xf32>
    %c1_i32 = arith.constant 1 : i32
    %c0_i32 = arith.constant 0 : i32
    %cst_0 = arith.constant dense<16> : tensor<16xi32>
    %0 = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %1 = tt.splat %arg0 : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %2 = tt.addptr %1, %0 : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    %3:2 = scf.for %arg3 = %c0_i32 to %arg2 step %c1_i32 iter_args(%arg4 = %2, %arg5 = %cst) -> (tensor<16x!tt.ptr<f32>>, tensor<16xf32>)  : i32 {
      %6 = tt.load %arg4 : tensor<16x!tt.ptr<f32>>
      %7 = arith.addf %arg5, %6 : tensor<16xf32>
      %8 = tt.addptr %arg4, %cst_0 : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
      scf.yield %8, %7 : tensor<16x!tt.ptr<f32>>, tensor<16xf32>
    }
    %4 = tt.splat %arg1 : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %5 = tt.addptr %4, %0 : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    tt.store %5, %3#1 : tensor<16x!tt.ptr<f32>>
    tt.return
  }
}
