"""What the formulas for f32 share: constants, polynomials, and the reductions around them.

Used by the special functions (`f32_special.py`) and the math library (`f32_library.py`, `f32_through_f64.py`).
"""

from __future__ import annotations

import math
from typing import Final

from xdsl.ir import SSAValue

from ..dialects.isa import alu, convert
from .formula import F32, I32, Formula

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
# (log(1 + f) - f) / f^2 for sqrt(1/2) < 1 + f < sqrt(2): error of log(1 + f) 2^-27.4.
LOG: Final = (
    *(-0.5, 0.3333333134651184, -0.2500081956386566, 0.2000124156475067, -0.1662341058254242),
    *(0.14201585948467255, -0.13159598410129547, 0.12762142717838287, -0.07636362314224243),
)
# (sin(r)/r - 1) / r^2 and (cos(r) - 1 + r^2/2) / r^4 in r^2, for |r| < pi/4: errors 2^-27.9, 2^-33.
SIN: Final = (-0.16666655242443085, 0.008332188241183758, -0.0001951809535967186)
COS: Final = (0.04166664555668831, -0.0013887309469282627, 2.4432327336398885e-05)


ROOT_HALF_BITS: Final = 0x3F3504F3
"""sqrt(1/2) as an f32's bits."""

TRIG_LIMIT: Final = float(2**17)
"""`quadrant` holds for |x| below: three products with pi/2 then reduce x without loss."""


def clamp(f: Formula, x: SSAValue, low: float, high: float) -> SSAValue:
    """`x` within [low, high]; NaN stays NaN."""
    x = f.select(f.compare("ogt", f.const(low, x.type), x), low, x)
    return f.select(f.compare("olt", f.const(high, x.type), x), high, x)


def nearest(f: Formula, shifted: SSAValue, shift: float) -> tuple[SSAValue, SSAValue]:
    """Of ``x + ROUND + bias``: the integer n nearest to x as the low bits n + bias of an i32, and as an f32."""
    return f.bits(shifted, I32), f(alu.SubF, shifted, shift)


def power_of_two(f: Formula, biased: SSAValue) -> SSAValue:
    """2^n from the low bits n + 127, for a normal result."""
    return f.bits(f(alu.Shl, biased, 23), F32)


def power_limits(f: Formula, x: SSAValue, low: float, high: float) -> tuple[SSAValue, SSAValue]:
    """`x` for a power that is infinite above `high`, and where it is below `low`, so that the power is 0.

    Where scaling is one step, such an x stays as it is and `scale` takes 0 for the fraction: a product that is too
    small to be a number takes some CPUs a hundred times as long, and lanes that a mask filled with -inf are common.
    """
    below = f.compare("ogt", f.const(low, x.type), x)
    if f.machine.scales_by_powers:
        return f.select(f.compare("olt", f.const(high, x.type), x), high, x), below
    return clamp(f, x, low, high), below


def scale(f: Formula, y: SSAValue, shifted: SSAValue, n: SSAValue, vanishes: SSAValue) -> SSAValue:
    """y 2^n, from n as an f32 or from the low bits n + 254 of ``shifted``; `vanishes` is that of `power_limits`.

    The latter take two steps, so that the product overflows and rounds to denormals as it should.
    """
    if f.machine.scales_by_powers:
        return f(alu.Ldexp, f.select(vanishes, 0.0, y), n)
    biased = f.bits(shifted, I32)
    half = f(alu.ShrU, biased, 1)
    other = f(alu.SubI, biased, half)
    return f(alu.MulF, f(alu.MulF, y, power_of_two(f, half)), power_of_two(f, other))


def exponent_and_fraction(f: Formula, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """e (as an f32) and m - 1 of x = 2^e m with sqrt(1/2) < m < sqrt(2), for a positive finite x."""
    denormal = f.compare("olt", x, 2.0**-126)
    bits = f.bits(f.select(denormal, f(alu.MulF, x, 2.0**23), x), I32)
    # Counted from sqrt(1/2) on, the bits above the 23 of the fraction are e.
    e = f(alu.ShrS, f(alu.SubI, bits, ROOT_HALF_BITS), 23)
    m = f.bits(f(alu.SubI, bits, f(alu.Shl, e, 23)), F32)
    e = f.convert(convert.SIToF, e, F32)
    return f.select(denormal, f(alu.AddF, e, -23.0), e), f(alu.AddF, m, -1.0)


def natural_log(f: Formula, e: SSAValue, m: SSAValue) -> SSAValue:
    """log(2^e (1 + m)) for sqrt(1/2) < 1 + m < sqrt(2)."""
    y = f(alu.MulF, f(alu.MulF, m, m), f.horner(m, LOG))
    y = f(alu.AddF, f(alu.Fma, e, LN2[1], y), m)
    return f(alu.Fma, e, LN2[0], y)


def log_limits(f: Formula, x: SSAValue, y: SSAValue) -> SSAValue:
    """`y` for a positive finite x; -inf for a zero, NaN for a negative x, else x itself (inf, NaN)."""
    y = f.select(f.compare("olt", x, INF), y, x)
    y = f.select(f.compare("oeq", x, 0.0), -INF, y)
    return f.select(f.compare("olt", x, 0.0), NAN, y)


def quadrant(f: Formula, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """n modulo 2^22 and r of x = n pi/2 + r with |r| < pi/4. The first product and difference are exact."""
    bits, n = nearest(f, f(alu.Fma, x, 2 / math.pi, ROUND), ROUND)
    r = x
    for part in HALF_PI:
        r = f(alu.Fma, n, -part, r)
    return bits, r


def sine_and_cosine(f: Formula, r: SSAValue) -> tuple[SSAValue, SSAValue]:
    """sin(r) and cos(r) for |r| < pi/4."""
    t = f(alu.MulF, r, r)
    # r * (1 + ...) and not r + r * ...: the latter makes +0 of -0.
    sine = f(alu.MulF, r, f(alu.Fma, t, f.horner(t, SIN), 1.0))
    return sine, f(alu.Fma, t, f.horner(t, (-0.5, *COS)), 1.0)
