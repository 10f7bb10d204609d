"""Functions of the math library in f32, as formulas of plain f32 instructions.

Errors, in ulp: log10 and exp10 below 1; cbrt 1.1; acos, atan, atan2, cosh, expm1, log1p 1.6; asin, sinh 1.9; tan 3.6.
Zeros keep their sign, NaN stays NaN, arguments outside of the domain give NaN, and denormals are numbers like others.
The pattern is that of ``f32_special.py``; ``tests/derive_coefficients.py`` derives the polynomials.
"""

from __future__ import annotations

from typing import Final

from xdsl.ir import SSAValue

from ..dialects.isa import alu, convert
from .f32_common import (
    EXP,
    EXPM1,
    HALF_PI,
    INF,
    LN2,
    LOG2_E,
    ROOT_HALF_BITS,
    ROUND,
    clamp,
    exponent_and_fraction,
    log_limits,
    natural_log,
    nearest,
    power_limits,
    power_of_two,
    quadrant,
    scale,
    sine_and_cosine,
)
from .formula import F32, I32, Formula

PI: Final = (3.1415927410125732, -8.742277657347586e-08)
LOG2_10: Final = 3.321928024291992
LOG10_2: Final = (0.3010300099849701, -1.432098883924482e-08)
LOG10_E: Final = (0.4342944920063019, -1.0103049952192578e-08)
"""Constants as sums of f32 numbers, the rounded value first."""

# (asin(s)/s - 1) / s^2 in s^2 for s < 1/2: error 2^-27.6.
ASIN: Final = (
    *(0.16666752099990845, 0.074953094124794, 0.04546915367245674, 0.02418474294245243),
    0.04215838760137558,
)
# (atan(s)/s - 1) / s^2 in s^2 for s < 1: error 2^-28.5.
ATAN: Final = (
    *(-0.33333298563957214, 0.1999852955341339, -0.14264015853405, 0.10950881242752075, -0.08399313688278198),
    *(0.05788165330886841, -0.0310974158346653, 0.010869011282920837, -0.0017829135758802295),
)
# (sinh(x)/x - 1) / x^2 in x^2 for x < 1: error 2^-25.3.
SINH: Final = (0.1666671633720398, 0.008330270648002625, 0.00020373340521473438)
# (10^r - 1) / r for |r| < log10(2)/2: error of 10^r 2^-28.5.
EXP10: Final = (
    *(2.3025851249694824, 2.6509487628936768, 2.034656047821045),
    *(1.1712950468063354, 0.5418259501457214, 0.20617139339447021),
)
# (log10(1 + f) - f / ln 10) / f^2 for sqrt(1/2) < 1 + f < sqrt(2): error of log10(1 + f) 2^-27.7.
LOG10: Final = (
    *(-0.21714718639850616, 0.14476478099822998, -0.10858089476823807, 0.08686868846416473),
    *(-0.07212287932634354, 0.06155917048454285, -0.05756428465247154, 0.0562826506793499),
    -0.033274877816438675,
)
# ((1 + r)^(-1/3) - 1) / r for |r| < 0.1023: error of (1 + r)^(-1/3) 2^-14.4.
INVERSE_CBRT: Final = (-0.33468708395957947, 0.22358490526676178)

ONE_BITS: Final = 0x3F800000
"""1.0 as an f32's bits."""

THIRD: Final = 0x55555556
"""2^32 / 3, rounded up: the high half of a product with it divides by 3."""

INVERSE_CBRT_BITS: Final = 0x54A1F800
"""Less a third of x's bits as an integer, these are the bits of x^(-1/3) within 3.5 %: the exponent's bits are divided
exactly, those of the fraction interpolate. The number was searched for the least error."""


# --- inverse trigonometric -----------------------------------------------------------------------------------


def asin(f: Formula, x: SSAValue) -> SSAValue:
    """A polynomial for |x| < 1/2; beyond, pi/2 - 2 asin(sqrt((1 - |x|) / 2)), whose radicand is exact."""
    small, y = _half_asin(f, x)
    large = f(alu.AddF, f(alu.Fma, y, -2.0, HALF_PI[0]), HALF_PI[1])
    return f(alu.CopySign, f.select(small, y, large), x)


def acos(f: Formula, x: SSAValue) -> SSAValue:
    """pi/2 - asin(x) for |x| < 1/2; beyond, 2 asin(sqrt((1 - |x|) / 2)), which is taken from pi for a negative x."""
    small, y = _half_asin(f, x)
    factor = f.select(small, f.const(-1.0, x.type), 2.0)
    start = f.select(f.compare("olt", x, 0.0), f.const(PI[0], x.type), 0.0)
    return f(alu.Fma, f(alu.CopySign, y, x), factor, f.select(small, HALF_PI[0], start))


