// RUN: not <<cookiecutter.distribution_name>> opt -p lower %s 2>&1 | filecheck %s
// RUN: <<cookiecutter.distribution_name>> opt -p lower --verify-diagnostics %s | filecheck %s

// What is not lowered is refused by name, with its place and the file in which it would be added.

// CHECK: inline assembly (tt.elementwise_inline_asm, 'nop') is for the chip that it was written for{{.*}}extern_function
// CHECK-NEXT: at refused.mlir:[[LINE:[0-9]+]]
// CHECK-NEXT: support is added in language/extern.py
module {
  tt.func public @asm(%x: !tt.ptr<i32>, %v: i32) {
    %r = tt.elementwise_inline_asm "nop" {constraints = "=r,r", packed_element = 1 : i32, pure = true} %v : i32 -> i32
    tt.store %x, %r : !tt.ptr<i32>
    tt.return
  }
}
