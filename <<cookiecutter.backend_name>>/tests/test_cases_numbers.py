"""Public failures of arithmetic and scans: every variant of the cases R05, R07 and R10.

Expected bits come from integer arithmetic on the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import Typed, bf16_bits, launch, random
from test_language_reduce import recurrence, scan_affine

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]

# --- R05: integer division -------------------------------------------------------------------------------------

PAIRS = [(7, 2), (-7, 2), (7, -2), (-7, -2), (-8, 3)]
QUOTIENTS, REMAINDERS = [3, -3, -3, 3, -2], [1, -1, 1, -1, -2]


@triton.jit
def divide_lanes(x, y, quotient, remainder, n, N: tl.constexpr):
    lanes = tl.arange(0, N)
    a = tl.load(x + lanes, mask=lanes < n, other=1)
    b = tl.load(y + lanes, mask=lanes < n, other=1)
    tl.store(quotient + lanes, a // b, mask=lanes < n)
    tl.store(remainder + lanes, a % b, mask=lanes < n)


@triton.jit
def divide_scalars(x, y, quotient, remainder):
    a, b = tl.load(x), tl.load(y)
    tl.store(quotient, a // b)
    tl.store(remainder, a % b)


@triton.jit
def divide_by_one_scalar(x, y, quotient, remainder, N: tl.constexpr):
    a = tl.load(x) + tl.zeros([N], x.dtype.element_ty)
    b = tl.load(y)
    tl.store(quotient + tl.arange(0, N), a // b)
    tl.store(remainder + tl.arange(0, N), a % b)


@triton.jit
def divide_by_constant(x, quotient, remainder, B: tl.constexpr):
    a = tl.load(x)
    b = tl.full([], B, x.dtype.element_ty)
    tl.store(quotient, a // b)
    tl.store(remainder, a % b)


@triton.jit
def divide_constants(quotient, remainder, A: tl.constexpr, B: tl.constexpr, N: tl.constexpr):
    a = tl.full([N], A, quotient.dtype.element_ty)
    b = tl.full([N], B, quotient.dtype.element_ty)
    tl.store(quotient + tl.arange(0, N), a // b)
    tl.store(remainder + tl.arange(0, N), a % b)


def divided(kernel: Any, a: int, b: int, dtype: str) -> tuple[list[int], list[int]]:
    """Quotients and remainders of one pair by a kernel, as many as it makes; all of one kernel must be equal."""
    x, y = np.array([a], dtype), np.array([b], dtype)
    quotient, remainder = np.zeros(4, dtype), np.zeros(4, dtype)
    if kernel is divide_scalars:
        launch(kernel, (1,), x, y, quotient, remainder)
    elif kernel is divide_by_one_scalar:
        launch(kernel, (1,), x, y, quotient, remainder, N=4)
    elif kernel is divide_by_constant:
        launch(kernel, (1,), x, quotient, remainder, B=b)
    else:
        launch(kernel, (1,), quotient, remainder, A=a, B=b, N=4)
    count = 1 if kernel in (divide_scalars, divide_by_constant) else 4
    return quotient[:count].tolist(), remainder[:count].tolist()


FORMS = [divide_scalars, divide_by_one_scalar, divide_by_constant, divide_constants]


@pytest.mark.parametrize("dtype", SIGNED)
def test_r05_tensor_by_tensor(dtype: str) -> None:
    x, y = (np.array(values, dtype) for values in zip(*PAIRS, strict=True))
    quotient, remainder = np.zeros_like(x), np.zeros_like(x)
    launch(divide_lanes, (1,), x, y, quotient, remainder, 5, N=8)
    assert quotient.tolist() == QUOTIENTS
    assert remainder.tolist() == REMAINDERS


@pytest.mark.parametrize("dtype", SIGNED)
@pytest.mark.parametrize("kernel", FORMS)
def test_r05_scalars_and_constants(kernel: Any, dtype: str) -> None:
    """The same numbers from scalars, a constant divisor and two constants, which passes may fold."""
    for (a, b), q, r in zip(PAIRS, QUOTIENTS, REMAINDERS, strict=True):
        quotients, remainders = divided(kernel, a, b, dtype)
        assert {*quotients} == {q} and {*remainders} == {r}, (a, b)


@pytest.mark.parametrize("dtype", UNSIGNED)
@pytest.mark.parametrize("kernel", FORMS)
def test_r05_unsigned_scalars_and_constants(kernel: Any, dtype: str) -> None:
    top = int(np.iinfo(dtype).max)
    for a, b in ((top, 2), (top, top - 1), (top - 1, top), (7, 2), (top // 2 + 1, 3)):
        quotients, remainders = divided(kernel, a, b, dtype)
        assert {*quotients} == {a // b} and {*remainders} == {a % b}, (a, b)


@pytest.mark.parametrize("dtype", [*SIGNED, "uint8", "uint32", "uint64"])
@pytest.mark.parametrize("kernel", FORMS)
def test_r05_no_result_in_every_form(kernel: Any, dtype: str) -> None:
    """Division by 0 and of INT_MIN by -1: the process goes on, and every form gives what lanes give."""
    limits = np.iinfo(dtype)
    pairs = [(7, 0), (int(limits.max), 0), (0, 0)]
    if limits.min < 0:
        pairs += [(int(limits.min), -1), (int(limits.min), 0), (-7, 0)]
    for a, b in pairs:
        quotients, remainders = divided(kernel, a, b, dtype)
        if b:
            assert {*quotients} == {a} and {*remainders} == {0}
        elif kernel is divide_constants:
            # Triton may fold x / 0 of two constants to a value that it leaves open; we make that 0.
            assert {*quotients} <= {0, -1 if limits.min < 0 else limits.max} and {*remainders} <= {0, a}
        else:
            assert {*quotients} == {-1 if limits.min < 0 else limits.max} and {*remainders} == {a}


@triton.jit
def divide_index(out, b, N: tl.constexpr):
    lanes = tl.arange(0, N) - N // 2
    tl.store(out + tl.arange(0, N), lanes // b)
    tl.store(out + N + tl.arange(0, N), lanes % b)


@pytest.mark.parametrize("divisor", [1, 2, -2, 3, -3, 16, -16, 7])
def test_r05_negative_index(divisor: int) -> None:
    """Lanes from -16 to 15, whose division an index analysis may shorten."""
    out = np.zeros((2, 32), np.int32)
    launch(divide_index, (1,), out, divisor, N=32)
    lanes = np.arange(-16, 16)
    quotient = np.trunc(lanes / divisor)
    np.testing.assert_array_equal(out, [quotient, lanes - quotient * divisor])


# --- R07: bfloat16 ---------------------------------------------------------------------------------------------

BITS = [0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF, 0x80008000, 0x7F800001, 0xFF800001, 0x7FFFFFFF]
ROUNDED = ["3f80", "3f82", "3f81", "7f80", "8000"]


@triton.jit
def round_lanes(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes).to(tl.bfloat16))


@triton.jit
def round_scalars(x, out, N: tl.constexpr):
    for lane in range(N):
        tl.store(out + lane, tl.load(x + lane).to(tl.bfloat16))


@triton.jit
def round_by_store(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes))


@triton.jit
def round_by_bits(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    narrow = tl.load(x + lanes).to(tl.bfloat16)
    tl.store(out + lanes, narrow.to(tl.int16, bitcast=True))


@triton.jit
def round_via_memory(x, out, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] + tl.arange(0, 2)[None, :] * 0
    narrow = tl.trans(tl.load(x + at).to(tl.bfloat16))
    tl.store(out + tl.trans(at), narrow)


@triton.jit
def round_double(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes).to(tl.float64).to(tl.bfloat16))


def check_rounded(bits: np.ndarray) -> None:
    assert [f"{word:04x}" for word in bits[:5]] == ROUNDED
    for word in bits[5:]:
        assert word & 0x7F80 == 0x7F80 and word & 0x7F, f"{word:04x} is no NaN"


@pytest.mark.parametrize(
    "kernel", [round_lanes, round_scalars, round_by_store, round_via_memory, round_double]
)
def test_r07_every_way_to_round(kernel: Any) -> None:
    """To nearest, ties to even; the largest float32 becomes infinity, and a NaN whose payload lies low stays a NaN."""
    out = np.zeros(8, np.uint16)
    launch(kernel, (1,), np.array(BITS, np.uint32).view(np.float32), Typed(out, "bfloat16"), N=8)
    check_rounded(out)


def test_r07_bits_within_the_kernel() -> None:
    out = np.zeros(8, np.int16)
    launch(round_by_bits, (1,), np.array(BITS, np.uint32).view(np.float32), out, N=8)
    check_rounded(out.view(np.uint16))


@triton.jit
def round_argument(out, x: tl.bfloat16):
    tl.store(out, x)


def test_r07_arguments() -> None:
    """The launcher rounds too."""
    values = np.array(BITS, np.uint32).view(np.float32)
    out = np.zeros(8, np.uint16)
    for lane in range(5):
        launch(round_argument, (1,), Typed(out[lane : lane + 1], "bfloat16"), float(values[lane]))
    launch(round_argument, (1,), Typed(out[5:6], "bfloat16"), float("nan"))
    check_rounded(out[:6])


def test_r07_many_patterns() -> None:
    """65536 patterns: every upper half with a lower half beside the tie."""
    upper = np.arange(65536, dtype=np.uint32) * 0x1_0000
    for low in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF):
        x = (upper + low).view(np.float32)
        out = np.zeros(65536, np.uint16)
        launch(round_lanes, (1,), x, Typed(out, "bfloat16"), N=65536)
        expected = bf16_bits(x)
        nan = (expected & 0x7FFF) > 0x7F80
        np.testing.assert_array_equal(out[~nan], expected[~nan])
        assert ((out[nan] & 0x7FFF) > 0x7F80).all()


@triton.jit
def add_and_round(x, y, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes) + tl.load(y + lanes))


def test_r07_a_sum_is_rounded_once() -> None:
    """bfloat16 arithmetic: the float32 sum, to nearest even."""
    x, y = random(256), random(256, seed=1)
    x_bits, y_bits, out = bf16_bits(x), bf16_bits(y), np.zeros(256, np.uint16)
    launch(
        add_and_round,
        (1,),
        Typed(x_bits, "bfloat16"),
        Typed(y_bits, "bfloat16"),
        Typed(out, "bfloat16"),
        N=256,
    )
    total = (x_bits.astype(np.uint32) * 65536).view(np.float32) + (y_bits.astype(np.uint32) * 65536).view(
        np.float32
    )
    np.testing.assert_array_equal(out, bf16_bits(total))


# --- R10: order in scans ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("loop", [1, 2])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("length", [2, 4, 8, 32, 128, 256, 512, 1024])
def test_r10_affine_composition(length: int, axis: int, reverse: bool, loop: int) -> None:
    """Integers that wrap, so exact at any length; each turn of a loop starts afresh."""
    shape = (length, 2) if axis == 0 else (2, length)
    a, b = random((loop, *shape), "int32") % 7 - 3, random((loop, *shape), "int32", seed=1) % 100
    out_a, out_b = np.zeros_like(a), np.zeros_like(b)
    launch(scan_affine, (1,), a, b, out_a, out_b, *shape, AXIS=axis, REVERSE=reverse, LOOP=loop)
    with np.errstate(over="ignore"):
        expected_a, expected_b = recurrence(a, b, axis + 1, reverse)
    np.testing.assert_array_equal(out_a, expected_a)
    np.testing.assert_array_equal(out_b, expected_b)


@triton.jit
def compose(scale, shift, next_scale, next_shift):
    return scale * next_scale, shift * next_scale + next_shift


@triton.jit
def scan_line(a, b, out, turns, N: tl.constexpr, REVERSE: tl.constexpr):
    lanes = tl.arange(0, N)
    scale, shift = tl.load(a + lanes), tl.load(b + lanes)
    for _ in range(turns):  # the result of one turn is scanned by the next
        scale, shift = tl.associative_scan((scale, shift), 0, compose, reverse=REVERSE)
    tl.store(out + lanes, shift)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [2, 16, 64, 1024])
def test_r10_floats_carried_around_a_loop(length: int, reverse: bool) -> None:
    """One dimension, float64, a loop whose bound is an argument."""
    generator = np.random.default_rng(0)
    a, b = generator.uniform(0.5, 0.9, length), generator.uniform(-1, 1, length)
    out = np.zeros(length)
    launch(scan_line, (1,), a, b, out, 2, N=length, REVERSE=reverse)
    for _ in range(2):
        a, b = recurrence(a, b, 0, reverse)
    np.testing.assert_allclose(out, b, rtol=1e-12)
