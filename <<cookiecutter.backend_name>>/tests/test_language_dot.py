"""``tl.dot``: types, shapes, accumulators, operands that come out of other operations."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import Typed, bf16, bf16_values, launch, random


@triton.jit
def dot(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    x = tl.load(a + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :])
    y = tl.load(b + tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :])
    product = tl.dot(x, y, input_precision="ieee")
    tl.store(out + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], product.to(out.dtype.element_ty))


def operand(shape: tuple[int, int], dtype: str, seed: int) -> Typed | np.ndarray:
    return bf16(random(shape, seed=seed)) if dtype == "bfloat16" else random(shape, dtype, seed=seed)


def exact(array: Typed | np.ndarray) -> np.ndarray:
    return (bf16_values(array.bits) if isinstance(array, Typed) else array).astype(np.float64)


@pytest.mark.parametrize("shape", [(16, 16, 16), (64, 32, 128), (16, 64, 32), (128, 16, 16), (32, 128, 64)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_dot(dtype: str, shape: tuple[int, int, int]) -> None:
    """Products of narrow floats are exact in float32; only the sum rounds."""
    m, n, k = shape
    a, b = operand((m, k), dtype, 0), operand((k, n), dtype, 1)
    out = np.zeros((m, n), np.float64 if dtype == "float64" else np.float32)
    launch(dot, (1,), a, b, out, m, n, k)
    x, y = exact(a), exact(b)
    tolerance = k * np.finfo(out.dtype).eps * (np.abs(x) @ np.abs(y))
    assert (np.abs(out - x @ y) <= tolerance).all()


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 16, 16), (2, 4, 8), (8, 8, 2), (16, 1, 32)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_small_dot(dtype: str, shape: tuple[int, int, int]) -> None:
    """Smaller than the matrix unit's tile."""
    test_dot(dtype, shape)


