"""`shift`: every type, rank and distance against NumPy, what Triton's passes must not do to it, memory, refusals."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import Typed, bf16, bf16_bits, launch, random

from <<cookiecutter.package_name>>.language.blocks import shift
from <<cookiecutter.package_name>>.target import BACKEND_NAME

INSTRUCTIONS = f"{BACKEND_NAME}ir"


def shifted(x: np.ndarray, by: int, axis: int = 0, fill: Any = 0) -> np.ndarray:
    """``result[i] = x[i - by]``, index by index."""
    result = np.full_like(x, fill)
    extent = x.shape[axis]
    for i in range(extent):
        if 0 <= i - by < extent:
            np.moveaxis(result, axis, 0)[i] = np.moveaxis(x, axis, 0)[i - by]
    return result


@triton.jit
def line(x, y, BY: tl.constexpr, FILL: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, shift(tl.load(x + i), BY, fill=FILL))


@triton.jit
def plane(x, y, BY: tl.constexpr, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(y + i, shift(tl.load(x + i), BY, AXIS, 7))


@triton.jit
def cube(x, y, BY: tl.constexpr, AXIS: tl.constexpr, K: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, K)[:, None, None] * M + tl.arange(0, M)[None, :, None]
    i = rows * N + tl.arange(0, N)[None, None, :]
    tl.store(y + i, shift(tl.load(x + i), BY, AXIS, -1))


DISTANCES = (0, 1, -1, 3, -5, 7, -8, 100)
DTYPES = (
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
)


@pytest.mark.parametrize("count", [1, 2, 8, 128, 1024])
@pytest.mark.parametrize("by", DISTANCES)
def test_lines(by: int, count: int) -> None:
    x = random(count)
    y = np.empty_like(x)
    launch(line, (1,), x, y, by, 2.5, count)
    np.testing.assert_array_equal(y, shifted(x, by, fill=2.5))


@pytest.mark.parametrize("dtype", DTYPES)
def test_types(dtype: str) -> None:
    x = random(64, dtype)
    y = np.empty_like(x)
    for by in (3, -2):
        launch(line, (1,), x, y, by, 5, 64)
        np.testing.assert_array_equal(y, shifted(x, by, fill=5))


@pytest.mark.parametrize("fill", [True, False])
def test_booleans(fill: bool) -> None:
    x, y = random(64, "bool"), np.empty(64, bool)
    for by in (3, -2, 64):
        launch(line, (1,), x, y, by, fill, 64)
        np.testing.assert_array_equal(y, shifted(x, by, fill=fill))


def test_narrow_floats() -> None:
    values = random(64)
    out = bf16(np.empty(64, np.float32))
    launch(line, (1,), bf16(values), out, 3, 1.5, 64)
    np.testing.assert_array_equal(out.bits, shifted(bf16_bits(values), 3, fill=0x3FC0))
    codes, codes_out = np.arange(64, dtype=np.uint8), np.zeros(64, np.uint8)
    launch(line, (1,), Typed(codes, "float8_e5m2"), Typed(codes_out, "float8_e5m2"), -3, 0.0, 64)
    np.testing.assert_array_equal(codes_out, shifted(codes, -3))


@pytest.mark.parametrize("shape", [(1, 16), (16, 1), (8, 32), (64, 4), (2, 256)])
@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_planes(axis: int, shape: tuple[int, int]) -> None:
    x = random(shape)
    y = np.empty_like(x)
    for by in DISTANCES:
        launch(plane, (1,), x, y, by, axis, *shape)
        np.testing.assert_array_equal(y, shifted(x, by, axis, 7), f"by {by}")


@pytest.mark.parametrize("shape", [(4, 8, 16), (1, 2, 64), (16, 1, 2)])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["int16", "float64"])
def test_cubes(axis: int, shape: tuple[int, int, int], dtype: str) -> None:
    x = random(shape, dtype)
    y = np.empty_like(x)
    for by in (1, -3, 5):
        launch(cube, (1,), x, y, by, axis, *shape)
        np.testing.assert_array_equal(y, shifted(x, by, axis, -1), f"by {by}")


@triton.jit
def fill_of_the_kernel(x, y, fill, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, shift(tl.load(x + i), 2, fill=fill) + shift(tl.load(x + i), 2, fill=fill * 2))


def test_a_fill_that_is_computed() -> None:
    x, y = random(32), np.empty(32, np.float32)
    launch(fill_of_the_kernel, (1,), x, y, 2.5, 32)
    np.testing.assert_array_equal(y, shifted(x, 2, fill=2.5) + shifted(x, 2, fill=5.0))


# --- what Triton's passes must not do to it -------------------------------------------------------------------------


@triton.jit
def of_a_splat(y, value, N: tl.constexpr):
    """All elements but the first are `value`: an elementwise operation would move before the splat."""
    tl.store(y + tl.arange(0, N), shift(tl.zeros([N], tl.float32) + value, 1, fill=9.0))


@triton.jit
def of_a_constant(y, N: tl.constexpr):
    tl.store(y + tl.arange(0, N), shift(tl.full([N], 3, tl.int32), -2, fill=4))


@triton.jit
def of_a_broadcast(x, y, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    row = tl.broadcast_to(tl.load(x + j), (M, N))
    tl.store(y + i * N + j, shift(row, 1, AXIS, -1.0))


@triton.jit
def of_indices(y, N: tl.constexpr):
    tl.store(y + tl.arange(0, N), shift(tl.arange(0, N), 3, fill=-1))


def test_splats_and_broadcasts_are_blocks() -> None:
    y = np.empty(16, np.float32)
    text = launch(of_a_splat, (1,), y, 2.0, 16).asm["ttir"]
    assert y.tolist() == [9.0] + [2.0] * 15
    assert "pure = false" in text and '"block.shift.0.1"' in text
    z = np.empty(16, np.int32)
    launch(of_a_constant, (1,), z, 16)
    assert z.tolist() == [3] * 14 + [4] * 2
    launch(of_indices, (1,), z, 16)
    assert z.tolist() == [-1, -1, -1, *range(13)]
    x = random(8)
    for axis in (0, 1):
        tile = np.empty((4, 8), np.float32)
        launch(of_a_broadcast, (1,), x, tile, axis, 4, 8)
        np.testing.assert_array_equal(tile, shifted(np.tile(x, (4, 1)), 1, axis, -1.0))


@triton.jit
def in_a_loop(x, y, rounds, N: tl.constexpr):
    """What a loop carries moves by one in each round; the block from before it by one each time."""
    i = tl.arange(0, N)
    still = tl.load(x + i)
    moving = still
    total = tl.zeros([N], tl.float32)
    for _ in range(rounds):
        moving = shift(moving, 1)
        total += moving * 2 + shift(still, -1)
    tl.store(y + i, total)


@pytest.mark.parametrize("rounds", [0, 1, 5])
def test_loops(rounds: int) -> None:
    x = random(64, "int16").astype(np.float32)
    y = np.empty_like(x)
    launch(in_a_loop, (1,), x, y, rounds, 64)
    moves = [shifted(x, by) * 2 + shifted(x, -1) for by in range(1, rounds + 1)]
    np.testing.assert_array_equal(y, sum(moves, np.zeros_like(x)))


@triton.jit
def in_a_branch(x, y, flag, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    if flag > 0:
        value = shift(value, flag_by(), fill=1.0)
    tl.store(y + i, value + shift(tl.load(x + i), 3))


@triton.jit
def flag_by():
    return 2


def test_branches() -> None:
    x = random(64)
    for flag in (0, 1):
        y = np.empty_like(x)
        launch(in_a_branch, (1,), x, y, flag, 64)
        value = shifted(x, 2, fill=1.0) if flag else x
        np.testing.assert_array_equal(y, value + shifted(x, 3))


@triton.jit
def before_a_store(x, N: tl.constexpr):
    """The block is what memory was when it was loaded."""
    i = tl.arange(0, N)
    value = tl.load(x + i)
    tl.store(x + i, value * 2)
    late = shift(value, 1) + value
    tl.store(x + i, late)


def test_memory_that_changes() -> None:
    x = random(256)
    y = x.copy()
    launch(before_a_store, (1,), y, 256)
    np.testing.assert_array_equal(y, shifted(x, 1) + x)


@triton.jit
def of_shifts(x, out, total, M: tl.constexpr, N: tl.constexpr):
    """Shifts of shifts, transposed, reduced, multiplied."""
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tile = tl.load(x + i)
    moved = shift(shift(tile, 1, 0, 2), -1, 1, 3)
    tl.store(total + tl.arange(0, M), tl.sum(moved, 1))
    j = tl.arange(0, N)[:, None] * M + tl.arange(0, M)[None, :]
    tl.store(out + j, tl.trans(moved) + tl.reshape(moved, (N, M)))


def test_what_others_do_with_the_result() -> None:
    x = random((16, 32), "int32") // 4
    out, total = np.empty((32, 16), np.int32), np.empty(16, np.int32)
    launch(of_shifts, (1,), x, out, total, 16, 32)
    moved = shifted(shifted(x, 1, 0, 2), -1, 1, 3)
    np.testing.assert_array_equal(out, moved.T + moved.reshape(32, 16))
    np.testing.assert_array_equal(total, moved.sum(axis=1, dtype=np.int32))


@triton.jit
def product(x, y, out, N: tl.constexpr):
    i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + i, tl.dot(shift(tl.load(x + i), 1), shift(tl.load(y + i), 2, 1)))


def test_matrix_products() -> None:
    x, y = random((16, 16), "int8").astype(np.float32), random((16, 16), "int8", 1).astype(np.float32)
    out = np.empty_like(x)
    launch(product, (1,), x, y, out, 16)
    np.testing.assert_array_equal(out, shifted(x, 1) @ shifted(y, 2, 1))


# --- memory -----------------------------------------------------------------------------------------------------------


@triton.jit
def taps(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    tl.store(y + i, value + 2 * shift(value, 1) + 4 * shift(value, 2) + 8 * shift(value, -1))


@pytest.mark.parametrize("count", [8, 512])
def test_shifts_of_one_block_share_its_memory(count: int) -> None:
    x = random(count, "int32") // 16
    y = np.empty_like(x)
    kernel = launch(taps, (1,), x, y, count)
    expected = x + 2 * shifted(x, 1) + 4 * shifted(x, 2) + 8 * shifted(x, -1)
    np.testing.assert_array_equal(y, expected)
    text = kernel.asm[INSTRUCTIONS]
    (scratch,) = re.findall(r"scratch_bytes = (\d+)", text)
    assert count * 4 + 3 * 4 <= int(scratch) <= count * 4 + 2 * 64, "one block and two margins, aligned"
    assert "gather" not in text and "masked" not in text


@triton.jit
def unused(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    dead = shift(value, 1)  # noqa: F841
    tl.store(y + i, shift(value, N, fill=3.0) + shift(value, 0))


def test_what_is_not_needed_takes_no_memory() -> None:
    x, y = random(64), np.empty(64, np.float32)
    kernel = launch(unused, (1,), x, y, 64)
    assert "scratch_bytes = 0 : i64" in kernel.asm[INSTRUCTIONS]
    np.testing.assert_array_equal(y, x + 3)


@pytest.mark.parametrize(("axis", "by"), [(0, 1), (0, -3), (1, 1), (1, -3)])
def test_the_emulator_says_the_same(axis: int, by: int) -> None:
    """It fills the workspace with garbage and refuses accesses outside of it."""
    x = random((8, 32))
    y = np.empty_like(x)
    launch(plane, (1,), x, y, by, axis, 8, 32, device_kind="emulator")
    np.testing.assert_array_equal(y, shifted(x, by, axis, 7))


# --- refusals ---------------------------------------------------------------------------------------------------------


@triton.jit
def by_at_run_time(x, by, N: tl.constexpr):
    tl.store(x + tl.arange(0, N), shift(tl.load(x + tl.arange(0, N)), by))


@triton.jit
def of_a_scalar(x):
    tl.store(x, shift(tl.load(x), 1))


@triton.jit
def of_pointers(x, y, N: tl.constexpr):
    tl.store(y + tl.arange(0, N), tl.load(shift(x + tl.arange(0, N), 1)))


@triton.jit
def filled_with_a_block(x, N: tl.constexpr):
    value = tl.load(x + tl.arange(0, N))
    tl.store(x + tl.arange(0, N), shift(value, 1, fill=value))


def refusal(kernel: Any, *args: Any) -> str:
    with pytest.raises(triton.CompilationError) as refused:
        launch(kernel, (1,), *args)
    return f"{refused.value}\n{refused.value.__cause__}"


def test_refusals_name_the_function_and_the_line() -> None:
    x, numbers = np.zeros(8, np.float32), np.zeros(8, np.int8)
    text = refusal(by_at_run_time, x, 3, 8)
    assert "shift: by must be an integer, known when the kernel is compiled" in text
    assert "not a value of type int32" in text and "shift(tl.load(x" in text, "Triton shows the line"
    assert "shift: x must be a block of numbers or booleans, not a value of type fp32" in refusal(
        of_a_scalar, x
    )
    assert "shift: x must be a block of numbers or booleans, not a block of pointer<fp32>" in refusal(
        of_pointers, x, x, 8
    )
    text = refusal(plane, x, x, 1, 2, 2, 4)
    assert "shift: axis must be from -2 to 1 for a block of fp32 and shape (2, 4), not 2" in text
    text = refusal(filled_with_a_block, x, 8)
    assert (
        "shift: fill must be a number or a scalar of fp32, as x is, not a block of fp32 and shape (8,)"
        in text
    )
    for fill in (1.5, 200, float("nan"), float("inf")):
        text = refusal(line, numbers, numbers, 1, fill, 8)
        assert f"shift: fill must be an integer from -128 to 127 for int8, not {fill!r}" in text
    assert "fill must be an integer from 0 to 1 for int1, not 2" in refusal(line, x > 0, x > 0, 1, 2, 8)
    assert "shift: by must be an integer" in refusal(line, x, x, 1.0, 0, 8)
