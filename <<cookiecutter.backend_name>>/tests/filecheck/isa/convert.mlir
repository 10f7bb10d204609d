// RUN: <<cookiecutter.distribution_name>> opt %s | <<cookiecutter.distribution_name>> opt - | filecheck %s
// RUN: <<cookiecutter.distribution_name>> opt --print-op-generic %s | <<cookiecutter.distribution_name>> opt - | filecheck %s

// Conversions.

%b, %h, %vi, %vf, %vp, %vq = "test.op"() : () -> (i8, f16, vector<16xi32>, vector<16xf32>, vector<16xi1>, vector<16xf8E4M3FN>)

// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.exts {{%[a-z0-9]+}} : i8 -> i32
%r78 = <<cookiecutter.backend_name>>.exts %b : i8 -> i32
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.exts {{%[a-z0-9]+}} : vector<16xi1> -> vector<16xi32>
%r79 = <<cookiecutter.backend_name>>.exts %vp : vector<16xi1> -> vector<16xi32>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.extu {{%[a-z0-9]+}} : vector<16xi32> -> vector<16xi64>
%r80 = <<cookiecutter.backend_name>>.extu %vi : vector<16xi32> -> vector<16xi64>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.trunci {{%[a-z0-9]+}} : vector<16xi32> -> vector<16xi8>
%r81 = <<cookiecutter.backend_name>>.trunci %vi : vector<16xi32> -> vector<16xi8>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.trunci {{%[a-z0-9]+}} : i8 -> i1
%r82 = <<cookiecutter.backend_name>>.trunci %b : i8 -> i1
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.sitof {{%[a-z0-9]+}} : vector<16xi32> -> vector<16xf32>
%r83 = <<cookiecutter.backend_name>>.sitof %vi : vector<16xi32> -> vector<16xf32>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.uitof {{%[a-z0-9]+}} : i8 -> f64
%r84 = <<cookiecutter.backend_name>>.uitof %b : i8 -> f64
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.ftosi {{%[a-z0-9]+}} : vector<16xf32> -> vector<16xi64>
%r85 = <<cookiecutter.backend_name>>.ftosi %vf : vector<16xf32> -> vector<16xi64>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.ftoui {{%[a-z0-9]+}} : vector<16xf32> -> vector<16xi8>
%r86 = <<cookiecutter.backend_name>>.ftoui %vf : vector<16xf32> -> vector<16xi8>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.extf {{%[a-z0-9]+}} : f16 -> f32
%r87 = <<cookiecutter.backend_name>>.extf %h : f16 -> f32
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.extf {{%[a-z0-9]+}} : vector<16xf8E4M3FN> -> vector<16xf32>
%r88 = <<cookiecutter.backend_name>>.extf %vq : vector<16xf8E4M3FN> -> vector<16xf32>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.extf {{%[a-z0-9]+}} : vector<16xf32> -> vector<16xf64>
%r89 = <<cookiecutter.backend_name>>.extf %vf : vector<16xf32> -> vector<16xf64>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.truncf "rtne", {{%[a-z0-9]+}} : vector<16xf32> -> vector<16xbf16>
%r90 = <<cookiecutter.backend_name>>.truncf "rtne", %vf : vector<16xf32> -> vector<16xbf16>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.truncf "rtz", {{%[a-z0-9]+}} : vector<16xf32> -> vector<16xf16>
%r91 = <<cookiecutter.backend_name>>.truncf "rtz", %vf : vector<16xf32> -> vector<16xf16>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.truncf "rtne", {{%[a-z0-9]+}} : f16 -> f8E5M2
%r92 = <<cookiecutter.backend_name>>.truncf "rtne", %h : f16 -> f8E5M2
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.bitcast {{%[a-z0-9]+}} : vector<16xf32> -> vector<16xi32>
%r93 = <<cookiecutter.backend_name>>.bitcast %vf : vector<16xf32> -> vector<16xi32>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.bitcast {{%[a-z0-9]+}} : f16 -> bf16
%r94 = <<cookiecutter.backend_name>>.bitcast %h : f16 -> bf16
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.sats {{%[a-z0-9]+}} : vector<16xf32> -> vector<16xi8>
%r97 = <<cookiecutter.backend_name>>.sats %vf : vector<16xf32> -> vector<16xi8>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.sats {{%[a-z0-9]+}} : vector<16xi32> -> vector<16xi16>
%r98 = <<cookiecutter.backend_name>>.sats %vi : vector<16xi32> -> vector<16xi16>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.satu {{%[a-z0-9]+}} : vector<16xf32> -> vector<16xi8>
%r99 = <<cookiecutter.backend_name>>.satu %vf : vector<16xf32> -> vector<16xi8>
// CHECK: {{%[a-z0-9]+}} = <<cookiecutter.backend_name>>.satu {{%[a-z0-9]+}} : i8 -> i16
%r100 = <<cookiecutter.backend_name>>.satu %b : i8 -> i16
