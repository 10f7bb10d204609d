// REQUIRES: no-sin
// RUN: <<cookiecutter.distribution_name>> opt -p expand-special %s | filecheck %s
// RUN: <<cookiecutter.distribution_name>> opt -p expand-special,expand-special %s | filecheck %s

// Sine holds for small angles only; where a lane is beyond, the library computes all of them.

// CHECK-LABEL: <<cookiecutter.backend_name>>.kernel @sine
// CHECK: [[BEYOND:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.any {{%[a-z0-9]+}} : vector<8xi1>
// CHECK: [[Y:%[a-z0-9]+]] = scf.if [[BEYOND]] -> (vector<8xf32>) {
// CHECK-NEXT: <<cookiecutter.backend_name>>.math "sin"
// CHECK: } else {
// CHECK: <<cookiecutter.backend_name>>.fma
// CHECK: <<cookiecutter.backend_name>>.store [[Y]]
<<cookiecutter.backend_name>>.kernel @sine(%p: i64) attributes {scratch_bytes = 0 : i64, traps = []} {
  %x = <<cookiecutter.backend_name>>.load %p : vector<8xf32>
  %y = <<cookiecutter.backend_name>>.sin %x : vector<8xf32>
  <<cookiecutter.backend_name>>.store %y, %p : vector<8xf32>
  <<cookiecutter.backend_name>>.return
}
