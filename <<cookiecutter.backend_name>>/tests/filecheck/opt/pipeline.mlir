// RUN: <<cookiecutter.distribution_name>> opt -p cse,dce --print-ir-after-all %s 2>&1 | filecheck %s
// RUN: not <<cookiecutter.distribution_name>> opt -p cse,expnd-special %s 2>&1 | filecheck %s --check-prefix UNKNOWN
// RUN: not <<cookiecutter.distribution_name>> opt -p cse,inliner %s 2>&1 | filecheck %s --check-prefix STAGE
// RUN: <<cookiecutter.distribution_name>> opt -t llir %s | filecheck %s --check-prefix LLVM

// CHECK: // -----// IR Dump After cse //----- //
// CHECK: <<cookiecutter.backend_name>>.fence
// CHECK: // -----// IR Dump After dce //----- //
// CHECK: <<cookiecutter.backend_name>>.fence
// CHECK: builtin.module {
// UNKNOWN: there is no pass 'expnd-special'; a pass must be one of {{.*}}expand-special
// STAGE: pass 'inliner' is of stage 'ttir', which does not work on xDSL modules
// LLVM: define { i32, i64 } @"k"(ptr noalias %args
// LLVM: fence seq_cst
<<cookiecutter.backend_name>>.kernel @k() attributes {scratch_bytes = 0 : i64, traps = []} {
  <<cookiecutter.backend_name>>.fence
  <<cookiecutter.backend_name>>.return
}
