"""Across elements: reductions, scans, sorting, histograms, gathers inside a tile."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import bf16, bf16_bits, bf16_values, launch, random

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]


@triton.jit
def extremes_of_vector(x, values, indices, N: tl.constexpr):
    value = tl.load(x + tl.arange(0, N))
    tl.store(values, tl.max(value, axis=0))
    tl.store(values + 1, tl.min(value, axis=0))
    tl.store(indices, tl.argmax(value, axis=0))
    tl.store(indices + 1, tl.argmin(value, axis=0))


@pytest.mark.parametrize("n", [1, 32, 1024])
@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_extremes_of_vector(dtype: str, n: int) -> None:
    x, values, indices = random(n, dtype), np.zeros(2, dtype), np.zeros(2, np.int32)
    launch(extremes_of_vector, (1,), x, values, indices, N=n)
    assert values.tolist() == [x.max(), x.min()]
    assert indices.tolist() == [x.argmax(), x.argmin()]


@triton.jit
def sum_of_vector(x, out, N: tl.constexpr):
    tl.store(out, tl.sum(tl.load(x + tl.arange(0, N)), axis=0))


@pytest.mark.parametrize("n", [1, 64, 1024])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "float32", "float64"])
def test_sum_of_vector(dtype: str, n: int) -> None:
    x = random(n, dtype)
    out = np.zeros(1, dtype)
    launch(sum_of_vector, (1,), x, out, N=n)
    if x.dtype.kind == "f":
        error = abs(float(out[0]) - float(x.astype(np.float64).sum()))
        assert error <= np.finfo(dtype).eps * float(np.abs(x).sum())
    else:
        assert out[0] == x.sum(dtype=dtype)


@pytest.mark.parametrize("dtype", ["int8", "int16", "float16"])
def test_sum_of_narrow_numbers(dtype: str) -> None:
    """The language sums narrow integers in 32 bits; narrow floats as well as their own format at least."""
    x = random(256, dtype)
    out = np.zeros(1, np.int32 if dtype != "float16" else np.float32)
    launch(sum_of_vector, (1,), x, out, N=256)
    if dtype == "float16":
        wide = x.astype(np.float64)
        assert abs(float(out[0]) - wide.sum()) <= 2e-3 * np.abs(wide).sum()
    else:
        assert out[0] == x.sum(dtype=np.int32)


@triton.jit
def xor_of_vector(x, out, N: tl.constexpr):
    tl.store(out, tl.xor_sum(tl.load(x + tl.arange(0, N)), axis=0))


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64"])
def test_xor_sum(dtype: str) -> None:
    x, out = random(128, dtype), np.zeros(1, dtype)
    launch(xor_of_vector, (1,), x, out, N=128)
    assert out[0] == np.bitwise_xor.reduce(x)


def test_extremes_of_bf16() -> None:
    x, values, indices = bf16(random(64)), bf16(np.zeros(2)), np.zeros(2, np.int32)
    launch(extremes_of_vector, (1,), x, values, indices, N=64)
    wide = bf16_values(x.bits)
    np.testing.assert_array_equal(values.bits, bf16_bits(np.array([wide.max(), wide.min()])))
    assert indices.tolist() == [wide.argmax(), wide.argmin()]


@triton.jit
def reduce_axis(
    x, sums, peaks, indices, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr
):
    a = tl.arange(0, A)[:, None, None]
    b = tl.arange(0, B)[None, :, None]
    c = tl.arange(0, C)[None, None, :]
    value = tl.load(x + a * B * C + b * C + c)
    if AXIS == 0:
        at = b * C + c
    elif AXIS == 1:
        at = a * C + c
    else:
        at = a * B + b
    tl.store(sums + at, tl.sum(value, axis=AXIS, keep_dims=True))
    tl.store(peaks + at, tl.max(value, axis=AXIS, keep_dims=True))
    tl.store(indices + at, tl.argmin(value, axis=AXIS, keep_dims=True))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(2, 4, 8), (16, 1, 32), (1, 32, 2), (8, 8, 1)])
def test_reduction_along_axis(shape: tuple[int, int, int], axis: int) -> None:
    x = random(shape, "int32") % 100
    expected = [x.sum(axis=axis), x.max(axis=axis), x.argmin(axis=axis)]
    outs = [np.zeros(expected[0].shape, np.int32) for _ in expected]
    launch(reduce_axis, (1,), x, *outs, *shape, AXIS=axis)
    for out, right in zip(outs, expected, strict=True):
        np.testing.assert_array_equal(out, right)


@triton.jit
def reduce_all(x, out, A: tl.constexpr, B: tl.constexpr):
    value = tl.load(x + tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :])
    tl.store(out, tl.sum(value))
    tl.store(out + 1, tl.max(value))


def test_reduction_of_everything() -> None:
    x, out = random((16, 8), "int32") % 1000, np.zeros(2, np.int32)
    launch(reduce_all, (1,), x, out, A=16, B=8)
    assert out.tolist() == [x.sum(), x.max()]


@triton.jit
def ties(x, out, N: tl.constexpr):
    value = tl.load(x + tl.arange(0, N))
    tl.store(out, tl.argmax(value, axis=0, tie_break_left=True))
    tl.store(out + 1, tl.argmin(value, axis=0, tie_break_left=True))
    best, where = tl.max(value, axis=0, return_indices=True)
    tl.store(out + 2, best.to(tl.int32))
    tl.store(out + 3, where)


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_ties_go_left(dtype: str) -> None:
    """Equal values far apart, and everything equal: the lowest index wins."""
    x = np.zeros(128, dtype)
    x[[37, 90, 101]], x[[5, 64, 99]] = 9, -9
    out = np.zeros(4, np.int32)
    launch(ties, (1,), x, out, N=128)
    assert out.tolist() == [37, 5, 9, 37]
    launch(ties, (1,), np.ones(128, dtype), out, N=128)
    assert out.tolist() == [0, 0, 1, 0]


@triton.jit
def larger_by_first(value, index, other_value, other_index):
    take = (value > other_value) | ((value == other_value) & (index < other_index))
    return tl.where(take, value, other_value), tl.where(take, index, other_index)


@triton.jit
def product(left, right):
    return left * right


@triton.jit
def reduce_custom(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    value = tl.load(x + lanes)
    best, where = tl.reduce((value, lanes), 0, larger_by_first)
    tl.store(out, best)
    tl.store(out + 1, where)
    tl.store(out + 2, tl.reduce(value % 2 * 2 + 1, 0, product))


def test_custom_reduction() -> None:
    """Two values at a time through a function of one's own; a product."""
    x, out = random(32, "uint32").view(np.int32) % 50 + 50, np.zeros(3, np.int32)
    launch(reduce_custom, (1,), x, out, N=32)
    expected = (x % 2 * 2 + 1).astype(np.int64)
    wrapped = int(np.multiply.reduce(expected.astype(np.uint32), dtype=np.uint32).view(np.int32))
    assert out.tolist() == [x.max(), x.argmax(), wrapped]


