"""f64 arithmetic on the bits in i64 registers, for a vector unit without f64: formulas of integer instructions.

Results are those of the instructions in ``dialects/isa`` to the last bit; a NaN is a NaN, whichever. There are no
branches: all lanes of a register go the same way. A number is taken apart into its sign, its biased exponent and its
significand; the result's significand, exact except for a last bit that says whether there is more (a sticky bit), is
rounded once, by `pack`. The algorithms are those of textbooks: Muller et al., "Handbook of Floating-Point
Arithmetic", chapter 9 (software); the square root is Zimmermann's "Karatsuba Square Root" (INRIA RR-3805) with digits
of 28 bits.
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects.isa import alu, convert
from ..dialects.isa.base import element_of
from ..target import SPECIAL_FUNCTIONS
from . import f32_special
from .formula import F32, I32, I64, Formula, Rule

SIGN: Final = -(1 << 63)
MAGNITUDE: Final = (1 << 63) - 1
INFINITY: Final = 0x7FF << 52
QUIET_NAN: Final = 0x7FF8 << 48
FRACTION: Final = (1 << 52) - 1
IMPLICIT: Final = 1 << 52
BIAS: Final = 1023
GUARD: Final = 10
"""Bits below the significand of what `pack` rounds."""

Number = tuple[SSAValue, SSAValue]
"""A biased exponent e of at least 1, and a significand m below 2^53, of m 2^(e - 1075)."""


# --- parts --------------------------------------------------------------------------------------------------------


def magnitude(f: Formula, x: SSAValue) -> SSAValue:
    return f(alu.And, x, MAGNITUDE)


def sign_of(f: Formula, x: SSAValue) -> SSAValue:
    """The sign bit alone."""
    return f(alu.And, x, SIGN)


def is_nan(f: Formula, x: SSAValue) -> SSAValue:
    return f.compare("ugt", magnitude(f, x), INFINITY)


def unpack(f: Formula, a: SSAValue) -> Number:
    """A finite number from its magnitude's bits; the significand of a denormal is below 2^52."""
    e = f(alu.ShrU, a, 52)
    m = f(alu.And, a, FRACTION)
    m = f.select(f.compare("eq", e, 0), m, f(alu.Or, m, IMPLICIT))
    return f(alu.MaxS, e, 1), m


def normalized(f: Formula, number: Number) -> Number:
    """The same number with 2^52 <= m < 2^53; e may be below 1. m is not zero."""
    e, m = number
    places = f(alu.SubI, f(alu.CountLeadingZeros, m), 11)
    return f(alu.SubI, e, places), f(alu.Shl, m, places)


def flag(f: Formula, condition: SSAValue) -> SSAValue:
    """A predicate as the number 0 or 1."""
    return f.convert(convert.ExtU, condition, I64)


def shift_right_sticky(f: Formula, m: SSAValue, places: SSAValue) -> SSAValue:
    """m / 2^places, and 1 in the last bit if that was not exact; `places` is not negative."""
    lost = f(alu.And, m, f(alu.Xor, f(alu.Shl, f.const(-1, m.type), places), -1))
    return f(alu.Or, f(alu.ShrU, m, places), flag(f, f.compare("ne", lost, 0)))


def pack(f: Formula, sign: SSAValue, e: SSAValue, m: SSAValue) -> SSAValue:
    """m 2^(e - 1085) with `sign`, rounded to nearest even; 2^62 <= m < 2^63, its last bit sticky."""
    denormal = f(alu.MaxS, f(alu.SubI, f.const(1, e.type), e), 0)
    m = shift_right_sticky(f, m, f(alu.MinS, denormal, 64))
    odd = f(alu.And, f(alu.ShrU, m, GUARD), 1)
    m = f(alu.ShrU, f(alu.AddI, f(alu.AddI, m, (1 << (GUARD - 1)) - 1), odd), GUARD)
    # Of a normal number the implicit bit adds the one that is missing to the exponent, and a carry another.
    exponent = f(alu.Shl, f(alu.SubI, f(alu.MaxS, e, 1), 1), 52)
    bits = f(alu.AddI, exponent, m)
    bits = f.select(f.compare("sge", e, 0x7FF), INFINITY, bits)
    return f(alu.Or, f(alu.MinS, bits, INFINITY), sign)


