"""The matrix unit against NumPy, for every type and many shapes, and how it cuts a tile into register blocks."""

from __future__ import annotations

import ctypes
import ctypes.util
from typing import Any

import numpy as np
import pytest
from isa_kernels import HOSTS, NATIVE, IsaKernel, parse_kernel

from <<cookiecutter.package_name>>.codegen.llvm import emit_module
from <<cookiecutter.package_name>>.codegen.matrix import Piece, columns, rows_alike, rows_of_blocks
from <<cookiecutter.package_name>>.errors import UnsupportedOperation

RNG = np.random.default_rng(5)
SHAPES = [
    (16, 16, 16), (16, 16, 64), (1, 1, 1), (1, 16, 3), (16, 1, 5), (7, 12, 9), (8, 8, 8), (3, 5, 2), (16, 32, 6),
    (32, 32, 5), (13, 31, 7), (64, 64, 4), (5, 48, 130), (67, 40, 9), (96, 33, 3),
]  # fmt: skip
TYPES = {"f32": np.float32, "f64": np.float64, "i8": np.int8, "i32": np.int32}


def mma_kernel(
    m: int, n: int, k: int, pitches: tuple[int, int, int], operand: str, acc: str, host: Any, parts: int = 1
) -> IsaKernel:
    lda, ldb, ldc = pitches
    body = f"""isa.mma %c, %a, %b tile({m}, {n}, {k}) pitch({lda}, {ldb}, {ldc}) parts {parts} : {operand} -> {acc}
    isa.return"""
    # Shapes for the matrix units of all targets, not only of this one.
    return IsaKernel({"c": "i64", "a": "i64", "b": "i64"}, body, host, verify=False)


def fused_product(a: np.ndarray, b: np.ndarray, acc: np.ndarray) -> np.ndarray:
    """acc + a b with one rounding a product and sum, in ascending order of k."""
    fma = ctypes.CDLL(ctypes.util.find_library("m")).fma if a.dtype == np.float64 else None
    result = acc.copy()
    if fma is None:
        # The product of two f32 is exact in f64, and here the sum nearly always is, too.
        for k in range(a.shape[1]):
            result = (np.outer(a[:, k].astype(np.float64), b[k]) + result).astype(np.float32)
        return result
    fma.restype, fma.argtypes = ctypes.c_double, [ctypes.c_double] * 3
    for i, j in np.ndindex(*acc.shape):
        for k in range(a.shape[1]):
            result[i, j] = fma(a[i, k], b[k, j], result[i, j])
    return result


@pytest.mark.parametrize(("operand", "acc"), [("f32", "f32"), ("f64", "f64"), ("i8", "i32"), ("i32", "i32")])
@pytest.mark.parametrize("host", HOSTS)
def test_matrix_products(host: str, operand: str, acc: str) -> None:
    for m, n, k in SHAPES if host == "native" else SHAPES[:8]:
        lda, ldb, ldc = k + 3, n + 1, n + 2
        if operand[0] == "f":
            # Few bits, so that sums are exact in f64 (fused_product) but not in f32 without fusing.
            a, b, c = (RNG.integers(-(2**20), 2**20, s) / 2.0**19 for s in ((m, lda), (k, ldb), (m, ldc)))
        else:
            bits = 7 if operand == "i8" else 31
            a, b, c = (RNG.integers(-(2**bits), 2**bits, s) for s in ((m, lda), (k, ldb), (m, ldc)))
        a, b, c = a.astype(TYPES[operand]), b.astype(TYPES[operand]), c.astype(TYPES[acc])
        expected = c.copy()
        if operand[0] == "f":
            expected[:, :n] = fused_product(a[:, :k], b[:, :n], c[:, :n])
        else:
            with np.errstate(over="ignore"):
                expected[:, :n] += a[:, :k].astype(np.int32) @ b[:, :n].astype(np.int32)
        assert mma_kernel(m, n, k, (lda, ldb, ldc), operand, acc, HOSTS[host])(c, a, b) == 0
        np.testing.assert_array_equal(c, expected, f"{m} x {n} x {k}")


