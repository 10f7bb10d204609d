// RUN: <<cookiecutter.distribution_name>> opt -p lower %s | filecheck %s

// Both sides of a condition give a tensor, in a register.

// CHECK: [[TEST:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.cmpi sgt, {{%[a-z0-9]+}}, {{%[a-z0-9]+}} : i32 -> i1
// CHECK: [[RESULT:%[a-z0-9]+]] = scf.if [[TEST]] -> (vector<16xf32>) {
// CHECK: [[THEN:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.mulf
// CHECK: scf.yield [[THEN]] : vector<16xf32>
// CHECK: } else {
// CHECK: [[ELSE:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.addf
// CHECK: scf.yield [[ELSE]] : vector<16xf32>
// CHECK: <<cookiecutter.backend_name>>.store [[RESULT]],

module {
  tt.func public @iff(%arg0: !tt.ptr<f32>, %arg1: !tt.ptr<f32>, %arg2: i32) attributes {noinline = false} {
    %cst = arith.constant dense<1.000000e+00> : tensor<16xf32>
    %cst_0 = arith.constant dense<2.000000e+00> : tensor<16xf32>
    %c3_i32 = arith.constant 3 : i32
    %0 = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %1 = tt.splat %arg0 : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %2 = tt.addptr %1, %0 : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    %3 = tt.load %2 : tensor<16x!tt.ptr<f32>>
    %4 = arith.cmpi sgt, %arg2, %c3_i32 : i32
    %5 = scf.if %4 -> (tensor<16xf32>) {
      %8 = arith.mulf %3, %cst_0 : tensor<16xf32>
      scf.yield %8 : tensor<16xf32>
    } else {
      %8 = arith.addf %3, %cst : tensor<16xf32>
      scf.yield %8 : tensor<16xf32>
    }
    %6 = tt.splat %arg1 : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %7 = tt.addptr %6, %0 : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    tt.store %7, %5 : tensor<16x!tt.ptr<f32>>
    tt.return
  }
}
