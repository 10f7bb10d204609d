// RUN: <<cookiecutter.distribution_name>> opt %s | <<cookiecutter.distribution_name>> opt - | filecheck %s
// RUN: <<cookiecutter.distribution_name>> opt --print-op-generic %s | <<cookiecutter.distribution_name>> opt - | filecheck %s

// Kernels, and what refers to the program that runs.

// CHECK: <<cookiecutter.backend_name>>.kernel @empty() attributes {scratch_bytes = 0 : i64, traps = []} {
// CHECK-NEXT: <<cookiecutter.backend_name>>.return
<<cookiecutter.backend_name>>.kernel @empty() attributes {scratch_bytes = 0 : i64, traps = []} {
  <<cookiecutter.backend_name>>.return
}

// CHECK: <<cookiecutter.backend_name>>.kernel @busy([[P:%[a-z0-9]+]]: i64, [[N:%[a-z0-9]+]]: i32) attributes {scratch_bytes = 64 : i64, traps = {{\[}}["assert", "no", "k.py", #builtin.int<7>]]} {
// CHECK-NEXT: [[ID:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.program_id 0
// CHECK-NEXT: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.num_programs 2
// CHECK-NEXT: [[BAD:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.cmpi sge, [[ID]], [[N]] : i32 -> i1
// CHECK-NEXT: <<cookiecutter.backend_name>>.trap 1 if [[BAD]]
// CHECK-NEXT: <<cookiecutter.backend_name>>.print "%d of %d"([[ID]], [[N]]) : i32, i32
// CHECK-NEXT: <<cookiecutter.backend_name>>.fence
// CHECK-NEXT: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.scratch 63
// CHECK-NEXT: <<cookiecutter.backend_name>>.return
<<cookiecutter.backend_name>>.kernel @busy(%p: i64, %n: i32) attributes {scratch_bytes = 64 : i64, traps = [["assert", "no", "k.py", #builtin.int<7>]]} {
  %id = <<cookiecutter.backend_name>>.program_id 0
  %all = <<cookiecutter.backend_name>>.num_programs 2
  %bad = <<cookiecutter.backend_name>>.cmpi sge, %id, %n : i32 -> i1
  <<cookiecutter.backend_name>>.trap 1 if %bad
  <<cookiecutter.backend_name>>.print "%d of %d"(%id, %n) : i32, i32
  <<cookiecutter.backend_name>>.fence
  %s = <<cookiecutter.backend_name>>.scratch 63
  <<cookiecutter.backend_name>>.return
}
