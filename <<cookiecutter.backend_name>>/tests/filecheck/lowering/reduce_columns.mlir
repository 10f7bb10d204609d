// RUN: <<cookiecutter.distribution_name>> opt -p lower %s | filecheck %s

// A reduction along the inner axis adds whole vectors first and crosses lanes once a row, by halves.

// CHECK: scf.for
// CHECK: <<cookiecutter.backend_name>>.load
// CHECK: <<cookiecutter.backend_name>>.addf {{%[a-z0-9]+}}, {{%[a-z0-9]+}} : vector<[[WIDE:[0-9]+]]xf32>
// CHECK: <<cookiecutter.backend_name>>.shuffle {{.*}} : vector<[[WIDE]]xf32> -> vector<[[HALF:[0-9]+]]xf32>
// CHECK: <<cookiecutter.backend_name>>.addf {{%[a-z0-9]+}}, {{%[a-z0-9]+}} : vector<[[HALF]]xf32>
// CHECK: <<cookiecutter.backend_name>>.shuffle {{.*}} : vector<2xf32> -> f32
// CHECK-NEXT: <<cookiecutter.backend_name>>.shuffle {{.*}} : vector<2xf32> -> f32
// CHECK-NEXT: [[SUM:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.addf {{%[a-z0-9]+}}, {{%[a-z0-9]+}} : f32
// CHECK: <<cookiecutter.backend_name>>.store [[SUM]], {{%[a-z0-9]+}} : f32
// CHECK-NOT: <<cookiecutter.backend_name>>.shuffle

module {
  tt.func public @red(%arg0: !tt.ptr<f32>, %arg1: !tt.ptr<f32>) attributes {noinline = false} {
    %cst = arith.constant dense<64> : tensor<64x1xi32>
    %0 = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %1 = tt.expand_dims %0 {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
    %2 = tt.expand_dims %0 {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
    %3 = arith.muli %1, %cst : tensor<64x1xi32>
    %4 = tt.splat %arg0 : !tt.ptr<f32> -> tensor<64x1x!tt.ptr<f32>>
    %5 = tt.addptr %4, %3 : tensor<64x1x!tt.ptr<f32>>, tensor<64x1xi32>
    %6 = tt.broadcast %5 : tensor<64x1x!tt.ptr<f32>> -> tensor<64x64x!tt.ptr<f32>>
    %7 = tt.broadcast %2 : tensor<1x64xi32> -> tensor<64x64xi32>
    %8 = tt.addptr %6, %7 : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
    %9 = tt.load %8 : tensor<64x64x!tt.ptr<f32>>
    %10 = "tt.reduce"(%9) <{axis = 1 : i32}> ({
    ^bb0(%arg2: f32, %arg3: f32):
      %13 = arith.addf %arg2, %arg3 : f32
      tt.reduce.return %13 : f32
    }) : (tensor<64x64xf32>) -> tensor<64xf32>
    %11 = tt.splat %arg1 : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %12 = tt.addptr %11, %0 : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    tt.store %12, %10 : tensor<64x!tt.ptr<f32>>
    tt.return
  }
}
