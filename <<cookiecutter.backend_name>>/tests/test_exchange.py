"""``x ^ xor_sum(x)`` over an axis of two: read from the far end of memory (lowering/exchange.py), and what only looks like
it computed as it says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import launch, random

from <<cookiecutter.package_name>>.target import BACKEND_NAME


@triton.jit
def partners(x, y, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    at = (
        tl.arange(0, A)[:, None, None] * (B * C)
        + tl.arange(0, B)[None, :, None] * C
        + tl.arange(0, C)[None, None, :]
    )
    value = tl.load(x + at)
    tl.store(y + at, value ^ tl.xor_sum(value, 1, keep_dims=True))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
@pytest.mark.parametrize("shape", [(1, 2, 1), (4, 2, 8), (1, 2, 64), (32, 2, 1), (8, 2, 2), (4, 4, 4)])
def test_partners(shape: tuple[int, int, int], dtype: str) -> None:
    x = random(shape, dtype)
    y = np.empty_like(x)
    kernel = launch(partners, (1,), x, y, A=shape[0], B=shape[1], C=shape[2])
    np.testing.assert_array_equal(y, x ^ np.bitwise_xor.reduce(x, axis=1, keepdims=True))
    if shape[1] == 2:
        np.testing.assert_array_equal(y, x[:, ::-1])
        assert f"{BACKEND_NAME}.xor" not in kernel.asm[f"{BACKEND_NAME}ir"]


@triton.jit
def near_misses(x, y, z, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * 2 + tl.arange(0, 2)[None, :]
    value, other = tl.load(x + at), tl.load(z + at)
    total = tl.xor_sum(value, 1, keep_dims=True)
    used_twice = (value ^ total) + total
    of_another = value ^ tl.xor_sum(other, 1, keep_dims=True)
    added = value ^ tl.sum(other, 1, keep_dims=True)
    tl.store(y + at, used_twice + of_another + added)


def test_what_only_looks_like_it() -> None:
    x, z = random((16, 2), "int32"), random((16, 2), "int32", seed=1)
    y = np.empty_like(x)
    launch(near_misses, (1,), x, y, z, N=16)
    total = x[:, :1] ^ x[:, 1:]
    expected = (x ^ total) + total + (x ^ (z[:, :1] ^ z[:, 1:])) + (x ^ (z[:, :1] + z[:, 1:]))
    np.testing.assert_array_equal(y, expected)


@triton.jit
def flipped_in_a_loop(x, y, n, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    for _ in range(n):
        value = tl.flip(value, 0)
    tl.store(y + i, value)


@triton.jit
def exchanged_in_a_loop(x, y, n, N: tl.constexpr):
    i = tl.arange(0, N)
    one = tl.load(x + i)
    other = one * 2
    for k in range(n):
        before = tl.flip(one, 0)
        one = other
        other = before + k
    tl.store(y + i, one + other)


@triton.jit
def sorted_in_a_loop(x, y, n, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    for k in range(n):
        value = tl.sort(value, descending=True)
        if k == 1:
            value = tl.flip(value, 0)
        value = value * tl.where(i % 2 == 0, 1.0, -1.0)
    tl.store(y + i, value)


def exchanged(x: np.ndarray, n: int) -> np.ndarray:
    one, other = x, x * 2
    for k in range(n):
        one, other = other, one[::-1] + np.float32(k)
    return one + other


def sorted_again(x: np.ndarray, n: int) -> np.ndarray:
    for k in range(n):
        x = np.sort(x)[:: 1 if k == 1 else -1] * np.where(np.arange(x.size) % 2 == 0, 1, -1)
    return x.astype(np.float32)


@pytest.mark.parametrize("lanes", [2, 4, 64, 2048])
@pytest.mark.parametrize("rounds", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("kernel", "reference"),
    [
        (flipped_in_a_loop, lambda x, n: x[:: -1 if n % 2 else 1]),
        (exchanged_in_a_loop, exchanged),
        (sorted_in_a_loop, sorted_again),
    ],
)
def test_what_a_loop_carries(kernel: Any, reference: Any, rounds: int, lanes: int) -> None:
    """The memory that is read from its far end is not the memory that the next iteration writes."""
    x = random(lanes)
    y = np.empty_like(x)
    launch(kernel, (1,), x, y, rounds, N=lanes)
    np.testing.assert_array_equal(y, reference(x, rounds))


@triton.jit
def flipped_in_place(x, N: tl.constexpr):
    i = tl.arange(0, N)
    before = tl.load(x + i)
    tl.store(x + i, tl.flip(before, 0))
    after = tl.load(x + i)
    tl.store(x + i, after + 4 * tl.flip(after, 0) + before)


@pytest.mark.parametrize("lanes", [2, 64, 2048])
def test_in_place(lanes: int) -> None:
    x = random(lanes)
    y = x.copy()
    launch(flipped_in_place, (1,), y, N=lanes)
    np.testing.assert_allclose(y, x[::-1] + 4 * x + x, rtol=1e-6, atol=1e-6)