def test_infinities_and_nans_spread_as_in_any_product() -> None:
    a, b, c = np.ones((16, 16), np.float32), np.ones((16, 16), np.float32), np.zeros((16, 16), np.float32)
    a[3, 5], b[7, 2] = np.inf, np.nan
    mma_kernel(16, 16, 16, (16, 16, 16), "f32", "f32", NATIVE)(c, a, b)
    expected = np.full((16, 16), 16, np.float32)
    expected[3], expected[:, 2] = np.inf, np.nan
    np.testing.assert_array_equal(c, expected)


def test_equal_tiles_share_a_function() -> None:
    instruction = "isa.mma %c, %a, %b tile(4, 4, 16) pitch(16, 16, 16) : f32 -> f32\n"
    module = parse_kernel({"c": "i64", "a": "i64", "b": "i64"}, instruction * 3 + "isa.return")
    assert emit_module(module).count("define internal") == 1


def test_other_types_are_refused() -> None:
    body = "isa.mma %c, %a, %b tile(16, 16, 16) pitch(16, 16, 16) : f16 -> f64\nisa.return"
    with pytest.raises(UnsupportedOperation, match="does not multiply f16 into f64"):
        emit_module(parse_kernel({"c": "i64", "a": "i64", "b": "i64"}, body, verify=False))


def test_columns_become_vectors() -> None:
    assert columns(16, 16) == [Piece(0, 16)]
    assert columns(16, 8) == [Piece(0, 8), Piece(8, 8)]
    assert columns(7, 16) == [Piece(0, 4), Piece(4, 2), Piece(6, 1)]


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("vectors", [1, 2])
def test_register_blocks_fit_the_registers(host: str, vectors: int) -> None:
    for m in range(1, 65):
        blocks = rows_of_blocks(HOSTS[host], m, vectors)
        heights = [len(rows) for rows, count in blocks for _ in range(count)]
        assert sum(heights) == m
        assert len(blocks) <= 2
        assert all(
            rows.start == sum(len(r) * c for r, c in blocks[:at]) for at, (rows, _) in enumerate(blocks)
        )
        assert max(heights) * vectors + vectors + 1 <= HOSTS[host].vector_registers


def test_groups_of_rows_are_about_as_high_as_each_other() -> None:
    assert rows_alike(64, 32) == [(range(32), 2)]
    assert rows_alike(32, 14) == [(range(11), 2), (range(22, 32), 1)]
    assert rows_alike(67, 32) == [(range(23), 1), (range(23, 45), 2)]
    assert rows_alike(5, 14) == [(range(5), 1)]


def tile_loops(
    m: int, n: int, k: int, step_m: int, step_n: int, step_k: int = 0, *, transposed: bool = False
) -> str:
    """``acc += a x b`` on dense f32 matrices, tile by tile; columns outside, or the other way round. ``step_k``: the
    steps of k of one tile, 0 for all."""
    step_k = step_k or k
    outer, inner = ("j", "i") if not transposed else ("i", "j")
    ends, steps = {"i": m, "j": n}, {"i": step_m, "j": step_n}
    return f"""%zero = isa.const 0 : i64 : i64
    %size = isa.const 4 : i64 : i64
    %acc_pitch = isa.const {4 * n} : i64 : i64
    %a_pitch = isa.const {4 * k} : i64 : i64
    %end_{outer} = isa.const {ends[outer]} : i64 : i64
    %step_{outer} = isa.const {steps[outer]} : i64 : i64
    %b_pitch = isa.const {4 * n} : i64 : i64
    %end_k = isa.const {k} : i64 : i64
    %step_k = isa.const {step_k} : i64 : i64
    %end_{inner} = isa.const {ends[inner]} : i64 : i64
    %step_{inner} = isa.const {steps[inner]} : i64 : i64
    scf.for %{outer} = %zero to %end_{outer} step %step_{outer} : i64 {{
      scf.for %{inner} = %zero to %end_{inner} step %step_{inner} : i64 {{
        %down = isa.muli %i, %acc_pitch : i64
        %right = isa.muli %j, %size : i64
        %acc_row = isa.addi %acc, %down : i64
        %here = isa.addi %acc_row, %right : i64
        %a_down = isa.muli %i, %a_pitch : i64
        %a_here = isa.addi %a, %a_down : i64
        %b_here = isa.addi %b, %right : i64
        scf.for %k = %zero to %end_k step %step_k : i64 {{
          %along = isa.muli %k, %size : i64
          %below = isa.muli %k, %b_pitch : i64
          %a_k = isa.addi %a_here, %along : i64
          %b_k = isa.addi %b_here, %below : i64
          isa.mma %here, %a_k, %b_k tile({step_m}, {step_n}, {step_k}) pitch({k}, {n}, {n}) : f32 -> f32
        }}
      }}
    }}
    isa.return"""


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    "shape",
    [
        (64, 64, 8, 16, 16),
        (8, 128, 5, 8, 16),
        (32, 8, 3, 4, 4),
        (24, 48, 7, 8, 16),
        (32, 32, 64, 16, 16, 16),
        (16, 16, 48, 8, 16, 4),
        (4, 4, 12, 4, 4, 4),
    ],
)
def test_loops_over_tiles_are_one_function(shape: tuple[int, ...], transposed: bool) -> None:
    m, n, k, *_ = shape
    a, b = RNG.standard_normal((m, k), np.float32), RNG.standard_normal((k, n), np.float32)
    acc = RNG.standard_normal((m, n), np.float32)
    expected = acc + a @ b
    kernel = IsaKernel(
        {"acc": "i64", "a": "i64", "b": "i64"}, tile_loops(*shape, transposed=transposed), NATIVE
    )
    assert kernel(acc.ctypes.data, a.ctypes.data, b.ctypes.data) == 0
    np.testing.assert_allclose(acc, expected, rtol=1e-5, atol=1e-5)
    text = emit_module(parse_kernel({"acc": "i64", "a": "i64", "b": "i64"}, tile_loops(*shape)), NATIVE)
    assert f"@mma.f32.f32.{m}x{n}x{k}." in text


