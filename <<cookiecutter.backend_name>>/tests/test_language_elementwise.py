"""Element by element: arithmetic, comparison, conversion, mathematical functions. Expected bits come from NumPy."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import Typed, bf16, bf16_bits, bf16_values, launch, random

from <<cookiecutter.package_name>>.target import BACKEND_NAME, REGISTER_GROUP, VECTOR_REGISTERS

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
SIZES = [1, 61]


def pad(n: int) -> int:
    return triton.next_power_of_2(n)


@triton.jit
def arithmetic(x, y, out, n, N: tl.constexpr):
    lanes = tl.arange(0, N)
    inside = lanes < n
    a = tl.load(x + lanes, mask=inside)
    b = tl.load(y + lanes, mask=inside)
    tl.store(out + lanes, a + b, mask=inside)
    tl.store(out + n + lanes, a - b, mask=inside)
    tl.store(out + 2 * n + lanes, a * b, mask=inside)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_arithmetic(dtype: str, n: int) -> None:
    """Integers wrap around; floats are correctly rounded."""
    x, y, out = random(n, dtype), random(n, dtype, seed=1), np.zeros((3, n), dtype)
    launch(arithmetic, (1,), x, y, out, n, N=pad(n))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out, np.stack([x + y, x - y, x * y]))


@pytest.mark.parametrize("n", SIZES)
def test_arithmetic_bf16(n: int) -> None:
    """bf16 arithmetic rounds the exact result once: computing in float32 and rounding gives just that."""
    x, y, out = bf16(random(n)), bf16(random(n, seed=1)), bf16(np.zeros(3 * n))
    launch(arithmetic, (1,), x, y, out, n, N=pad(n))
    a, b = bf16_values(x.bits), bf16_values(y.bits)
    np.testing.assert_array_equal(out.bits, bf16_bits(np.concatenate([a + b, a - b, a * b])))


@triton.jit
def divide(x, y, quotient, remainder, N: tl.constexpr):
    lanes = tl.arange(0, N)
    a = tl.load(x + lanes)
    b = tl.load(y + lanes)
    tl.store(quotient + lanes, a // b)
    tl.store(remainder + lanes, a % b)


@triton.jit
def divide_by_scalar(x, divisor, quotient, remainder, N: tl.constexpr):
    lanes = tl.arange(0, N)
    a = tl.load(x + lanes)
    tl.store(quotient + lanes, a // divisor)
    tl.store(remainder + lanes, a % divisor)


@triton.jit
def divide_by_constant(x, quotient, remainder, N: tl.constexpr, DIVISOR: tl.constexpr):
    lanes = tl.arange(0, N)
    a = tl.load(x + lanes)
    tl.store(quotient + lanes, a // DIVISOR)
    tl.store(remainder + lanes, a % DIVISOR)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_signed_division(dtype: str) -> None:
    """R05: C's convention. Quotients round to zero, a remainder has the sign of the dividend."""
    x = np.array([7, -7, 7, -7, -8, 0, 1, -1], dtype)
    y = np.array([2, 2, -2, -2, 3, 5, -1, 1], dtype)
    quotient, remainder = np.zeros_like(x), np.zeros_like(x)
    launch(divide, (1,), x, y, quotient, remainder, N=8)
    assert quotient.tolist() == [3, -3, -3, 3, -2, 0, -1, -1]
    assert remainder.tolist() == [1, -1, 1, -1, -2, 0, 0, 0]


@pytest.mark.parametrize("divisor", [2, -2, 3, 1, 16])
def test_division_by_scalar_and_constant(divisor: int) -> None:
    """R05: tensor by scalar argument (1 is specialised) and by constant give the same as tensor by tensor."""
    x = np.array([7, -7, 8, -8, 0, 1, -1, 100], np.int32)
    expected = np.trunc(x / divisor).astype(np.int32)
    for kernel, args, options in [
        (divide_by_scalar, (x, divisor), {"N": 8}),
        (divide_by_constant, (x,), {"N": 8, "DIVISOR": divisor}),
    ]:
        quotient, remainder = np.zeros_like(x), np.zeros_like(x)
        launch(kernel, (1,), *args, quotient, remainder, **options)
        np.testing.assert_array_equal(quotient, expected)
        np.testing.assert_array_equal(remainder, x - expected * divisor)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64"])