@triton.jit
def transposed_dot(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Of a that is stored by columns and b that is transposed in the program."""
    x = tl.load(a + tl.arange(0, M)[:, None] + tl.arange(0, K)[None, :] * M)
    y = tl.load(b + tl.arange(0, N)[:, None] * K + tl.arange(0, K)[None, :])
    product = tl.dot(x, tl.trans(y), out_dtype=out.dtype.element_ty)
    tl.store(out + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], product)


@pytest.mark.parametrize("shape", [(1, 16, 2), (16, 4, 64), (64, 32, 16), (32, 64, 128)])
@pytest.mark.parametrize("dtype", ["int8", "float16", "bfloat16"])
def test_transposed_operands(dtype: str, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    a, b = operand((k, m), dtype, 0), operand((n, k), dtype, 1)
    out = np.zeros((m, n), np.int32 if dtype == "int8" else np.float32)
    launch(transposed_dot, (1,), a, b, out, m, n, k)
    x, y = exact(a).T, exact(b).T
    tolerance = 0 if dtype == "int8" else k * np.finfo(np.float32).eps * (np.abs(x) @ np.abs(y))
    assert (np.abs(out - x @ y) <= tolerance).all()


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 16, 4), (4, 2, 2), (16, 16, 16), (32, 16, 64)])
def test_integer_dot(shape: tuple[int, int, int]) -> None:
    """int8 by int8 into int32, exactly."""
    m, n, k = shape
    a, b, out = random((m, k), "int8"), random((k, n), "int8", seed=1), np.zeros((m, n), np.int32)
    launch(dot, (1,), a, b, out, m, n, k)
    np.testing.assert_array_equal(out, a.astype(np.int32) @ b.astype(np.int32))


@triton.jit
def dot_of_columns(a, b, out, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, MASKED: tl.constexpr):
    """``a``: k x m, ``b``: n x k; both are read along the dimension along which the unit does not want them."""
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a_tile = a + rows[:, None] + inner[None, :] * m
    b_tile = b + inner[:, None] + columns[None, :] * k
    if MASKED:
        x = tl.load(a_tile, mask=(rows[:, None] < m) & (inner[None, :] < k), other=0)
        y = tl.load(b_tile, mask=(inner[:, None] < k) & (columns[None, :] < n), other=0)
    else:
        x, y = tl.load(a_tile), tl.load(b_tile)
    product = tl.dot(x, y, input_precision="ieee")
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(out + rows[:, None] * n + columns[None, :], product.to(out.dtype.element_ty), mask=inside)


@pytest.mark.parametrize("shape", [(16, 16, 16), (32, 64, 16), (64, 32, 128), (37, 29, 55), (17, 64, 3), (8, 40, 20)])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "int8"])
def test_dot_of_what_is_read_along_the_other_dimension(dtype: str, shape: tuple[int, int, int]) -> None:
    """Whole squares of every width, tiles that masks cut, and tiles smaller than a square."""
    m, n, k = shape
    a, b = operand((k, m), dtype, 0), operand((n, k), dtype, 1)
    out = np.zeros((m, n), {"float64": np.float64, "int8": np.int32}.get(dtype, np.float32))
    blocks = [triton.next_power_of_2(length) for length in shape]
    launch(dot_of_columns, (1,), a, b, out, m, n, k, *blocks, list(shape) != blocks)
    x, y = exact(a).T, exact(b).T
    epsilon = 0 if dtype == "int8" else np.finfo(out.dtype).eps
    assert (np.abs(out - x @ y) <= k * epsilon * (np.abs(x) @ np.abs(y))).all()


@triton.jit
def chained_dots(a, b, c, out, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    first = tl.dot(tl.load(a + at), tl.load(b + at), input_precision="ieee")
    scaled = first * 0.5 + tl.arange(0, N)[None, :]
    second = tl.dot(scaled, tl.trans(tl.load(c + at)), acc=first, input_precision="ieee")
    tl.store(out + at, second)


@pytest.mark.parametrize("n", [16, 32, 64])
def test_chained_dots(n: int) -> None:
    """The result of one product is operand and accumulator of the next; an operand is a transpose."""
    a, b, c = (random((n, n), seed=seed) for seed in range(3))
    out = np.zeros((n, n), np.float32)
    launch(chained_dots, (1,), a, b, c, out, N=n)
    first = a.astype(np.float64) @ b
    np.testing.assert_allclose(out, (first * 0.5 + np.arange(n)) @ c.T + first, rtol=1e-4, atol=1e-2)


@triton.jit
def dot_in_loop(a, b, out, n, M: tl.constexpr, K: tl.constexpr):
    rows = tl.arange(0, M)
    inner = tl.arange(0, K)
    total = tl.zeros((M, M), tl.float32)
    for step in range(n):
        x = tl.load(a + rows[:, None] * (n * K) + step * K + inner[None, :])
        y = tl.load(b + (step * K + inner)[:, None] * M + rows[None, :])
        total = tl.dot(x, y, total, input_precision="ieee")
    tl.store(out + rows[:, None] * M + rows[None, :], total)


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_dot_accumulates_over_a_loop(steps: int) -> None:
    a, b, out = random((32, steps * 16)), random((steps * 16, 32), seed=1), np.full((32, 32), 5, np.float32)
    launch(dot_in_loop, (1,), a.reshape(-1) if steps else np.zeros(1, np.float32), b, out, steps, M=32, K=16)
    np.testing.assert_allclose(out, a.astype(np.float64) @ b, rtol=1e-4, atol=1e-5)


@triton.jit
def batched_dot(a, b, out, B: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, B)[:, None, None] * N * N + tl.arange(0, N)[:, None] * N + tl.arange(0, N)
    tl.store(out + at, tl.dot(tl.load(a + at), tl.load(b + at), input_precision="ieee"))


def test_batched_dot() -> None:
    a, b, out = random((4, 16, 16)), random((4, 16, 16), seed=1), np.zeros((4, 16, 16), np.float32)
    launch(batched_dot, (1,), a, b, out, B=4, N=16)
    np.testing.assert_allclose(out, a.astype(np.float64) @ b, rtol=1e-4, atol=1e-5)


@triton.jit
def default_precision(a, b, out, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.dot(tl.load(a + at), tl.load(b + at)))


def test_default_precision_is_full() -> None:
    """No tf32: the default is as exact as "ieee"."""
    a, b, out = random((32, 32)), random((32, 32), seed=1), np.zeros((32, 32), np.float32)
    launch(default_precision, (1,), a, b, out, N=32)
    np.testing.assert_allclose(out, a.astype(np.float64) @ b, rtol=1e-4, atol=2e-5)


@triton.jit
def narrow_accumulator(a, b, out, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.dot(tl.load(a + at), tl.load(b + at), out_dtype=tl.float16))


def test_fp16_accumulator() -> None:
    """``out_dtype=tl.float16``: at least as exact as rounding every sum to fp16."""
    a, b, out = (
        random((16, 16), "float16"),
        random((16, 16), "float16", seed=1),
        np.zeros((16, 16), np.float16),
    )
    launch(narrow_accumulator, (1,), a, b, out, N=16)
    np.testing.assert_allclose(out, a.astype(np.float32) @ b.astype(np.float32), rtol=2e-2, atol=2e-2)