def pack_wide(
    f: Formula, sign: SSAValue, e: SSAValue, high: SSAValue, low: SSAValue, zero: SSAValue
) -> SSAValue:
    """``high 2^64 + low`` below 2^127, 2^64 times as large as `pack` takes it, rounded; `zero` if it is zero."""
    empty = f.compare("eq", high, 0)
    e = f.select(empty, f(alu.SubI, e, 64), e)
    high, low = f.select(empty, low, high), f.select(empty, 0, low)
    # Now the first bit of a `high` that was `low` may be set.
    over = f.compare("slt", high, 0)
    high = f.select(over, shift_right_sticky(f, high, f.const(1, high.type)), high)
    e = f.select(over, f(alu.AddI, e, 1), e)
    nothing = f.compare("eq", high, 0)
    places = f(alu.SubI, f(alu.CountLeadingZeros, high), 1)
    moved = f(alu.ShrU, low, f(alu.SubI, f.const(64, low.type), places))
    m = f(alu.Or, f(alu.Shl, high, places), moved)
    m = f(alu.Or, m, flag(f, f.compare("ne", f(alu.Shl, low, places), 0)))
    return f.select(nothing, zero, pack(f, sign, f(alu.SubI, e, places), m))


# --- arithmetic ----------------------------------------------------------------------------------------------------


def add(f: Formula, x: SSAValue, y: SSAValue) -> SSAValue:
    swap = f.compare("ult", magnitude(f, x), magnitude(f, y))
    x, y = f.select(swap, y, x), f.select(swap, x, y)
    large, small = magnitude(f, x), magnitude(f, y)
    (e, m), (e_small, m_small) = unpack(f, large), unpack(f, small)
    m, m_small = f(alu.Shl, m, GUARD - 1), f(alu.Shl, m_small, GUARD - 1)
    m_small = shift_right_sticky(f, m_small, f(alu.MinS, f(alu.SubI, e, e_small), 64))
    opposite = f.compare("slt", f(alu.Xor, x, y), 0)
    m = f.select(opposite, f(alu.SubI, m, m_small), f(alu.AddI, m, m_small))
    places = f(alu.SubI, f(alu.CountLeadingZeros, m), 1)
    total = pack(
        f, sign_of(f, x), f(alu.SubI, f(alu.AddI, e, 1), places), f(alu.Shl, m, f(alu.MaxS, places, 0))
    )
    # Equal numbers of opposite signs give +0.
    total = f.select(f.compare("eq", m, 0), f(alu.And, sign_of(f, x), y), total)
    both = f(alu.And, opposite, f.compare("eq", small, INFINITY))
    special = f.select(f(alu.Or, both, f.compare("ugt", large, INFINITY)), QUIET_NAN, x)
    return f.select(f.compare("uge", large, INFINITY), special, total)


def negated(f: Formula, x: SSAValue) -> SSAValue:
    return f(alu.Xor, x, SIGN)


def subtract(f: Formula, x: SSAValue, y: SSAValue) -> SSAValue:
    return add(f, x, negated(f, y))


