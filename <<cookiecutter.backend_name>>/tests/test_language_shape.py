"""Shapes: transposes, reshapes, joins and splits, broadcasts."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import launch, random


@triton.jit
def transpose(x, out, R: tl.constexpr, C: tl.constexpr):
    tile = tl.load(x + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])
    tl.store(out + tl.arange(0, C)[:, None] * R + tl.arange(0, R)[None, :], tile.T)


@pytest.mark.parametrize("shape", [(1, 8), (8, 1), (16, 16), (4, 64)])
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "int64"])
def test_transpose(shape: tuple[int, int], dtype: str) -> None:
    x, out = random(shape, dtype), np.zeros(shape[::-1], dtype)
    launch(transpose, (1,), x, out, *shape)
    np.testing.assert_array_equal(out, x.T)


@triton.jit
def permute(x, out, P: tl.constexpr, Q: tl.constexpr, S: tl.constexpr):
    """(4, 8, 16) by the order P, Q, S."""
    a = tl.arange(0, 4)[:, None, None] * 128
    b = tl.arange(0, 8)[None, :, None] * 16
    c = tl.arange(0, 16)[None, None, :]
    turned = tl.permute(tl.load(x + a + b + c), P, Q, S)
    tl.store(out + tl.arange(0, 512), tl.reshape(turned, 512))


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_permute(order: tuple[int, int, int]) -> None:
    """Every order of three axes; the result is read through a reshape to one axis."""
    x, out = random((4, 8, 16), "int32"), np.zeros(512, np.int32)
    launch(permute, (1,), x, out, *order)
    np.testing.assert_array_equal(out, x.transpose(order).ravel())


@triton.jit
def reshape(x, out, N: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    tile = tl.reshape(tl.load(x + tl.arange(0, N)), R, C)
    scaled = tile * (tl.arange(0, R)[:, None] + 1)
    tl.store(out + tl.arange(0, N), tl.reshape(scaled + tl.arange(0, C)[None, :], N))


@pytest.mark.parametrize("shape", [(1, 32), (32, 1), (4, 8), (2, 16)])
def test_reshape(shape: tuple[int, int]) -> None:
    """A vector becomes a tile in row-major order, and back."""
    x, out = random(32, "int32") % 1000, np.zeros(32, np.int32)
    launch(reshape, (1,), x, out, 32, *shape)
    expected = x.reshape(shape) * (np.arange(shape[0])[:, None] + 1) + np.arange(shape[1])
    np.testing.assert_array_equal(out, expected.ravel())


@triton.jit
def join_and_split(x, y, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    pair = tl.join(tl.load(x + lanes), tl.load(y + lanes))
    tl.store(out + lanes[:, None] * 2 + tl.arange(0, 2)[None, :], pair)
    left, right = tl.split(pair)
    tl.store(out + 2 * N + lanes, left - right)


@pytest.mark.parametrize("n", [1, 2, 64])
def test_join_and_split(n: int) -> None:
    x, y, out = random(n), random(n, seed=1), np.zeros(3 * n, np.float32)
    launch(join_and_split, (1,), x, y, out, N=n)
    np.testing.assert_array_equal(out, np.concatenate([np.stack([x, y], axis=-1).ravel(), x - y]))


@triton.jit
def interleave(x, y, out, R: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    mixed = tl.interleave(tl.load(x + at), tl.load(y + at))
    tl.store(out + tl.arange(0, R)[:, None] * (2 * C) + tl.arange(0, 2 * C)[None, :], mixed)


def test_interleave() -> None:
    x, y, out = random((4, 8)), random((4, 8), seed=1), np.zeros((4, 16), np.float32)
    launch(interleave, (1,), x, y, out, R=4, C=8)
    np.testing.assert_array_equal(out, np.stack([x, y], axis=-1).reshape(4, 16))


@triton.jit
def concatenate(x, y, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    both = tl.cat(tl.load(x + lanes), tl.load(y + lanes), can_reorder=True)
    tl.store(out, tl.sum(both))
    tl.store(out + 1, tl.max(both))


def test_cat() -> None:
    """``tl.cat`` may reorder its elements: what does not depend on their order is asserted."""
    x, y, out = random(32, "int32") % 1000, random(32, "int32", seed=1) % 1000, np.zeros(2, np.int32)
    launch(concatenate, (1,), x, y, out, N=32)
    assert out.tolist() == [x.sum() + y.sum(), max(x.max(), y.max())]


@triton.jit
def broadcasts(x, y, out, scalar, R: tl.constexpr, C: tl.constexpr):
    rows = tl.load(x + tl.arange(0, R))
    columns = tl.load(y + tl.arange(0, C))
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    left, right = tl.broadcast(tl.expand_dims(rows, 1), columns[None, :])
    tl.store(out + at, left * scalar + right)
    tl.store(out + R * C + at, tl.broadcast_to(rows[:, None], R, C) - tl.full((R, C), 2.5, tl.float32))


def test_broadcast() -> None:
    """Rows against columns, a scalar against a tile, and broadcasting on demand."""
    x, y, out = random(8), random(16, seed=1), np.zeros((2, 8, 16), np.float32)
    launch(broadcasts, (1,), x, y, out, 3.0, R=8, C=16)
    expected = [x[:, None] * np.float32(3) + y, np.broadcast_to(x[:, None] - np.float32(2.5), (8, 16))]
    np.testing.assert_allclose(out, np.stack(expected), rtol=1e-6)


@triton.jit
def four_dimensions(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, D: tl.constexpr):
    tile = tl.reshape(tl.load(x + tl.arange(0, A * B * C * D)), A, B, C, D)
    turned = tl.permute(tile, 3, 1, 0, 2)
    tl.store(out + tl.arange(0, D * B), tl.reshape(tl.sum(tl.sum(turned, axis=3), axis=2), D * B))


def test_four_dimensions() -> None:
    x, out = random((2, 4, 8, 2), "int32") % 1000, np.zeros((2, 4), np.int32)
    launch(four_dimensions, (1,), x, out, 2, 4, 8, 2)
    np.testing.assert_array_equal(out, x.transpose(3, 1, 0, 2).sum(axis=(2, 3)))


@triton.jit
def loop_of_transposes(x, out, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tile = tl.load(x + at)
    for step in range(3):
        tile = tl.trans(tile) + step
    tl.store(out + at, tile)


def test_transposed_tile_carried_by_a_loop() -> None:
    x, out = random((16, 16), "int32") % 1000, np.zeros((16, 16), np.int32)
    launch(loop_of_transposes, (1,), x, out, N=16)
    np.testing.assert_array_equal(out, x.T + 3)
