// RUN: <<cookiecutter.distribution_name>> opt -p expand-act %s | filecheck %s
// RUN: <<cookiecutter.distribution_name>> opt -p expand-act,expand-act %s | filecheck %s
// RUN: <<cookiecutter.distribution_name>> opt -p expand-act,expand-special %s | filecheck %s --check-prefix PLAIN

// Without an activation unit: a fused multiply-add, then plain arithmetic and other special functions.

// CHECK-LABEL: <<cookiecutter.backend_name>>.kernel @rectified
// CHECK-NOT: <<cookiecutter.backend_name>>.act
// CHECK: [[T:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.fma {{%[a-z0-9]+}}, {{%[a-z0-9]+}}, {{%[a-z0-9]+}} : vector<8xf32>
// CHECK-NEXT: [[NEGATIVE:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.cmpf ole, [[T]], [[ZERO:%[a-z0-9]+]] : vector<8xf32> -> vector<8xi1>
// CHECK-NEXT: [[Y:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.select [[NEGATIVE]], [[ZERO]], [[T]]
// CHECK-NEXT: <<cookiecutter.backend_name>>.store [[Y]]
<<cookiecutter.backend_name>>.kernel @rectified(%p: i64, %scale: f32, %bias: f32) attributes {scratch_bytes = 0 : i64, traps = []} {
  %x = <<cookiecutter.backend_name>>.load %p : vector<8xf32>
  %a = <<cookiecutter.backend_name>>.splat %scale : f32 -> vector<8xf32>
  %b = <<cookiecutter.backend_name>>.splat %bias : f32 -> vector<8xf32>
  %y = <<cookiecutter.backend_name>>.act "relu", %x, %a, %b : vector<8xf32>
  <<cookiecutter.backend_name>>.store %y, %p : vector<8xf32>
  <<cookiecutter.backend_name>>.return
}

// Inside of a loop, too; what the formulas use is expanded in turn.

// CHECK-LABEL: <<cookiecutter.backend_name>>.kernel @sigmoids
// CHECK: scf.for
// CHECK-NOT: <<cookiecutter.backend_name>>.act
// CHECK: <<cookiecutter.backend_name>>.exp {{%[a-z0-9]+}} : f64
// PLAIN-LABEL: <<cookiecutter.backend_name>>.kernel @sigmoids
// PLAIN: scf.for
// PLAIN-NOT: <<cookiecutter.backend_name>>.act
// PLAIN: <<cookiecutter.backend_name>>.math "exp"
<<cookiecutter.backend_name>>.kernel @sigmoids(%p: i64, %from: i64, %to: i64, %step: i64) attributes {scratch_bytes = 0 : i64, traps = []} {
  scf.for %i = %from to %to step %step : i64 {
    %x = <<cookiecutter.backend_name>>.load %p : f64
    %y = <<cookiecutter.backend_name>>.act "sigmoid", %x, %x, %x : f64
    <<cookiecutter.backend_name>>.store %y, %p : f64
  }
  <<cookiecutter.backend_name>>.return
}