def test_unsigned_division(dtype: str) -> None:
    """R05: unsigned operands divide as unsigned numbers, the top bit included."""
    top = np.iinfo(dtype).max
    x = np.array([top, top - 1, 7, 0], dtype)
    y = np.array([2, top, 3, 9], dtype)
    quotient, remainder = np.zeros_like(x), np.zeros_like(x)
    launch(divide, (1,), x, y, quotient, remainder, N=4)
    np.testing.assert_array_equal(quotient, x // y)
    np.testing.assert_array_equal(remainder, x % y)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_division_without_a_result(dtype: str) -> None:
    """R05: dividing by 0, and the smallest number by -1, has a defined result and stops nobody's process."""
    limits = np.iinfo(dtype)
    signed = limits.min < 0
    x = np.array([7, limits.min, limits.min, limits.max], dtype)
    y = np.array([0, -1 if signed else 0, 0, 0], dtype)
    quotient, remainder = np.zeros_like(x), np.zeros_like(x)
    launch(divide, (1,), x, y, quotient, remainder, N=4)
    ones = -1 if signed else limits.max
    assert quotient.tolist() == [ones, limits.min if signed else ones, ones, ones]
    assert remainder.tolist() == [7, 0 if signed else limits.min, limits.min, limits.max]


@triton.jit
def divide_floats(x, y, quotient, remainder, N: tl.constexpr):
    lanes = tl.arange(0, N)
    a = tl.load(x + lanes)
    b = tl.load(y + lanes)
    tl.store(quotient + lanes, a / b)
    tl.store(remainder + lanes, a % b)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_float_division(dtype: str) -> None:
    """Quotients are correctly rounded; the remainder is C's fmod."""
    x = np.array([7, -7, 7.5, -7.5, 0, 1, np.inf, 1e30], dtype)
    y = np.array([2, 2, -2, -2, 3, 0, 2, 7], dtype)
    quotient, remainder = np.zeros_like(x), np.zeros_like(x)
    launch(divide_floats, (1,), x, y, quotient, remainder, N=8)
    with np.errstate(divide="ignore", invalid="ignore"):
        np.testing.assert_array_equal(quotient, x / y)
        np.testing.assert_array_equal(remainder, np.fmod(x, y))


@triton.jit
def shift(x, amount, left, right, N: tl.constexpr):
    lanes = tl.arange(0, N)
    a = tl.load(x + lanes)
    b = tl.load(amount + lanes)
    tl.store(left + lanes, a.__lshift__(b))
    tl.store(right + lanes, a.__rshift__(b))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts(dtype: str) -> None:
    """Amounts at and past the width shift everything out: 0, or copies of the sign."""
    width = np.iinfo(dtype).bits
    x = random(8, dtype)
    amount = np.array([0, 1, 3, width - 1, width, width + 1, 100, 5], dtype)
    left, right = np.zeros_like(x), np.zeros_like(x)
    launch(shift, (1,), x, amount, left, right, N=8)
    modulus = 2**width
    wide = [int(value) for value in x]
    unsigned_left = [value * 2 ** int(by) % modulus for value, by in zip(wide, amount, strict=True)]
    assert left.tolist() == np.array(unsigned_left, f"uint{width}").view(dtype).tolist()
    assert right.tolist() == [value // 2 ** int(by) for value, by in zip(wide, amount, strict=True)]


@triton.jit
def logic(x, y, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    a = tl.load(x + lanes)
    b = tl.load(y + lanes)
    tl.store(out + lanes, a & b)
    tl.store(out + N + lanes, a | b)
    tl.store(out + 2 * N + lanes, a ^ b)
    tl.store(out + 3 * N + lanes, ~a)


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool"])
def test_bitwise(dtype: str) -> None:
    x, y, out = random(32, dtype), random(32, dtype, seed=1), np.zeros((4, 32), dtype)
    launch(logic, (1,), x, y, out, N=32)
    np.testing.assert_array_equal(out, np.stack([x & y, x | y, x ^ y, ~x]))


@triton.jit
def compare(x, y, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    a = tl.load(x + lanes)
    b = tl.load(y + lanes)
    tl.store(out + lanes, a < b)
    tl.store(out + N + lanes, a <= b)
    tl.store(out + 2 * N + lanes, a > b)
    tl.store(out + 3 * N + lanes, a >= b)
    tl.store(out + 4 * N + lanes, a == b)
    tl.store(out + 5 * N + lanes, a != b)


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_comparison(dtype: str) -> None:
    """Signed, unsigned, and with NaN: nothing is equal to it, everything is different from it."""
    x, y, out = random(32, dtype), random(32, dtype, seed=1), np.zeros((6, 32), bool)
    y[:8] = x[:8]
    if np.dtype(dtype).kind == "f":
        x[4:6], y[5:7] = np.nan, np.nan
    launch(compare, (1,), x, y, out, N=32)
    np.testing.assert_array_equal(out, np.stack([x < y, x <= y, x > y, x >= y, x == y, x != y]))


@triton.jit
def compare_booleans(x, y, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    a = tl.load(x + lanes) > 0
    b = tl.load(y + lanes) > 0
    tl.store(out + lanes, a != b)
    tl.store(out + N + lanes, a == b)


def test_comparison_of_booleans() -> None:
    """The results of comparisons, compared: ``tl.sort`` does it from Triton 3.9 on."""
    x, y, out = random(32), random(32, seed=1), np.zeros((2, 32), bool)
    launch(compare_booleans, (1,), x, y, out, N=32)
    np.testing.assert_array_equal(out, np.stack([(x > 0) != (y > 0), (x > 0) == (y > 0)]))


@triton.jit
def extremes(x, y, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    a = tl.load(x + lanes)
    b = tl.load(y + lanes)
    tl.store(out + lanes, tl.minimum(a, b))
    tl.store(out + N + lanes, tl.maximum(a, b))
    tl.store(out + 2 * N + lanes, tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + 3 * N + lanes, tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + 4 * N + lanes, tl.clamp(a, -0.5, 0.5))


@pytest.mark.parametrize("dtype", FLOATS)
def test_minimum_and_maximum(dtype: str) -> None:
    """A NaN operand is ignored by default, and wins with PropagateNan.ALL."""
    x, y, out = random(32, dtype), random(32, dtype, seed=1), np.zeros((5, 32), dtype)
    x[2], y[3], x[4], y[4] = np.nan, np.nan, np.nan, np.nan
    x[5], y[5], x[6], y[6] = np.inf, -np.inf, -np.inf, np.nan
    launch(extremes, (1,), x, y, out, N=32)
    expected = [np.fmin(x, y), np.fmax(x, y), np.minimum(x, y), np.maximum(x, y)]
    np.testing.assert_array_equal(out[:4], np.stack(expected))
    number = ~np.isnan(x)
    np.testing.assert_array_equal(out[4][number], np.clip(x, -0.5, 0.5)[number])


@triton.jit
def extremes_of_integers(x, y, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    a = tl.load(x + lanes)
    b = tl.load(y + lanes)
    tl.store(out + lanes, tl.minimum(a, b))
    tl.store(out + N + lanes, tl.maximum(a, b))


@pytest.mark.parametrize("dtype", INTEGERS)
def test_minimum_and_maximum_of_integers(dtype: str) -> None:
    x, y, out = random(32, dtype), random(32, dtype, seed=1), np.zeros((2, 32), dtype)
    launch(extremes_of_integers, (1,), x, y, out, N=32)
    np.testing.assert_array_equal(out, np.stack([np.minimum(x, y), np.maximum(x, y)]))


@triton.jit
def copy(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes).to(out.dtype.element_ty))


@triton.jit
def cast_to_each(x, outs, N: tl.constexpr):
    lanes = tl.arange(0, N)
    value = tl.load(x + lanes)
    for index in tl.static_range(len(outs)):
        tl.store(outs[index] + lanes, value.to(outs[index].dtype.element_ty))


def casts(x: np.ndarray, targets: list[str]) -> tuple[np.ndarray, ...]:
    """``x`` cast by the device to each of the types."""
    outs = tuple(np.zeros(x.size, target) for target in targets)
    launch(cast_to_each, (1,), x, outs, N=x.size)
    return outs


@pytest.mark.parametrize("source", INTEGERS)
def test_cast_between_integers(source: str) -> None:
    """Narrowing keeps the low bits; widening copies the sign of a signed source."""
    x = random(16, source)
    for out in casts(x, INTEGERS):
        np.testing.assert_array_equal(out, x.astype(out.dtype))


@pytest.mark.parametrize("source", ["int8", "int32", "int64", "uint8", "uint32", "uint64"])
def test_cast_integer_to_float(source: str) -> None:
    """Rounded to nearest even; for fp16 through fp32, as the instructions do it."""
    x = random(16, source)
    x[:4] = [0, 1, np.iinfo(source).max, np.iinfo(source).min]
    for out in casts(x, FLOATS):
        with np.errstate(over="ignore"):
            expected = (x.astype("float32") if out.dtype == np.float16 else x).astype(out.dtype)
        np.testing.assert_array_equal(out, expected)


def saturated(value: float, limits: np.iinfo) -> int:
    if math.isnan(value):
        return 0
    return int(value) if limits.min <= value <= limits.max else limits.max if value > 0 else limits.min


@pytest.mark.parametrize("source", FLOATS)
def test_cast_float_to_integer(source: str) -> None:
    """Towards zero; past the limits the nearest limit, and 0 for NaN, where C leaves it undefined."""
    x = [0, 0.9, -0.9, 1.5, -1.5, 100.7, 1e4, -1e4, 6e4, -6e4, np.inf, -np.inf, np.nan, 3, 2.5, 127]
    for out in casts(np.array(x, source), INTEGERS):
        limits = np.iinfo(out.dtype)
        assert out.tolist() == [saturated(v, limits) for v in np.array(x, source).tolist()]


@pytest.mark.parametrize("source", FLOATS)
def test_cast_between_floats(source: str) -> None:
    """Rounded to nearest even, overflow to infinity, subnormal numbers kept, NaN kept."""
    x = np.array(
        [0, -0.0, 1, 1 / 3, 65504, 65519, 65520, 1e-7, 6e-8, 2.9e-8, np.inf, -np.inf, np.nan, -1e5, 2, 1e-3]
    )
    with np.errstate(over="ignore"):
        x = x.astype(np.float32).astype(source)
    for out in casts(x, FLOATS):
        with np.errstate(over="ignore"):
            expected = x.astype(out.dtype)
        np.testing.assert_array_equal(out, expected)
        np.testing.assert_array_equal(np.signbit(out), np.signbit(expected))


def test_bf16_rounding() -> None:
    """R07: ties to even, overflow to infinity, subnormals, and a NaN whose payload is in the low bits stays NaN."""
    x = np.array(
        [0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF, 0x80008000, 0x7F800001, 0xFF800001, 0], np.uint32
    )
    out = Typed(np.zeros(8, np.uint16), "bfloat16")
    launch(copy, (1,), x.view(np.float32), out, N=8)
    assert [f"{bits:04x}" for bits in out.bits[:5]] == ["3f80", "3f82", "3f81", "7f80", "8000"]
    assert np.isnan(bf16_values(out.bits[5:7])).all()
    assert out.bits[7] == 0


@triton.jit
def copy_blocks(x, out, N: tl.constexpr):
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes).to(out.dtype.element_ty))


def test_bf16_widens_exactly() -> None:
    """All 65536 bit patterns, in blocks that fit any scratchpad."""
    every = np.arange(65536, dtype=np.uint16)
    out = np.zeros(65536, np.float32)
    launch(copy_blocks, (64,), Typed(every, "bfloat16"), out, N=1024)
    np.testing.assert_array_equal(out, bf16_values(every))


def test_f16_widens_exactly() -> None:
    """All 65536 bit patterns, in blocks that fit any scratchpad."""
    every = np.arange(65536, dtype=np.uint16)
    out = np.zeros(65536, np.float32)
    launch(copy_blocks, (64,), every.view(np.float16), out, N=1024)
    np.testing.assert_array_equal(out, every.view(np.float16).astype(np.float32))


@triton.jit
def bitcasts(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    bits = tl.load(x + lanes).to(tl.int32, bitcast=True)
    tl.store(out + lanes, bits)


def test_bitcast() -> None:
    x = np.array([0x7F800001, 0x80000000, 0x3F800000, 0xFFFFFFFF], np.uint32)
    out = np.zeros(4, np.int32)
    launch(bitcasts, (1,), x.view(np.float32), out, N=4)
    np.testing.assert_array_equal(out.view(np.uint32), x)


@triton.jit
def select(condition, x, y, out, N: tl.constexpr, scalar):
    lanes = tl.arange(0, N)
    a = tl.load(x + lanes)
    b = tl.load(y + lanes)
    chosen = tl.where(tl.load(condition + lanes), a, b)
    tl.store(out + lanes, chosen)
    tl.store(out + N + lanes, tl.where(scalar > 2, a, b))


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
@pytest.mark.parametrize("scalar", [2, 3])
def test_where(dtype: str, scalar: int) -> None:
    """The condition is a tensor, or one scalar for all lanes."""
    condition, x, y = random(32, "bool", seed=2), random(32, dtype), random(32, dtype, seed=1)
    out = np.zeros((2, 32), dtype)
    launch(select, (1,), condition, x, y, out, 32, scalar)
    np.testing.assert_array_equal(out, np.stack([np.where(condition, x, y), x if scalar > 2 else y]))


@triton.jit
def high_halves(x, y, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.umulhi(tl.load(x + lanes), tl.load(y + lanes)))


@pytest.mark.parametrize("dtype", ["uint32", "uint64"])
def test_umulhi(dtype: str) -> None:
    x, y, out = random(16, dtype), random(16, dtype, seed=1), np.zeros(16, dtype)
    launch(high_halves, (1,), x, y, out, N=16)
    width = np.iinfo(dtype).bits
    assert out.tolist() == [int(a) * int(b) // 2**width for a, b in zip(x, y, strict=True)]


@triton.jit
def functions(x, out, N: tl.constexpr, NAME: tl.constexpr):
    lanes = tl.arange(0, N)
    value = tl.load(x + lanes)
    if NAME == "exp":
        value = tl.exp(value)
    elif NAME == "exp2":
        value = tl.exp2(value)
    elif NAME == "log":
        value = tl.log(value)
    elif NAME == "log2":
        value = tl.log2(value)
    elif NAME == "sqrt":
        value = tl.sqrt(value)
    elif NAME == "sqrt_rn":
        value = tl.sqrt_rn(value)
    elif NAME == "rsqrt":
        value = tl.rsqrt(value)
    elif NAME == "sin":
        value = tl.sin(value)
    elif NAME == "cos":
        value = tl.cos(value)
    elif NAME == "erf":
        value = tl.erf(value)
    elif NAME == "abs":
        value = tl.abs(value)
    elif NAME == "floor":
        value = tl.floor(value)
    elif NAME == "ceil":
        value = tl.ceil(value)
    elif NAME == "neg":
        value = -value
    elif NAME == "sigmoid":
        value = tl.sigmoid(value)
    elif NAME == "fma":
        value = tl.fma(value, value, value)
    elif NAME == "div_rn":
        value = tl.div_rn(value, 3.0)
    tl.store(out + lanes, value)


def erf(x: np.ndarray) -> np.ndarray:
    return np.vectorize(math.erf)(x)


ACCURATE = {
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "cos": np.cos,
    "erf": erf,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}
EXACT = {
    "sqrt": np.sqrt,
    "sqrt_rn": np.sqrt,
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "neg": np.negative,
}
EXACT["div_rn"] = lambda x: x / x.dtype.type(3)
SPECIAL_VALUES = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-40,
    -1e-40,
    1e30,
    -1e30,
    88.7,
    -103.0,
    89.0,
    -150.0,
    128.0,
]


def test_long_formulas_work_on_shorter_registers() -> None:
    """Where constants take most of the host's registers, fewer vectors at a time are faster, and compiled sooner."""
    x, out = random(1024, "float32"), np.zeros(1024, np.float32)
    longest = {}
    for name in ("exp", "erf"):
        text = launch(functions, (1,), x, out, N=1024, NAME=name).asm[f"{BACKEND_NAME}ir"]
        longest[name] = max(int(lanes) for lanes in re.findall(r"vector<(\d+)xf32>", text))
    assert longest["erf"] < longest["exp"]
    if VECTOR_REGISTERS > 2 * REGISTER_GROUP:  # else there are too few to begin with
        assert longest["erf"] * 2 == longest["exp"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ACCURATE)
def test_functions(name: str, dtype: str) -> None:
    """Within 4 units in the last place of the true value; limits, infinities and NaN as C's Annex F has them."""
    x = (random(1024, dtype) * 8).astype(dtype)
    x[: len(SPECIAL_VALUES)] = SPECIAL_VALUES
    out = np.zeros_like(x)
    launch(functions, (1,), x, out, N=1024, NAME=name)
    with np.errstate(all="ignore"):
        exact = np.asarray(ACCURATE[name](x.astype(np.longdouble if dtype == "float64" else np.float64)))
        expected = exact.astype(dtype)
        spacing = np.spacing(np.abs(expected))
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(out[~finite], expected[~finite])
    off = np.abs(out[finite].astype(exact.dtype) - exact[finite]) / spacing[finite]
    worst = int(np.argmax(off))
    assert off[worst] <= 4, (
        f"{name}({x[finite][worst]!r}) = {out[finite][worst]!r}, not {expected[finite][worst]!r}"
    )


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, "float32") for name in EXACT] + [(name, "float64") for name in EXACT if not name.endswith("_rn")],
)
def test_exact_functions(name: str, dtype: str) -> None:
    """Bit for bit, signs of zeros included."""
    x = (random(64, dtype) * 8).astype(dtype)
    x[: len(SPECIAL_VALUES)] = SPECIAL_VALUES
    out = np.zeros_like(x)
    launch(functions, (1,), x, out, N=64, NAME=name)
    with np.errstate(all="ignore"):
        expected = EXACT[name](x)
    np.testing.assert_array_equal(out, expected)
    number = ~np.isnan(expected)
    if name == "neg":
        number &= x != 0  # Triton 3.7 itself makes 0 - x of -x
    np.testing.assert_array_equal(np.signbit(out)[number], np.signbit(expected)[number])


def test_fma_rounds_once() -> None:
    """``x * x + x`` in float32 with a single rounding: float64 holds the product exactly."""
    x = random(64)
    out = np.zeros_like(x)
    launch(functions, (1,), x, out, N=64, NAME="fma")
    wide = x.astype(np.float64)
    np.testing.assert_array_equal(out, (wide * wide + wide).astype(np.float32))


@triton.jit
def absolute(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.abs(tl.load(x + lanes)))


def test_absolute_integers() -> None:
    """The smallest number has no counterpart: it stays."""
    x = np.array([0, 5, -5, np.iinfo(np.int32).min], np.int32)
    out = np.zeros_like(x)
    launch(absolute, (1,), x, out, N=4)
    assert out.tolist() == [0, 5, 5, np.iinfo(np.int32).min]


@triton.jit
def mixed(x, y, out, N: tl.constexpr, factor):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes) * factor + tl.load(y + lanes))


def test_type_promotion() -> None:
    """int8 by an int32 scalar, then float32: the language decides, the backend follows."""
    x, y, out = random(16, "int8"), random(16), np.zeros(16, np.float32)
    launch(mixed, (1,), x, y, out, N=16, factor=3)
    np.testing.assert_array_equal(out, (x.astype(np.int32) * 3).astype(np.float32) + y)
