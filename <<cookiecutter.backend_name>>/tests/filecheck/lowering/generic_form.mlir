// RUN: <<cookiecutter.distribution_name>> opt -p lower %s | filecheck %s
// RUN: <<cookiecutter.distribution_name>> opt %s | filecheck %s --check-prefix READ

// Triton IR in MLIR's generic form, as this package reads it while compiling, with aliases of locations.

// READ: "tt.func"
// READ: arith.constant 7 : i32
// CHECK: <<cookiecutter.backend_name>>.kernel @seven([[X:%[a-z0-9]+]]: i64)
// CHECK: [[V:%[a-z0-9]+]] = <<cookiecutter.backend_name>>.const 7 : i32 : i32
// CHECK: <<cookiecutter.backend_name>>.store [[V]], [[X]] : i32
#loc = loc("k.py":1:0)
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.ptr<i32>) -> (), sym_name = "seven", sym_visibility = "public"}> ({
  ^bb0(%arg0: !tt.ptr<i32> loc("k.py":1:8)):
    %0 = "arith.constant"() <{value = 7 : i32}> : () -> i32 loc(#loc1)
    "tt.store"(%arg0, %0) <{boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32}> : (!tt.ptr<i32>, i32) -> () loc(#loc1)
    "tt.return"() : () -> () loc(#loc)
  }) {noinline = false} : () -> () loc(#loc)
}) : () -> () loc(#loc)
#loc1 = loc("k.py":2:4)
