"""Tensor descriptors: bounds, padded rows, padding values, made on the host and in the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import launch, on_device, random
from triton.tools.tensor_descriptor import TensorDescriptor

DTYPES = ["int8", "int16", "int32", "float16", "float32"]


@triton.jit
def increment(source, target, row, column):
    target.store([row, column], source.load([row, column]) + 1)


@triton.jit
def increment_in_kernel(x, out, rows, columns, pitch, row, column, R: tl.constexpr, C: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, columns], [pitch, 1], [R, C])
    target = tl.make_tensor_descriptor(out, [rows, columns], [pitch, 1], [R, C])
    increment(source, target, row, column)


@triton.jit
def increment_from_host(source, target, row, column):
    increment(source, target, row, column)


def expected_increment(x: np.ndarray, row: int, column: int) -> np.ndarray:
    """5 x 6 elements in a pitch of 16; the block is 8 x 16 and starts at (row, column)."""
    out = np.full((5, 16), -1, x.dtype)
    rows, columns = slice(max(row, 0), 5), slice(max(column, 0), 6)
    out[rows, columns] = x[rows, columns] + x.dtype.type(1)
    return out


STARTS = [(0, 0), (2, 3), (-2, -3), (4, 5), (5, 0), (-8, 0)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_descriptor_made_in_the_kernel(dtype: str) -> None:
    """R13: only the inside is written, wherever the block starts; cells of the padding keep their -1."""
    x = random((5, 16), dtype)
    for row, column in STARTS:
        out = np.full((5, 16), -1, dtype)
        launch(increment_in_kernel, (1,), x, out, 5, 6, 16, row, column, R=8, C=16)
        inside_block = expected_increment(x, row, column)
        inside_block[max(row + 8, 0) :] = -1
        np.testing.assert_array_equal(out, inside_block)


@pytest.mark.parametrize("dtype", DTYPES)
def test_descriptor_made_on_the_host(dtype: str) -> None:
    """R13: the same through `TensorDescriptor`."""
    x, out = random((5, 16), dtype), np.full((5, 16), -1, dtype)

    def descriptor(array: np.ndarray) -> Any:
        return TensorDescriptor(on_device(array), [5, 6], [16, 1], [8, 16])

    source = descriptor(x)
    for row, column in STARTS[:4]:
        out = np.full((5, 16), -1, dtype)
        launch(increment_from_host, (1,), source, descriptor(out), row, column)
        np.testing.assert_array_equal(out, expected_increment(x, row, column))


@triton.jit
def copy_padded(x, out, rows, columns, NAN: tl.constexpr):
    if NAN:
        source = tl.make_tensor_descriptor(x, [rows, columns], [16, 1], [4, 8], padding_option="nan")
    else:
        source = tl.make_tensor_descriptor(x, [rows, columns], [16, 1], [4, 8])
    tile = source.load([0, 0])
    tl.store(out + tl.arange(0, 4)[:, None] * 8 + tl.arange(0, 8)[None, :], tile)


@pytest.mark.parametrize("nan", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_padding(dtype: str, nan: bool) -> None:
    """R13: what lies outside reads as 0, or as NaN where that was asked for."""
    x, out = random((3, 16), dtype), np.zeros((4, 8), dtype)
    launch(copy_padded, (1,), x, out, 3, 6, NAN=nan)
    expected = np.full((4, 8), np.nan if nan else 0, dtype)
    expected[:3, :6] = x[:, :6]
    np.testing.assert_array_equal(out, expected)


@triton.jit
def copy_one_and_three(line, cube, out_line, out_cube, n, a, b, c):
    source = tl.make_tensor_descriptor(line, [n], [1], [32])
    target = tl.make_tensor_descriptor(out_line, [n], [1], [32])
    target.store([0], source.load([0]))
    source_cube = tl.make_tensor_descriptor(cube, [a, b, c], [b * 16, 16, 1], [2, 4, 16])
    target_cube = tl.make_tensor_descriptor(out_cube, [a, b, c], [b * 16, 16, 1], [2, 4, 16])
    for first in range(0, a, 2):
        target_cube.store([first, 0, 0], source_cube.load([first, 0, 0]))


def test_one_and_three_dimensions() -> None:
    """R13: a line and a cube, blocks moved by a loop."""
    line, cube = random(32), random((3, 3, 16))
    out_line, out_cube = np.full(32, -1, np.float32), np.full((3, 3, 16), -1, np.float32)
    launch(copy_one_and_three, (1,), line, cube, out_line, out_cube, 21, 3, 3, 11)
    np.testing.assert_array_equal(out_line, np.where(np.arange(32) < 21, line, -1))
    np.testing.assert_array_equal(out_cube, np.where(np.arange(16) < 11, cube, -1))
