"""Every elementwise operation x dtype x shape x edge values against exact arithmetic on the host (`exact.py`).

``PROPERTY_EXAMPLES`` is how many examples a test draws (default 6, the same ones in every run; with more they are random).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from exact import (
    exact,
    extreme,
    fused,
    quotient,
    remainder,
    rounded,
    saturated,
    shift_left,
    shift_right,
    wrapped,
)
from harness import Typed, bf16_bits, bf16_values, launch

hypothesis = pytest.importorskip("hypothesis", reason="hypothesis is not installed")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

EXAMPLES = int(os.environ.get("PROPERTY_EXAMPLES", "6"))
SETTINGS = settings(
    max_examples=EXAMPLES, derandomize=EXAMPLES <= 6, deadline=None, database=None, print_blob=True
)
SIGNED = ["int8", "int16", "int32", "int64"]
INTEGERS = [*SIGNED, "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]


# --- what is drawn ------------------------------------------------------------------------------------------------


@st.composite
def shapes(draw: Any) -> tuple[int, ...]:
    """0-d to rank 5, 1 to 1024 elements."""
    rank = draw(st.integers(0, 5))
    left = 10
    shape: list[int] = []
    for _ in range(rank):
        power = draw(st.integers(0, min(left, 5 if rank > 1 else 10)))
        left -= power
        shape.append(2**power)
    return tuple(shape)


def integers(dtype: str, count: int, seed: int) -> np.ndarray:
    """Edges, small numbers and large ones."""
    generator = np.random.default_rng(seed)
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    edges = [
        low,
        low + 1,
        high,
        high - 1,
        0,
        1,
        2,
        3,
        7,
        limits.bits - 1,
        limits.bits,
        limits.bits + 1,
        high // 2,
    ]
    if low < 0:
        edges += [-1, -2, -7]
    picked = generator.choice(np.array(edges, dtype), count)
    wide = generator.integers(low, high, count, dtype=dtype, endpoint=True)
    return np.where(generator.random(count) < 0.6, picked, wide).astype(dtype)


def float_values(dtype: str, count: int, seed: int) -> np.ndarray:
    """float64 (float32 for bfloat16: its bits' values) numbers of a format: edges, and random bit patterns."""
    generator = np.random.default_rng(seed)
    width = 64 if dtype == "float64" else 32 if dtype == "float32" else 16
    words = generator.integers(0, 2**width, count, dtype=f"uint{width}" if width < 64 else np.uint64)
    edges = np.array(
        [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 3.0, 255.0, 256.0, 65504.0, 2.0**31, -(2.0**31), 2.0**63,
         np.inf, -np.inf, np.nan, 1e-8, 6e-8, 1e-40, -1e-45]
    )  # fmt: skip
    with np.errstate(all="ignore"):
        if dtype == "bfloat16":
            random, edge = bf16_values(words), bf16_values(bf16_bits(edges.astype(np.float32)))
        else:
            random, edge = words.view(dtype), edges.astype(dtype)
    picked = generator.choice(edge, count)
    return np.where(generator.random(count) < 0.5, picked, random)


def on_device(values: np.ndarray, dtype: str) -> Any:
    return Typed(bf16_bits(values), dtype) if dtype == "bfloat16" else values.astype(dtype)


def empty(dtype: str, *shape: int) -> Any:
    return Typed(np.zeros(shape, np.uint16), dtype) if dtype == "bfloat16" else np.zeros(shape, dtype)


def values_of(array: Any) -> np.ndarray:
    return bf16_values(array.bits) if isinstance(array, Typed) else array


def compare(
    actual: Any, expected: Sequence[Sequence[Any]], names: Sequence[str], *operands: np.ndarray
) -> None:
    """One row per operation, to the last bit but for the payload of a NaN."""
    rows = values_of(actual)
    for row, wanted, name in zip(rows, expected, names, strict=True):
        for index, (have, want) in enumerate(zip(row.tolist(), wanted, strict=True)):
            same = (
                have == want and np.signbit(have) == np.signbit(want)
                if isinstance(want, float)
                else have == want
            )
            if not same and not (have != have and want != want):
                raise AssertionError(
                    f"{name}{tuple(o[index].item() for o in operands)} is {want!r}, not {have!r}"
                )


# --- kernels ------------------------------------------------------------------------------------------------------


@triton.jit
def lanes_of(SHAPE: tl.constexpr, N: tl.constexpr):
    if len(SHAPE) == 0:
        lanes = 0
    else:
        lanes = tl.reshape(tl.arange(0, N), SHAPE)
    return lanes


@triton.jit
def integer_arithmetic(x, y, out, SHAPE: tl.constexpr, N: tl.constexpr):
    lanes = lanes_of(SHAPE, N)
    a = tl.load(x + lanes)
    b = tl.load(y + lanes)
    tl.store(out + lanes, a + b)
    tl.store(out + N + lanes, a - b)
    tl.store(out + 2 * N + lanes, a * b)
    tl.store(out + 3 * N + lanes, a & b)
    tl.store(out + 4 * N + lanes, a | b)
    tl.store(out + 5 * N + lanes, a ^ b)
    tl.store(out + 6 * N + lanes, tl.minimum(a, b))
    tl.store(out + 7 * N + lanes, tl.maximum(a, b))
    tl.store(out + 8 * N + lanes, ~a)
    tl.store(out + 9 * N + lanes, tl.abs(a))
    tl.store(out + 10 * N + lanes, a // b)
    tl.store(out + 11 * N + lanes, a % b)
    tl.store(out + 12 * N + lanes, tl.where(a > b, a, b))


@triton.jit
def comparisons(x, y, out, SHAPE: tl.constexpr, N: tl.constexpr):
    lanes = lanes_of(SHAPE, N)
    a = tl.load(x + lanes)
    b = tl.load(y + lanes)
    tl.store(out + lanes, a < b)
    tl.store(out + N + lanes, a <= b)
    tl.store(out + 2 * N + lanes, a > b)
    tl.store(out + 3 * N + lanes, a >= b)
    tl.store(out + 4 * N + lanes, a == b)
    tl.store(out + 5 * N + lanes, a != b)


@triton.jit
def high_products(x, y, out, SHAPE: tl.constexpr, N: tl.constexpr):
    lanes = lanes_of(SHAPE, N)
    tl.store(out + lanes, tl.umulhi(tl.load(x + lanes), tl.load(y + lanes)))


@triton.jit
def float_arithmetic(x, y, z, out, SHAPE: tl.constexpr, N: tl.constexpr):
    lanes = lanes_of(SHAPE, N)
    a = tl.load(x + lanes)
    b = tl.load(y + lanes)
    tl.store(out + lanes, a + b)
    tl.store(out + N + lanes, a - b)
    tl.store(out + 2 * N + lanes, a * b)
    tl.store(out + 3 * N + lanes, -a + 0.0)  # Triton 3.7 writes 0 - a, whose zeros are positive
    tl.store(out + 4 * N + lanes, tl.abs(a))
    tl.store(out + 5 * N + lanes, tl.fma(a, b, tl.load(z + lanes)))


@triton.jit
def float_extremes(x, y, out, SHAPE: tl.constexpr, N: tl.constexpr):
    lanes = lanes_of(SHAPE, N)
    a = tl.load(x + lanes)
    b = tl.load(y + lanes)
    tl.store(out + lanes, tl.minimum(a, b))
    tl.store(out + N + lanes, tl.maximum(a, b))
    tl.store(out + 2 * N + lanes, tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + 3 * N + lanes, tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL))


@triton.jit
def quotients(x, y, out, SHAPE: tl.constexpr, N: tl.constexpr):
    lanes = lanes_of(SHAPE, N)
    a = tl.load(x + lanes)
    b = tl.load(y + lanes)
    tl.store(out + lanes, a / b)
    tl.store(out + N + lanes, tl.floor(a))
    tl.store(out + 2 * N + lanes, tl.ceil(a))


@triton.jit
def convert(x, out, SHAPE: tl.constexpr, N: tl.constexpr):
    lanes = lanes_of(SHAPE, N)
    tl.store(out + lanes, tl.load(x + lanes).to(out.dtype.element_ty))


def shift_kernel(sign: str) -> Any:
    """Spelled here because two angle brackets in a row mean something else to the template of this file."""
    return {"left": shifts_left, "right": shifts_right}[sign]


@triton.jit
def shifts_left(x, y, out, SHAPE: tl.constexpr, N: tl.constexpr):
    lanes = lanes_of(SHAPE, N)
    tl.store(out + lanes, tl.load(x + lanes).__lshift__(tl.load(y + lanes)))


@triton.jit
def shifts_right(x, y, out, SHAPE: tl.constexpr, N: tl.constexpr):
    lanes = lanes_of(SHAPE, N)
    tl.store(out + lanes, tl.load(x + lanes).__rshift__(tl.load(y + lanes)))


# --- tests --------------------------------------------------------------------------------------------------------


def count_of(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=int))


