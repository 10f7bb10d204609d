// RUN: <<cookiecutter.distribution_name>> opt -p lower %s | filecheck %s

// `offsets % n` is contiguous unless it wraps within the tile: one check chooses between loads and gathers.

// CHECK: [[START:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.rems {{%[a-z0-9]+}}, {{%[a-z0-9]+}} : i32
// CHECK: scf.if {{%[a-z0-9]+}} {
// CHECK: scf.for
// CHECK-NOT: <<cookiecutter.backend_name>>.gather
// CHECK: <<cookiecutter.backend_name>>.load
// CHECK: } else {
// CHECK: <<cookiecutter.backend_name>>.rems {{%[a-z0-9]+}}, {{%[a-z0-9]+}} : vector<
// CHECK: <<cookiecutter.backend_name>>.gather

module {
  tt.func public @wrap(%arg0: !tt.ptr<f32>, %arg1: !tt.ptr<f32>, %arg2: i32) attributes {noinline = false} {
    %c1024_i32 = arith.constant 1024 : i32
    %0 = tt.get_program_id x : i32
    %1 = arith.muli %0, %c1024_i32 : i32
    %2 = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
    %3 = tt.splat %1 : i32 -> tensor<1024xi32>
    %4 = arith.addi %3, %2 : tensor<1024xi32>
    %5 = tt.splat %arg2 : i32 -> tensor<1024xi32>
    %6 = arith.remsi %4, %5 : tensor<1024xi32>
    %7 = tt.addptr %arg1, %1 : !tt.ptr<f32>, i32
    %8 = tt.splat %7 : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %9 = tt.addptr %8, %2 : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    %10 = tt.splat %arg0 : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %11 = tt.addptr %10, %6 : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    %12 = tt.load %11 : tensor<1024x!tt.ptr<f32>>
    tt.store %9, %12 : tensor<1024x!tt.ptr<f32>>
    tt.return
  }
}
