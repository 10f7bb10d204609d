"""Miscompilations that were found by random programs and by reading, as the smallest kernel that showed each."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import launch

INT_MAX = 2**31 - 1


@triton.jit
def widen_loaded_sum(x, amount, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, (tl.load(x + lanes) + tl.load(amount)).to(tl.int64))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_a_narrow_sum_wraps_before_it_is_widened(dtype: str) -> None:
    """The sign extension of a sum is not the sum of the sign extensions."""
    limits = np.iinfo(dtype)
    x = np.array([limits.max, limits.max - 1, limits.min, 0], dtype)
    amount = np.array([1], dtype)
    out = np.zeros(4, np.int64)
    launch(widen_loaded_sum, (1,), x, amount, out, N=4)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out, (x + amount).astype(np.int64))


@triton.jit
def widen_range(out, start, step, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, (start + lanes * step).to(tl.int64))


@pytest.mark.parametrize(
    ("start", "step"), [(INT_MAX - 3, 1), (INT_MAX - 3, 2), (7, 2**30), (-INT_MAX, -1), (-INT_MAX, -5), (12, 3)]
)
def test_an_index_wraps_before_it_is_widened(start: int, step: int) -> None:
    out = np.zeros(16, np.int64)
    launch(widen_range, (1,), out, start, step, N=16)
    exact = start + step * np.arange(16)
    np.testing.assert_array_equal(out, exact.astype(np.int32).astype(np.int64))


@triton.jit
def remainder_of_range(out, start, divisor, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, (start + lanes) % divisor)


@pytest.mark.parametrize(
    ("start", "divisor"),
    [(INT_MAX - 2, INT_MAX), (INT_MAX - 2, 1000), (INT_MAX - 2, -1000), (5, 1000), (990, 1000), (-5, 7), (3, -INT_MAX)],
)
def test_remainders_of_an_index_that_wraps(start: int, divisor: int) -> None:
    """Neither ``start + lanes`` nor the search for a shortcut may overflow unnoticed."""
    out = np.zeros(16, np.int32)
    launch(remainder_of_range, (1,), out, start, divisor, N=16)
    x = (start + np.arange(16)).astype(np.int32).astype(np.int64)
    np.testing.assert_array_equal(out, np.fmod(x, divisor))


@triton.jit
def one_bound_in_two_directions(x, out, n, m, N: tl.constexpr):
    i = tl.arange(0, N)[:, None]
    j = tl.arange(0, N)[None, :]
    rows = tl.broadcast_to(i < n, (N, N))
    mine = tl.load(x + i * N + j, mask=rows & (j < m), other=-1)
    tl.store(out + i * N + j, tl.trans(mine), mask=rows & (j >= 0))


@pytest.mark.parametrize(("n", "m"), [(3, 32), (32, 3), (20, 9)])
def test_one_bound_seen_in_two_directions(n: int, m: int) -> None:
    """A mask that holds for the whole loop in one direction says nothing of its transpose."""
    size = 32
    x = np.arange(size * size, dtype=np.int32).reshape(size, size)
    out = np.full((size, size), -7, np.int32)
    launch(one_bound_in_two_directions, (1,), x, out, n, m, N=size)
    i, j = np.indices((size, size))
    loaded = np.where((i < n) & (j < m), x, -1)
    np.testing.assert_array_equal(out, np.where(i < n, loaded.T, -7))


@triton.jit
def kept_in_one_branch(x, out, flag, N: tl.constexpr):
    lanes = tl.arange(0, N)
    total = tl.cumsum(tl.load(x + lanes), 0)
    cheap = total & 7
    if flag > 0:
        tl.store(out + lanes, tl.cumsum(cheap, 0))
    tl.store(out + N + lanes, cheap)


@triton.jit
def kept_in_a_loop(x, out, trips, N: tl.constexpr):
    lanes = tl.arange(0, N)
    total = tl.cumsum(tl.load(x + lanes), 0)
    cheap = total & 7
    for _ in range(trips):
        tl.store(out + lanes, tl.cumsum(cheap, 0))
    tl.store(out + N + lanes, cheap)


@triton.jit
def kept_before_an_early_return(x, out, flag, N: tl.constexpr):
    lanes = tl.arange(0, N)
    total = tl.cumsum(tl.load(x + lanes), 0)
    cheap = total & 7
    if flag > 5:
        tl.store(out + lanes, tl.cumsum(cheap, 0))
        return
    tl.store(out + N + lanes, cheap)


@pytest.mark.parametrize("flag", [0, 3, 9])
@pytest.mark.parametrize("kernel", [kept_in_one_branch, kept_in_a_loop, kept_before_an_early_return])
def test_a_tile_brought_into_memory_on_one_path(kernel: object, flag: int) -> None:
    """What one path of control flow brought into the scratchpad is not there on the others."""
    size = 64
    x = np.arange(size, dtype=np.int32)
    out = np.full((2, size), -1, np.int32)
    launch(kernel, (1,), x, out, flag, N=size)
    cheap = np.cumsum(x) & 7
    early = kernel is kept_before_an_early_return
    taken = flag > 5 if early else flag > 0
    np.testing.assert_array_equal(out[0], np.cumsum(cheap) if taken else np.full(size, -1))
    np.testing.assert_array_equal(out[1], np.full(size, -1) if early and taken else cheap)


@triton.jit
def index_kept_before_a_store(x, out, n, N: tl.constexpr):
    lanes = tl.arange(0, N)
    where = (lanes % n) + tl.load(x + lanes)
    tl.store(out + lanes, where)
    tl.store(x + lanes, lanes * 0)
    tl.store(out + N + lanes, where)


def test_an_index_kept_before_its_source_changes() -> None:
    size = 64
    x = np.arange(size, dtype=np.int32)[::-1].copy()
    expected = np.arange(size) + x
    out = np.zeros((2, size), np.int32)
    launch(index_kept_before_a_store, (1,), x, out, 100, N=size)
    np.testing.assert_array_equal(out, np.stack([expected, expected]))
    np.testing.assert_array_equal(x, np.zeros(size, np.int32))


@triton.jit
def carried_sum_of_one(x, out, trips):
    lanes = tl.arange(0, 1)
    a = tl.load(x + lanes)
    b = tl.load(x + 1 + lanes)
    total = a * 3 + b * 5 + lanes
    for _ in range(trips):
        total += 7
    tl.store(out + lanes, total)


def test_an_opaque_sum_carried_around_a_loop() -> None:
    x, out = np.array([11, 13], np.int32), np.zeros(1, np.int32)
    launch(carried_sum_of_one, (1,), x, out, 4)
    assert out[0] == 11 * 3 + 13 * 5 + 28
