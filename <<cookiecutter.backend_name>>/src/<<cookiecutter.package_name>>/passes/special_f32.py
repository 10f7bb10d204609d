"""The special functions in f32, as formulas of plain instructions.

Errors, in ulp: exp, exp2, log, log2 below 1; sin, cos 2; tanh 2.5; erf 1.3. Zeros keep their sign, NaN stays NaN,
results too large are infinite, and those below 2^-126 the nearest denormal. The pattern is the same throughout: reduce
the argument to a short interval without losing bits, evaluate a polynomial there, undo the reduction. The polynomials
are minimax fits whose coefficients were rounded to f32 one after the other, each time with the rest fitted anew;
``tests/derive_coefficients.py`` derives them (Remez exchange algorithm).
"""

from __future__ import annotations

import math
from typing import Final

from xdsl.ir import SSAValue

from ..dialects.formula import F32, I32, Formula
from ..dialects.isa import alu, convert

INF: Final = math.inf
NAN: Final = math.nan

LN2: Final = (0.6931471824645996, -1.9046542121259336e-09)
LOG2_E: Final = (1.4426950216293335, 1.925963033500011e-08)
HALF_PI: Final = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
"""Constants as sums of f32 numbers, the rounded value first."""

ROUND: Final = 1.5 * 2**23
"""Adding it rounds to an integer, which then stands in the low bits of the sum."""

# (e^r - 1 - r) / r^2 for |r| < ln(2)/2: error of e^r 2^-28.3, of e^r - 1 2^-26.1.
EXP: Final = (
    *(0.4999999403953552, 0.1666652113199234, 0.04166826233267784),
    *(0.00836867094039917, 0.001382089452818036),
)
EXPM1: Final = (
    *(0.4999999701976776, 0.1666654646396637, 0.04166743531823158),
    *(0.00836626160889864, 0.0013870657421648502),
)
# (2^r - 1) / r for |r| < 1/2: error of 2^r 2^-28.3.
EXP2: Final = (
    *(0.6931471824645996, 0.24022647738456726, 0.05550359934568405),
    *(0.009618505835533142, 0.0013390807434916496, 0.00015326468565035611),
)
# (log(1 + f) - f) / f^2 for sqrt(1/2) < 1 + f < sqrt(2), to base e and 2: errors of the logs 2^-27.4, 2^-27.7.
LOG: Final = (
    *(-0.5, 0.3333333134651184, -0.2500081956386566, 0.2000124156475067, -0.1662341058254242),
    *(0.14201585948467255, -0.13159598410129547, 0.12762142717838287, -0.07636362314224243),
)
LOG2: Final = (
    *(-0.7213473320007324, 0.4808982014656067, -0.3606986701488495, 0.28857141733169556, -0.2395673543214798),
    *(0.20448660850524902, -0.19139091670513153, 0.18708786368370056, -0.11025495082139969),
)
# (sin(r)/r - 1) / r^2 and (cos(r) - 1 + r^2/2) / r^4 in r^2, for |r| < pi/4: errors 2^-27.9, 2^-33.
SIN: Final = (-0.16666655242443085, 0.008332188241183758, -0.0001951809535967186)
COS: Final = (0.04166664555668831, -0.0013887309469282627, 2.4432327336398885e-05)

# erf(x)/x - 1 in x^2 for |x| < 1, and log2(erfc(x)) for 1 < x < 4.1: errors of erf 2^-29.4, 2^-25.9.
ERF: Final = (
    *(0.12837916612625122, -0.3761262595653534, 0.11283578723669052, -0.026853347197175026),
    *(0.005187162198126316, -0.0007997853099368513, 7.806903886375949e-05),
)
ERFC_LOG2: Final = (
    *(-0.0038545066490769386, -1.6121227741241455, -0.9442281723022461),
    *(-0.12787199020385742, 0.021320318803191185, -0.00165971415117383),
)

ROOT_HALF_BITS: Final = 0x3F3504F3
"""sqrt(1/2) as an f32's bits."""

