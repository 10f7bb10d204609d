// RUN: <<cookiecutter.distribution_name>> opt -p lower %s | filecheck %s

// A return in the middle ends the program there: control flow becomes a graph of blocks.

// CHECK: cf.cond_br {{%[a-z0-9]+}}, ^[[OUT:.+]], ^[[ON:.+]]
// CHECK-NEXT: ^[[OUT]]:
// CHECK-NEXT: <<cookiecutter.backend_name>>.return
// CHECK-NEXT: ^[[ON]]:
// CHECK: <<cookiecutter.backend_name>>.store
// CHECK: <<cookiecutter.backend_name>>.return

module {
  tt.func public @early(%arg0: !tt.ptr<f32>, %arg1: i32) attributes {noinline = false} {
    %cst = arith.constant 1.000000e+00 : f32
    %0 = tt.get_program_id x : i32
    %1 = arith.cmpi sge, %0, %arg1 : i32
    cf.cond_br %1, ^bb1, ^bb2
  ^bb1:  // pred: ^bb0
    tt.return
  ^bb2:  // pred: ^bb0
    %2 = tt.addptr %arg0, %0 : !tt.ptr<f32>, i32
    tt.store %2, %cst : !tt.ptr<f32>
    tt.return
  }
}
