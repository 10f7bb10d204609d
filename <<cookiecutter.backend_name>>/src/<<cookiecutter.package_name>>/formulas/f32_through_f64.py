"""Functions of the math library in f32 whose formulas pass through f64 where f32 would lose bits.

An f64 holds an f32 product without rounding, has twice the digits, and exponents that f32 lacks: no scaling, no
compensation. Errors, in ulp: fmod and remainder exact, hypot 0.51, pow 0.55, erfc 0.85, the others 1.6. What
``f32_library.py`` says of limits holds here too.
"""

from __future__ import annotations

from typing import Final

from xdsl.ir import SSAValue

from ..dialects.isa import alu, convert
from .f32_common import EXP2, INF, NAN, natural_log
from .formula import F32, F64, I32, I64, Formula

# log2((1 + s) / (1 - s)) / s in s^2 for |s| < (sqrt(2) - 1) / (sqrt(2) + 1): error 2^-37.8.
LOG2_RATIO: Final = (
    *(2.8853900817901112, 0.9617966733081383, 0.577083591804279),
    *(0.411672286078438, 0.34073850054320803),
)
# e^(a^2) erfc(a) in t = (a - 2) / (a + 2) for 0 < a < 10.2: error 2^-27.3.
ERFCX: Final = (
    *(
        0.2553956759146463,
        -0.42718586764524924,
        0.24165826113353386,
        -0.07897799637824525,
        0.0037316978010700484,
    ),
    *(0.006992444427093099, -0.0008408667636842613, -0.0009626220512411439, 3.276116462560885e-05),
    *(0.00013811592789308888, 2.6538839319052114e-05),
)

LOG2_E: Final = 1.4426950408889634
ROUND: Final = 1.5 * 2**52
"""Adding it rounds to an integer, which then stands in the low bits of the sum."""
ROOT_HALF_BITS: Final = 0x3FE6A09E667F3BCD
"""sqrt(1/2) as an f64's bits."""
HUGE: Final = 2.0**1000
"""Stands for an infinite logarithm: times zero it is zero."""
QUOTIENT_LIMIT: Final = 2.0**28
"""Quotients of two f32 numbers below, rounded to f64, do not reach the integer or half integer above or below."""


# --- logarithms ------------------------------------------------------------------------------------------------


def asinh(f: Formula, x: SSAValue) -> SSAValue:
    """log(|x| + sqrt(x^2 + 1)); x itself where it is small."""
    a = f.convert(convert.ExtF, f(alu.AbsF, x), F64)
    w = f(alu.AddF, a, f(alu.Sqrt, f(alu.Fma, a, a, 1.0)))
    return _below_2(f, x, 12, f(alu.CopySign, _log(f, w), x))


def acosh(f: Formula, x: SSAValue) -> SSAValue:
    """log(x + sqrt(x^2 - 1)), whose radicand is exact near 1; below it is negative."""
    a = f.convert(convert.ExtF, x, F64)
    w = f(alu.AddF, a, f(alu.Sqrt, f(alu.Fma, a, a, -1.0)))
    return f.select(f.compare("olt", x, 1.0), NAN, _log(f, w))


def atanh(f: Formula, x: SSAValue) -> SSAValue:
    """log((1 + |x|) / (1 - |x|)) / 2; x itself where it is small."""
    magnitude = f(alu.AbsF, x)
    a = f.convert(convert.ExtF, magnitude, F64)
    w = f(alu.DivF, f(alu.AddF, a, 1.0), f(alu.SubF, f.const(1.0, a.type), a))
    y = f(alu.CopySign, f(alu.MulF, _log(f, w), 0.5), x)
    return f.select(f.compare("ogt", magnitude, 1.0), NAN, _below_2(f, x, 13, y))


def _log(f: Formula, w: SSAValue) -> SSAValue:
    """log(w) of a positive f64, as an f32: only w - 1 needs all the bits."""
    e, m = _exponent_and_fraction(f, w)
    fraction = f.narrow(f(alu.AddF, m, -1.0))
    y = natural_log(f, f.convert(convert.SIToF, e, F32), fraction)
    return f.select(f.compare("olt", w, INF), y, f.narrow(w))


def _exponent_and_fraction(f: Formula, w: SSAValue) -> tuple[SSAValue, SSAValue]:
    """e (an i32) and m of w = 2^e m with sqrt(1/2) < m < sqrt(2), for a positive normal w."""
    bits = f.bits(w, I64)
    # Counted from sqrt(1/2) on, the bits above the 52 of the fraction are e.
    e = f(alu.ShrS, f(alu.SubI, bits, ROOT_HALF_BITS), 52)
    m = f.bits(f(alu.SubI, bits, f(alu.Shl, e, 52)), F64)
    return f.convert(convert.TruncI, e, I32), m


def _below_2(f: Formula, x: SSAValue, places: int, y: SSAValue) -> SSAValue:
    """x where |x| < 2^-places, else y."""
    return f.select(f.compare("olt", f(alu.AbsF, x), 2.0**-places), x, y)


# --- powers ------------------------------------------------------------------------------------------------------