TRIG_LIMIT: Final = float(2**17)
"""`sin_core` and `cos_core` hold for |x| below: three products with pi/2 then reduce x without loss."""


def exp(f: Formula, x: SSAValue) -> SSAValue:
    """e^x = 2^n e^r with n = round(x / ln 2)."""
    x = _clamp(f, x, -104.0, 89.0)  # beyond, the results are 0 and inf
    biased, n = _round(f, f(alu.Fma, x, LOG2_E[0], ROUND + 254), ROUND + 254)
    r = f(alu.Fma, n, -LN2[1], f(alu.Fma, n, -LN2[0], x))
    return _scale(f, f.horner(r, (1.0, 1.0, *EXP)), biased)


def exp2(f: Formula, x: SSAValue) -> SSAValue:
    """2^x = 2^n 2^r with n = round(x); exact for integers."""
    x = _clamp(f, x, -151.0, 129.0)  # beyond, the results are 0 and inf
    biased, n = _round(f, f(alu.AddF, x, ROUND + 254), ROUND + 254)
    return _scale(f, f.horner(f(alu.SubF, x, n), (1.0, *EXP2)), biased)


def log(f: Formula, x: SSAValue) -> SSAValue:
    """log(x) = e ln 2 + log(1 + f)."""
    e, m = _exponent_and_fraction(f, x)
    y = f(alu.MulF, f(alu.MulF, m, m), f.horner(m, LOG))
    y = f(alu.AddF, f(alu.Fma, e, LN2[1], y), m)
    return _log_limits(f, x, f(alu.Fma, e, LN2[0], y))


def log2(f: Formula, x: SSAValue) -> SSAValue:
    """log2(x) = e + log2(1 + f); exact for powers of two."""
    e, m = _exponent_and_fraction(f, x)
    y = f(alu.MulF, f(alu.MulF, m, m), f.horner(m, LOG2))
    y = f(alu.Fma, m, LOG2_E[0], f(alu.Fma, m, LOG2_E[1], y))
    return _log_limits(f, x, f(alu.AddF, e, y))


def sin_core(f: Formula, x: SSAValue) -> SSAValue:
    """sin(x) for |x| < `TRIG_LIMIT`."""
    quadrant, r = _quadrant(f, x)
    return _trigonometric(f, quadrant, r)


def cos_core(f: Formula, x: SSAValue) -> SSAValue:
    """cos(x) = sin(x + pi/2) for |x| < `TRIG_LIMIT`."""
    quadrant, r = _quadrant(f, x)
    return _trigonometric(f, f(alu.AddI, quadrant, 1), r)


def tanh(f: Formula, x: SSAValue) -> SSAValue:
    """tanh |x| = d / (d + 2) with d = e^|2x| - 1, which keeps all bits of a small x."""
    a = f(alu.AbsF, x)
    a = f.select(f.compare("ogt", a, 10.0), 10.0, a)  # beyond, the result is 1
    twice = f(alu.AddF, a, a)
    biased, n = _round(f, f(alu.Fma, twice, LOG2_E[0], ROUND + 127), ROUND + 127)
    r = f(alu.Fma, n, -LN2[1], f(alu.Fma, n, -LN2[0], twice))
    p = f(alu.Fma, f(alu.MulF, r, r), f.horner(r, EXPM1), r)
    power = _power(f, biased)
    d = f(alu.Fma, p, power, f(alu.AddF, power, -1.0))
    return f(alu.CopySign, f(alu.DivF, d, f(alu.AddF, d, 2.0)), x)


def erf(f: Formula, x: SSAValue) -> SSAValue:
    """A polynomial for |x| < 1; beyond, erf |x| = 1 - 2^p(|x|)."""
    small = f(alu.Fma, x, f.horner(f(alu.MulF, x, x), ERF), x)
    a = f(alu.AbsF, x)
    b = f.select(f.compare("ogt", a, 4.0), 4.0, a)  # beyond, the result is 1
    p = f.horner(b, ERFC_LOG2)
    biased, n = _round(f, f(alu.AddF, p, ROUND + 127), ROUND + 127)
    fraction = f.horner(f(alu.SubF, p, n), (1.0, *EXP2))
    large = f(alu.Fma, fraction, f(alu.NegF, _power(f, biased)), 1.0)
    return f.select(f.compare("olt", a, 1.0), small, f(alu.CopySign, large, x))


