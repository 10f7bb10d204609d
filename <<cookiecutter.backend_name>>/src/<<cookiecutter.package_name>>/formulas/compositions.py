"""The math library's functions that neither an instruction nor C's libm computes: compositions of those.

Where a composition would lose accuracy in f32, it runs in f64 and is rounded once.
"""

from __future__ import annotations

import math
from typing import Final

from xdsl.ir import SSAValue

from ..dialects.isa import alu, convert
from ..dialects.isa.base import element_of
from . import f32_through_f64
from .bessel import bessel_i0, bessel_i1
from .formula import F32, F64, I32, I64, Formula, Rule, binary, unary

INF: Final = math.inf
NAN: Final = math.nan


def in_f64(rule: Rule) -> Rule:
    """`rule`, for f32 operands computed in f64 and rounded at the end."""

    def wide(f: Formula, *args: SSAValue) -> SSAValue:
        if element_of(args[0].type) == F64:
            return rule(f, *args)
        return f.narrow(rule(f, *[f.convert(convert.ExtF, arg, F64) for arg in args]))

    return wide


# --- classification and rounding to integers ---------------------------------------------------------------


def is_nan(f: Formula, x: SSAValue) -> SSAValue:
    return f.compare("uno", x, x)


def is_infinite(f: Formula, x: SSAValue) -> SSAValue:
    return f.compare("oeq", f(alu.AbsF, x), INF)


def is_finite(f: Formula, x: SSAValue) -> SSAValue:
    return f.compare("olt", f(alu.AbsF, x), INF)


def round_half_away(f: Formula, x: SSAValue) -> SSAValue:
    """C's round: the nearest integer, the larger in magnitude of two."""
    whole = f(alu.TruncIntF, x)
    far = f.compare("oge", f(alu.AbsF, f(alu.SubF, x, whole)), 0.5)
    moved = f.select(far, f(alu.AddF, f(alu.AbsF, whole), 1.0), f(alu.AbsF, whole))
    return f(alu.CopySign, moved, x)


def to_i64(f: Formula, x: SSAValue) -> SSAValue:
    return f.convert(convert.FToSI, x, I64)


def exponent(f: Formula, x: SSAValue) -> SSAValue:
    """C's ilogb: the exponent of x as an i32; for 0 and NaN the least i32, for infinities the greatest."""
    number = f.convert(convert.FToSI, f.call("logb", x), I32)
    return f.select(is_nan(f, x), -(1 << 31), number)


# --- elementary ------------------------------------------------------------------------------------------------


def saturate(f: Formula, x: SSAValue) -> SSAValue:
    """`x` within [0, 1]; 0 for NaN."""
    return f(alu.MinNum, f(alu.MaxNum, x, 0.0), 1.0)


def positive_difference(f: Formula, x: SSAValue, y: SSAValue) -> SSAValue:
    """C's fdim: x - y if that is positive, else 0; NaN if either is."""
    return f.select(f.compare("ole", x, y), 0.0, f(alu.SubF, x, y))


def integer_power(f: Formula, x: SSAValue, n: SSAValue) -> SSAValue:
    """x^n for an i32 `n`, which f64 holds exactly but f32 does not: no call of f32's pow."""
    if element_of(x.type) == F32:
        return f32_through_f64.integer_power(f, x, n)
    return f.call("pow", x, f.convert(convert.SIToF, n, F64))


def power(f: Formula, x: SSAValue, y: SSAValue) -> SSAValue:
    return integer_power(f, x, y) if element_of(y.type) == I32 else f.call("pow", x, y)


def inverse(of: Rule) -> Rule:
    """1 / of(...)."""

    def rule(f: Formula, *args: SSAValue) -> SSAValue:
        value = of(f, *args)
        return f(alu.DivF, f.const(1.0, value.type), value)

    return rule


def norm(f: Formula, first: SSAValue, *rest: SSAValue) -> SSAValue:
    """The root of the sum of squares, without overflow on the way; infinite if an operand is."""
    for x in rest:
        first = f.call("hypot", first, x)
    return first


def fast_tangent(f: Formula, x: SSAValue) -> SSAValue:
    return f(alu.DivF, f(alu.Sin, x), f(alu.Cos, x))


def fast_power(f: Formula, x: SSAValue, y: SSAValue) -> SSAValue:
    return f(alu.Exp2, f(alu.MulF, y, f(alu.Log2, x)))


