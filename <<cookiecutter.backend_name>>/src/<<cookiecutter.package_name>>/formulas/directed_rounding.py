"""The math library's arithmetic and conversions with a rounding of their own: down (rd), up (ru), to zero (rz).

The machine rounds to nearest. The nearest result t and the sign of its rounding error tell whether t is the result
wanted or its neighbour is. For f32 the exact value is at hand in f64, plus a tail; for f64 the tail comes from
error-free transformations (Knuth's sum; products, quotients and roots with a fused multiply-add), scaled so that
they do not underflow.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, SSAValue

from ..dialects.isa import alu, convert
from ..dialects.isa.base import element_of
from .formula import F32, F64, I32, I64, Formula, Rule, unary


class Exact(NamedTuple):
    """A real number: the f64 nearest to it, and a number with the sign of what is missing (None: nothing)."""

    nearest: SSAValue
    tail: SSAValue | None = None
    zero: SSAValue | None = None
    """Has the sign of the result where the number is 0 and rounded down (+0 elsewhere)."""


# --- rounding a known number -------------------------------------------------------------------------------


def round_exact(f: Formula, exact: Exact, mode: str, element: Attribute) -> SSAValue:
    """`exact` as an f32 or f64, rounded as `mode` ("rd", "ru", "rz") says."""
    s = exact.nearest
    if element == F32:
        t = f.narrow(s)
        back = f.convert(convert.ExtF, t, F64)
        above, below = f.compare("ogt", back, s), f.compare("olt", back, s)
        if exact.tail is not None:
            same = f.compare("oeq", back, s)
            above = f(alu.Or, above, f(alu.And, same, f.compare("olt", exact.tail, 0.0)))
            below = f(alu.Or, below, f(alu.And, same, f.compare("ogt", exact.tail, 0.0)))
    else:
        assert exact.tail is not None
        t = s
        above, below = f.compare("olt", exact.tail, 0.0), f.compare("ogt", exact.tail, 0.0)
    result = _neighbour(f, t, mode, above, below)
    if mode == "rd" and exact.zero is not None:
        zero = f(alu.CopySign, f(alu.MulF, exact.zero, 0.0), exact.zero)
        zero = f.narrow(zero) if element == F32 else zero
        is_zero = f.compare("oeq", s, 0.0)
        if exact.tail is not None:
            is_zero = f(alu.And, is_zero, f.compare("oeq", exact.tail, 0.0))
        result = f.select(is_zero, zero, result)
    return result


def _neighbour(f: Formula, t: SSAValue, mode: str, above: SSAValue, below: SSAValue) -> SSAValue:
    """`t`, or the next number on the wanted side if `t` is on the other side of the exact one."""
    element = element_of(t.type)
    bits = f.bits(t, I32 if element == F32 else I64)
    negative = f.compare("slt", bits, 0)
    one = f.const(1, bits.type)
    if mode == "rz":
        wrong, step = f.select(negative, below, above), f.const(-1, bits.type)
    elif mode == "rd":
        wrong, step = above, f.select(negative, one, -1)
    else:
        wrong, step = below, f.select(negative, f.const(-1, bits.type), one)
    return f.bits(f.select(wrong, f(alu.AddI, bits, step), bits), element)


# --- exact results -----------------------------------------------------------------------------------------


def _two_sum(f: Formula, a: SSAValue, b: SSAValue) -> tuple[SSAValue, SSAValue]:
    """a + b of f64 numbers, and what its rounding left out."""
    s = f(alu.AddF, a, b)
    shift = f(alu.SubF, s, a)
    return s, f(alu.AddF, f(alu.SubF, a, f(alu.SubF, s, shift)), f(alu.SubF, b, shift))


def _sum(f: Formula, a: SSAValue, b: SSAValue) -> Exact:
    """a + b of f64 numbers."""
    return Exact(*_two_sum(f, a, b), _either_sign(f, a, b))


def _either_sign(f: Formula, a: SSAValue, b: SSAValue) -> SSAValue:
    """The sign bit of either, over all bits of a number: 0 + 0 is +0 only if both are."""
    return f.bits(f(alu.Or, f.bits(a, I64), f.bits(b, I64)), F64)


def _back_from_infinity(f: Formula, exact: Exact, *operands: SSAValue) -> Exact:
    """`exact` of operands that may overflow: the tail then points back."""
    assert exact.tail is not None
    overflows = f.compare("oeq", f(alu.AbsF, exact.nearest), INFINITY)
    for x in operands:
        overflows = f(alu.And, overflows, f.compare("olt", f(alu.AbsF, x), INFINITY))
    return exact._replace(tail=f.select(overflows, f(alu.NegF, exact.nearest), exact.tail))


INFINITY: Final = float("inf")
SCALE: Final = 2.0**540


def _remainder(f: Formula, x: SSAValue, y: SSAValue, z: SSAValue) -> SSAValue:
    """A number with the sign of z - x * y, where z is x * y up to one rounding (of x, y or z), in f64.

    The fused operation rounds once, so its sign is right unless it underflows: tiny ones are scaled by 2^1080.
    """
    tiny = f.compare("olt", f(alu.AbsF, z), 2.0**-900)
    swap = f.compare("ogt", f(alu.AbsF, x), f(alu.AbsF, y))
    small, large = f.select(swap, y, x), f.select(swap, x, y)

    def scaled(value: SSAValue) -> SSAValue:
        return f.select(tiny, f(alu.MulF, f(alu.MulF, value, SCALE), SCALE), value)

    return f(alu.Fma, f(alu.NegF, scaled(small)), large, scaled(z))


def _product(f: Formula, a: SSAValue, b: SSAValue) -> Exact:
    p = f(alu.MulF, a, b)
    return Exact(p, f(alu.NegF, _remainder(f, a, b, p)))


def _multiply_add(f: Formula, a: SSAValue, b: SSAValue, c: SSAValue) -> Exact:
    """a * b + c of f64 numbers.

    The error of a fused multiply-add is the sum of two numbers, the larger of which has its sign (Boldo and Muller,
    "Exact and approximated error of the FMA", 2011). All is scaled so that it neither overflows nor underflows;
    a product or a summand that is too small for that beside the other counts as a small number of its sign.
    """
    t, product = f(alu.Fma, a, b, c), f(alu.MulF, a, b)
    larger = f(alu.MaxNum, f(alu.AbsF, product), f(alu.AbsF, c))
    tiny, huge = f.compare("olt", larger, 2.0**-900), f.compare("ogt", larger, 2.0**900)
    up = f.select(tiny, f.const(SCALE, t.type), 1.0)
    down = f.select(huge, f.const(2.0**-64, t.type), 1.0)

    def scaled(x: SSAValue) -> SSAValue:
        return f(alu.MulF, f(alu.MulF, f(alu.MulF, x, up), up), down)

    swap = f.compare("ogt", f(alu.AbsF, a), f(alu.AbsF, b))
    small, large = f.select(swap, b, a), f.select(swap, a, b)
    x, y, z = f(alu.MulF, f(alu.MulF, small, up), up), f(alu.MulF, large, down), scaled(c)
    least = f.const(2.0**-960, t.type)

    def at_least(x: SSAValue, where: SSAValue) -> SSAValue:
        return f.select(
            f(alu.And, where, f.compare("olt", f(alu.AbsF, x), least)), f(alu.CopySign, least, x), x
        )

    z = at_least(z, f(alu.And, huge, f.compare("one", c, 0.0)))
    high = f(alu.MulF, x, y)
    low = f(alu.Fma, x, y, f(alu.NegF, high))
    beside = f(alu.And, f.compare("one", z, 0.0), f.compare("one", small, 0.0))
    low = f.select(f(alu.And, beside, f.compare("olt", f(alu.AbsF, high), least)), 0.0, low)
    high = at_least(high, beside)
    first, first_left = _two_sum(f, z, low)
    second, second_left = _two_sum(f, high, first)
    tail = f(alu.AddF, f(alu.AddF, f(alu.SubF, second, scaled(t)), second_left), first_left)
    return _back_from_infinity(f, Exact(t, tail, _either_sign(f, product, c)), a, b, c)


def _quotient(f: Formula, a: SSAValue, b: SSAValue) -> Exact:
    q = f(alu.DivF, a, b)
    r = _remainder(f, q, b, a)
    return Exact(q, f.select(f.compare("olt", b, 0.0), f(alu.NegF, r), r))


def _root(f: Formula, a: SSAValue) -> Exact:
    s = f(alu.Sqrt, a)
    return Exact(s, _remainder(f, s, s, a))


def _integer(f: Formula, x: SSAValue, *, signed: bool) -> Exact:
    """A 64-bit integer, as the sum of its halves."""
    half = convert.SIToF if signed else convert.UIToF
    high = f(alu.ShrU, x, 32)
    top = f.convert(half, f.convert(convert.TruncI, high, I32), F64)
    bottom = f.convert(convert.UIToF, f.convert(convert.TruncI, x, I32), F64)
    return _sum(f, f(alu.MulF, top, 2.0**32), bottom)._replace(zero=None)


# --- the functions -------------------------------------------------------------------------------------------


def _wide(f: Formula, args: tuple[SSAValue, ...]) -> list[SSAValue]:
    return [f.convert(convert.ExtF, x, F64) if element_of(x.type) == F32 else x for x in args]


def _add(mode: str, *, subtract: bool) -> Rule:
    def rule(f: Formula, a: SSAValue, b: SSAValue) -> SSAValue:
        element = element_of(a.type)
        wide = _wide(f, (a, f(alu.NegF, b) if subtract else b))
        exact = _sum(f, *wide)
        if element != F32:
            exact = _back_from_infinity(f, exact, *wide)
        return round_exact(f, exact, mode, element)

    return rule


def _multiply(mode: str) -> Rule:
    def rule(f: Formula, a: SSAValue, b: SSAValue) -> SSAValue:
        element = element_of(a.type)
        wide = _wide(f, (a, b))
        exact = Exact(f(alu.MulF, *wide)) if element == F32 else _product(f, *wide)
        return round_exact(f, exact, mode, element)

    return rule


def _divide(mode: str) -> Rule:
    def rule(f: Formula, a: SSAValue, b: SSAValue) -> SSAValue:
        return round_exact(f, _quotient(f, *_wide(f, (a, b))), mode, element_of(a.type))

    return rule


def _reciprocal(mode: str) -> Rule:
    divide = _divide(mode)
    return unary(lambda f, a: divide(f, f.const(1.0, a.type), a))


def _square_root(mode: str) -> Rule:
    def rule(f: Formula, a: SSAValue) -> SSAValue:
        return round_exact(f, _root(f, *_wide(f, (a,))), mode, element_of(a.type))

    return rule


def _fused(mode: str) -> Rule:
    def rule(f: Formula, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
        element = element_of(a.type)
        x, y, z = _wide(f, (a, b, c))
        exact = _sum(f, f(alu.MulF, x, y), z) if element == F32 else _multiply_add(f, x, y, z)
        return round_exact(f, exact, mode, element)

    return rule


def _narrow(mode: str) -> Rule:
    return unary(lambda f, a: round_exact(f, Exact(a), mode, F32))


def _from_int(mode: str, element: Attribute, *, signed: bool) -> Rule:
    def rule(f: Formula, a: SSAValue) -> SSAValue:
        if element_of(a.type) == I64:
            return round_exact(f, _integer(f, a, signed=signed), mode, element)
        return round_exact(
            f, Exact(f.convert(convert.SIToF if signed else convert.UIToF, a, F64)), mode, element
        )

    return rule


def _to_int(rounding: type[alu.Unary] | None, element: IntegerType, *, signed: bool) -> Rule:
    def rule(f: Formula, a: SSAValue) -> SSAValue:
        integral = a if rounding is None else f(rounding, a)
        return f.convert(convert.FToSI if signed else convert.FToUI, integral, element)

    return rule


def _convert(cls: type[convert.Conversion], element: Attribute) -> Rule:
    return unary(lambda f, a: f.convert(cls, a, element))


def _rules() -> dict[str, Rule]:
    rules: dict[str, Rule] = {}
    for mode in ("rd", "ru", "rz"):
        rules[f"add_{mode}"] = _add(mode, subtract=False)
        rules[f"sub_{mode}"] = _add(mode, subtract=True)
        rules[f"mul_{mode}"] = _multiply(mode)
        rules[f"div_{mode}"] = _divide(mode)
        rules[f"rcp_{mode}"] = _reciprocal(mode)
        rules[f"sqrt_{mode}"] = _square_root(mode)
        rules[f"fma_{mode}"] = _fused(mode)
        rules[f"double2float_{mode}"] = _narrow(mode)
        rules[f"int2float_{mode}"] = _from_int(mode, F32, signed=True)
        rules[f"uint2float_{mode}.u"] = _from_int(mode, F32, signed=False)
        rules[f"ll2float_{mode}"] = _from_int(mode, F32, signed=True)
        rules[f"ull2float_{mode}.u"] = _from_int(mode, F32, signed=False)
        rules[f"ll2double_{mode}"] = _from_int(mode, F64, signed=True)
        rules[f"ull2double_{mode}.u"] = _from_int(mode, F64, signed=False)
    rules["double2float_rn"] = unary(lambda f, a: f.narrow(a))
    for source in ("int", "ll"):
        for target, element in (("float", F32), ("double", F64)):
            rules[f"{source}2{target}_rn"] = _convert(convert.SIToF, element)
            rules[f"u{source}2{target}_rn.u"] = _convert(convert.UIToF, element)
    integers = (("int", I32, True), ("uint", I32, False), ("ll", I64, True), ("ull", I64, False))
    roundings = {"rn": alu.RoundEvenF, "rd": alu.Floor, "ru": alu.Ceil, "rz": None}
    for mode, rounding in roundings.items():
        for source in ("float", "double"):
            for name, integer, signed in integers:
                rules[f"{source}2{name}_{mode}"] = _to_int(rounding, integer, signed=signed)
    return rules


ROUNDING: Final = _rules()
"""Function name, with ".u" for an unsigned operand -> ``rule(formula, *operands)``."""
