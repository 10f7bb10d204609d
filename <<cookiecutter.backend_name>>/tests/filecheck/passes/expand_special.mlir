// REQUIRES: no-exp
// RUN: <<cookiecutter.distribution_name>> opt -p expand-special %s | filecheck %s
// RUN: <<cookiecutter.distribution_name>> opt -p expand-special,expand-special %s | filecheck %s

// Without this instruction, it is computed by a formula.

// CHECK-LABEL: <<cookiecutter.backend_name>>.kernel @exponential
// CHECK-NOT: <<cookiecutter.backend_name>>.exp {{%}}
// CHECK: <<cookiecutter.backend_name>>.fma {{%[a-z0-9]+}}, {{%[a-z0-9]+}}, {{%[a-z0-9]+}} : vector<8xf32>
// CHECK: <<cookiecutter.backend_name>>.store
<<cookiecutter.backend_name>>.kernel @exponential(%p: i64) attributes {scratch_bytes = 0 : i64, traps = []} {
  %x = <<cookiecutter.backend_name>>.load %p : vector<8xf32>
  %y = <<cookiecutter.backend_name>>.exp %x : vector<8xf32>
  <<cookiecutter.backend_name>>.store %y, %p : vector<8xf32>
  <<cookiecutter.backend_name>>.return
}

// A constant that two formulas share is made once, at the beginning.

// CHECK-LABEL: <<cookiecutter.backend_name>>.kernel @shared
// CHECK-COUNT-1: <<cookiecutter.backend_name>>.const 8.900000e+01 : f32 : f32
// CHECK-NOT: <<cookiecutter.backend_name>>.const 8.9
// CHECK: <<cookiecutter.backend_name>>.return
<<cookiecutter.backend_name>>.kernel @shared(%x: f32, %p: i64) attributes {scratch_bytes = 0 : i64, traps = []} {
  %y = <<cookiecutter.backend_name>>.exp %x : f32
  %z = <<cookiecutter.backend_name>>.exp %y : f32
  <<cookiecutter.backend_name>>.store %z, %p : f32
  <<cookiecutter.backend_name>>.return
}