# --- parts ------------------------------------------------------------------------------------------------


def _clamp(f: Formula, x: SSAValue, low: float, high: float) -> SSAValue:
    """`x` within [low, high]; NaN stays NaN."""
    x = f.select(f.compare("ogt", f.const(low, x.type), x), low, x)
    return f.select(f.compare("olt", f.const(high, x.type), x), high, x)


def _round(f: Formula, shifted: SSAValue, shift: float) -> tuple[SSAValue, SSAValue]:
    """Of ``x + ROUND + bias``: the integer n nearest to x as the low bits n + bias of an i32, and as an f32."""
    return f.bits(shifted, I32), f(alu.SubF, shifted, shift)


def _power(f: Formula, biased: SSAValue) -> SSAValue:
    """2^n from the low bits n + 127, for a normal result."""
    return f.bits(f(alu.Shl, biased, 23), F32)


def _scale(f: Formula, y: SSAValue, biased: SSAValue) -> SSAValue:
    """y 2^n from the low bits n + 254, in two steps, so that it overflows and rounds to denormals as it should."""
    half = f(alu.ShrU, biased, 1)
    other = f(alu.SubI, biased, half)
    return f(alu.MulF, f(alu.MulF, y, _power(f, half)), _power(f, other))


def _exponent_and_fraction(f: Formula, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """e (as an f32) and m - 1 of x = 2^e m with sqrt(1/2) < m < sqrt(2), for a positive finite x."""
    denormal = f.compare("olt", x, 2.0**-126)
    bits = f.bits(f.select(denormal, f(alu.MulF, x, 2.0**23), x), I32)
    # Counted from sqrt(1/2) on, the bits above the 23 of the fraction are e.
    e = f(alu.ShrS, f(alu.SubI, bits, ROOT_HALF_BITS), 23)
    m = f.bits(f(alu.SubI, bits, f(alu.Shl, e, 23)), F32)
    e = f.convert(convert.SIToF, e, F32)
    return f.select(denormal, f(alu.AddF, e, -23.0), e), f(alu.AddF, m, -1.0)


def _log_limits(f: Formula, x: SSAValue, y: SSAValue) -> SSAValue:
    """`y` for a positive finite x; -inf for a zero, NaN for a negative x, else x itself (inf, NaN)."""
    y = f.select(f.compare("olt", x, INF), y, x)
    y = f.select(f.compare("oeq", x, 0.0), -INF, y)
    return f.select(f.compare("olt", x, 0.0), NAN, y)


def _quadrant(f: Formula, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """n modulo 2^22 and r of x = n pi/2 + r with |r| < pi/4. The first product and difference are exact."""
    bits, n = _round(f, f(alu.Fma, x, 2 / math.pi, ROUND), ROUND)
    r = x
    for part in HALF_PI:
        r = f(alu.Fma, n, -part, r)
    return bits, r


def _trigonometric(f: Formula, quadrant: SSAValue, r: SSAValue) -> SSAValue:
    """sin(r + quadrant * pi/2)."""
    t = f(alu.MulF, r, r)
    # r * (1 + ...) and not r + r * ...: the latter makes +0 of -0.
    sine = f(alu.MulF, r, f(alu.Fma, t, f.horner(t, SIN), 1.0))
    cosine = f(alu.Fma, t, f.horner(t, (-0.5, *COS)), 1.0)
    odd = f.compare("ne", f(alu.And, quadrant, 1), 0)
    sign = f(alu.Shl, f(alu.And, quadrant, 2), 30)
    return f.bits(f(alu.Xor, f.bits(f.select(odd, cosine, sine), I32), sign), F32)
