"""Running totals: what loops add up lane by lane to be added up after them (`lowering/accumulate.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import launch

from <<cookiecutter.package_name>>.target import BACKEND_NAME, VECTOR_LANES

RNG = np.random.default_rng(11)
DTYPES = [np.float32, np.float64, np.float16, np.int8, np.int32, np.int64]


@triton.jit
def sums(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=x.dtype.element_ty)
    for start in range(0, n, BLOCK):
        total += tl.load(x + start + lanes, mask=start + lanes < n, other=0)
    tl.store(out, tl.sum(total, axis=0))


@triton.jit
def greatest(x, out, n, FIRST: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    peak = tl.full([BLOCK], FIRST, dtype=x.dtype.element_ty)
    for start in range(0, n, BLOCK):
        peak = tl.maximum(peak, tl.load(x + start + lanes, mask=start + lanes < n, other=FIRST))
    tl.store(out, tl.max(peak, axis=0))


@triton.jit
def two_moments(x, out, n, BLOCK: tl.constexpr):
    """The second total needs the loaded block too; both are updated in one loop."""
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        value = tl.load(x + start + lanes, mask=start + lanes < n, other=0.0)
        total += value
        squares = value * value + squares
    tl.store(out, tl.sum(total, axis=0))
    tl.store(out + 1, tl.sum(squares, axis=0))


@triton.jit
def nested(x, out, rows, columns, BLOCK: tl.constexpr):
    """A total that an inner loop adds to is no total of the outer one; it begins anew for each row."""
    lanes = tl.arange(0, BLOCK)
    for row in range(rows):
        total = tl.zeros([BLOCK], dtype=tl.float32)
        for start in range(0, columns, BLOCK):
            at = start + lanes
            total += tl.load(x + row * columns + at, mask=at < columns, other=0.0)
        tl.store(out + row, tl.sum(total, axis=0))


@triton.jit
def initial_of_seven(x, out, n, BLOCK: tl.constexpr):
    """Each of the lanes begins with 7."""
    lanes = tl.arange(0, BLOCK)
    total = tl.full([BLOCK], 7.0, dtype=tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x + start + lanes, mask=start + lanes < n, other=0.0)
    tl.store(out, tl.sum(total, axis=0))


@triton.jit
def stored_too(x, lane_totals, out, n, BLOCK: tl.constexpr):
    """Somebody wants to see the lanes."""
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        total += tl.load(x + start + lanes, mask=start + lanes < n, other=0.0)
    tl.store(lane_totals + lanes, total)
    tl.store(out, tl.sum(total, axis=0))


@triton.jit
def read_inside(x, out, n, BLOCK: tl.constexpr):
    """The loop itself looks at the total."""
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        value = tl.load(x + start + lanes, mask=start + lanes < n, other=0.0)
        total += tl.where(total > 2, 0.0, value)
    tl.store(out, tl.sum(total, axis=0))


def scratch_bytes(kernel: Any) -> int:
    return int(kernel.metadata.scratch_bytes)


@pytest.mark.parametrize("n", [0, 1, 63, 1000, 4096, 5000])
@pytest.mark.parametrize("block", [64, 128, 1024, 4096])
@pytest.mark.parametrize("dtype", DTYPES)
def test_sums(dtype: Any, block: int, n: int) -> None:
    """Small integers: exact in every format and order."""
    x = RNG.integers(-3, 4, max(n, 1)).astype(dtype)[:n]
    out = np.zeros(1, np.int32 if np.dtype(dtype) in (np.int8,) else dtype)
    launch(sums, (1,), x, out, n, BLOCK=block)
    assert out[0] == x.astype(np.float64).sum()


@pytest.mark.parametrize("first", [-(2**7), 5])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int32])
def test_greatest(dtype: Any, first: int) -> None:
    """However often the initial value takes part."""
    for n in (0, 1, 700):
        x = RNG.integers(-100, 100, max(n, 1)).astype(dtype)[:n]
        out = np.zeros(1, dtype)
        launch(greatest, (1,), x, out, n, FIRST=first, BLOCK=512)
        assert out[0] == max([first, *x.tolist()])


def test_nan_and_infinity_stay() -> None:
    x = np.zeros(3000, np.float32)
    out = np.zeros(1, np.float32)
    for value in (np.nan, np.inf, -np.inf):
        x[2500] = value
        launch(sums, (1,), x, out, 3000, BLOCK=1024)
        np.testing.assert_equal(out[0], np.float32(value))


def test_two_totals() -> None:
    x = RNG.integers(-3, 4, 3001).astype(np.float32)
    out = np.zeros(2, np.float32)
    kernel = launch(two_moments, (1,), x, out, len(x), BLOCK=1024)
    assert out.tolist() == [x.sum(), (x * x).sum()]
    assert scratch_bytes(kernel) <= 2 * 4 * (4 * VECTOR_LANES) + 2 * 64, "no 1024 totals"
    assert f"{BACKEND_NAME}.mma" not in kernel.asm[f"{BACKEND_NAME}ir"]


def test_rounding() -> None:
    """A hundred thousand times 0.1: the error of a few sums, not of one long one."""
    x = np.full(100_000, 0.1, np.float32)
    out = np.zeros(1, np.float32)
    launch(sums, (1,), x, out, len(x), BLOCK=1024)
    assert abs(float(out[0]) - float(x.astype(np.float64).sum())) < 0.01


def test_nested_loops() -> None:
    x = RNG.integers(-3, 4, (5, 777)).astype(np.float32)
    out = np.zeros(5, np.float32)
    launch(nested, (1,), x, out, 5, 777, BLOCK=256)
    np.testing.assert_array_equal(out, x.sum(axis=1))


def test_what_only_looks_like_a_total() -> None:
    x = np.ones(1000, np.float32)
    out, lane_totals = np.zeros(1, np.float32), np.zeros(512, np.float32)
    launch(initial_of_seven, (1,), x, out, 1000, BLOCK=512)
    assert out[0] == 7 * 512 + 1000
    launch(stored_too, (1,), x, lane_totals, out, 1000, BLOCK=512)
    assert out[0] == 1000
    assert lane_totals.tolist() == [2.0] * 488 + [1.0] * 24
    x = np.ones(512 * 6, np.float32)
    launch(read_inside, (1,), x, out, len(x), BLOCK=512)
    assert out[0] == 3 * 512


@triton.jit
def either(a, b):
    return a | b


@triton.jit
def both(a, b):
    return a & b


@triton.jit
def any_and_all(x, out, n, BLOCK: tl.constexpr):
    """Totals of booleans, which are bytes in memory."""
    lanes = tl.arange(0, BLOCK)
    some = tl.zeros([BLOCK], dtype=tl.int1)
    every = tl.full([BLOCK], 1, dtype=tl.int1)
    for start in range(0, n, BLOCK):
        inside = start + lanes < n
        value = tl.load(x + start + lanes, mask=inside, other=0)
        some |= value > 5
        every &= (value > -5) | (inside == 0)
    tl.store(out, tl.reduce(some, 0, either))
    tl.store(out + 1, tl.reduce(every, 0, both))


@pytest.mark.parametrize("n", [0, 1, 700, 2048])
@pytest.mark.parametrize("extreme", [4, 6, -6])
def test_totals_of_booleans(n: int, extreme: int) -> None:
    x = RNG.integers(-4, 5, max(n, 1)).astype(np.int32)
    x[n // 2] = extreme
    out = np.zeros(2, np.int32)
    launch(any_and_all, (1,), x, out, n, 256)
    np.testing.assert_array_equal(out, [(x[:n] > 5).any(), (x[:n] > -5).all()])