def integer_rows(a: list[int], b: list[int], dtype: str) -> list[list[int]]:
    limits = np.iinfo(dtype)
    signed = bool(limits.min < 0)
    rules: list[Callable[[int, int], int]] = [
        lambda p, q: p + q,
        lambda p, q: p - q,
        lambda p, q: p * q,
        lambda p, q: p & q,
        lambda p, q: p | q,
        lambda p, q: p ^ q,
        min,
        max,
        lambda p, q: ~p,
        lambda p, q: abs(p),
        lambda p, q: quotient(p, q, limits.bits, signed=signed),
        remainder,
        lambda p, q: p if p > q else q,
    ]
    return [[wrapped(rule(p, q), dtype) for p, q in zip(a, b, strict=True)] for rule in rules]


INTEGER_NAMES = ["+", "-", "*", "&", "|", "^", "minimum", "maximum", "~", "abs", "//", "%", "where"]


@SETTINGS
@given(st.sampled_from(INTEGERS), shapes(), st.integers(0, 2**32 - 1))
def test_integer_arithmetic(dtype: str, shape: tuple[int, ...], seed: int) -> None:
    """Modulo 2^width; a division by zero gives all ones and leaves the dividend; MIN // -1 = MIN."""
    n = count_of(shape)
    x, y = integers(dtype, n, seed), integers(dtype, n, seed + 1)
    out = np.zeros((len(INTEGER_NAMES), n), dtype)
    launch(integer_arithmetic, (1,), x, y, out, shape, n)
    compare(out, integer_rows(x.tolist(), y.tolist(), dtype), INTEGER_NAMES, x, y)