def _product(f: Formula, a: SSAValue, b: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Of two magnitudes: the exponent, the high and the low half of their product, as `pack_wide` takes them."""
    (e_a, m_a), (e_b, m_b) = unpack(f, a), unpack(f, b)
    m_a, m_b = f(alu.Shl, m_a, GUARD), f(alu.Shl, m_b, GUARD)
    e = f(alu.SubI, f(alu.AddI, e_a, e_b), BIAS - 2)
    return e, f(alu.MulHU, m_a, m_b), f(alu.MulI, m_a, m_b)


def _invalid_product(f: Formula, a: SSAValue, b: SSAValue) -> SSAValue:
    """Whether one magnitude is infinite and the other zero, or one a NaN."""
    largest, least = f(alu.MaxU, a, b), f(alu.MinU, a, b)
    none = f(alu.And, f.compare("eq", largest, INFINITY), f.compare("eq", least, 0))
    return f(alu.Or, none, f.compare("ugt", largest, INFINITY))


def multiply(f: Formula, x: SSAValue, y: SSAValue) -> SSAValue:
    a, b = magnitude(f, x), magnitude(f, y)
    sign = sign_of(f, f(alu.Xor, x, y))
    e, high, low = _product(f, a, b)
    value = pack_wide(f, sign, e, high, low, sign)
    infinite = f.compare("uge", f(alu.MaxU, a, b), INFINITY)
    value = f.select(infinite, f(alu.Or, sign, INFINITY), value)
    return f.select(_invalid_product(f, a, b), QUIET_NAN, value)


def multiply_add(f: Formula, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
    """x y + z with one rounding: both as 128-bit integers of one scale."""
    a, b, c = magnitude(f, x), magnitude(f, y), magnitude(f, z)
    sign = sign_of(f, f(alu.Xor, x, y))
    e, high, low = _product(f, a, b)
    # A product of zero, whose exponent means nothing, must not shift z away.
    e = f.select(f.compare("eq", f(alu.Or, high, low), 0), -(1 << 12), e)
    e_c, m_c = unpack(f, c)
    e_c, high_c = f(alu.AddI, e_c, 1), f(alu.Shl, m_c, GUARD - 1)
    low_c = f.const(0, z.type)
    behind = f(alu.SubI, e_c, e)
    high, low = _shift_wide(f, high, low, f(alu.MaxS, behind, 0))
    high_c, low_c = _shift_wide(f, high_c, low_c, f(alu.MaxS, f(alu.SubI, low_c, behind), 0))
    e = f(alu.MaxS, e, e_c)
    opposite = f.compare("slt", f(alu.Xor, sign, z), 0)
    # high 2^64 + low of z is taken with its sign relative to the product's: negated where they differ.
    borrow = flag(f, f.compare("ne", low_c, 0))
    high_n = f(alu.SubI, f(alu.SubI, f.const(0, z.type), high_c), borrow)
    low_n = f(alu.SubI, f.const(0, z.type), low_c)
    high_c, low_c = f.select(opposite, high_n, high_c), f.select(opposite, low_n, low_c)
    low = f(alu.AddI, low, low_c)
    carry = flag(f, f.compare("ult", low, low_c))
    high = f(alu.AddI, f(alu.AddI, high, high_c), carry)
    negative = f.compare("slt", high, 0)
    borrow = flag(f, f.compare("ne", low, 0))
    high_n = f(alu.SubI, f(alu.SubI, f.const(0, z.type), high), borrow)
    low_n = f(alu.SubI, f.const(0, z.type), low)
    high, low = f.select(negative, high_n, high), f.select(negative, low_n, low)
    result_sign = f.select(negative, f(alu.Xor, sign, SIGN), sign)
    value = pack_wide(f, result_sign, e, high, low, f(alu.And, sign, z))
    infinite = f.compare("uge", f(alu.MaxU, a, b), INFINITY)
    product = f(alu.Or, sign, INFINITY)
    value = f.select(f.compare("uge", c, INFINITY), z, value)
    value = f.select(infinite, product, value)
    both = f(alu.And, f(alu.And, infinite, opposite), f.compare("eq", c, INFINITY))
    invalid = f(alu.Or, f(alu.Or, _invalid_product(f, a, b), both), f.compare("ugt", c, INFINITY))
    return f.select(invalid, QUIET_NAN, value)


def _shift_wide(f: Formula, high: SSAValue, low: SSAValue, places: SSAValue) -> tuple[SSAValue, SSAValue]:
    """128 bits to the right, sticky; `places` is not negative."""
    far = f.compare("uge", places, 64)
    first, second = f.select(far, 0, high), f.select(far, high, low)
    lost = f.select(far, low, f.const(0, low.type))
    places = f(alu.MinU, f.select(far, f(alu.SubI, places, 64), places), 64)
    moved = f(alu.Shl, first, f(alu.SubI, f.const(64, low.type), places))
    gone = f(alu.And, second, f(alu.Xor, f(alu.Shl, f.const(-1, low.type), places), -1))
    sticky = flag(f, f.compare("ne", f(alu.Or, gone, lost), 0))
    second = f(alu.Or, f(alu.Or, f(alu.ShrU, second, places), moved), sticky)
    return f(alu.ShrU, first, places), second


def divide(f: Formula, x: SSAValue, y: SSAValue) -> SSAValue:
    """Long division by digits of 10 or 11 bits."""
    a, b = magnitude(f, x), magnitude(f, y)
    sign = sign_of(f, f(alu.Xor, x, y))
    (e_a, rest), (e_b, divisor) = normalized(f, unpack(f, a)), normalized(f, unpack(f, b))
    quotient = f.const(0, x.type)
    for digits in (11, 11, 10, 10, 10, 10):
        rest = f(alu.Shl, rest, digits)
        digit = f(alu.DivU, rest, divisor)
        rest = f(alu.SubI, rest, f(alu.MulI, digit, divisor))
        quotient = f(alu.AddI, f(alu.Shl, quotient, digits), digit)
    quotient = f(alu.Or, quotient, flag(f, f.compare("ne", rest, 0)))
    e = f(alu.AddI, f(alu.SubI, e_a, e_b), BIAS)
    below = f.compare("ult", quotient, 1 << 62)
    e = f.select(below, f(alu.SubI, e, 1), e)
    value = pack(f, sign, e, f.select(below, f(alu.Shl, quotient, 1), quotient))
    infinity = f(alu.Or, sign, INFINITY)
    none = f(alu.Or, f.compare("eq", a, 0), f.compare("eq", b, INFINITY))
    value = f.select(none, sign, value)
    value = f.select(f(alu.Or, f.compare("eq", a, INFINITY), f.compare("eq", b, 0)), infinity, value)
    zeros = f.compare("eq", f(alu.Or, a, b), 0)
    least, largest = f(alu.MinU, a, b), f(alu.MaxU, a, b)
    invalid = f(
        alu.Or, f(alu.Or, zeros, f.compare("eq", least, INFINITY)), f.compare("ugt", largest, INFINITY)
    )
    return f.select(invalid, QUIET_NAN, value)


def root(f: Formula, x: SSAValue) -> SSAValue:
    """The root of a 112-bit integer: of its upper half first, estimated in f32, then a second digit of 28 bits."""
    a = magnitude(f, x)
    e, m = normalized(f, unpack(f, a))
    odd = f(alu.And, f(alu.Xor, e, 1), 1)  # of the unbiased exponent
    upper = f(alu.Shl, m, f(alu.AddI, odd, 2))
    guess = f.convert(convert.FToSI, _root_f32(f, f.convert(convert.SIToF, upper, F32)), I64)
    guess = f(alu.ShrU, f(alu.AddI, guess, f(alu.DivU, upper, guess)), 1)
    rest = f(alu.SubI, upper, f(alu.MulI, guess, guess))
    guess = f.select(f.compare("slt", rest, 0), f(alu.SubI, guess, 1), guess)
    rest = f(alu.SubI, upper, f(alu.MulI, guess, guess))
    more = f.compare("sgt", rest, f(alu.AddI, guess, guess))
    guess = f.select(more, f(alu.AddI, guess, 1), guess)
    rest = f(alu.Shl, f(alu.SubI, upper, f(alu.MulI, guess, guess)), 28)
    twice = f(alu.AddI, guess, guess)
    digit = f(alu.DivU, rest, twice)
    rest = f(alu.SubI, rest, f(alu.MulI, digit, twice))
    rest = f(alu.SubI, f(alu.Shl, rest, 28), f(alu.MulI, digit, digit))
    value = f(alu.AddI, f(alu.Shl, guess, 28), digit)
    value = f.select(f.compare("slt", rest, 0), f(alu.SubI, value, 1), value)
    value = f(alu.Or, f(alu.Shl, value, 7), flag(f, f.compare("ne", rest, 0)))
    half = f(alu.ShrS, f(alu.SubI, f(alu.SubI, e, BIAS), odd), 1)
    value = pack(f, f.const(0, x.type), f(alu.AddI, half, BIAS), value)
    value = f.select(f.compare("eq", a, INFINITY), INFINITY, value)
    value = f.select(f.compare("slt", x, 0), QUIET_NAN, value)
    value = f.select(f.compare("eq", a, 0), x, value)
    return f.select(is_nan(f, x), QUIET_NAN, value)


def _root_f32(f: Formula, x: SSAValue) -> SSAValue:
    """By the instruction, if there is one: the pass that expands it has run."""
    return f(alu.Sqrt, x) if "sqrt" in SPECIAL_FUNCTIONS else f32_special.sqrt(f, x)


def inverse_root(f: Formula, x: SSAValue) -> SSAValue:
    return divide(f, f.const(0x3FF << 52, x.type), root(f, x))


# --- signs, order ----------------------------------------------------------------------------------------------------


def copy_sign(f: Formula, x: SSAValue, y: SSAValue) -> SSAValue:
    return f(alu.Or, magnitude(f, x), sign_of(f, y))


def _place(f: Formula, x: SSAValue) -> SSAValue:
    """A signed integer in the order of the numbers, both zeros the same."""
    return f.select(f.compare("slt", x, 0), f(alu.SubI, f.const(SIGN, x.type), x), x)


def _total_place(f: Formula, x: SSAValue) -> SSAValue:
    """The same with -0 before +0."""
    return f.select(f.compare("slt", x, 0), f(alu.Xor, x, MAGNITUDE), x)


def compare(f: Formula, how: str, x: SSAValue, y: SSAValue) -> SSAValue:
    """`how` is one of `alu.FLOAT_PREDICATES`."""
    nan = f(alu.Or, is_nan(f, x), is_nan(f, y))
    if how in ("uno", "ord"):
        return nan if how == "uno" else f(alu.Xor, nan, 1)
    if how in ("false", "true"):
        return f.const(int(how == "true"), nan.type)
    integer = {"eq": "eq", "ne": "ne"}.get(how[1:], "s" + how[1:])
    holds = f.compare(integer, _place(f, x), _place(f, y))
    return f(alu.Or, holds, nan) if how[0] == "u" else f(alu.And, holds, f(alu.Xor, nan, 1))


def _extremum(how: str, *, numbers: bool) -> Rule:
    def rule(f: Formula, x: SSAValue, y: SSAValue) -> SSAValue:
        better = f.compare(how, _total_place(f, x), _total_place(f, y))
        value = f.select(better, x, y)
        if numbers:
            return f.select(is_nan(f, x), y, f.select(is_nan(f, y), x, value))
        return f.select(f(alu.Or, is_nan(f, x), is_nan(f, y)), QUIET_NAN, value)

    return rule


# --- integral values ------------------------------------------------------------------------------------------------


def round_to_integral(how: str) -> Rule:
    """`how`: "trunc", "floor", "ceil" or "even"."""

    def rule(f: Formula, x: SSAValue) -> SSAValue:
        a, sign = magnitude(f, x), sign_of(f, x)
        e = f(alu.SubI, f(alu.ShrU, a, 52), BIAS)
        mask = f(alu.ShrU, f.const(FRACTION, x.type), f(alu.MaxS, e, 0))  # the bits after the binary point
        one = f.const(BIAS << 52, x.type)
        zero = f.const(0, x.type)
        if how == "even":
            step = f(alu.AddI, mask, 1)
            odd = f.compare("ne", f(alu.And, a, step), 0)
            rounding = f.select(odd, f(alu.ShrU, step, 1), f(alu.ShrU, mask, 1))
            whole = f(alu.AddI, a, rounding)
            small = f.select(f.compare("ugt", a, (BIAS - 1) << 52), one, zero)
        else:
            away = {"trunc": None, "floor": f.compare("slt", x, 0), "ceil": f.compare("sge", x, 0)}[how]
            whole, small = a, zero
            if away is not None:
                whole = f(alu.AddI, a, f.select(away, mask, zero))
                small = f.select(f(alu.And, away, f.compare("ne", a, 0)), one, zero)
        whole = f(alu.And, whole, f(alu.Xor, mask, -1))
        value = f.select(f.compare("slt", e, 0), small, whole)
        value = f.select(f.compare("sge", e, 52), a, value)
        return f(alu.Or, value, sign)

    return rule


# --- conversions --------------------------------------------------------------------------------------------------


def from_integer(f: Formula, x: SSAValue, *, signed: bool) -> SSAValue:
    """An integer of any width as f64."""
    x = _wide(f, x, signed=signed)
    sign = sign_of(f, x) if signed else f.const(0, x.type)
    m = f.select(f.compare("slt", x, 0), f(alu.SubI, f.const(0, x.type), x), x) if signed else x
    places = f(alu.CountLeadingZeros, m)
    rounded = shift_right_sticky(f, f(alu.Shl, m, places), f.const(1, x.type))
    value = pack(f, sign, f(alu.SubI, f.const(BIAS + 63, x.type), places), rounded)
    return f.select(f.compare("eq", m, 0), 0, value)


def _wide(f: Formula, x: SSAValue, *, signed: bool) -> SSAValue:
    if element_of(x.type) == I64:
        return x
    return f.convert(convert.ExtS if signed else convert.ExtU, x, I64)


def to_integer(f: Formula, x: SSAValue, element: Attribute, *, signed: bool) -> SSAValue:
    """Towards zero, saturated; 0 for NaN."""
    assert isinstance(element, IntegerType)
    bits = element.width.data
    a = magnitude(f, x)
    e, m = unpack(f, a)
    unbiased = f(alu.SubI, e, BIAS)
    places = f(alu.MinS, f(alu.SubI, f.const(63, x.type), unbiased), 64)
    value = f(alu.ShrU, f(alu.Shl, m, 11), f(alu.MaxS, places, 0))
    negative = f.compare("slt", x, 0)
    if signed:
        most = (1 << (bits - 1)) - 1
        huge = f.compare("sge", unbiased, 63)
        value = f.select(f(alu.Or, huge, f.compare("ugt", value, most + 1)), _word(most + 1), value)
        below = f(alu.SubI, f.const(0, x.type), value)
        above = f(alu.MinU, value, most)
        value = f.select(negative, below, above)
    else:
        most = (1 << bits) - 1
        value = f(alu.MinU, value, _word(most))
        value = f.select(f.compare("sge", unbiased, 64), _word(most), value)
        value = f.select(negative, 0, value)
    value = f.select(f.compare("ugt", a, INFINITY), 0, value)
    return value if bits == 64 else f.convert(convert.TruncI, value, element)


def _word(number: int) -> int:
    """`number` modulo 2^64, as i64 constants are written."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def from_f32(f: Formula, x: SSAValue) -> SSAValue:
    """An f32 as f64, exactly: a denormal is made a normal number first."""
    a = f(alu.AbsF, x)
    denormal = f.compare("olt", a, 2.0**-126)
    bits = f.bits(f.select(denormal, f(alu.MulF, a, 2.0**24), a), I32)
    wide = f.convert(convert.ExtU, bits, I64)
    value = f(alu.AddI, f(alu.Shl, wide, 29), (BIAS - 127) << 52)
    value = f.select(denormal, f(alu.SubI, value, 24 << 52), value)
    value = f.select(f.compare("eq", bits, 0), 0, value)
    value = f.select(f.compare("uge", wide, 0x7F800000), f(alu.Or, f(alu.Shl, wide, 29), INFINITY), value)
    sign = f(alu.And, f.convert(convert.ExtS, f.bits(x, I32), I64), SIGN)
    return f(alu.Or, value, sign)


def to_f32(f: Formula, x: SSAValue, rounding: str) -> SSAValue:
    """`rounding`: "rtne", "rtz", or "odd": the last bit of an inexact result is 1, so that it can be rounded again."""
    a = magnitude(f, x)
    e, m = unpack(f, a)
    e = f(alu.SubI, e, BIAS - 127)
    denormal = f(alu.MaxS, f(alu.SubI, f.const(1, x.type), e), 0)
    m = shift_right_sticky(f, m, f(alu.MinS, denormal, 64))
    if rounding == "rtne":
        odd = f(alu.And, f(alu.ShrU, m, 29), 1)
        m = f(alu.ShrU, f(alu.AddI, f(alu.AddI, m, (1 << 28) - 1), odd), 29)
    else:
        rest = f(alu.And, m, (1 << 29) - 1)
        m = f(alu.ShrU, m, 29)
        if rounding == "odd":
            m = f(alu.Or, m, flag(f, f.compare("ne", rest, 0)))
    bits = f(alu.AddI, f(alu.Shl, f(alu.SubI, f(alu.MaxS, e, 1), 1), 23), m)
    most = 0x7F800000 if rounding == "rtne" else 0x7F7FFFFF
    bits = f(alu.MinS, bits, most)
    bits = f.select(f.compare("sge", a, INFINITY), 0x7F800000, bits)
    bits = f.select(f.compare("ugt", a, INFINITY), 0x7FC00000, bits)
    bits = f(alu.Or, bits, f(alu.ShrU, sign_of(f, x), 32))
    return f.bits(f.convert(convert.TruncI, bits, I32), F32)


RULES: Final[dict[type[Operation], Rule]] = {
    alu.AbsF: magnitude,
    alu.AddF: add,
    alu.Ceil: round_to_integral("ceil"),
    alu.CopySign: copy_sign,
    alu.DivF: divide,
    alu.Floor: round_to_integral("floor"),
    alu.Fma: multiply_add,
    alu.MaxNum: _extremum("sgt", numbers=True),
    alu.Maximum: _extremum("sgt", numbers=False),
    alu.MinNum: _extremum("slt", numbers=True),
    alu.Minimum: _extremum("slt", numbers=False),
    alu.MulF: multiply,
    alu.NegF: negated,
    alu.RoundEvenF: round_to_integral("even"),
    alu.Rsqrt: inverse_root,
    alu.Sqrt: root,
    alu.SubF: subtract,
    alu.TruncIntF: round_to_integral("trunc"),
}
"""Instruction -> how it is computed on the bits of its operands."""
