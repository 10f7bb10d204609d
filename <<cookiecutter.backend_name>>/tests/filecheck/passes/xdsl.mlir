// RUN: <<cookiecutter.distribution_name>> opt -p cse,dce %s | filecheck %s

// xDSL's own passes work on instructions: those without effects are known to have none.

// CHECK: <<cookiecutter.backend_name>>.kernel @k
// CHECK-NEXT: [[Y:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.mulf {{%[a-z0-9]+}}, {{%[a-z0-9]+}} : f32
// CHECK-NEXT: <<cookiecutter.backend_name>>.store [[Y]],
// CHECK-NEXT: <<cookiecutter.backend_name>>.store [[Y]],
// CHECK-NEXT: <<cookiecutter.backend_name>>.return
<<cookiecutter.backend_name>>.kernel @k(%x: f32, %p: i64) attributes {scratch_bytes = 0 : i64, traps = []} {
  %a = <<cookiecutter.backend_name>>.mulf %x, %x : f32
  %b = <<cookiecutter.backend_name>>.mulf %x, %x : f32
  %unused = <<cookiecutter.backend_name>>.exp %a : f32
  <<cookiecutter.backend_name>>.store %a, %p : f32
  <<cookiecutter.backend_name>>.store %b, %p : f32
  <<cookiecutter.backend_name>>.return
}
