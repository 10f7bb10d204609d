"""Products of 16-bit floats and of bytes, on every way that a host may have: tile registers, pairs, widened vectors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from isa_kernels import MATRIX_HOSTS, NATIVE
from test_codegen_matrix import RNG, SHAPES, mma_kernel
from xdsl.dialects.builtin import Float16Type, Float32Type, IntegerType

from <<cookiecutter.package_name>>.codegen import matrix_amx, matrix_parts
from <<cookiecutter.package_name>>.codegen.matrix_tiles import Tile, cuts
from <<cookiecutter.package_name>>.codegen.registers import register_type

EVEN = [
    (16, 16, 32), (1, 1, 2), (1, 16, 64), (2, 64, 32), (16, 1, 8), (8, 4, 16), (32, 32, 64), (48, 16, 32),
    (16, 48, 96), (64, 16, 32), (16, 512, 4), (16, 128, 64), (80, 80, 64), (32, 32, 1024), (64, 64, 4), (4, 96, 1056),
]  # fmt: skip
"""Shapes that tile registers take: all numbers of registers in a block, and k that does not fit the buffer."""

FORMATS = {"f16": np.dtype(np.float16), "bf16": np.dtype(np.float32)}
"""Format -> what its numbers are written down as."""

needs_tiles = pytest.mark.skipif(
    not NATIVE.has("amx-tile"),
    reason="this host has no tile registers (AMX), or the kernel does not allow them",
)


@pytest.fixture(autouse=True)
def on_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small tiles, too."""
    monkeypatch.setattr(matrix_amx, "FEWEST_PRODUCTS", 0)
    ways = {key: replace(way, fewest_uses=0) for key, way in matrix_parts.WAYS.items()}
    monkeypatch.setattr(matrix_parts, "WAYS", ways)


def bits(values: np.ndarray, form: str) -> np.ndarray:
    """Numbers that are exact in a format of 16 bits, as it stores them."""
    if form == "f16":
        return values.astype(np.float16).view(np.uint16)
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("host", MATRIX_HOSTS)
def test_products(host: str, form: str) -> None:
    """Small integers: exact in both formats, and their sums in f32, in whatever order; odd lengths of k, all widths."""
    for m, n, k in SHAPES + EVEN if host == "native" else SHAPES[:8] + EVEN[-3:]:
        lda, ldb, ldc = k + 3, n + 1, n + 2
        a, b, c = (RNG.integers(-50, 50, s).astype(np.float32) for s in ((m, lda), (k, ldb), (m, ldc)))
        expected = c.copy()
        expected[:, :n] += a[:, :k] @ b[:, :n]
        kernel = mma_kernel(m, n, k, (lda, ldb, ldc), form, "f32", MATRIX_HOSTS[host])
        assert kernel(c, bits(a, form), bits(b, form)) == 0
        np.testing.assert_array_equal(c, expected, f"{m} x {n} x {k}")


@pytest.mark.parametrize("host", MATRIX_HOSTS)
def test_products_of_bytes(host: str) -> None:
    """Over the whole range, and sums that wrap around."""
    for m, n, k in EVEN if host == "native" else EVEN[-3:]:
        lda, ldb, ldc = k + 3, n + 1, n + 2
        a, b = (RNG.integers(-128, 128, s, np.int8) for s in ((m, lda), (k, ldb)))
        c = RNG.integers(-(2**31), 2**31, (m, ldc)).astype(np.int32)
        c[0, 0] = 2**31 - 1
        expected = c.copy()
        expected[:, :n] += a[:, :k].astype(np.int32) @ b[:, :n].astype(np.int32)
        assert mma_kernel(m, n, k, (lda, ldb, ldc), "i8", "i32", MATRIX_HOSTS[host])(c, a, b) == 0
        np.testing.assert_array_equal(c, expected, f"{m} x {n} x {k}")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("host", MATRIX_HOSTS)
def test_sums_round_like_f32(host: str, form: str) -> None:
    m, n, k = 32, 48, 128
    a, b = (RNG.standard_normal(s).astype(np.float32) for s in ((m, k), (k, n)))
    a, b = (x.astype(np.float16).astype(np.float32) for x in (a, b))
    if form == "bf16":
        a, b = ((x.view(np.uint32) & 0xFFFF_0000).view(np.float32) for x in (a, b))
    c = RNG.standard_normal((m, n)).astype(np.float32)
    exact = c + a.astype(np.float64) @ b
    tolerance = k * np.finfo(np.float32).eps * (np.abs(a).astype(np.float64) @ np.abs(b) + np.abs(c))
    mma_kernel(m, n, k, (k, n, n), form, "f32", MATRIX_HOSTS[host])(c, bits(a, form), bits(b, form))
    assert (np.abs(c - exact) <= tolerance).all()


