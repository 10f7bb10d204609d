"""Loops whose bounds are unsigned numbers (``scf.for unsigned``), up to the end of the type."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import launch
from isa_kernels import parse_kernel
from xdsl.dialects.builtin import UnitAttr
from xdsl.dialects.scf import ForOp

from <<cookiecutter.package_name>>.device_kinds import EMULATOR, KINDS
from <<cookiecutter.package_name>>.dialects.isa.addresses import UNSIGNED, counts_unsigned, known_bound
from <<cookiecutter.package_name>>.runtime.array import DeviceArray
from <<cookiecutter.package_name>>.target import BACKEND_NAME, DISTRIBUTION_NAME

MODULE: Final = """
module {
  tt.func public @k(%O: !tt.ptr<TYPE>, %X: !tt.ptr<f32>, %lo: TYPE, %hi: TYPE, %st: TYPE) {
    CONSTANTS
    %zero = arith.constant 0 : TYPE
    %one = arith.constant 1 : TYPE
    %r = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
    %sX = tt.splat %X : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %pX = tt.addptr %sX, %r : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %ones = arith.constant dense<1.0> : tensor<64xf32>
    %count, %last, %sum = scf.for unsigned %t = %lo to %hi step %st
        iter_args(%c = %zero, %l = %zero, %s = %ones) -> (TYPE, TYPE, tensor<64xf32>) : TYPE {
      %d = arith.addi %c, %one : TYPE
      %v = arith.addf %s, %ones : tensor<64xf32>
      scf.yield %d, %t, %v : TYPE, TYPE, tensor<64xf32>
    }
    %p1 = tt.addptr %O, %one : !tt.ptr<TYPE>, TYPE
    tt.store %O, %count : !tt.ptr<TYPE>
    tt.store %p1, %last : !tt.ptr<TYPE>
    tt.store %pX, %sum : tensor<64x!tt.ptr<f32>>
    tt.return
  }
}
"""

CASES: Final = [
    (2**31 - 2, 2**31 + 3, 1),
    (2**31 - 2, 2**31 + 3, 3),
    (2**32 - 5, 2**32 - 1, 1),
    (2**32 - 5, 2**32 - 1, 3),
    (0, 2**32 - 1, 2**30),
    (0, 3 * 2**30, 2**31),
    (2**31, 2**31, 1),
    (2**32 - 1, 0, 1),
    (2**31 + 2, 5, 1),
    (3, 9, 2),
    (5, 2**31 + 7, 2**31),
]
"""First, last, step."""


def compiled(text: str, folder: Path, kind: str) -> Any:
    from triton.runtime import driver

    file = folder / "k.ttir"
    file.write_text(text)
    target = driver.active.get_current_target()
    return triton.compile(str(file), target=target, options={"device_kind": kind})


def check(kernel: Any, ty: str, case: tuple[int, int, int]) -> None:
    width = int(ty[1:])
    out, x = np.zeros(2, f"int{width}"), np.zeros(64, np.float32)
    signed = [int(np.array(n, f"uint{width}").view(f"int{width}")) for n in case]
    kernel[(1, 1, 1)](DeviceArray.wrap(out), DeviceArray.wrap(x), *signed)
    expected = range(*case)
    count, last = out.view(f"uint{width}").tolist()
    assert (count, last) == (len(expected), expected[-1] if len(expected) else 0), case
    assert (x == 1 + len(expected)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_that_are_arguments(kind: str, tmp_path: Path) -> None:
    kernel = compiled(MODULE.replace("TYPE", "i32").replace("CONSTANTS", ""), tmp_path, kind)
    for case in CASES:
        check(kernel, "i32", case)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES[:4] + CASES[7:9])
def test_bounds_that_are_known(kind: str, case: tuple[int, int, int], tmp_path: Path) -> None:
    signed = np.array(case, np.uint32).view(np.int32)
    constants = "\n".join(
        f"%{name} = arith.constant {value} : TYPE"
        for name, value in zip(("klo", "khi", "kst"), signed, strict=True)
    )
    text = MODULE.replace("CONSTANTS", constants).replace(
        "%t = %lo to %hi step %st", "%t = %klo to %khi step %kst"
    )
    check(compiled(text.replace("TYPE", "i32"), tmp_path, kind), "i32", case)


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_of_64_bits(kind: str, tmp_path: Path) -> None:
    text = MODULE.replace("TYPE", "i64").replace("CONSTANTS", "")
    kernel = compiled(text, tmp_path, kind)
    for case in [(2**63 - 2, 2**63 + 3, 1), (2**64 - 7, 2**64 - 1, 4), (2**63, 1, 1), (0, 3, 1)]:
        check(kernel, "i64", case)


@triton.jit
def counted(out, bounds):
    count = 0
    for _ in range(tl.load(bounds), tl.load(bounds + 1)):
        count += 1
    tl.store(out, count)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bounds", [(2**31 - 2, 2**31 + 3), (2**32 - 5, 2**32 - 1), (2**31 + 1, 2**31 + 3)])
def test_a_kernel_counts_as_the_front_end_says(kind: str, bounds: tuple[int, int]) -> None:
    """Triton 3.7 to 3.9 compare as signed numbers, whatever the bounds are; a later release may not."""
    out = np.zeros(1, np.int32)
    kernel = launch(counted, (1,), out, np.array(bounds, np.uint32), device_kind=kind)
    text = kernel.asm["ttir"]
    first, last = bounds
    if "scf.for unsigned" not in text and "i64" not in text:
        first, last = np.array(bounds, np.uint32).view(np.int32).tolist()
    assert out[0] == len(range(first, last))


COPY: Final = """
    %zero = isa.const 0 : i32 : i32
    %one = isa.const 1 : i32 : i32
    %end = isa.const END : i32 : i32
    scf.for %k = %zero to %end step %one : i32 {
      %k64 = isa.extu %k : i32 -> i64
      %p = isa.addi %o, %k64 : i64
      %v = isa.load %x : vector<64xf32>
      isa.store %v, %p : vector<64xf32>
    }
    isa.return"""


def loop_of(end: int, *, unsigned: bool) -> tuple[Any, ForOp]:
    module = parse_kernel({"x": "i64", "o": "i64"}, COPY.replace("END", str(end)))
    loop = next(op for op in module.walk() if isinstance(op, ForOp))
    if unsigned:
        loop.attributes[UNSIGNED] = UnitAttr()
    return module, loop


def test_what_is_known_of_a_bound() -> None:
    for unsigned, expected in ((False, -16), (True, 2**32 - 16)):
        _, loop = loop_of(-16, unsigned=unsigned)
        assert counts_unsigned(loop) == unsigned
        assert known_bound(loop, loop.ub) == expected and known_bound(loop, loop.step) == 1


@pytest.mark.parametrize("unsigned", [False, True])
def test_outputs_are_measured_by_the_loop_s_own_numbers(unsigned: bool) -> None:
    """A launch that writes 2^32 vectors writes much; one whose loop does not run writes nothing."""
    from <<cookiecutter.package_name>>.dialects.isa import lanes, memory
    from <<cookiecutter.package_name>>.passes.streaming_stores import streaming_stores

    module, _ = loop_of(-16, unsigned=unsigned)
    streaming_stores(module)
    assert any(isinstance(op, memory.StoreStreaming) for op in module.walk())
    numbers = [op.value.value.data for op in module.walk() if isinstance(op, lanes.Const)]
    assert (2**32 - 16 in numbers) == unsigned and (0 in numbers)


def test_the_printed_instructions_can_be_read_back(tmp_path: Path) -> None:
    from test_filecheck import run_command

    kernel = compiled(MODULE.replace("TYPE", "i32").replace("CONSTANTS", ""), tmp_path, EMULATOR)
    file = tmp_path / f"k.{BACKEND_NAME}ir"
    file.write_text(kernel.asm[f"{BACKEND_NAME}ir"])
    assert UNSIGNED in file.read_text()
    printed = run_command([DISTRIBUTION_NAME, "opt", str(file)], "")
    assert UNSIGNED in printed
