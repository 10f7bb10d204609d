"""The special functions in f32, as formulas of plain instructions.

Errors, in ulp: exp, exp2, log, log2 below 1; sin, cos 2; tanh 2.5; erf 1.3. Zeros keep their sign, NaN stays NaN,
results too large are infinite, and those below 2^-126 the nearest denormal. sqrt is correctly rounded. The pattern is
the same throughout: reduce the argument to a short interval without losing bits, evaluate a polynomial there, undo
the reduction. The polynomials are minimax fits whose coefficients were rounded to f32 one after the other, each time
with the rest fitted anew; ``tests/derive_coefficients.py`` derives them (Remez exchange algorithm). tanh and erf have
another form where a table costs an instruction (``f32_tables.py``).
"""

from __future__ import annotations

from typing import Final

from xdsl.ir import SSAValue

from ..dialects.isa import alu
from . import f32_tables
from .f32_common import (
    EXP,
    EXP2,
    EXPM1,
    INF,
    LN2,
    LOG2_E,
    NAN,
    ROUND,
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

# (log2(1 + f) - f / ln 2) / f^2 for sqrt(1/2) < 1 + f < sqrt(2): error of log2(1 + f) 2^-27.7.
LOG2: Final = (
    *(-0.7213473320007324, 0.4808982014656067, -0.3606986701488495, 0.28857141733169556, -0.2395673543214798),
    *(0.20448660850524902, -0.19139091670513153, 0.18708786368370056, -0.11025495082139969),
)
# erf(x)/x - 1 in x^2 for |x| < 1, and log2(erfc(x)) for 1 < x < 4.1: errors of erf 2^-29.4, 2^-25.9.
ERF: Final = (
    *(0.12837916612625122, -0.3761262595653534, 0.11283578723669052, -0.026853347197175026),
    *(0.005187162198126316, -0.0007997853099368513, 7.806903886375949e-05),
)
ERFC_LOG2: Final = (
    *(-0.0038545066490769386, -1.6121227741241455, -0.9442281723022461),
    *(-0.12787199020385742, 0.021320318803191185, -0.00165971415117383),
)


def exp(f: Formula, x: SSAValue) -> SSAValue:
    """e^x = 2^n e^r with n = round(x / ln 2)."""
    x, vanishes = power_limits(f, x, -104.0, 89.0)  # beyond, the results are 0 and inf
    shifted = f(alu.Fma, x, LOG2_E[0], ROUND + 254)
    n = f(alu.SubF, shifted, ROUND + 254)
    r = f(alu.Fma, n, -LN2[1], f(alu.Fma, n, -LN2[0], x))
    return scale(f, f.horner(r, (1.0, 1.0, *EXP)), shifted, n, vanishes)


def exp2(f: Formula, x: SSAValue) -> SSAValue:
    """2^x = 2^n 2^r with n = round(x); exact for integers."""
    x, vanishes = power_limits(f, x, -151.0, 129.0)  # beyond, the results are 0 and inf
    shifted = f(alu.AddF, x, ROUND + 254)
    n = f(alu.SubF, shifted, ROUND + 254)
    return scale(f, f.horner(f(alu.SubF, x, n), (1.0, *EXP2)), shifted, n, vanishes)


def log(f: Formula, x: SSAValue) -> SSAValue:
    """log(x) = e ln 2 + log(1 + f)."""
    e, m = exponent_and_fraction(f, x)
    return log_limits(f, x, natural_log(f, e, m))


def log2(f: Formula, x: SSAValue) -> SSAValue:
    """log2(x) = e + log2(1 + f); exact for powers of two."""
    e, m = exponent_and_fraction(f, x)
    y = f(alu.MulF, f(alu.MulF, m, m), f.horner(m, LOG2))
    y = f(alu.Fma, m, LOG2_E[0], f(alu.Fma, m, LOG2_E[1], y))
    return log_limits(f, x, f(alu.AddF, e, y))


def sin_core(f: Formula, x: SSAValue) -> SSAValue:
    """sin(x) for |x| < `TRIG_LIMIT`."""
    n, r = quadrant(f, x)
    return _turned_sine(f, n, r)


def cos_core(f: Formula, x: SSAValue) -> SSAValue:
    """cos(x) = sin(x + pi/2) for |x| < `TRIG_LIMIT`."""
    n, r = quadrant(f, x)
    return _turned_sine(f, f(alu.AddI, n, 1), r)


def _turned_sine(f: Formula, quarters: SSAValue, r: SSAValue) -> SSAValue:
    """sin(r + quarters * pi/2)."""
    sine, cosine = sine_and_cosine(f, r)
    odd = f.compare("ne", f(alu.And, quarters, 1), 0)
    sign = f(alu.Shl, f(alu.And, quarters, 2), 30)
    return f.bits(f(alu.Xor, f.bits(f.select(odd, cosine, sine), I32), sign), F32)


def tanh(f: Formula, x: SSAValue) -> SSAValue:
    """tanh |x| = d / (d + 2) with d = e^|2x| - 1, which keeps all bits of a small x."""
    if f.machine.looks_up:
        return f32_tables.tanh(f, x)
    a = f(alu.AbsF, x)
    a = f.select(f.compare("ogt", a, 10.0), 10.0, a)  # beyond, the result is 1
    twice = f(alu.AddF, a, a)
    biased, n = nearest(f, f(alu.Fma, twice, LOG2_E[0], ROUND + 127), ROUND + 127)
    r = f(alu.Fma, n, -LN2[1], f(alu.Fma, n, -LN2[0], twice))
    p = f(alu.Fma, f(alu.MulF, r, r), f.horner(r, EXPM1), r)
    power = power_of_two(f, biased)
    d = f(alu.Fma, p, power, f(alu.AddF, power, -1.0))
    return f(alu.CopySign, f(alu.DivF, d, f(alu.AddF, d, 2.0)), x)


def erf(f: Formula, x: SSAValue) -> SSAValue:
    """A polynomial for |x| < 1; beyond, erf |x| = 1 - 2^p(|x|)."""
    if f.machine.looks_up:
        return f32_tables.erf(f, x)
    small = f(alu.Fma, x, f.horner(f(alu.MulF, x, x), ERF), x)
    a = f(alu.AbsF, x)
    b = f.select(f.compare("ogt", a, 4.0), 4.0, a)  # beyond, the result is 1
    p = f.horner(b, ERFC_LOG2)
    biased, n = nearest(f, f(alu.AddF, p, ROUND + 127), ROUND + 127)
    fraction = f.horner(f(alu.SubF, p, n), (1.0, *EXP2))
    large = f(alu.Fma, fraction, f(alu.NegF, power_of_two(f, biased)), 1.0)
    return f.select(f.compare("olt", a, 1.0), small, f(alu.CopySign, large, x))


# --- roots, for a machine without them ----------------------------------------------------------------------------

INVERSE_ROOT_BITS: Final = 0x5F3759DF
"""Less half of x's bits as an integer, these are the bits of 1 / sqrt(x) within 3.5 %."""


def sqrt(f: Formula, x: SSAValue) -> SSAValue:
    """Newton's steps to 1 / sqrt(x), one of Goldschmidt's, and a last one whose remainder is exact."""
    small = f.compare("olt", x, 2.0**-100)
    s = f.select(small, f(alu.MulF, x, 2.0**100), x)
    guess = f(alu.SubI, f.const(INVERSE_ROOT_BITS, f.bits(s, I32).type), f(alu.ShrU, f.bits(s, I32), 1))
    r = f.bits(guess, F32)
    half = f(alu.MulF, s, -0.5)
    for _ in range(3):
        r = f(alu.MulF, r, f(alu.Fma, f(alu.MulF, half, r), r, 1.5))
    root, inverse = f(alu.MulF, s, r), f(alu.MulF, r, 0.5)
    error = f(alu.Fma, f(alu.NegF, inverse), root, 0.5)
    root, inverse = f(alu.Fma, root, error, root), f(alu.Fma, inverse, error, inverse)
    root = f(alu.Fma, f(alu.Fma, f(alu.NegF, root), root, s), inverse, root)
    root = f.select(small, f(alu.MulF, root, 2.0**-50), root)
    root = f.select(f.compare("olt", x, INF), root, x)
    root = f.select(f.compare("oeq", x, 0.0), x, root)
    return f.select(f.compare("olt", x, 0.0), NAN, root)


def rsqrt(f: Formula, x: SSAValue) -> SSAValue:
    """1 / sqrt(x), of any format: both correctly rounded."""
    root = f(alu.Sqrt, x)
    return f(alu.DivF, f.const(1.0, root.type), root)