@SETTINGS
@given(st.sampled_from(INTEGERS), st.sampled_from(["left", "right"]), shapes(), st.integers(0, 2**32 - 1))
def test_shifts(dtype: str, direction: str, shape: tuple[int, ...], seed: int) -> None:
    """An amount past the width shifts everything out."""
    n, bits = count_of(shape), np.iinfo(dtype).bits
    x, y = integers(dtype, n, seed), integers(dtype, n, seed + 1)
    out = np.zeros((1, n), dtype)
    launch(shift_kernel(direction), (1,), x, y, out, shape, n)
    rule = shift_left if direction == "left" else shift_right
    expected = [wrapped(rule(p, q, bits), dtype) for p, q in zip(x.tolist(), y.tolist(), strict=True)]
    compare(out, [expected], [direction], x, y)


@SETTINGS
@given(st.sampled_from([*INTEGERS, *FLOATS]), shapes(), st.integers(0, 2**32 - 1))
def test_comparisons(dtype: str, shape: tuple[int, ...], seed: int) -> None:
    n = count_of(shape)
    make = float_values if dtype in FLOATS else integers
    a, b = make(dtype, n, seed), make(dtype, n, seed + 1)
    b = np.where(np.random.default_rng(seed).random(n) < 0.2, a, b)
    out = np.zeros((6, n), bool)
    launch(comparisons, (1,), on_device(a, dtype), on_device(b, dtype), out, shape, n)
    expected = [a < b, a <= b, a > b, a >= b, a == b, a != b]
    compare(out, [row.tolist() for row in expected], ["<", "<=", ">", ">=", "==", "!="], a, b)


