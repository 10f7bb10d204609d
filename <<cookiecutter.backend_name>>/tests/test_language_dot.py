"""``tl.dot``: types, shapes, accumulators, operands that come out of other operations."""

from __future__ import annotations

from itertools import takewhile
from math import ceil
from pathlib import Path

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import Typed, bf16, bf16_values, launch, random

from <<cookiecutter.package_name>>.backend.compiler import ISA_EXT
from <<cookiecutter.package_name>>.dialects.isa import matrix
from <<cookiecutter.package_name>>.dialects.isa.base import Unit
from <<cookiecutter.package_name>>.emulator.profile import PROFILES
from <<cookiecutter.package_name>>.target import LATENCIES, MATRIX_TILE


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


@pytest.mark.skipif(MATRIX_TILE is None, reason="of the matrix unit")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_one_instruction_takes_no_more_steps_than_the_unit(
    dtype: str, fresh_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Units that differ in K only give the same bits, on both devices, in the fewest instructions."""
    m, n, k = 32, 32, 64
    a, b = operand((m, k), dtype, 0), operand((k, n), dtype, 1)
    results: dict[str, list[np.ndarray]] = {"reference": [], "emulator": []}
    cycles: list[int] = []
    for tile_k in (4, 16, 64, 256):
        monkeypatch.setattr(matrix, "MATRIX_TILE", (16, 16, tile_k))
        for device, found in results.items():
            dot.device_caches.clear()
            monkeypatch.setenv("TRITON_CACHE_DIR", str(fresh_cache / str(tile_k)))
            out = np.zeros((m, n), np.int32 if dtype == "int8" else np.float32)
            PROFILES.clear()
            kernel = launch(dot, (1,), a, b, out, m, n, k, device_kind=device)
            assert f"tile(16, 16, {min(tile_k, k)})" in kernel.asm[ISA_EXT]
            found.append(out)
        profile = PROFILES["dot"]
        # (A row of the tile of sums is 16 elements here, whatever the target's.)
        assert profile.instructions[Unit.MATRIX] == (m // 16) * (n // 16) * max(k // tile_k, 1)
        assert profile.busy[Unit.MATRIX] == ceil(LATENCIES["matrix"][1] * k) * (m // 16) * (n // 16)
        cycles.append(profile.cycles)
        text = launch(dot, (1,), a, b, out, m, n, k, device_kind="reference").asm["llir"]
        assert f".{m}x{n}x{k}.pitch" in text  # one function, as on every such machine
    dot.device_caches.clear()
    for found in results.values():
        for other in found[1:]:
            np.testing.assert_array_equal(other, found[0])
    assert cycles[0] > cycles[1] > cycles[2] == cycles[3]


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
def dot_of_columns(
    a, b, out, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, MASKED: tl.constexpr
):
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


@pytest.mark.parametrize(
    "shape", [(16, 16, 16), (32, 64, 16), (64, 32, 128), (37, 29, 55), (17, 64, 3), (8, 40, 20)]
)
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


def test_loops_over_the_tiles_of_a_product() -> None:
    """One instruction, directly inside of a loop over each side that the unit does not take whole."""
    if not matrix.has_unit_for("f32"):
        pytest.skip("this machine has no matrix unit for f32")
    a, b, out = random((64, 64)), random((64, 64), seed=1), np.zeros((64, 64), np.float32)
    text = launch(default_precision, (1,), a, b, out, N=64).asm[ISA_EXT]
    before, after = text.split(".mma ")
    sides = sum(side < 64 for side in matrix.tile_of("f32") if side is not None)
    _, *behind = (line.strip() for line in after.splitlines())
    assert len(list(takewhile(lambda line: line.startswith("}"), behind))) == sides
    assert before.count("scf.for") >= sides


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


@triton.jit
def precise_dot(a, b, c, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr):
    x = tl.load(a + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :])
    y = tl.load(b + tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :])
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.dot(x, y, tl.load(c + at), input_precision=PRECISION))


PRECISIONS = {"ieee": 2.0**-18, "bf16x6": 2.0**-20, "tf32x3": 2.0**-20, "bf16x3": 2.0**-15, "tf32": 2.0**-15}
"""Precision -> the largest error, relative to the sum of the products' absolute values."""


@pytest.mark.parametrize(
    "shape", [(16, 16, 16), (64, 128, 64), (256, 16, 32), (16, 256, 128), (128, 256, 256)]
)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_input_precision(precision: str, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    a, b, c = random((m, k)), random((k, n), seed=1), random((m, n), seed=2)
    out = np.zeros((m, n), np.float32)
    launch(precise_dot, (1,), a, b, c, out, m, n, k, precision)
    a, b, c = (x.astype(np.float64) for x in (a, b, c))
    errors = np.abs(out - (a @ b + c)) / (np.abs(a) @ np.abs(b) + np.abs(c))
    assert errors.max() < PRECISIONS[precision]


@pytest.mark.parametrize("precision", ["bf16x3", "bf16x6"])
def test_precision_of_halves_and_doubles_is_theirs(precision: str) -> None:
    for dtype in ("float16", "float64"):
        a, b = (random((64, 64), dtype, seed=seed) for seed in range(2))
        out = np.zeros((64, 64), dtype)
        launch(precise_dot_of, (1,), a, b, out, 64, precision)
        x, y = a.astype(np.float64), b.astype(np.float64)
        assert (np.abs(out - x @ y) <= 16 * np.finfo(dtype).eps * (np.abs(x) @ np.abs(y))).all()


@triton.jit
def precise_dot_of(a, b, out, N: tl.constexpr, PRECISION: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    product = tl.dot(tl.load(a + at), tl.load(b + at), input_precision=PRECISION)
    tl.store(out + at, product.to(out.dtype.element_ty))


@triton.jit
def precise_dots(a, b, out, steps, B: tl.constexpr, N: tl.constexpr, PRECISION: tl.constexpr):
    """A batch, in a loop, of transposed operands."""
    at = tl.arange(0, B)[:, None, None] * N * N + tl.arange(0, N)[:, None] * N + tl.arange(0, N)
    total = tl.zeros((B, N, N), tl.float32)
    for step in range(steps):
        x, y = tl.load(a + step * B * N * N + at), tl.load(b + step * B * N * N + at)
        total = tl.dot(tl.trans(x, 0, 2, 1), tl.trans(y, 0, 2, 1), total, input_precision=PRECISION)
    tl.store(out + at, total)


@pytest.mark.parametrize("precision", ["bf16x3", "bf16x6"])
def test_precision_of_a_batch_in_a_loop(precision: str) -> None:
    a, b, out = random((3, 2, 64, 64)), random((3, 2, 64, 64), seed=1), np.zeros((2, 64, 64), np.float32)
    launch(precise_dots, (1,), a, b, out, 3, 2, 64, precision)
    x, y = (array.astype(np.float64).swapaxes(-1, -2) for array in (a, b))
    errors = np.abs(out - (x @ y).sum(0)) / (np.abs(x) @ np.abs(y)).sum(0)
    assert errors.max() < PRECISIONS[precision]


DEFAULTS: dict[str, tuple[dict[str, str], dict[str, str], int]] = {
    "none": ({}, {}, 1),
    "option": ({}, {"default_dot_input_precision": "bf16x6"}, 3),
    "option tf32": ({}, {"default_dot_input_precision": "tf32"}, 2),
    "variable": ({"TRITON_F32_DEFAULT": "bf16x6"}, {}, 3),
    "variable ieee": ({"TRITON_F32_DEFAULT": "ieee"}, {"default_dot_input_precision": "bf16x6"}, 1),
}
"""How a default is asked for: variables, options of the launch, and the parts that factors may be taken as."""


@pytest.mark.parametrize("how", DEFAULTS)
def test_defaults_of_the_precision(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variables, options, parts = DEFAULTS[how]
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    a, b, out = random((64, 64)), random((64, 64), seed=1), np.zeros((64, 64), np.float32)
    kernel = launch(triton.JITFunction(default_precision.fn), (1,), a, b, out, N=64, **options)
    np.testing.assert_allclose(out, a.astype(np.float64) @ b, rtol=1e-3, atol=1e-3)
    if matrix.has_unit_for("f32"):
        text = kernel.asm[ISA_EXT]
        assert (f" parts {parts} " in text) if parts > 1 else (" parts " not in text)


@triton.jit
def long_rows(
    a, b, out, turned, of_rows, of_columns, reshaped, of_a,
    B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """What becomes of a product and of a factor whose rows are set apart in the scratchpad."""
    batch, rows, columns, inner = tl.arange(0, B), tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + batch[:, None, None] * M * K + rows[:, None] * K + inner) + 1
    y = tl.load(b + batch[:, None, None] * K * N + inner[:, None] * N + columns)
    product = tl.dot(x, y, input_precision="ieee")
    tl.store(out + batch[:, None, None] * M * N + rows[:, None] * N + columns, product)
    at = batch[:, None, None] * M * N + columns[:, None] * M + rows
    tl.store(turned + at, tl.permute(product, (0, 2, 1)))
    tl.store(of_rows + batch[:, None] * M + rows, tl.sum(product, axis=2))
    tl.store(of_columns + batch[:, None] * N + columns, tl.max(product, axis=1))
    tl.store(reshaped + tl.arange(0, B * M * N), tl.reshape(product, (B * M * N,)))
    tl.store(of_a + batch[:, None] * M + rows, tl.sum(x, axis=2))


@pytest.mark.parametrize("shape", [(1, 16, 256, 128), (2, 32, 128, 256), (2, 1, 128, 512), (4, 16, 512, 1)])
def test_long_rows(shape: tuple[int, int, int, int]) -> None:
    count, m, n, k = shape
    generator = np.random.default_rng(3)
    a, b = (generator.integers(-9, 9, s).astype(np.float32) for s in ((count, m, k), (count, k, n)))
    expected = (a + 1) @ b
    shapes = (count, m, n), (count, n, m), (count, m), (count, n), (count * m * n,), (count, m)
    results = [np.zeros(s, np.float32) for s in shapes]
    launch(long_rows, (1,), a, b, *results, *shape)
    product, turned, of_rows, of_columns, reshaped, of_a = results
    np.testing.assert_array_equal(product, expected)
    np.testing.assert_array_equal(turned, expected.transpose(0, 2, 1))
    np.testing.assert_array_equal(of_rows, expected.sum(axis=2))
    np.testing.assert_array_equal(of_columns, expected.max(axis=1))
    np.testing.assert_array_equal(reshaped, expected.reshape(-1))
    np.testing.assert_array_equal(of_a, (a + 1).sum(axis=2))


@triton.jit
def carried_long_rows(a, b, out, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Sums that a loop carries, scales on some way through it, and whose halves leave it apart."""
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for step in range(n):
        x = tl.load(a + step * M * K + rows[:, None] * K + inner)
        y = tl.load(b + step * K * N + inner[:, None] * N + columns)
        total = tl.dot(x, y, total, input_precision="ieee")
        if step == 1:
            total = total * 2
    low, high = tl.split(tl.reshape(total, (M, N // 2, 2)))
    at = rows[:, None] * (N // 2) + tl.arange(0, N // 2)
    tl.store(out + at, low)
    tl.store(out + M * N // 2 + at, high)


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_long_rows_in_a_loop(steps: int) -> None:
    m, n, k = 32, 256, 16
    generator = np.random.default_rng(4)
    a, b = (generator.integers(-9, 9, (max(steps, 1), *s)).astype(np.float32) for s in ((m, k), (k, n)))
    out, expected = np.full((2, m, n // 2), 5, np.float32), np.zeros((m, n), np.float32)
    for step in range(steps):
        expected = (expected + a[step] @ b[step]) * (2 if step == 1 else 1)
    launch(carried_long_rows, (1,), a, b, out, steps, m, n, k)
    np.testing.assert_array_equal(out[0], expected[:, ::2])
    np.testing.assert_array_equal(out[1], expected[:, 1::2])