@pytest.mark.parametrize("k", [15, 16, 64])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("host", MATRIX_HOSTS)
def test_infinities_and_nans_spread(host: str, form: str, k: int) -> None:
    """Also beside the zeros that fill up a last pair, and not from beyond the end of a row."""
    a, b, c = np.ones((16, k + 8), np.float32), np.ones((k, 16), np.float32), np.zeros((16, 16), np.float32)
    a[3, k - 1], b[k - 1, 2], a[:, k:] = np.inf, np.nan, np.nan
    c[5, 5] = -np.inf
    mma_kernel(16, 16, k, (k + 8, 16, 16), form, "f32", MATRIX_HOSTS[host])(c, bits(a, form), bits(b, form))
    expected = np.full((16, 16), k, np.float32)
    expected[5, 5] = -np.inf
    expected[3], expected[:, 2] = np.inf, np.nan
    np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("host", MATRIX_HOSTS)
def test_denormal_f16_count(host: str) -> None:
    """Unlike those of bf16, which numbers that people use never are."""
    a, b, c = np.full((16, 32), 2.0**-24), np.full((32, 16), 3 * 2.0**-20), np.zeros((16, 16), np.float32)
    mma_kernel(16, 16, 32, (32, 16, 16), "f16", "f32", MATRIX_HOSTS[host])(c, bits(a, "f16"), bits(b, "f16"))
    np.testing.assert_array_equal(c, np.full((16, 16), 32 * 3 * 2.0**-44, np.float32))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("host", MATRIX_HOSTS)
def test_negative_zeros(host: str, form: str) -> None:
    """A sum of products that are -0 is not -0 where the accumulator is +0."""
    a, b, c = (np.zeros(s, np.float32) for s in ((16, 32), (32, 16), (16, 16)))
    mma_kernel(16, 16, 32, (32, 16, 16), form, "f32", MATRIX_HOSTS[host])(c, bits(-a, form), bits(b, form))
    assert not np.signbit(c).any()


@needs_tiles
def test_which_tiles_the_registers_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sides of powers of two, and whatever else is cut evenly; a word of k must be full."""
    f16, f32, i8 = register_type(Float16Type()), register_type(Float32Type()), register_type(IntegerType(8))
    i32 = register_type(IntegerType(32))

    def suits(m: int, n: int, k: int, operand: object = f16, acc: object = f32) -> bool:
        return matrix_amx.suits(NATIVE, Tile(m, n, k, k, n, n, operand, acc))  # type: ignore[arg-type]

    if NATIVE.has("amx-fp16"):
        assert all(suits(*shape) for shape in EVEN)
        assert not any(suits(*shape) for shape in ((16, 16, 1), (17, 16, 32), (16, 24, 32), (16, 16, 33)))
    if NATIVE.has("amx-int8"):
        assert suits(16, 16, 4, i8, i32)
        assert not suits(16, 16, 2, i8, i32)
    assert not suits(16, 16, 16, f32, f32)
    monkeypatch.undo()
    if NATIVE.has("amx-fp16"):
        assert suits(16, 16, 32)
        assert not suits(1, 16, 64)
    for name in ("without-tiles", "wide-vectors"):
        assert not matrix_amx.suits(MATRIX_HOSTS[name], Tile(16, 16, 32, 32, 16, 16, f16, f32))


@needs_tiles
@pytest.mark.parametrize(("form", "instruction"), [(f, i) for f, (_, i) in matrix_amx.PRODUCTS.items()])
def test_tile_registers_are_given_up(form: str, instruction: str) -> None:
    if not NATIVE.has(matrix_amx.PRODUCTS[form][0]):
        pytest.skip(f"this host has tile registers, but not for {form}")
    text = mma_kernel(32, 32, 64, (64, 32, 32), form, "i32" if form == "i8" else "f32", NATIVE).llir
    assert f"call void @llvm.x86.{instruction}(" in text
    assert text.count("call void @llvm.x86.ldtilecfg") == text.count("call void @llvm.x86.tilerelease") == 1
    assert text.index("llvm.x86.ldtilecfg") < text.index(f"llvm.x86.{instruction}")


def test_parts_of_a_length() -> None:
    assert cuts(64, 16) == [(0, 4, 16)]
    assert cuts(70, 16) == [(0, 4, 16), (64, 1, 6)]
    assert cuts(6, 16) == [(0, 1, 6)]


@needs_tiles
def test_code_does_not_grow_with_the_columns() -> None:
    """Also where few elements of k leave much room in the buffer."""
    small, large = (mma_kernel(16, n, 4, (4, n, n), "i8", "i32", NATIVE).llir for n in (256, 4096))
    assert len(large) < 1.1 * len(small)
