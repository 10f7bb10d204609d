// RUN: <<cookiecutter.distribution_name>> opt %s --split-input-file --verify-diagnostics | filecheck %s

// Kernels, and what refers to the program that runs.

// CHECK: Operation does not verify: the axis must be from 0 to 2, not 3
%r = <<cookiecutter.backend_name>>.program_id 3

// -----

// CHECK: Operation does not verify: the axis must be from 0 to 2, not -1
%r = <<cookiecutter.backend_name>>.num_programs -1

// -----

%p = "test.op"() : () -> (i1)
// CHECK: Operation does not verify: the code must be at least 1, not 0
<<cookiecutter.backend_name>>.trap 0 if %p

// -----

// CHECK: Operation does not verify: the code must be from 1 to 1, not 2
<<cookiecutter.backend_name>>.kernel @k(%c: i1) attributes {scratch_bytes = 0 : i64, traps = [["assert", "", "", #builtin.int<1>]]} {
  <<cookiecutter.backend_name>>.trap 2 if %c
  <<cookiecutter.backend_name>>.return
}

// -----

%h = "test.op"() : () -> (f16)
// CHECK: Operation does not verify: an argument must be i32, i64, f32 or f64, not f16
<<cookiecutter.backend_name>>.print "%f"(%h) : f16

// -----

%f, %v = "test.op"() : () -> (f32, vector<8xf32>)
// CHECK: Operation does not verify: an argument must be a scalar, not vector<8xf32>
<<cookiecutter.backend_name>>.print "%f"(%v) : vector<8xf32>

// -----

// CHECK: Operation does not verify: a kernel's argument must be a scalar, not vector<8xf32>
<<cookiecutter.backend_name>>.kernel @k(%v: vector<8xf32>) attributes {scratch_bytes = 0 : i64, traps = []} {
  <<cookiecutter.backend_name>>.return
}

// -----

// CHECK: Operation does not verify: scratch_bytes must be {{at least 0|from 0 to [0-9]+}}, not -1
<<cookiecutter.backend_name>>.kernel @k() attributes {scratch_bytes = -1 : i64, traps = []} {
  <<cookiecutter.backend_name>>.return
}

// -----

// CHECK: property 'scratch_bytes' expected in operation '<<cookiecutter.backend_name>>.kernel'
<<cookiecutter.backend_name>>.kernel @k() attributes {traps = []} {
  <<cookiecutter.backend_name>>.return
}

// -----

// CHECK: a trap is described by [kind, message, file, line], not by ["assert"]
<<cookiecutter.backend_name>>.kernel @k() attributes {scratch_bytes = 0 : i64, traps = [["assert"]]} {
  <<cookiecutter.backend_name>>.return
}

// -----

// CHECK: Operation does not verify: the arguments of the entry block must be those of (i32) -> (), not []
"<<cookiecutter.backend_name>>.kernel"() <{sym_name = "k", function_type = (i32) -> (), scratch_bytes = 0 : i64, traps = []}> ({
  <<cookiecutter.backend_name>>.return
}) : () -> ()

// -----

// CHECK: Operation <<cookiecutter.backend_name>>.fence terminates block in single-block region but is not a terminator
<<cookiecutter.backend_name>>.kernel @k() attributes {scratch_bytes = 0 : i64, traps = []} {
  <<cookiecutter.backend_name>>.fence
}
