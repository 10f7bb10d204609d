// RUN: <<cookiecutter.distribution_name>> opt %s | <<cookiecutter.distribution_name>> opt - | filecheck %s
// RUN: <<cookiecutter.distribution_name>> opt --print-op-generic %s | <<cookiecutter.distribution_name>> opt - | filecheck %s

// Constants and cross-lane instructions.

%f, %v, %p = "test.op"() : () -> (f32, vector<4xf32>, vector<4xi1>)

// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.const 7 : i32 : i32
%r95 = <<cookiecutter.backend_name>>.const 7 : i32 : i32
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.const -1 : i64 : vector<4xi64>
%r96 = <<cookiecutter.backend_name>>.const -1 : i64 : vector<4xi64>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.const true : vector<4xi1>
%r97 = <<cookiecutter.backend_name>>.const true : vector<4xi1>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.const 1.500000e+00 : f32 : vector<4xf32>
%r98 = <<cookiecutter.backend_name>>.const 1.500000e+00 : f32 : vector<4xf32>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.const 56 : i8 : vector<4xf8E4M3FN>
%r99 = <<cookiecutter.backend_name>>.const 56 : i8 : vector<4xf8E4M3FN>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.splat {{%[a-z0-9]+}} : f32 -> vector<8xf32>
%r100 = <<cookiecutter.backend_name>>.splat %f : f32 -> vector<8xf32>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.lanes {{\[}}0, 1, 2, 3] : vector<4xi32>
%r101 = <<cookiecutter.backend_name>>.lanes [0, 1, 2, 3] : vector<4xi32>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.lookup {{%[a-z0-9]+}}, {{\[}}1065353216, 0] : vector<4xi32> -> vector<4xf32>
%r106 = <<cookiecutter.backend_name>>.lookup %r101, [1065353216, 0] : vector<4xi32> -> vector<4xf32>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.extract {{%[a-z0-9]+}}{{\[}}3] : vector<4xf32> -> f32
%r102 = <<cookiecutter.backend_name>>.extract %v[3] : vector<4xf32> -> f32
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.shuffle {{%[a-z0-9]+}}, {{%[a-z0-9]+}}, {{\[}}7, 0, -1, 3] : vector<4xf32> -> vector<4xf32>
%r103 = <<cookiecutter.backend_name>>.shuffle %v, %v, [7, 0, -1, 3] : vector<4xf32> -> vector<4xf32>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.shuffle {{%[a-z0-9]+}}, {{%[a-z0-9]+}}, {{\[}}2] : vector<4xf32> -> f32
%r104 = <<cookiecutter.backend_name>>.shuffle %v, %v, [2] : vector<4xf32> -> f32
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.any {{%[a-z0-9]+}} : vector<4xi1>
%r105 = <<cookiecutter.backend_name>>.any %p : vector<4xi1>
