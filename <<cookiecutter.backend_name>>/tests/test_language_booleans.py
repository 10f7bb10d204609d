"""Arithmetic on booleans, which are integers of one bit: what Triton's front end makes of it, and all of ``arith``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import launch

from <<cookiecutter.package_name>>.device_kinds import KINDS
from <<cookiecutter.package_name>>.runtime.array import DeviceArray

X = np.array([1, 1, 0, 0] * 4, bool)
Y = np.array([1, 0, 1, 0] * 4, bool)

UNSIGNED: Final[dict[str, Callable[[int, int], int]]] = {
    "add": lambda x, y: x ^ y,
    "sub": lambda x, y: x ^ y,
    "mul": lambda x, y: x & y,
    "floordiv": lambda x, y: x if y else 1,  # by 0: all ones, as for wider integers
    "mod": lambda x, y: 0 if y else x,
    "lshift": lambda x, y: 0 if y else x,
    "rshift": lambda x, y: 0 if y else x,
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "xor": lambda x, y: x ^ y,
    "minimum": min,
    "maximum": max,
}
"""What the kernels below compute, on 0 and 1."""


@triton.jit
def shift_left(x, y):
    return x <<'<<'>> y


@triton.jit
def shift_right(x, y):
    return x >> y


@triton.jit
def quotient(x, y):
    return x // y


@triton.jit
def each(x, y):
    return (
        x + y,
        x - y,
        x * y,
        x // y,
        x % y,
        x <<'<<'>> y,
        x >> y,
        x & y,
        x | y,
        x ^ y,
        tl.minimum(x, y),
        tl.maximum(x, y),
    )


@triton.jit
def of_blocks(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)
    results = each(tl.load(x + i) != 0, tl.load(y + i) != 0)
    for n in tl.static_range(12):
        tl.store(out + n * N + i, results[n].to(tl.int32))


@triton.jit
def of_scalars(x, y, out, N: tl.constexpr):
    for i in range(N):
        results = each(tl.load(x + i) != 0, tl.load(y + i) != 0)
        for n in tl.static_range(12):
            tl.store(out + n * N + i, results[n].to(tl.int32))


@triton.jit
def combined(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i) != 0
    tl.store(out, tl.reduce(value, 0, quotient).to(tl.int32))
    tl.store(out + 1 + i, tl.associative_scan(value, 0, shift_left).to(tl.int32))
    tl.store(out + 1 + N + i, tl.associative_scan(value, 0, shift_right).to(tl.int32))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kernel", [of_blocks, of_scalars], ids=["blocks", "scalars"])
def test_operators(kernel: Any, kind: str) -> None:
    out = np.full((len(UNSIGNED), 16), 7, np.int32)
    launch(kernel, (1,), X.astype(np.int8), Y.astype(np.int8), out, N=16, device_kind=kind)
    for row, (name, function) in zip(out, UNSIGNED.items(), strict=True):
        assert row.tolist() == [function(x, y) for x, y in zip(map(int, X), map(int, Y), strict=True)], name


@pytest.mark.parametrize("kind", KINDS)
def test_reductions_and_scans(kind: str) -> None:
    out = np.full(1 + 2 * 4, 7, np.int32)
    launch(combined, (1,), np.array([1, 0, 0, 0], np.int8), out, N=4, device_kind=kind)
    assert set(out.tolist()) <= {0, 1}
    assert out[1:5].tolist() == out[5:].tolist() == [1, 1, 1, 1]


ARITH: Final[dict[str, Callable[[int, int], int]]] = {
    "addi": UNSIGNED["add"],
    "subi": UNSIGNED["sub"],
    "muli": UNSIGNED["mul"],
    **dict.fromkeys(("divui", "divsi", "ceildivsi", "floordivsi"), UNSIGNED["floordiv"]),
    **dict.fromkeys(("remui", "remsi"), UNSIGNED["mod"]),
    **dict.fromkeys(("shli", "shrui"), UNSIGNED["lshift"]),
    "shrsi": lambda x, y: x,  # the sign
    **dict.fromkeys(("andi", "minui", "maxsi"), UNSIGNED["and"]),  # a true i1 is -1
    **dict.fromkeys(("ori", "maxui", "minsi"), UNSIGNED["or"]),
    "xori": UNSIGNED["xor"],
}

MODULE: Final = """
module {
  tt.func public @k(%X: !tt.ptr<i8>, %Y: !tt.ptr<i8>, %O: !tt.ptr<i8>) {
    %r = tt.make_range {start = 0 : i32, end = 16 : i32} : tensor<16xi32>
    %sX = tt.splat %X : !tt.ptr<i8> -> tensor<16x!tt.ptr<i8>>
    %sY = tt.splat %Y : !tt.ptr<i8> -> tensor<16x!tt.ptr<i8>>
    %sO = tt.splat %O : !tt.ptr<i8> -> tensor<16x!tt.ptr<i8>>
    %pX = tt.addptr %sX, %r : tensor<16x!tt.ptr<i8>>, tensor<16xi32>
    %pY = tt.addptr %sY, %r : tensor<16x!tt.ptr<i8>>, tensor<16xi32>
    %pO = tt.addptr %sO, %r : tensor<16x!tt.ptr<i8>>, tensor<16xi32>
    %bX = tt.load %pX : tensor<16x!tt.ptr<i8>>
    %bY = tt.load %pY : tensor<16x!tt.ptr<i8>>
    %x = arith.trunci %bX : tensor<16xi8> to tensor<16xi1>
    %y = arith.trunci %bY : tensor<16xi8> to tensor<16xi1>
    OPERATION
    %o = arith.extui %z : tensor<16xi1> to tensor<16xi8>
    tt.store %pO, %o : tensor<16x!tt.ptr<i8>>
    tt.return
  }
}
"""


def computed(operation: str, folder: Path) -> list[int]:
    from triton.runtime import driver

    file = folder / "k.ttir"
    file.write_text(MODULE.replace("OPERATION", operation))
    kernel = triton.compile(str(file), target=driver.active.get_current_target())
    out = np.full(16, 7, np.int8)
    kernel[(1, 1, 1)](*(DeviceArray.wrap(array) for array in (X.astype(np.int8), Y.astype(np.int8), out)))
    return [int(number) for number in out]


@pytest.mark.parametrize("name", ARITH)
def test_every_operation_of_arith(name: str, tmp_path: Path) -> None:
    expected = [ARITH[name](int(x), int(y)) for x, y in zip(X, Y, strict=True)]
    assert computed(f"%z = arith.{name} %x, %y : tensor<16xi1>", tmp_path) == expected


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ("%z = math.absi %x : tensor<16xi1>", X.astype(int)),
        ("%z = tt.mulhiui %x, %y : tensor<16xi1>", np.zeros(16, int)),
    ],
)
def test_other_operations(operation: str, expected: np.ndarray, tmp_path: Path) -> None:
    assert computed(operation, tmp_path) == expected.tolist()