def test_what_the_addresses_are_made_of_may_be_in_the_loop() -> None:
    """Constants that no pass has moved out."""
    a, b = RNG.standard_normal((32, 4), np.float32), RNG.standard_normal((4, 16), np.float32)
    acc = np.zeros((32, 16), np.float32)
    line = f"%acc_pitch = isa.const {4 * 16} : i64 : i64\n"
    body = tile_loops(32, 16, 4, 8, 8)
    assert line in body
    body = body.replace(line, "").replace("%down =", line + "        %down =")
    kernel = IsaKernel({"acc": "i64", "a": "i64", "b": "i64"}, body, NATIVE)
    assert kernel(acc.ctypes.data, a.ctypes.data, b.ctypes.data) == 0
    np.testing.assert_allclose(acc, a @ b, rtol=1e-5, atol=1e-5)


def test_loops_that_leave_steps_of_k_out_stay_loops() -> None:
    """Steps 0 to 3 and 8 to 11."""
    a, b = RNG.standard_normal((16, 16), np.float32), RNG.standard_normal((16, 16), np.float32)
    acc = np.zeros((16, 16), np.float32)
    body = tile_loops(16, 16, 16, 16, 16, 8).replace("tile(16, 16, 8)", "tile(16, 16, 4)")
    kernel = IsaKernel({"acc": "i64", "a": "i64", "b": "i64"}, body, NATIVE, verify=False)
    assert kernel(acc.ctypes.data, a.ctypes.data, b.ctypes.data) == 0
    here = [0, 1, 2, 3, 8, 9, 10, 11]
    np.testing.assert_allclose(acc, a[:, here] @ b[here], rtol=1e-5, atol=1e-5)


def test_loops_that_leave_gaps_stay_loops() -> None:
    """Every other tile only."""
    a, b = RNG.standard_normal((32, 4), np.float32), RNG.standard_normal((4, 16), np.float32)
    acc = np.zeros((32, 16), np.float32)
    body = tile_loops(32, 16, 4, 16, 16).replace("tile(16, 16, 4)", "tile(8, 16, 4)")
    kernel = IsaKernel({"acc": "i64", "a": "i64", "b": "i64"}, body, NATIVE)
    assert kernel(acc.ctypes.data, a.ctypes.data, b.ctypes.data) == 0
    expected = a @ b
    for first in (0, 16):
        np.testing.assert_allclose(acc[first : first + 8], expected[first : first + 8], rtol=1e-5, atol=1e-5)
        assert not acc[first + 8 : first + 16].any()
