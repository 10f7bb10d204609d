// REQUIRES: f64
// RUN: <<cookiecutter.distribution_name>> opt -p expand-special %s | filecheck %s
// RUN: <<cookiecutter.distribution_name>> opt -p expand-special,expand-special %s | filecheck %s

// Special functions of f64 are the math library's, whatever the machine has for f32.

// CHECK-LABEL: <<cookiecutter.backend_name>>.kernel @double
// CHECK: <<cookiecutter.backend_name>>.math "log2"({{%[a-z0-9]+}}) : (f64) -> f64
<<cookiecutter.backend_name>>.kernel @double(%x: f64, %p: i64) attributes {scratch_bytes = 0 : i64, traps = []} {
  %y = <<cookiecutter.backend_name>>.log2 %x : f64
  <<cookiecutter.backend_name>>.store %y, %p : f64
  <<cookiecutter.backend_name>>.return
}