@triton.jit
def nan_reductions(x, out, N: tl.constexpr):
    value = tl.load(x + tl.arange(0, N))
    tl.store(out, tl.max(value, axis=0))
    tl.store(out + 1, tl.min(value, axis=0))


def test_extremes_ignore_nan() -> None:
    """Like the element-wise ``tl.maximum``: a NaN lane does not win."""
    x, out = random(64), np.zeros(2, np.float32)
    x[[0, 17, 63]] = np.nan
    launch(nan_reductions, (1,), x, out, N=64)
    assert out.tolist() == [np.nanmax(x), np.nanmin(x)]


@triton.jit
def scan_sum(x, out, R: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(out + at, tl.cumsum(tl.load(x + at), axis=AXIS, reverse=REVERSE))


@pytest.mark.parametrize(("shape", "dtype"), [((1, 64), "int32"), ((8, 16), "int64"), ((32, 1), "int32")])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumsum(shape: tuple[int, int], dtype: str, axis: int, reverse: bool) -> None:
    x, out = random(shape, dtype), np.zeros(shape, dtype)
    launch(scan_sum, (1,), x, out, *shape, AXIS=axis, REVERSE=reverse)
    turn = np.flip if reverse else lambda a, axis: a
    np.testing.assert_array_equal(out, turn(turn(x, axis=axis).cumsum(axis=axis, dtype=dtype), axis=axis))


@triton.jit
def scan_product(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.cumprod(tl.load(x + lanes), axis=0))


def test_cumprod() -> None:
    x, out = random(32, "float64"), np.zeros(32)
    launch(scan_product, (1,), x, out, N=32)
    np.testing.assert_allclose(out, x.cumprod(), rtol=1e-12)


@triton.jit
def compose(scale, shift, next_scale, next_shift):
    return scale * next_scale, shift * next_scale + next_shift


@triton.jit
def scan_affine(
    a, b, out_a, out_b, R: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr, REVERSE: tl.constexpr,
    LOOP: tl.constexpr,
):  # fmt: skip
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    for turn in range(LOOP):
        offset = at + turn * R * C
        scale, shift = tl.associative_scan(
            (tl.load(a + offset), tl.load(b + offset)), AXIS, compose, reverse=REVERSE
        )
        tl.store(out_a + offset, scale)
        tl.store(out_b + offset, shift)


def recurrence(a: np.ndarray, b: np.ndarray, axis: int, reverse: bool) -> tuple[np.ndarray, np.ndarray]:
    """The scan of `compose` one element after the other, from the proper end."""
    a, b = np.moveaxis(a, axis, 0).copy(), np.moveaxis(b, axis, 0).copy()
    order = range(len(a))[::-1] if reverse else range(len(a))
    last = None
    for index in order:
        if last is not None:
            a[index], b[index] = a[last] * a[index], b[last] * a[index] + b[index]
        last = index
    return np.moveaxis(a, 0, axis), np.moveaxis(b, 0, axis)


@pytest.mark.parametrize("length", [2, 16, 64, 1024])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("reverse", [False, True])
def test_scan_order(length: int, axis: int, reverse: bool) -> None:
    """R10: a composition that does not commute, from both ends, along both axes; integers, so exactly."""
    shape = (length, 4) if axis == 0 else (4, length)
    a, b = random(shape, "int32") % 7 - 3, random(shape, "int32", seed=1) % 100
    out_a, out_b = np.zeros_like(a), np.zeros_like(b)
    launch(scan_affine, (1,), a, b, out_a, out_b, *shape, AXIS=axis, REVERSE=reverse, LOOP=1)
    expected_a, expected_b = recurrence(a, b, axis, reverse)
    np.testing.assert_array_equal(out_a, expected_a)
    np.testing.assert_array_equal(out_b, expected_b)


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_order_in_a_loop(reverse: bool) -> None:
    """R10 inside a loop: each turn starts afresh."""
    a, b = random((3, 8, 16), "int32") % 7 - 3, random((3, 8, 16), "int32", seed=1) % 100
    out_a, out_b = np.zeros_like(a), np.zeros_like(b)
    launch(scan_affine, (1,), a, b, out_a, out_b, 8, 16, AXIS=1, REVERSE=reverse, LOOP=3)
    expected_a, expected_b = recurrence(a, b, 2, reverse)
    np.testing.assert_array_equal(out_a, expected_a)
    np.testing.assert_array_equal(out_b, expected_b)


@triton.jit
def sort_rows(x, up, down, R: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tile = tl.load(x + at)
    tl.store(up + at, tl.sort(tile))
    tl.store(down + at, tl.sort(tile, descending=True))


@pytest.mark.parametrize(("shape", "dtype"), [((1, 2), "int32"), ((1, 64), "float32"), ((4, 16), "int8")])
def test_sort(shape: tuple[int, int], dtype: str) -> None:
    x, up, down = random(shape, dtype), np.zeros(shape, dtype), np.zeros(shape, dtype)
    launch(sort_rows, (1,), x, up, down, *shape)
    expected = np.sort(x, axis=1)
    np.testing.assert_array_equal(up, expected)
    np.testing.assert_array_equal(down, expected[:, ::-1])


@triton.jit
def flip_rows(x, out, R: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(out + at, tl.flip(tl.load(x + at), 1))


def test_flip() -> None:
    x, out = random((4, 16), "int32"), np.zeros((4, 16), np.int32)
    launch(flip_rows, (1,), x, out, R=4, C=16)
    np.testing.assert_array_equal(out, x[:, ::-1])


@triton.jit
def count_bins(x, out, N: tl.constexpr, BINS: tl.constexpr):
    tl.store(out + tl.arange(0, BINS), tl.histogram(tl.load(x + tl.arange(0, N)), BINS))


@pytest.mark.parametrize(("n", "bins"), [(1, 2), (128, 16), (1024, 2), (64, 256)])
def test_histogram(n: int, bins: int) -> None:
    x = random(n, "uint32").view(np.int32) % bins
    out = np.zeros(bins, np.int32)
    launch(count_bins, (1,), x, out, N=n, BINS=bins)
    np.testing.assert_array_equal(out, np.bincount(x, minlength=bins))


@triton.jit
def gather_axis(x, index, out, R: tl.constexpr, C: tl.constexpr, K: tl.constexpr, AXIS: tl.constexpr):
    value = tl.load(x + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])
    if AXIS == 0:
        at = tl.arange(0, K)[:, None] * C + tl.arange(0, C)[None, :]
    else:
        at = tl.arange(0, R)[:, None] * K + tl.arange(0, K)[None, :]
    tl.store(out + at, tl.gather(value, tl.load(index + at), axis=AXIS))


@pytest.mark.parametrize("axis", [0, 1])
def test_gather(axis: int) -> None:
    """Along one axis, with more indices than there are elements."""
    x = random((8, 4))
    shape = (32, 4) if axis == 0 else (8, 32)
    index = random(shape, "uint32").view(np.int32) % x.shape[axis]
    out = np.zeros(shape, np.float32)
    launch(gather_axis, (1,), x, index, out, R=8, C=4, K=32, AXIS=axis)
    np.testing.assert_array_equal(out, np.take_along_axis(x, index, axis))


@triton.jit
def softmax_of_tile(x, out, R: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    tl.store(out + at, tl.softmax(tl.load(x + at)))


def test_reduction_feeds_broadcast() -> None:
    """``tl.softmax`` of a tile: a maximum, a sum, and both broadcast back. It runs along the first axis."""
    x, out = random((8, 32)), np.zeros((8, 32), np.float32)
    launch(softmax_of_tile, (1,), x, out, R=8, C=32)
    weights = np.exp(x.astype(np.float64) - x.max(axis=0))
    np.testing.assert_allclose(out, weights / weights.sum(axis=0), rtol=1e-6)
