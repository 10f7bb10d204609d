// RUN: <<cookiecutter.distribution_name>> opt -p lower %s | filecheck %s

// Scalars that a loop carries are registers.

// CHECK: <<cookiecutter.backend_name>>.kernel @whil([[X:%[a-z0-9]+]]: i64, [[N:%[a-z0-9]+]]: i32)
// CHECK: [[I:%[a-z0-9]+]] = scf.while ({{%[a-z0-9]+}} = [[N]]) : (i32) -> i32 {
// CHECK: scf.condition
// CHECK: <<cookiecutter.backend_name>>.divs
// CHECK: <<cookiecutter.backend_name>>.store [[I]], [[X]] : i32

module {
  tt.func public @whil(%arg0: !tt.ptr<i32>, %arg1: i32) attributes {noinline = false} {
    %c2_i32 = arith.constant 2 : i32
    %c1_i32 = arith.constant 1 : i32
    %0 = scf.while (%arg2 = %arg1) : (i32) -> i32 {
      %1 = arith.cmpi sgt, %arg2, %c1_i32 : i32
      scf.condition(%1) %arg2 : i32
    } do {
    ^bb0(%arg2: i32):
      %1 = arith.divsi %arg2, %c2_i32 : i32
      scf.yield %1 : i32
    }
    tt.store %arg0, %0 : !tt.ptr<i32>
    tt.return
  }
}
