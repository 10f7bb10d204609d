// RUN: <<cookiecutter.distribution_name>> opt %s | <<cookiecutter.distribution_name>> opt - | filecheck %s
// RUN: <<cookiecutter.distribution_name>> opt --print-op-generic %s | <<cookiecutter.distribution_name>> opt - | filecheck %s

// The matrix unit.

%c, %a, %b = "test.op"() : () -> (i64, i64, i64)

// CHECK: <<cookiecutter.backend_name>>.mma {{%[a-z0-9]+}}, {{%[a-z0-9]+}}, {{%[a-z0-9]+}} tile(1, 1, 4) pitch(40, 1, 2) : f32 -> f32
<<cookiecutter.backend_name>>.mma %c, %a, %b tile(1, 1, 4) pitch(40, 1, 2) : f32 -> f32
// CHECK: <<cookiecutter.backend_name>>.mma {{%[a-z0-9]+}}, {{%[a-z0-9]+}}, {{%[a-z0-9]+}} tile(1, 1, 4) pitch(4, 1, 1) parts 3 : f32 -> f32
<<cookiecutter.backend_name>>.mma %c, %a, %b tile(1, 1, 4) pitch(4, 1, 1) parts 3 : f32 -> f32
// One part is the number itself.
// CHECK: <<cookiecutter.backend_name>>.mma {{%[a-z0-9]+}}, {{%[a-z0-9]+}}, {{%[a-z0-9]+}} tile(1, 1, 4) pitch(4, 1, 1) : f32 -> f32
<<cookiecutter.backend_name>>.mma %c, %a, %b tile(1, 1, 4) pitch(4, 1, 1) parts 1 : f32 -> f32
// CHECK: <<cookiecutter.backend_name>>.mma {{%[a-z0-9]+}}, {{%[a-z0-9]+}}, {{%[a-z0-9]+}} tile(1, 1, 4) pitch(8, 8, 8) : i8 -> i32
<<cookiecutter.backend_name>>.mma %c, %a, %b tile(1, 1, 4) pitch(8, 8, 8) : i8 -> i32
// CHECK: <<cookiecutter.backend_name>>.mma {{%[a-z0-9]+}}, {{%[a-z0-9]+}}, {{%[a-z0-9]+}} tile(1, 1, 4) pitch(4, 1, 1) : bf16 -> f32
<<cookiecutter.backend_name>>.mma %c, %a, %b tile(1, 1, 4) pitch(4, 1, 1) : bf16 -> f32
// CHECK: <<cookiecutter.backend_name>>.mma {{%[a-z0-9]+}}, {{%[a-z0-9]+}}, {{%[a-z0-9]+}} tile(1, 1, 4) pitch(4, 1, 1) : f16 -> f32
<<cookiecutter.backend_name>>.mma %c, %a, %b tile(1, 1, 4) pitch(4, 1, 1) : f16 -> f32