@SETTINGS
@given(st.sampled_from(["uint32", "uint64", "int32", "int64"]), shapes(), st.integers(0, 2**32 - 1))
def test_high_products(dtype: str, shape: tuple[int, ...], seed: int) -> None:
    """``umulhi`` takes its operands as unsigned."""
    n, bits = count_of(shape), np.iinfo(dtype).bits
    x, y = integers(dtype, n, seed), integers(dtype, n, seed + 1)
    out = np.zeros((1, n), dtype)
    launch(high_products, (1,), x, y, out, shape, n)
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    expected = [wrapped((p % 2**bits) * (q % 2**bits) // 2**bits, dtype) for p, q in pairs]
    compare(out, [expected], ["umulhi"], x, y)


@SETTINGS
@given(st.sampled_from(FLOATS), shapes(), st.integers(0, 2**32 - 1))
def test_float_arithmetic(dtype: str, shape: tuple[int, ...], seed: int) -> None:
    """Rounded once, to nearest even; subnormal numbers, infinities and zeros included."""
    n = count_of(shape)
    x, y, z = (float_values(dtype, n, seed + i) for i in range(3))
    out = empty(dtype, 6, n)
    launch(float_arithmetic, (1,), *(on_device(v, dtype) for v in (x, y, z)), out, shape, n)
    triples = list(zip(x.tolist(), y.tolist(), z.tolist(), strict=True))
    rows = [[exact(sign, a, b, dtype) for a, b, _ in triples] for sign in "+-*"]
    rows += [[-a + 0.0 for a, _, _ in triples], [abs(a) for a, _, _ in triples]]
    rows.append([fused(a, b, c, dtype) for a, b, c in triples])
    compare(out, rows, ["+", "-", "*", "neg", "abs", "fma"], x, y, z)


@SETTINGS
@given(st.sampled_from(FLOATS), shapes(), st.integers(0, 2**32 - 1))
def test_float_extremes(dtype: str, shape: tuple[int, ...], seed: int) -> None:
    """A number before a (quiet) NaN, or the NaN before all, as the kernel chooses; -0 is less than +0."""
    n = count_of(shape)
    # IEEE 754-2008 lets a signalling NaN win over a number.
    x, y = (np.where(np.isnan(v), np.nan, v) for v in (float_values(dtype, n, seed + i) for i in range(2)))
    out = empty(dtype, 4, n)
    launch(float_extremes, (1,), on_device(x, dtype), on_device(y, dtype), out, shape, n)
    pairs = list(zip(x.tolist(), y.tolist(), strict=True))
    rows = [
        [extreme(a, b, largest=largest, propagate=propagate) for a, b in pairs]
        for propagate in (False, True)
        for largest in (False, True)
    ]
    compare(out, rows, ["minimum", "maximum", "minimum (NaN)", "maximum (NaN)"], x, y)


@SETTINGS
@given(st.sampled_from(["float32", "float64"]), shapes(), st.integers(0, 2**32 - 1))
def test_quotients(dtype: str, shape: tuple[int, ...], seed: int) -> None:
    n = count_of(shape)
    x, y = float_values(dtype, n, seed), float_values(dtype, n, seed + 1)
    out = np.zeros((3, n), dtype)
    launch(quotients, (1,), x, y, out, shape, n)
    rows = [[exact("/", a, b, dtype) for a, b in zip(x.tolist(), y.tolist(), strict=True)]]
    rows += [np.floor(x).tolist(), np.ceil(x).tolist()]
    compare(out, rows, ["/", "floor", "ceil"], x, y)


@SETTINGS
@given(
    st.sampled_from([*INTEGERS, *FLOATS]),
    st.sampled_from([*INTEGERS, *FLOATS]),
    shapes(),
    st.integers(0, 2**32 - 1),
)
def test_conversions(source: str, target: str, shape: tuple[int, ...], seed: int) -> None:
    """Floats round to nearest even, integers wrap, and a float becomes an integer towards zero, saturating."""
    n = count_of(shape)
    x = float_values(source, n, seed) if source in FLOATS else integers(source, n, seed)
    out = empty(target, 1, n)
    launch(convert, (1,), on_device(x, source), out, shape, n)
    compare(out, [[converted(v, source, target) for v in x.tolist()]], [f"{source} to {target}"], x)


def converted(value: Any, source: str, target: str) -> Any:
    if target in FLOATS:
        if source in FLOATS and (value != value or value in (float("inf"), float("-inf"), 0.0)):
            return value
        return rounded(Fraction(value), target)
    return saturated(value, target) if source in FLOATS else wrapped(value, target)
