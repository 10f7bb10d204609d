"""Programs of a grid, structured and unstructured control flow, traps, printing, and what LLVM refuses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from isa_kernels import NATIVE, IsaKernel, parse_kernel

from <<cookiecutter.package_name>>.codegen.llvm import emit_module
from <<cookiecutter.package_name>>.codegen.object_code import compile_llvm
from <<cookiecutter.package_name>>.errors import CompileError, UnsupportedOperation
from <<cookiecutter.package_name>>.host_features import HostFeatures

# Instructions that store the i32 %v at word number %i (i32) of the array at %o.
STORE_WORD = """
    %i64 = isa.extu %i : i32 -> i64
    %four = isa.const 4 : i64 : i64
    %offset = isa.muli %i64, %four : i64
    %place = isa.addi %o, %offset : i64
    isa.store %v, %place : i32
"""


def run_scalar(body: str, *values: Any, types: tuple[str, ...] = (), words: int = 1) -> np.ndarray:
    """Runs a kernel with arguments ``%o`` (an array of i32) and ``%a0``, ``%a1``, ...; gives the array."""
    types = types or ("i32",) * len(values)
    arguments = {"o": "i64"} | {f"a{i}": ty for i, ty in enumerate(types)}
    out = np.zeros(words, np.int32)
    assert IsaKernel(arguments, body)(out, *values) == 0
    return out


# --- programs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grid", [(1, 1, 1), (5, 1, 1), (3, 4, 1), (2, 3, 4), (1, 1, 7), (1, 6, 2)])
def test_every_program_runs_once_with_its_coordinates(grid: tuple[int, int, int]) -> None:
    body = f"""%x = isa.program_id 0
    %y = isa.program_id 1
    %z = isa.program_id 2
    %gx = isa.num_programs 0
    %gy = isa.num_programs 1
    %gz = isa.num_programs 2
    %zy = isa.muli %z, %gy : i32
    %row = isa.addi %zy, %y : i32
    %rows = isa.muli %row, %gx : i32
    %i = isa.addi %rows, %x : i32
    %k = isa.const 1000 : i32 : i32
    %xk = isa.muli %x, %k : i32
    %xy = isa.addi %xk, %y : i32
    %xyk = isa.muli %xy, %k : i32
    %xyz = isa.addi %xyk, %z : i32
    %v = isa.addi %xyz, %gz : i32
    {STORE_WORD}
    isa.return"""
    kernel = IsaKernel({"o": "i64"}, body)
    size = int(np.prod(grid))
    x, y, z = (np.arange(size) // d % n for d, n in zip((1, grid[0], grid[0] * grid[1]), grid, strict=True))
    expected = ((x * 1000 + y) * 1000 + z + grid[2]).astype(np.int32)
    for first, last in ((0, size), (0, 0), (size, 0), (size // 2, size), (1, size - 1)):
        out = np.full(size, -1, np.int32)
        assert kernel(out, grid=grid, first=first, last=last) == 0
        ran = np.arange(size)
        np.testing.assert_array_equal(out, np.where((ran >= first) & (ran < last), expected, -1))


def test_an_empty_grid_does_nothing() -> None:
    kernel = IsaKernel({"o": "i64"}, "%v = isa.const 1 : i32 : i32\nisa.store %v, %o : i32\nisa.return")
    for grid in ((0, 1, 1), (1, 0, 1), (0, 0, 0)):
        out = np.zeros(1, np.int32)
        assert kernel(out, grid=grid) == 0
        assert out[0] == 0


def test_arguments_of_every_type() -> None:
    types = {"a": "i1", "b": "i8", "c": "i16", "d": "i32", "e": "i64", "f": "f32", "g": "f64"}
    body = "%byte = isa.extu %a : i1 -> i8\nisa.store %byte, %o : i8\n"
    for n, (name, ty) in enumerate(list(types.items())[1:], 1):
        body += f"%at{n} = isa.const {8 * n} : i64 : i64\n%p{n} = isa.addi %o, %at{n} : i64\nisa.store %{name}, %p{n} : {ty}\n"
    out = np.zeros(7, np.int64)
    values = (True, -5, -300, 2**31 - 1, -(2**63), 1.5, -2.25)
    IsaKernel({"o": "i64", **types}, body + "isa.return")(out, *values)
    assert out[0] == 1 and out[1].astype(np.int8) == -5 and out[2].astype(np.int16) == -300
    assert out[3] == 2**31 - 1 and out[4] == -(2**63)
    assert out[5:6].view(np.float32)[0] == 1.5 and out[6:7].view(np.float64)[0] == -2.25


# --- traps ------------------------------------------------------------------------------------------------------


def test_a_trap_ends_the_launch() -> None:
    body = f"""%i = isa.program_id 0
    %bad = isa.cmpi eq, %i, %at : i32 -> i1
    isa.trap 3 if %bad
    %v = isa.const 1 : i32 : i32
    {STORE_WORD}
    isa.return"""
    kernel = IsaKernel({"o": "i64", "at": "i32"}, body)
    out = np.zeros(4, np.int32)
    assert kernel(out, 2, grid=(4, 1, 1)) == 3
    np.testing.assert_array_equal(out, [1, 1, 0, 0])
    assert kernel(out, 9, grid=(4, 1, 1)) == 0
    np.testing.assert_array_equal(out, np.ones(4))


def test_a_trap_inside_of_a_loop() -> None:
    body = """%zero = isa.const 0 : i32 : i32
    %one = isa.const 1 : i32 : i32
    scf.for %k = %zero to %a0 step %one : i32 {
      isa.store %k, %o : i32
      %bad = isa.cmpi eq, %k, %a1 : i32 -> i1
      isa.trap 7 if %bad
    }
    isa.return"""
    kernel = IsaKernel({"o": "i64", "a0": "i32", "a1": "i32"}, body)
    out = np.zeros(1, np.int32)
    assert kernel(out, 10, 4) == 7 and out[0] == 4
    assert kernel(out, 10, 99) == 0 and out[0] == 9


# --- loops ------------------------------------------------------------------------------------------------------

COUNT = """%none = isa.const 0 : i32 : i32
    %one = isa.const 1 : i32 : i32
    %n, %last = scf.for %k = %a0 to %a1 step %a2 iter_args(%count = %none, %at = %none) -> (i32, i32) : i32 {
      %more = isa.addi %count, %one : i32
      scf.yield %more, %k : i32, i32
    }
    isa.store %n, %o : i32
    %eight = isa.const 4 : i64 : i64
    %q = isa.addi %o, %eight : i64
    isa.store %last, %q : i32
    isa.return"""


@pytest.mark.parametrize(
    ("start", "stop", "step"),
    [
        (0, 10, 1),
        (0, 10, 3),
        (-5, 6, 2),
        (5, 5, 1),
        (6, 5, 1),
        (2**31 - 10, 2**31 - 1, 7),
        (-(2**31), 2**31 - 1, 2**30),
    ],
)
@pytest.mark.parametrize("constant", [False, True])
def test_loops_count_and_never_run_past_the_end_of_the_type(
    start: int, stop: int, step: int, constant: bool
) -> None:
    body = COUNT
    if constant:
        for name, value in zip(("%a0", "%a1", "%a2"), (start, stop, step), strict=True):
            body = f"{name}_c = isa.const {value} : i32 : i32\n" + body.replace(name, f"{name}_c")
    expected = range(start, stop, step)
    out = run_scalar(body, start, stop, step, words=2)
    np.testing.assert_array_equal(out, [len(expected), expected[-1] if len(expected) else 0])


def test_unsigned_loop() -> None:
    body = COUNT.replace(": i32 {", ": i32 {", 1)
    module = parse_kernel({"o": "i64", "a0": "i32", "a1": "i32", "a2": "i32"}, body)
    assert "icmp slt i32" in emit_module(module)
    from xdsl.dialects.builtin import UnitAttr
    from xdsl.dialects.scf import ForOp

    loop = next(op for op in module.walk() if isinstance(op, ForOp))
    loop.attributes["unsignedCmp"] = UnitAttr()
    assert "icmp ult i32" in emit_module(module)


def test_loop_with_64_bit_counter_and_vectors() -> None:
    body = """%zero = isa.const 0 : i64 : i64
    %four = isa.const 256 : i64 : i64
    %start = isa.const 1.0 : f32 : vector<64xf32>
    %sum, %n = scf.for %k = %zero to %bytes step %four iter_args(%acc = %start, %m = %zero) -> (vector<64xf32>, i64) : i64 {
      %p = isa.addi %x, %k : i64
      %v = isa.load %p : vector<64xf32>
      %total = isa.addf %acc, %v : vector<64xf32>
      scf.yield %total, %k : vector<64xf32>, i64
    }
    isa.store %sum, %o : vector<64xf32>
    isa.return"""
    x = np.arange(640, dtype=np.float32)
    out = np.zeros(64, np.float32)
    kernel = IsaKernel({"x": "i64", "o": "i64", "bytes": "i64"}, body)
    kernel(x, out, 2560)
    np.testing.assert_array_equal(out, 1 + x.reshape(10, 64).sum(0))
    kernel(x, out, 0)
    np.testing.assert_array_equal(out, np.ones(64))


def test_carried_values_may_swap() -> None:
    body = """%zero = isa.const 0 : i32 : i32
    %one = isa.const 1 : i32 : i32
    %a, %b = scf.for %k = %zero to %a0 step %one iter_args(%x = %zero, %y = %one) -> (i32, i32) : i32 {
      %s = isa.addi %x, %y : i32
      scf.yield %y, %s : i32, i32
    }
    isa.store %a, %o : i32
    isa.return"""
    assert [int(run_scalar(body, n)[0]) for n in range(8)] == [0, 1, 1, 2, 3, 5, 8, 13]


def test_nested_loops_with_a_condition() -> None:
    """Counts the pairs j < i with i + j even; the inner result is used by the outer loop."""
    body = """%zero = isa.const 0 : i32 : i32
    %one = isa.const 1 : i32 : i32
    %count = scf.for %i = %zero to %a0 step %one iter_args(%c = %zero) -> (i32) : i32 {
      %inner = scf.for %j = %zero to %i step %one iter_args(%d = %c) -> (i32) : i32 {
        %s = isa.addi %i, %j : i32
        %bit = isa.and %s, %one : i32
        %even = isa.cmpi eq, %bit, %zero : i32 -> i1
        %next = scf.if %even -> (i32) {
          %more = isa.addi %d, %one : i32
          scf.yield %more : i32
        } else {
          scf.yield %d : i32
        }
        scf.yield %next : i32
      }
      scf.yield %inner : i32
    }
    isa.store %count, %o : i32
    isa.return"""
    expected = [sum((i + j) % 2 == 0 for i in range(n) for j in range(i)) for n in range(9)]
    assert [int(run_scalar(body, n)[0]) for n in range(9)] == expected


def test_if_without_else() -> None:
    body = """scf.if %a0 {
      %v = isa.const 5 : i32 : i32
      isa.store %v, %o : i32
    }
    isa.return"""
    assert run_scalar(body, True, types=("i1",))[0] == 5
    assert run_scalar(body, False, types=("i1",))[0] == 0


def test_while() -> None:
    """Steps of the Collatz sequence down to 1, with two values out of the condition."""
    body = """%zero = isa.const 0 : i32 : i32
    %one = isa.const 1 : i32 : i32
    %two = isa.const 2 : i32 : i32
    %three = isa.const 3 : i32 : i32
    %last, %steps = scf.while (%n = %a0, %c = %zero) : (i32, i32) -> (i32, i32) {
      %go = isa.cmpi ne, %n, %one : i32 -> i1
      scf.condition(%go) %n, %c : i32, i32
    } do {
    ^bb0(%n : i32, %c : i32):
      %bit = isa.and %n, %one : i32
      %odd = isa.cmpi ne, %bit, %zero : i32 -> i1
      %half = isa.divu %n, %two : i32
      %triple = isa.muli %n, %three : i32
      %up = isa.addi %triple, %one : i32
      %next = isa.select %odd, %up, %half : i1, i32
      %more = isa.addi %c, %one : i32
      scf.yield %next, %more : i32, i32
    }
    isa.store %steps, %o : i32
    isa.return"""

    def collatz(n: int) -> int:
        return 0 if n == 1 else 1 + collatz(3 * n + 1 if n % 2 else n // 2)

    assert [int(run_scalar(body, n)[0]) for n in (1, 2, 7, 27)] == [collatz(n) for n in (1, 2, 7, 27)]


def test_blocks_with_arguments() -> None:
    """A loop made of branches; blocks in an order in which uses come before definitions; one block never reached."""
    body = """%zero = isa.const 0 : i32 : i32
    %one = isa.const 1 : i32 : i32
    cf.br ^head(%zero, %zero : i32, i32)
  ^dead:
    isa.return
  ^out(%result: i32):
    isa.store %result, %o : i32
    isa.return
  ^body(%j: i32):
    %next = isa.addi %j, %one : i32
    %sum = isa.addi %acc, %twice : i32
    cf.br ^head(%next, %sum : i32, i32)
  ^head(%i: i32, %acc: i32):
    %twice = isa.addi %i, %i : i32
    %go = isa.cmpi slt, %i, %a0 : i32 -> i1
    cf.cond_br %go, ^body(%i : i32), ^out(%acc : i32)"""
    assert [int(run_scalar(body, n)[0]) for n in range(6)] == [n * (n - 1) for n in range(6)]


def test_region_of_blocks_inside_of_a_loop() -> None:
    """An scf.execute_region with two exits, one of them from inside of a nested one."""
    body = """%zero = isa.const 0 : i32 : i32
    %one = isa.const 1 : i32 : i32
    %total = scf.for %i = %zero to %a0 step %one iter_args(%sum = %zero) -> (i32) : i32 {
      %term = scf.execute_region -> (i32) {
        %bit = isa.and %i, %one : i32
        %odd = isa.cmpi ne, %bit, %zero : i32 -> i1
        cf.cond_br %odd, ^odd(%i : i32), ^even
      ^even:
        scf.yield %one : i32
      ^odd(%j: i32):
        %square = scf.execute_region -> (i32) {
          %s = isa.muli %j, %j : i32
          cf.br ^end(%s : i32)
        ^end(%r: i32):
          scf.yield %r : i32
        }
        scf.yield %square : i32
      }
      %next = isa.addi %sum, %term : i32
      scf.yield %next : i32
    }
    isa.store %total, %o : i32
    isa.return"""
    expected = [sum(i * i if i % 2 else 1 for i in range(n)) for n in range(7)]
    assert [int(run_scalar(body, n)[0]) for n in range(7)] == expected


def test_both_sides_of_a_branch_to_one_block() -> None:
    body = """%one = isa.const 1 : i32 : i32
    %two = isa.const 2 : i32 : i32
    cf.cond_br %a0, ^out(%one : i32), ^out(%two : i32)
  ^out(%v: i32):
    isa.store %v, %o : i32
    isa.return"""
    assert run_scalar(body, True, types=("i1",))[0] == 1
    assert run_scalar(body, False, types=("i1",))[0] == 2


def test_early_return_goes_on_with_the_next_program() -> None:
    body = f"""%i = isa.program_id 0
    %one = isa.const 1 : i32 : i32
    %zero = isa.const 0 : i32 : i32
    %bit = isa.and %i, %one : i32
    %odd = isa.cmpi ne, %bit, %zero : i32 -> i1
    cf.cond_br %odd, ^done, ^work
  ^done:
    isa.return
  ^work:
    %v = isa.const 9 : i32 : i32
    {STORE_WORD}
    isa.return"""
    out = np.zeros(6, np.int32)
    assert IsaKernel({"o": "i64"}, body)(out, grid=(6, 1, 1)) == 0
    np.testing.assert_array_equal(out, [9, 0, 9, 0, 9, 0])


# --- printing ---------------------------------------------------------------------------------------------------

PRINTING = """
import sys
sys.path.insert(0, {tests!r})
from isa_kernels import IsaKernel
body = '''%i = isa.program_id 0
%x = isa.const 2.5 : f64 : f64
%n = isa.const -7 : i64 : i64
isa.print "pid (%d) say \\\\"hi\\\\" 100%%: %f %lld\\\\n"(%i, %x, %n) : i32, f64, i64
isa.return'''
IsaKernel(dict(), body)(grid=(2, 1, 1))
"""


def test_printing_reaches_standard_output() -> None:
    script = PRINTING.format(tests=str(Path(__file__).parent))
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "".join(f'pid ({i}) say "hi" 100%: 2.500000 -7\n' for i in range(2))


# --- errors -----------------------------------------------------------------------------------------------------


def test_an_operation_without_machine_code_is_refused() -> None:
    with pytest.raises(UnsupportedOperation, match=r"cf\.assert"):
        emit_module(parse_kernel({"a": "i1"}, 'cf.assert %a, "no"\nisa.return'))


def test_what_llvm_rejects_is_an_error_that_keeps_the_text() -> None:
    with pytest.raises(CompileError, match="bug of this backend") as caught:
        compile_llvm("define i32 @k() { ret i64 0 }")
    path = str(caught.value).partition("saved in ")[2].splitlines()[0]
    assert Path(path).read_text() == "define i32 @k() { ret i64 0 }"
    Path(path).unlink()


def test_emission_is_deterministic() -> None:
    module = parse_kernel({"o": "i64", "a0": "i32", "a1": "i32", "a2": "i32"}, COUNT)
    assert emit_module(module) == emit_module(module)


def test_host_features_describe_this_cpu() -> None:
    assert HostFeatures.current() is NATIVE
    assert NATIVE.vector_bits in (128, 256, 512)
    assert HostFeatures("x", "+avx,-avx512f,+f16c", "x86_64-unknown-linux-gnu").vector_bits == 256
    assert hash(NATIVE) == hash(HostFeatures(NATIVE.name, NATIVE.features, NATIVE.triple))
