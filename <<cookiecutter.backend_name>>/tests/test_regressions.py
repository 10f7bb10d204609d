"""Miscompilations that were found by random programs and by reading, as the smallest kernel that showed each."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import bf16, launch

from <<cookiecutter.package_name>>.emulator import emulated

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
    ("start", "step"),
    [(INT_MAX - 3, 1), (INT_MAX - 3, 2), (7, 2**30), (-INT_MAX, -1), (-INT_MAX, -5), (12, 3)],
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
    [
        (INT_MAX - 2, INT_MAX),
        (INT_MAX - 2, 1000),
        (INT_MAX - 2, -1000),
        (5, 1000),
        (990, 1000),
        (-5, 7),
        (3, -INT_MAX),
    ],
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


@triton.jit
def joined_after_a_store(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    before = tl.load(x + lanes)
    tl.store(x + lanes + 5, lanes * 0)
    tl.store(out + tl.arange(0, 2 * N), tl.interleave(before, lanes))


@triton.jit
def summed_up_after_a_store(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    before = tl.load(x + lanes)
    tl.store(x + lanes + 5, lanes * 0)
    tl.store(out + lanes, tl.cumsum(before, 0))


@triton.jit
def reshaped_after_a_store(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    before = tl.load(x + lanes)
    tl.store(x + lanes + 5, lanes * 0)
    square = tl.trans(tl.reshape(before, (8, N // 8)))
    tl.store(out + tl.arange(0, N // 8)[:, None] * 8 + tl.arange(0, 8)[None, :], square)


@pytest.mark.parametrize("kernel", [joined_after_a_store, summed_up_after_a_store, reshaped_after_a_store])
def test_a_load_waits_for_its_last_reader_not_for_a_later_store(kernel: object) -> None:
    size = 64
    x = np.arange(1, size + 6, dtype=np.int32)
    before = x[:size].copy()
    out = np.zeros(2 * size, np.int32)
    launch(kernel, (1,), x, out, N=size)
    if kernel is joined_after_a_store:
        expected = np.stack([before, np.arange(size)], -1).reshape(-1)
    elif kernel is summed_up_after_a_store:
        expected = np.cumsum(before)
    else:
        expected = before.reshape(8, -1).T.reshape(-1)
    np.testing.assert_array_equal(out[: len(expected)], expected)


@triton.jit
def running_sums(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr):
    i, j, k = tl.arange(0, A)[:, None, None], tl.arange(0, B)[None, :, None], tl.arange(0, C)[None, None, :]
    where = i * (B * C) + j * C + k
    tl.store(out + where, tl.cumsum(tl.load(x + where), AXIS))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(2, 16, 8), (4, 8, 4), (2, 2, 2), (2, 1, 8)])
def test_scans_between_other_dimensions(shape: tuple[int, int, int], axis: int) -> None:
    """The dimensions around the axis of a scan do not lie next to each other."""
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    out = np.zeros_like(x)
    launch(running_sums, (1,), x, out, *shape, axis)
    np.testing.assert_array_equal(out, np.cumsum(x, axis))


@triton.jit
def squares(x, out, flag, N: tl.constexpr):
    where = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(x + where).to(tl.float32)
    total = tl.dot(a, a, input_precision="ieee")
    flat = tl.reshape(total, (N * N,))
    # Each accumulator is needed for the last time, but something else lies in its memory.
    both = tl.dot(total, total, total, input_precision="ieee")
    tl.store(out + where, both)
    again = tl.dot(a, a, tl.reshape(flat, (N, N)), input_precision="ieee")
    more = tl.dot(a, a, again + tl.trans(again), input_precision="ieee")
    tl.store(out + N * N + where, more)
    tl.store(out + 2 * N * N + tl.arange(0, N * N), flat)


def test_an_accumulator_that_is_a_factor_or_is_read_elsewhere() -> None:
    size = 16
    x = np.random.default_rng(0).integers(0, 3, (size, size)).astype(np.int32)
    out = np.zeros((3, size, size), np.float32)
    launch(squares, (1,), x, out, 1, N=size)
    total = x @ x
    again = total + total
    np.testing.assert_array_equal(out[0], total @ total + total)
    np.testing.assert_array_equal(out[1], total + again + again.T)
    np.testing.assert_array_equal(out[2], total)


@triton.jit
def symmetric(x, out, trips, N: tl.constexpr):
    where = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(x + where)
    for _ in range(trips):
        twice = a * 2
        a = twice + tl.trans(twice)
    tl.store(out + where, a)


def test_a_carried_tile_read_in_two_directions() -> None:
    size = 32
    x = np.arange(size * size, dtype=np.int32).reshape(size, size)
    out = np.zeros_like(x)
    launch(symmetric, (1,), x, out, 3, N=size)
    for _ in range(3):
        x = x * 2 + (x * 2).T
    np.testing.assert_array_equal(out, x)


@triton.jit
def permuted(x, order, out, trips, N: tl.constexpr):
    lanes = tl.arange(0, N)
    a = tl.load(x + lanes)
    where = tl.load(order + lanes)
    for _ in range(trips):
        a = tl.gather(a, where, 0)
    tl.store(out + lanes, a)


def test_a_carried_tile_gathered_from_itself() -> None:
    size = 256
    generator = np.random.default_rng(0)
    x, order = np.arange(size, dtype=np.int32), generator.permutation(size).astype(np.int32)
    out = np.zeros_like(x)
    launch(permuted, (1,), x, order, out, 3, N=size)
    np.testing.assert_array_equal(out, x[order][order][order])


@triton.jit
def masked_by_memory(x, marks, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    before = tl.load(x + lanes * 2 + 28, mask=tl.load(marks + lanes), other=200)
    tl.atomic_add(x + lanes * 2, before)
    tl.store(out + lanes, before)


def test_buffers_written_in_one_loop_do_not_share_memory() -> None:
    """One of them is read after the loop, so that no iteration may write the other over it."""
    size = 512
    x = np.arange(2 * size + 28, dtype=np.int32)
    marks = np.arange(size) % 3 == 0
    before = np.where(marks, x[28 : 28 + 2 * size : 2], 200)
    after = x.copy()
    after[0 : 2 * size : 2] += before
    out = np.zeros(size, np.int32)
    launch(masked_by_memory, (1,), x, marks, out, N=size)
    np.testing.assert_array_equal(out, before)
    np.testing.assert_array_equal(x, after)


@triton.jit
def carried_and_overwritten(x, out, trips, N: tl.constexpr):
    where = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(x + where).to(tl.int8)
    first = tl.dot(a, a, out_dtype=tl.int32)
    moved = first
    for i in range(trips):
        moved += i
    second = tl.dot(a, a, first, out_dtype=tl.int32)
    tl.store(out + where, second)
    tl.store(out + N * N + where, moved)


def test_an_accumulator_that_a_carried_index_refers_to() -> None:
    size = 16
    x = np.random.default_rng(0).integers(-3, 3, (size, size)).astype(np.int32)
    out = np.zeros((2, size, size), np.int32)
    launch(carried_and_overwritten, (1,), x, out, 4, N=size)
    np.testing.assert_array_equal(out, np.stack([2 * (x @ x), x @ x + 6]))


@triton.jit
def multiply_add(x, y, z, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.fma(tl.load(x + lanes), tl.load(y + lanes), tl.load(z + lanes)))


@pytest.mark.parametrize(("c", "expected"), [(2.0**-40, 0x3F82), (-(2.0**-40), 0x3F81), (0.0, 0x3F82)])
def test_a_fused_sum_in_bf16_is_rounded_once(c: float, expected: int) -> None:
    """1 + 3/256 lies between two numbers: the smallest `c` decides, and without one it goes to the even one."""
    x, y = np.full(16, 1.0, np.float32), np.full(16, 1.0078125, np.float32)
    z = np.full(16, 2.0**-8, np.float32)
    out = bf16(np.zeros(16, np.float32))
    launch(multiply_add, (1,), bf16(x), bf16(y), bf16(z), out, N=16)
    np.testing.assert_array_equal(out.bits, np.full(16, 0x3F82, np.uint16))  # a tie, to even
    tie = np.full(16, 1.01171875 * 2.0**60, np.float32)  # 1 + 3/256: 259 * 2^52 = 37 * 7 * 2^52
    left, right = np.full(16, 37.0 * 2.0**30, np.float32), np.full(16, 7.0 * 2.0**22, np.float32)
    assert left[0] * right[0] == tie[0]
    launch(multiply_add, (1,), bf16(left), bf16(right), bf16(np.full(16, c, np.float32)), out, N=16)
    np.testing.assert_array_equal(out.bits, np.full(16, expected + 0x1E00, np.uint16))


@triton.jit
def flip_through_two_arguments(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + N - 1 - i))


@triton.jit
def transpose_through_two_arguments(x, out, N: tl.constexpr):
    i = tl.arange(0, N)[:, None]
    j = tl.arange(0, N)[None, :]
    tl.store(out + i * N + j, tl.load(x + j * N + i))


def test_one_buffer_as_two_arguments() -> None:
    """In-place kernels: all loads of a tile come before its stores, whatever the names of the pointers."""
    x = np.arange(256, dtype=np.int32)
    expected = x[::-1].copy()
    launch(flip_through_two_arguments, (1,), x, x, 256)
    np.testing.assert_array_equal(x, expected)
    y = np.arange(256, dtype=np.int32).reshape(16, 16)
    expected = y.T.copy()
    launch(transpose_through_two_arguments, (1,), y, y, 16)
    np.testing.assert_array_equal(y, expected)


@triton.jit
def narrow_to_fp8(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(tl.float8e5).to(tl.float32))


def test_f64_to_fp8_rounds_once() -> None:
    """Just above the tie between 1 and 1.25, by less than f32 can tell, the result is 1.25; just below it is 1."""
    tie = 1.125
    x = np.array(
        [tie, tie + 2.0**-40, tie - 2.0**-40, -tie - 2.0**-40, np.inf, np.nan, 1e300, 0.0], np.float64
    )
    out = np.zeros(8, np.float32)
    launch(narrow_to_fp8, (1,), x, out, 8)
    largest = 57344.0
    expected = np.array([1.0, 1.25, 1.0, -1.25, largest, np.nan, largest, 0.0], np.float32)
    np.testing.assert_array_equal(out, expected)


@triton.jit
def chosen_by_a_mask(x, index, out, n, N: tl.constexpr):
    """Where ``lanes < n`` holds in every lane, the second load is ``x[index]`` without a mask: only there."""
    lanes = tl.arange(0, N)
    inside = lanes < n
    row = tl.load(x + lanes, mask=inside, other=0.0)
    at = tl.where(inside, tl.load(index), -1)
    picked = tl.load(x + at, mask=at >= 0, other=0.0)
    tl.store(out, tl.sum(row + picked, axis=0))


@pytest.mark.parametrize("n", [0, 1, 500, 512])
def test_a_load_needs_the_mask_that_chose_its_address(n: int) -> None:
    """The emulator tells of an access that is out of bounds, whatever lies there."""
    x = np.arange(512, dtype=np.float32)
    out = np.zeros(1, np.float32)
    index = np.array([3 if n else 1 <<'<<'>> 40])
    with emulated():
        launch(chosen_by_a_mask, (1,), x, index, out, n, 512)
    assert out[0] == x[:n].sum() + n * 3