def power(f: Formula, x: SSAValue, y: SSAValue) -> SSAValue:
    """|x|^y = 2^(y log2 |x|), then C's rules for signs, zeros, infinities and NaN (C17, F.10.4.4)."""
    whole = f.compare("oeq", f(alu.RoundEvenF, y), y)
    half = f(alu.MulF, y, 0.5)
    odd = f(alu.And, whole, f.compare("one", f(alu.RoundEvenF, half), half))
    value = f(alu.CopySign, _power(f, x, f.convert(convert.ExtF, y, F64)), f.select(odd, x, 1.0))
    negative = f(alu.And, f.compare("olt", x, 0.0), f.compare("ogt", x, -INF))
    value = f.select(whole, value, f.select(negative, NAN, value))
    value = f.select(f.compare("uno", x, y), f(alu.AddF, x, y), value)
    one = f(alu.Or, f.compare("oeq", x, 1.0), f.compare("oeq", y, 0.0))
    return f.select(one, 1.0, value)


def integer_power(f: Formula, x: SSAValue, n: SSAValue) -> SSAValue:
    """x^n for an i32 n, which f64 holds."""
    odd = f.compare("ne", f(alu.And, n, 1), 0)
    value = f(alu.CopySign, _power(f, x, f.convert(convert.SIToF, n, F64)), f.select(odd, x, 1.0))
    nan = f(alu.And, f.compare("uno", x, x), f.compare("ne", n, 0))
    return f.select(nan, x, value)


def _power(f: Formula, x: SSAValue, y: SSAValue) -> SSAValue:
    """|x|^y of an f32 and an f64, neither of them NaN; 1 for y = 0 even then."""
    a = f.convert(convert.ExtF, f(alu.AbsF, x), F64)
    e, m = _exponent_and_fraction(f, a)
    s = f(alu.DivF, f(alu.AddF, m, -1.0), f(alu.AddF, m, 1.0))
    log = f(alu.Fma, s, f.horner(f(alu.MulF, s, s), LOG2_RATIO), f.convert(convert.SIToF, e, F64))
    log = f.select(f.compare("oeq", a, 0.0), -HUGE, log)
    log = f.select(f.compare("olt", a, INF), log, HUGE)
    t = f(alu.MulF, y, log)
    t = f.select(f.compare("ord", t, t), t, 0.0)  # 1^inf is 1
    return f.narrow(_exp2(f, f(alu.MinNum, f(alu.MaxNum, t, -200.0), 200.0)))


def _exp2(f: Formula, t: SSAValue) -> SSAValue:
    """2^t for |t| < 1000, to f32's accuracy in an f64's range."""
    shifted = f(alu.AddF, t, ROUND)
    r = f(alu.SubF, t, f(alu.SubF, shifted, ROUND))
    n = f(alu.Shl, f.bits(shifted, I64), 52)
    return f.bits(f(alu.AddI, f.bits(f.horner(r, (1.0, *EXP2)), I64), n), F64)


def hypot(f: Formula, x: SSAValue, y: SSAValue) -> SSAValue:
    """sqrt(x^2 + y^2), which f64 holds; infinite if either is, even where the other is NaN."""
    a, b = f.convert(convert.ExtF, x, F64), f.convert(convert.ExtF, y, F64)
    root = f.narrow(f(alu.Sqrt, f(alu.Fma, a, a, f(alu.MulF, b, b))))
    largest = f(alu.MaxNum, f(alu.AbsF, x), f(alu.AbsF, y))
    return f.select(f.compare("oeq", largest, INF), INF, root)


def erfc(f: Formula, x: SSAValue) -> SSAValue:
    """e^(-a^2) times a rational function of a = |x|; 2 minus that for a negative x. In f64 the square is exact."""
    a = f(alu.AbsF, x)
    a = f.select(f.compare("ogt", a, 10.2), 10.2, a)  # beyond, the result is 0
    a = f.convert(convert.ExtF, a, F64)
    t = f(alu.DivF, f(alu.AddF, a, -2.0), f(alu.AddF, a, 2.0))
    power = _exp2(f, f(alu.MulF, f(alu.MulF, a, a), -LOG2_E))
    y = f.narrow(f(alu.MulF, power, f.horner(t, ERFCX)))
    return f.select(f.compare("olt", x, 0.0), f(alu.SubF, f.const(2.0, x.type), y), y)


# --- remainders --------------------------------------------------------------------------------------------------


def quotient_beyond(f: Formula, x: SSAValue, y: SSAValue) -> SSAValue:
    """Where `fmod_core` and `remainder_core` do not hold."""
    return f.compare("uge", f(alu.AbsF, x), f(alu.MulF, f(alu.AbsF, y), QUOTIENT_LIMIT))


def fmod_core(f: Formula, x: SSAValue, y: SSAValue) -> SSAValue:
    """x - trunc(x / y) y, exact for |x / y| < `QUOTIENT_LIMIT`."""
    return f(alu.CopySign, _remainder(f, alu.TruncIntF, x, y), x)


def remainder_core(f: Formula, x: SSAValue, y: SSAValue) -> SSAValue:
    """x - round(x / y) y with ties to even, exact for |x / y| < `QUOTIENT_LIMIT`; zeros have x's sign."""
    r = _remainder(f, alu.RoundEvenF, x, y)
    return f.select(f.compare("oeq", r, 0.0), f(alu.CopySign, r, x), r)


def _remainder(f: Formula, rounding: type[alu.FloatUnary], x: SSAValue, y: SSAValue) -> SSAValue:
    a = f.convert(convert.ExtF, x, F64)
    # The sign of y does not matter; an infinite one is as good as one that is larger than any f32.
    b = f(alu.MinNum, f.convert(convert.ExtF, f(alu.AbsF, y), F64), 2.0**200)
    n = f(rounding, f(alu.DivF, a, b))
    return f.narrow(f(alu.Fma, f(alu.NegF, n), b, a))