def scaled_argument(function: type[alu.Special], factor: float) -> Rule:
    return unary(lambda f, x: f(function, f(alu.MulF, x, factor)))


def scaled_result(function: type[alu.Special], factor: float) -> Rule:
    return unary(lambda f, x: f(alu.MulF, f(function, x), factor))


def half_turns(*, cosine: bool) -> Rule:
    """sin(pi x) or cos(pi x): x is reduced exactly, to n/2 + r with |r| <= 1/4. Zeros of the sine have x's sign."""

    def rule(f: Formula, x: SSAValue) -> SSAValue:
        turn = f(alu.Fma, f(alu.RoundEvenF, f(alu.MulF, x, 0.5)), -2.0, x)
        n = f(alu.RoundEvenF, f(alu.AddF, turn, turn))
        angle = f(alu.MulF, f(alu.Fma, n, -0.5, turn), math.pi)
        quadrant = f.convert(convert.FToSI, n, I32)
        if cosine:
            quadrant = f(alu.AddI, quadrant, 1)
        odd = f.compare("ne", f(alu.And, quadrant, 1), 0)
        value = f.select(odd, f(alu.Cos, angle), f(alu.Sin, angle))
        value = f.select(f.compare("ne", f(alu.And, quadrant, 2), 0), f(alu.NegF, value), value)
        signed = f(alu.AbsF, value) if cosine else f(alu.CopySign, value, x)
        return f.select(f.compare("oeq", value, 0.0), signed, value)

    return rule


# --- the error function and its relatives, in f64 ------------------------------------------------------------

TWO_OVER_ROOT_PI: Final = 2 / math.sqrt(math.pi)


def scaled_erfc(f: Formula, x: SSAValue) -> SSAValue:
    """e^(x^2) erfc(x): the product, its exponent exact in two parts; for x > 25 the asymptotic series."""
    square = f(alu.MulF, x, x)
    rest = f(alu.Fma, x, x, f(alu.NegF, square))
    product = f(alu.MulF, f.call("exp", square), f.call("erfc", x))
    product = f.select(f.compare("olt", f(alu.AbsF, x), 27.0), f(alu.Fma, product, rest, product), product)
    inverse_square = f(alu.DivF, f.const(1.0, x.type), square)
    terms = [1.0]
    for k in range(1, 9):
        terms.append(terms[-1] * -(2 * k - 1) / 2)
    series = f.horner(inverse_square, tuple(terms))
    tail = f(alu.DivF, f(alu.MulF, series, TWO_OVER_ROOT_PI / 2), x)
    return f.select(f.compare("ogt", x, 25.0), tail, product)


def normal_distribution(f: Formula, x: SSAValue) -> SSAValue:
    """erfc(-x / sqrt 2) / 2, with the rounding of the argument made up for to first order."""
    scale = -math.sqrt(0.5)
    scale_rest = 4.833646656726457e-17  # what is missing to -sqrt(1/2)
    h = f(alu.MulF, x, scale)
    low = f(alu.Fma, x, scale, f(alu.NegF, h))
    low = f(alu.Fma, x, scale_rest, low)
    density = f.call("exp", f(alu.NegF, f(alu.MulF, h, h)))
    corrected = f(alu.Fma, f(alu.MulF, low, -TWO_OVER_ROOT_PI), density, f.call("erfc", h))
    # Far out the density is 0 and the correction would be 0 * inf.
    far = f.compare("ogt", f(alu.AbsF, x), 39.0)
    return f(alu.MulF, f.select(far, f.call("erfc", h), corrected), 0.5)


