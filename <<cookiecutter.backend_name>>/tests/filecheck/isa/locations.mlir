// RUN: <<cookiecutter.distribution_name>> opt --print-debuginfo %s | <<cookiecutter.distribution_name>> opt --print-debuginfo - | filecheck %s
// RUN: <<cookiecutter.distribution_name>> opt %s | filecheck %s --check-prefix PLAIN

// Where an instruction comes from in the kernel's source is kept, and printed when asked for.

// CHECK: <<cookiecutter.backend_name>>.fence {loc = #<<cookiecutter.backend_name>>.loc<"dir/k \22 .py":12:5>}
// PLAIN: <<cookiecutter.backend_name>>.fence
// PLAIN-NOT: loc
<<cookiecutter.backend_name>>.fence {loc = #<<cookiecutter.backend_name>>.loc<"dir/k \22 .py":12:5>}
