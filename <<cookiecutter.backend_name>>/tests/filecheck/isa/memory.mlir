// RUN: <<cookiecutter.distribution_name>> opt %s | <<cookiecutter.distribution_name>> opt - | filecheck %s
// RUN: <<cookiecutter.distribution_name>> opt --print-op-generic %s | <<cookiecutter.distribution_name>> opt - | filecheck %s

// Loads, stores and atomics.

%a, %i, %as, %m, %v, %p = "test.op"() : () -> (i64, i32, vector<8xi64>, vector<8xi1>, vector<8xf32>, i1)

// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.scratch 128
%r106 = <<cookiecutter.backend_name>>.scratch 128
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.load {{%[a-z0-9]+}} : vector<8xf32>
%r107 = <<cookiecutter.backend_name>>.load %a : vector<8xf32>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.load {{%[a-z0-9]+}} : f8E5M2
%r108 = <<cookiecutter.backend_name>>.load %a : f8E5M2
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.load.masked {{%[a-z0-9]+}}, {{%[a-z0-9]+}}, {{%[a-z0-9]+}} : vector<8xi1>, vector<8xf32>
%r109 = <<cookiecutter.backend_name>>.load.masked %a, %m, %v : vector<8xi1>, vector<8xf32>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.gather {{%[a-z0-9]+}}, {{%[a-z0-9]+}}, {{%[a-z0-9]+}} : vector<8xi64>, vector<8xi1>, vector<8xf32>
%r110 = <<cookiecutter.backend_name>>.gather %as, %m, %v : vector<8xi64>, vector<8xi1>, vector<8xf32>
// CHECK: <<cookiecutter.backend_name>>.store {{%[a-z0-9]+}}, {{%[a-z0-9]+}} : vector<8xf32>
<<cookiecutter.backend_name>>.store %v, %a : vector<8xf32>
// CHECK: <<cookiecutter.backend_name>>.store.streaming {{%[a-z0-9]+}}, {{%[a-z0-9]+}} if {{%[a-z0-9]+}} : vector<8xf32>
<<cookiecutter.backend_name>>.store.streaming %v, %a if %p : vector<8xf32>
// CHECK: <<cookiecutter.backend_name>>.store.masked {{%[a-z0-9]+}}, {{%[a-z0-9]+}}, {{%[a-z0-9]+}} : vector<8xf32>, vector<8xi1>
<<cookiecutter.backend_name>>.store.masked %v, %a, %m : vector<8xf32>, vector<8xi1>
// CHECK: <<cookiecutter.backend_name>>.scatter {{%[a-z0-9]+}}, {{%[a-z0-9]+}}, {{%[a-z0-9]+}} : vector<8xf32>, vector<8xi64>, vector<8xi1>
<<cookiecutter.backend_name>>.scatter %v, %as, %m : vector<8xf32>, vector<8xi64>, vector<8xi1>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.atomic.rmw "fadd", "acq_rel", {{%[a-z0-9]+}}, {{%[a-z0-9]+}}, {{%[a-z0-9]+}} : vector<8xi64>, vector<8xi1>, vector<8xf32>
%r111 = <<cookiecutter.backend_name>>.atomic.rmw "fadd", "acq_rel", %as, %v, %m : vector<8xi64>, vector<8xi1>, vector<8xf32>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.atomic.cas "monotonic", {{%[a-z0-9]+}}, {{%[a-z0-9]+}}, {{%[a-z0-9]+}} : i64, i32
%r112 = <<cookiecutter.backend_name>>.atomic.cas "monotonic", %a, %i, %i : i64, i32
// CHECK: <<cookiecutter.backend_name>>.prefetch "read" 256 from {{%[a-z0-9]+}}
<<cookiecutter.backend_name>>.prefetch "read" 256 from %a
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.deadline {{%[a-z0-9]+}}
%r113 = <<cookiecutter.backend_name>>.deadline %a
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.atomic.poll "acquire", {{%[a-z0-9]+}}, {{%[a-z0-9]+}}, {{%[a-z0-9]+}} until {{%[a-z0-9]+}} : vector<8xi64>, vector<8xi1>, vector<8xf32>
%r114 = <<cookiecutter.backend_name>>.atomic.poll "acquire", %as, %v, %m until %a : vector<8xi64>, vector<8xi1>, vector<8xf32>