def _inverse_error(f: Formula, p: SSAValue, c: SSAValue) -> SSAValue:
    """The x >= 0 with erf(x) = p and erfc(x) = c = 1 - p, each given accurately where it is the smaller.

    Winitzki's approximation, whose error is below 0.4 %, then steps of Halley's method, which triple the digits.
    """
    a = 0.147
    log = f.call("log", f(alu.MulF, c, f(alu.SubF, f.const(2.0, c.type), c)))
    t = f(alu.Fma, log, 0.5, 2 / (math.pi * a))
    inner = f(alu.Sqrt, f(alu.Fma, t, t, f(alu.MulF, log, -1 / a)))
    x = f(alu.Sqrt, f(alu.MaxNum, f(alu.SubF, inner, t), 0.0))
    near = f.compare("olt", p, 0.5)
    for _ in range(3):
        miss = f.select(near, f(alu.SubF, f.call("erf", x), p), f(alu.SubF, c, f.call("erfc", x)))
        slope = f(alu.MulF, f.call("exp", f(alu.NegF, f(alu.MulF, x, x))), TWO_OVER_ROOT_PI)
        step = f(alu.DivF, miss, slope)
        x = f(alu.SubF, x, f(alu.DivF, step, f(alu.Fma, step, x, 1.0)))
    x = f.select(f.compare("oeq", c, 0.0), INF, x)
    return f.select(f.compare("olt", c, 0.0), NAN, x)


def inverse_erf(f: Formula, y: SSAValue) -> SSAValue:
    """In f64: 4 ulp."""
    p = f(alu.AbsF, y)
    x = _inverse_error(f, p, f(alu.SubF, f.const(1.0, p.type), p))
    # Near 0 the function is y * sqrt(pi)/2, and Halley's steps would not see a difference of denormals.
    x = f.select(f.compare("olt", p, 1e-9), f(alu.MulF, p, math.sqrt(math.pi) / 2), x)
    return f(alu.CopySign, x, y)


def inverse_erfc(f: Formula, y: SSAValue) -> SSAValue:
    """In f64: 4 ulp."""
    upper = f.compare("ogt", y, 1.0)
    c = f.select(upper, f(alu.SubF, f.const(2.0, y.type), y), y)
    x = _inverse_error(f, f(alu.SubF, f.const(1.0, c.type), c), c)
    return f.select(upper, f(alu.NegF, x), x)


def inverse_normal(f: Formula, p: SSAValue) -> SSAValue:
    """-sqrt(2) erfcinv(2 p)."""
    return f(alu.MulF, inverse_erfc(f, f(alu.AddF, p, p)), -math.sqrt(2.0))


def reciprocal_root_nearest(f: Formula, x: SSAValue) -> SSAValue:
    """f32's 1/sqrt(x), correctly rounded: no f32 has one so close to the middle of two that f64 would err."""
    root = f(alu.Sqrt, f.convert(convert.ExtF, x, F64))
    return f.narrow(f(alu.DivF, f.const(1.0, root.type), root))


def bessel_of_order(callee: str) -> Rule:
    return binary(lambda f, n, x: f.call(callee, n, x, element=element_of(x.type)))


FUNCTIONS: Final[dict[str, Rule]] = {
    "cospi": half_turns(cosine=True),
    "cyl_bessel_i0": in_f64(bessel_i0),
    "cyl_bessel_i1": in_f64(bessel_i1),
    "erfcinv": in_f64(inverse_erfc),
    "erfcx": in_f64(scaled_erfc),
    "erfinv": in_f64(inverse_erf),
    "fast_exp10f": scaled_argument(alu.Exp2, math.log2(10)),
    "fast_log10f": scaled_result(alu.Log2, math.log10(2)),
    "fast_powf": fast_power,
    "fast_tanf": fast_tangent,
    "fdim": positive_difference,
    "finitef": is_finite,
    "ilogb": exponent,
    "isfinited": is_finite,
    "isinf": is_infinite,
    "isnan": is_nan,
    "jn": bessel_of_order("jn"),
    "llrint": unary(lambda f, x: to_i64(f, f(alu.RoundEvenF, x))),
    "llround": unary(lambda f, x: to_i64(f, round_half_away(f, x))),
    "norm3d": norm,
    "norm4d": norm,
    "normcdf": in_f64(normal_distribution),
    "normcdfinv": in_f64(inverse_normal),
    "pow": power,
    "rcbrt": inverse(unary(lambda f, x: f.call("cbrt", x))),
    "rcp_rn": unary(lambda f, x: f(alu.DivF, f.const(1.0, x.type), x)),
    "rhypot": inverse(norm),
    "rnorm3d": inverse(norm),
    "rnorm4d": inverse(norm),
    "round": round_half_away,
    "rsqrt_rn": reciprocal_root_nearest,
    "saturatef": saturate,
    "sinpi": half_turns(cosine=False),
    "yn": bessel_of_order("yn"),
}
"""Function name -> ``rule(formula, *operands)``."""