def _half_asin(f: Formula, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Whether |x| is at most 1/2, and asin(|x|) if so, else asin(sqrt((1 - |x|) / 2))."""
    a = f(alu.AbsF, x)
    small = f.compare("ole", a, 0.5)
    t = f.select(small, f(alu.MulF, a, a), f(alu.Fma, a, -0.5, 0.5))
    s = f.select(small, a, f(alu.Sqrt, t))
    return small, f(alu.Fma, f(alu.MulF, s, t), f.horner(t, ASIN), s)


def atan(f: Formula, x: SSAValue) -> SSAValue:
    """A polynomial for |x| < 1; beyond, pi/2 - atan(1 / |x|)."""
    a = f(alu.AbsF, x)
    inverted = f.compare("ogt", a, 1.0)
    y = _atan_below_1(f, f.select(inverted, f(alu.DivF, f.const(1.0, x.type), a), a))
    return f(alu.CopySign, _from_half_pi(f, inverted, y), x)


def atan2(f: Formula, y: SSAValue, x: SSAValue) -> SSAValue:
    """The angle of the smaller to the larger of |x| and |y|, at most pi/4, then turned into its octant."""
    a, b = f(alu.AbsF, y), f(alu.AbsF, x)
    steep = f.compare("ogt", a, b)
    less, more = f.select(steep, b, a), f.select(steep, a, b)
    # Equal numbers have the ratio 1, infinities too; for zeros it is that of 0 and 1.
    ratio = f.select(f.compare("oeq", more, 0.0), more, 1.0)
    ratio = f.select(f.compare("oeq", a, b), ratio, f(alu.DivF, less, more))
    angle = _from_half_pi(f, steep, _atan_below_1(f, ratio))
    # The sign bit tells -0 from +0.
    left = f.compare("slt", f.bits(x, I32), 0)
    obtuse = f(alu.AddF, f(alu.SubF, f.const(PI[0], x.type), angle), PI[1])
    return f(alu.CopySign, f.select(left, obtuse, angle), y)


def _atan_below_1(f: Formula, s: SSAValue) -> SSAValue:
    t = f(alu.MulF, s, s)
    return f(alu.Fma, f(alu.MulF, s, t), f.horner(t, ATAN), s)


def _from_half_pi(f: Formula, condition: SSAValue, y: SSAValue) -> SSAValue:
    """pi/2 - y where the condition holds, else y."""
    return f.select(condition, f(alu.AddF, f(alu.SubF, f.const(HALF_PI[0], y.type), y), HALF_PI[1]), y)


def tan_core(f: Formula, x: SSAValue) -> SSAValue:
    """sin(x) / cos(x) for |x| < `TRIG_LIMIT`; in odd quadrants of the reduced angle -cos / sin."""
    n, r = quadrant(f, x)
    sine, cosine = sine_and_cosine(f, r)
    odd = f.compare("ne", f(alu.And, n, 1), 0)
    return f(alu.DivF, f.select(odd, cosine, sine), f.select(odd, f(alu.NegF, sine), cosine))


# --- hyperbolic ------------------------------------------------------------------------------------------------


def sinh(f: Formula, x: SSAValue) -> SSAValue:
    """A polynomial for |x| < 1; beyond, (e^|x| - e^-|x|) / 2."""
    a, quarter, inverse = _quarter_exp(f, x)
    half = f(alu.SubF, quarter, inverse)
    t = f(alu.MulF, x, x)
    small = f(alu.Fma, f(alu.MulF, a, t), f.horner(t, SINH), a)
    return f(alu.CopySign, f.select(f.compare("olt", a, 1.0), small, f(alu.AddF, half, half)), x)


def cosh(f: Formula, x: SSAValue) -> SSAValue:
    """(e^|x| + e^-|x|) / 2."""
    _, quarter, inverse = _quarter_exp(f, x)
    half = f(alu.AddF, quarter, inverse)
    return f(alu.AddF, half, half)


def _quarter_exp(f: Formula, x: SSAValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """|x| (at most 89.5, where both functions are infinite), e^|x| / 4 and e^-|x| / 4; a quarter does not overflow."""
    a = f(alu.AbsF, x)
    a = f.select(f.compare("ogt", a, 89.5), 89.5, a)
    biased, n = nearest(f, f(alu.Fma, a, LOG2_E[0], ROUND + 125), ROUND + 125)
    r = f(alu.Fma, n, -LN2[1], f(alu.Fma, n, -LN2[0], a))
    quarter = f(alu.MulF, f.horner(r, (1.0, 1.0, *EXP)), power_of_two(f, biased))
    return a, quarter, f(alu.DivF, f.const(1 / 16, x.type), quarter)


# --- exponential, logarithm, root ------------------------------------------------------------------------------


def expm1(f: Formula, x: SSAValue) -> SSAValue:
    """2^n (e^r - 1) + 2^n - 1, by halves so that 2^n does not overflow; x itself where it is tiny."""
    clamped = clamp(f, x, -80.0, 89.0)  # beyond, the results are -1 and inf
    biased, n = nearest(f, f(alu.Fma, clamped, LOG2_E[0], ROUND + 126), ROUND + 126)
    r = f(alu.Fma, n, -LN2[1], f(alu.Fma, n, -LN2[0], clamped))
    p = f(alu.Fma, f(alu.MulF, r, r), f.horner(r, EXPM1), r)
    power = power_of_two(f, biased)
    half = f(alu.Fma, p, power, f(alu.AddF, power, -0.5))
    tiny = f.compare("olt", f(alu.AbsF, x), 2.0**-25)
    return f.select(tiny, x, f(alu.AddF, half, half))


def log1p(f: Formula, x: SSAValue) -> SSAValue:
    """log(1 + x) = e ln 2 + log(1 + m), where e is the exponent of u = 1 + x and m = 2^-e x + (2^-e - 1).

    u is rounded, but m is not made of it: only the last addition rounds.
    """
    # For the largest 2^-e would be a denormal; scaled, they still are so large that adding 1 does not matter.
    big = f.compare("ogt", x, 2.0**100)
    scaled = f.select(big, f(alu.MulF, x, 2.0**-64), x)
    u = f(alu.AddF, scaled, 1.0)
    n = f(alu.ShrS, f(alu.SubI, f.bits(u, I32), ROOT_HALF_BITS), 23)
    power = f.bits(f(alu.SubI, f.const(ONE_BITS, n.type), f(alu.Shl, n, 23)), F32)
    e = f.convert(convert.SIToF, n, F32)
    e = f.select(big, f(alu.AddF, e, 64.0), e)
    m = f(alu.Fma, scaled, power, f(alu.AddF, power, -1.0))
    return log_limits(f, u, f(alu.CopySign, natural_log(f, e, m), x))


def exp10(f: Formula, x: SSAValue) -> SSAValue:
    """10^x = 2^n 10^r with n = round(x log2(10))."""
    x, vanishes = power_limits(f, x, -45.5, 39.0)  # beyond, the results are 0 and inf
    shifted = f(alu.Fma, x, LOG2_10, ROUND + 254)
    n = f(alu.SubF, shifted, ROUND + 254)
    r = f(alu.Fma, n, -LOG10_2[1], f(alu.Fma, n, -LOG10_2[0], x))
    return scale(f, f.horner(r, (1.0, *EXP10)), shifted, n, vanishes)


def log10(f: Formula, x: SSAValue) -> SSAValue:
    """log10(x) = e log10(2) + log10(1 + f)."""
    e, m = exponent_and_fraction(f, x)
    y = f(alu.MulF, f(alu.MulF, m, m), f.horner(m, LOG10))
    y = f(alu.Fma, m, LOG10_E[0], f(alu.Fma, m, LOG10_E[1], y))
    return log_limits(f, x, f(alu.Fma, e, LOG10_2[0], f(alu.Fma, e, LOG10_2[1], y)))


def cbrt(f: Formula, x: SSAValue) -> SSAValue:
    """|x| y^2 for y = |x|^(-1/3), then a step of Newton's method.

    y comes from a third of x's bits; with r = |x| y^3 - 1 what it lacks is a factor (1 + r)^(-1/3).
    """
    magnitude = f(alu.AbsF, x)
    denormal = f.compare("olt", magnitude, 2.0**-126)
    a = f.select(denormal, f(alu.MulF, magnitude, 2.0**24), magnitude)
    third = f(alu.MulHU, f.bits(a, I32), THIRD)
    y = f.bits(f(alu.SubI, f.const(INVERSE_CBRT_BITS, third.type), third), F32)
    r = f(alu.Fma, f(alu.MulF, f(alu.MulF, y, y), y), a, -1.0)
    y = f(alu.Fma, f(alu.MulF, y, r), f.horner(r, INVERSE_CBRT), y)
    square = f(alu.MulF, y, y)
    c = f(alu.MulF, a, square)
    miss = f(alu.Fma, f(alu.NegF, f(alu.MulF, c, c)), c, a)
    c = f(alu.Fma, f(alu.MulF, square, 1 / 3), miss, c)
    c = f.select(denormal, f(alu.MulF, c, 2.0**-8), c)
    return f(alu.CopySign, f.select(f.compare("olt", magnitude, INF), c, magnitude), x)
