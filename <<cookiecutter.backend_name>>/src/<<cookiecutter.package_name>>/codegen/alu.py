"""Arithmetic and logic. Every result is defined: where LLVM leaves one open, a select closes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects.builtin import f64, i32

from ..dialects.isa import alu as isa
from ..dialects.isa.base import like
from .emission import Emitter, emits, integer_type
from .lanes import by_parts
from .registers import RegisterType, register_type, spell

# --- instructions that LLVM has under another name -----------------------------------------------------------

BINARY: dict[type[isa.Binary], str] = {
    isa.AddI: "add",
    isa.SubI: "sub",
    isa.MulI: "mul",
    isa.And: "and",
    isa.Or: "or",
    isa.Xor: "xor",
    isa.AddF: "fadd",
    isa.SubF: "fsub",
    isa.MulF: "fmul",
}

INTRINSIC: dict[type[isa.Binary | isa.Unary], str] = {
    isa.MinS: "smin",
    isa.MaxS: "smax",
    isa.MinU: "umin",
    isa.MaxU: "umax",
    isa.CopySign: "copysign",
    isa.CountOnes: "ctpop",
    isa.AbsF: "fabs",
    isa.Sqrt: "sqrt",
    isa.Floor: "floor",
    isa.Ceil: "ceil",
    isa.TruncIntF: "trunc",
    isa.RoundEvenF: "roundeven",
}


@emits(*BINARY)
def binary(e: Emitter, op: isa.Binary) -> None:
    e.result(op, f"{BINARY[type(op)]} {e.typed(op.lhs)}, {e.ref(op.rhs)}")


@emits(*INTRINSIC)
def intrinsic(e: Emitter, op: isa.Binary | isa.Unary) -> None:
    ty = e.type(op.result)
    e.bind(op.result, e.intrinsic(INTRINSIC[type(op)], ty, *[e.ref(operand) for operand in op.operands]))


@emits(isa.NegF)
def negate(e: Emitter, op: isa.NegF) -> None:
    e.result(op, f"fneg {e.typed(op.source)}")


@emits(isa.Fma)
def fma(e: Emitter, op: isa.Fma) -> None:
    e.bind(op.result, e.intrinsic("fma", e.type(op.result), e.ref(op.a), e.ref(op.b), e.ref(op.c)))


@emits(isa.CountLeadingZeros)
def leading_zeros(e: Emitter, op: isa.CountLeadingZeros) -> None:
    ty = e.type(op.result)
    e.bind(
        op.result,
        e.call(ty.text, f"llvm.ctlz.{ty.mangled}", (ty.text, e.ref(op.source)), ("i1", "false")),
    )


# --- shifts -----------------------------------------------------------------------------------------------------


@emits(isa.Shl, isa.ShrU)
def shift(e: Emitter, op: isa.Binary) -> None:
    ty = e.type(op.result)
    name = "shl" if isinstance(op, isa.Shl) else "lshr"
    value, amount = e.ref(op.lhs), e.ref(op.rhs)
    known = e.constant(op.rhs)
    shifted = f"{name} {ty.text} {value}, {amount}"
    if known is not None and 0 <= known < ty.bits:
        e.result(op, shifted)
    elif known is not None:
        e.bind(op.result, ty.fill("false" if ty.is_predicate else 0))
    else:
        fits = e.let(f"icmp ult {ty.text} {amount}, {ty.fill(ty.bits)}")
        shifted = e.let(shifted)
        e.result(op, f"select {ty.of('i1')} {fits}, {ty.text} {shifted}, {ty.text} zeroinitializer")


@emits(isa.ShrS)
def shift_arithmetic(e: Emitter, op: isa.ShrS) -> None:
    ty = e.type(op.result)
    amount = e.intrinsic("umin", ty, e.ref(op.rhs), ty.fill(ty.bits - 1))
    e.result(op, f"ashr {e.typed(op.lhs)}, {amount}")


# --- division -----------------------------------------------------------------------------------------------------


@emits(isa.DivU, isa.RemU)
def divide_unsigned(e: Emitter, op: isa.Binary) -> None:
    ty = e.type(op.result)
    quotient = isinstance(op, isa.DivU)
    lhs, rhs = e.ref(op.lhs), e.ref(op.rhs)
    if e.constant(op.rhs):
        e.result(op, f"{'udiv' if quotient else 'urem'} {ty.text} {lhs}, {rhs}")
        return
    predicate = ty.of("i1")
    zero = e.let(f"icmp eq {ty.text} {rhs}, zeroinitializer")
    divisor = e.let(f"select {predicate} {zero}, {ty.text} {ty.fill(1)}, {ty.text} {rhs}")
    value = _divide(e, ty, lhs, divisor, signed=False, quotient=quotient)
    instead = ty.fill(-1) if quotient else lhs
    e.result(op, f"select {predicate} {zero}, {ty.text} {instead}, {ty.text} {value}")


@emits(isa.DivS, isa.RemS)
def divide_signed(e: Emitter, op: isa.Binary) -> None:
    ty = e.type(op.result)
    quotient = isinstance(op, isa.DivS)
    lhs, rhs = e.ref(op.lhs), e.ref(op.rhs)
    known = e.constant(op.rhs)
    if known is not None and known not in (0, -1):
        e.result(op, f"{'sdiv' if quotient else 'srem'} {ty.text} {lhs}, {rhs}")
        return
    # Dividing by 1 instead of 0 and -1 never traps; both quotients and remainders are known.
    predicate = ty.of("i1")
    zero = e.let(f"icmp eq {ty.text} {rhs}, zeroinitializer")
    minus_one = e.let(f"icmp eq {ty.text} {rhs}, {ty.fill(-1)}")
    special = e.let(f"or {predicate} {zero}, {minus_one}")
    divisor = e.let(f"select {predicate} {special}, {ty.text} {ty.fill(1)}, {ty.text} {rhs}")
    value = _divide(e, ty, lhs, divisor, signed=True, quotient=quotient)
    if quotient:
        negated = e.let(f"sub {ty.text} zeroinitializer, {lhs}")
        value = e.let(f"select {predicate} {minus_one}, {ty.text} {negated}, {ty.text} {value}")
        instead = ty.fill(-1)
    else:
        instead = lhs  # x rem -1 is x rem 1
    e.result(op, f"select {predicate} {zero}, {ty.text} {instead}, {ty.text} {value}")


def _divide(e: Emitter, ty: RegisterType, lhs: str, rhs: str, *, signed: bool, quotient: bool) -> str:
    """Quotient or remainder where `rhs` is neither 0 nor (signed) -1.

    Few CPUs divide vectors of integers. Up to 32 bits the quotient rounded to f64 (up to 16 bits: to f32) and
    then towards zero is exact: it is an integer or at least 1/rhs off one, which no rounding bridges.
    """
    sign = "s" if signed else "u"
    if ty.lanes == 1 or ty.bits > 32:
        return e.let(f"{sign}{'div' if quotient else 'rem'} {ty.text} {lhs}, {rhs}")
    floats = ty.of("float" if ty.bits <= 16 else "double")
    dividend = e.let(f"{sign}itofp {ty.text} {lhs} to {floats}")
    divisor = e.let(f"{sign}itofp {ty.text} {rhs} to {floats}")
    ratio = e.let(f"fdiv {floats} {dividend}, {divisor}")
    value = e.let(f"fpto{sign}i {floats} {ratio} to {ty.text}")
    if quotient:
        return value
    return e.let(f"sub {ty.text} {lhs}, {e.let(f'mul {ty.text} {value}, {rhs}')}")


@emits(isa.MulHS, isa.MulHU)
def multiply_high(e: Emitter, op: isa.Binary) -> None:
    ty = e.type(op.result)
    signed = isinstance(op, isa.MulHS)
    lhs, rhs = e.ref(op.lhs), e.ref(op.rhs)
    if ty.bits == 64 and ty.lanes > 1:
        high = _multiply_high_64(e, ty, lhs, rhs)
        if signed:
            # Two's complement: a negative factor was taken 2^64 too large, which adds the other to the high half.
            for factor, other in ((lhs, rhs), (rhs, lhs)):
                sign = e.let(f"ashr {ty.text} {factor}, {ty.fill(63)}")
                high = e.let(f"sub {ty.text} {high}, {e.let(f'and {ty.text} {sign}, {other}')}")
        e.bind(op.result, high)
        return
    wide = ty.of(f"i{2 * ty.bits}")
    extend = "sext" if signed else "zext"
    factors = [e.let(f"{extend} {ty.text} {value} to {wide}") for value in (lhs, rhs)]
    product = e.let(f"mul {wide} {factors[0]}, {factors[1]}")
    high = e.let(f"lshr {wide} {product}, {ty.fill(ty.bits, f'i{2 * ty.bits}')}")
    e.result(op, f"trunc {wide} {high} to {ty.text}")


def _multiply_high_64(e: Emitter, ty: RegisterType, lhs: str, rhs: str) -> str:
    """Unsigned high half of 64 x 64 bits from four products of 32-bit halves, which are vector instructions."""
    t, low, half = ty.text, ty.fill(0xFFFFFFFF), ty.fill(32)
    a0, b0 = (e.let(f"and {t} {value}, {low}") for value in (lhs, rhs))
    a1, b1 = (e.let(f"lshr {t} {value}, {half}") for value in (lhs, rhs))
    p00, p01, p10, p11 = (e.let(f"mul {t} {a}, {b}") for a, b in ((a0, b0), (a0, b1), (a1, b0), (a1, b1)))
    middle = e.let(f"add {t} {e.let(f'lshr {t} {p00}, {half}')}, {e.let(f'and {t} {p01}, {low}')}")
    middle = e.let(f"add {t} {middle}, {e.let(f'and {t} {p10}, {low}')}")
    high = e.let(f"add {t} {p11}, {e.let(f'lshr {t} {p01}, {half}')}")
    high = e.let(f"add {t} {high}, {e.let(f'lshr {t} {p10}, {half}')}")
    return e.let(f"add {t} {high}, {e.let(f'lshr {t} {middle}, {half}')}")


# --- minimum and maximum ------------------------------------------------------------------------------------------

RANGE_MINIMUM: Final = 4
RANGE_MAXIMUM: Final = 5
"""``vrange``'s immediate: operation in bits 0-1, sign of the result as compared in bits 2-3."""

ROUNDING_IN_FORCE: Final = 4
"""AVX-512's immediate for "do not override the rounding mode"."""

SHORTEST_VECTOR: Final = 128


@emits(isa.MinNum, isa.MaxNum)
def number_extremum(e: Emitter, op: isa.Binary) -> None:
    ty, lhs, rhs = e.type(op.result), e.ref(op.lhs), e.ref(op.rhs)
    largest = isinstance(op, isa.MaxNum)
    ordered = _ordered_extremum(e, ty, lhs, rhs, largest=largest)
    if ordered is not None:
        e.bind(op.result, ordered)
        return
    value = _compare_extremum(e, ty, lhs, rhs, largest=largest)
    missing = e.let(f"fcmp uno {ty.text} {rhs}, {rhs}")
    e.result(op, f"select {ty.of('i1')} {missing}, {ty.text} {lhs}, {ty.text} {value}")


@emits(isa.Minimum, isa.Maximum)
def propagating_extremum(e: Emitter, op: isa.Binary) -> None:
    ty, lhs, rhs = e.type(op.result), e.ref(op.lhs), e.ref(op.rhs)
    largest = isinstance(op, isa.Maximum)
    value = _ordered_extremum(e, ty, lhs, rhs, largest=largest)
    if value is not None:
        nan = e.let(f"fcmp uno {ty.text} {lhs}, {rhs}")
        total = e.let(f"fadd {ty.text} {lhs}, {rhs}")
        e.result(op, f"select {ty.of('i1')} {nan}, {ty.text} {total}, {ty.text} {value}")
        return
    value = _compare_extremum(e, ty, lhs, rhs, largest=largest)
    nan = e.let(f"fcmp uno {ty.text} {lhs}, {lhs}")
    e.result(op, f"select {ty.of('i1')} {nan}, {ty.text} {lhs}, {ty.text} {value}")


def _ordered_extremum(e: Emitter, ty: RegisterType, lhs: str, rhs: str, *, largest: bool) -> str | None:
    """minNum / maxNum by ``vrange``; None where the host has no such instruction."""
    if not e.host.orders_zeros:
        return None
    choice = ("i32", str(RANGE_MAXIMUM if largest else RANGE_MINIMUM))
    return _masked_avx512(e, ty, "range", [lhs, rhs], [choice])


def _masked_avx512(
    e: Emitter, ty: RegisterType, name: str, operands: list[str], immediates: Sequence[tuple[str, str]] = ()
) -> str:
    """An instruction that LLVM has as an intrinsic with a mask (all lanes here), register by register."""
    width = max(SHORTEST_VECTOR, min(e.vector_bits, ty.lanes * ty.bits))
    lanes = width // ty.bits
    part, mask = spell(ty.element, lanes), f"i{max(lanes, 8)}"
    symbol = f"llvm.x86.avx512.mask.{name}.p{'s' if ty.bits == 32 else 'd'}.{width}"
    last = [*immediates, (part, "zeroinitializer"), (mask, "-1")]
    if width == 512:
        last.append(("i32", str(ROUNDING_IN_FORCE)))
    return by_parts(
        e,
        ty,
        lanes,
        lambda *parts: e.call(part, symbol, *((part, value) for value in parts), *last),
        *operands,
    )


@emits(isa.Ldexp)
def ldexp(e: Emitter, op: isa.Ldexp) -> None:
    ty = e.type(op.result)
    if e.host.scales_by_powers:
        e.bind(op.result, _masked_avx512(e, ty, "scalef", [e.ref(op.lhs), e.ref(op.rhs)]))
        return
    count = register_type(like(op.result.type, i32))
    down = e.call(ty.text, f"llvm.floor.{ty.mangled}", (ty.text, e.ref(op.rhs)))
    whole = e.call(count.text, f"llvm.fptosi.sat.{count.mangled}.{ty.mangled}", (ty.text, down))
    symbol = "ldexpf" if ty.bits == 32 else "ldexp"
    e.bind(op.result, library(e, symbol, ty, [(ty, e.ref(op.lhs)), (count, whole)]))


def _compare_extremum(e: Emitter, ty: RegisterType, lhs: str, rhs: str, *, largest: bool) -> str:
    """The extremum by comparison, -0 < +0; `rhs` if either is NaN."""
    predicate, ints = ty.of("i1"), integer_type(ty)
    better = e.let(f"fcmp {'ogt' if largest else 'olt'} {ty.text} {lhs}, {rhs}")
    value = e.let(f"select {predicate} {better}, {ty.text} {lhs}, {ty.text} {rhs}")
    # Of two equal numbers only zeros differ in a bit, the sign.
    a, b = (e.let(f"bitcast {ty.text} {operand} to {ints}") for operand in (lhs, rhs))
    both = e.let(f"{'and' if largest else 'or'} {ints} {a}, {b}")
    same = e.let(f"fcmp oeq {ty.text} {lhs}, {rhs}")
    zero = e.let(f"bitcast {ints} {both} to {ty.text}")
    return e.let(f"select {predicate} {same}, {ty.text} {zero}, {ty.text} {value}")


# --- special functions and the math library -----------------------------------------------------------------------

LIBRARY: dict[type[isa.Special], str] = {
    isa.Exp: "exp",
    isa.Exp2: "exp2",
    isa.Log: "log",
    isa.Log2: "log2",
    isa.Sin: "sin",
    isa.Cos: "cos",
    isa.Tanh: "tanh",
    isa.Erf: "erf",
}
"""C's functions; a pass expands the f32 ones that are hot before they get here."""


def library(e: Emitter, symbol: str, result: RegisterType, arguments: list[tuple[RegisterType, str]]) -> str:
    """Calls a C function for each lane."""
    scalars = [ty.element for ty, _ in arguments]
    return e.by_lane(
        result, arguments, lambda values: e.call(result.element, symbol, *zip(scalars, values, strict=True))
    )


def c_name(name: str, ty: RegisterType) -> str:
    """C's function `name` for the elements of `ty`: ``expf``, ``exp``."""
    return name + "f" if ty.format == "f32" else name


@emits(*LIBRARY)
def special(e: Emitter, op: isa.Special) -> None:
    ty = e.type(op.result)
    e.bind(op.result, library(e, c_name(LIBRARY[type(op)], ty), ty, [(ty, e.ref(op.source))]))


@emits(isa.RemF)
def remainder(e: Emitter, op: isa.RemF) -> None:
    ty = e.type(op.result)
    e.bind(op.result, library(e, c_name("fmod", ty), ty, [(ty, e.ref(op.lhs)), (ty, e.ref(op.rhs))]))


@emits(isa.Rsqrt)
def reciprocal_root(e: Emitter, op: isa.Rsqrt) -> None:
    ty = e.type(op.result)
    root = e.intrinsic("sqrt", ty, e.ref(op.source))
    e.result(op, f"fdiv {ty.text} {ty.fill('1.0')}, {root}")


@emits(isa.MathCall)
def math_call(e: Emitter, op: isa.MathCall) -> None:
    from ..dialects.isa.math_library import symbol_for  # the table of another target may need another library

    ty = e.type(op.result)
    arguments = [(e.type(argument), e.ref(argument)) for argument in op.args]
    if not op.callee.data.endswith(isa.BITS_CALL):
        e.bind(op.result, library(e, symbol_for(op.callee.data, ty.format), ty, arguments))
        return
    numbers = register_type(like(op.result.type, f64))
    for number, (given, value) in enumerate(arguments):
        if given.format == "i64":
            arguments[number] = (numbers, e.let(f"bitcast {given.text} {value} to {numbers.text}"))
    symbol = symbol_for(op.callee.data.removesuffix(isa.BITS_CALL), "f64")
    e.result(op, f"bitcast {numbers.text} {library(e, symbol, numbers, arguments)} to {ty.text}")


# --- comparison ---------------------------------------------------------------------------------------------------

# The predicates have the names that LLVM gives them.


@emits(isa.CmpI)
def compare_integers(e: Emitter, op: isa.CmpI) -> None:
    e.result(op, f"icmp {op.predicate.data} {e.typed(op.lhs)}, {e.ref(op.rhs)}")


@emits(isa.CmpF)
def compare_floats(e: Emitter, op: isa.CmpF) -> None:
    e.result(op, f"fcmp {op.predicate.data} {e.typed(op.lhs)}, {e.ref(op.rhs)}")


@emits(isa.Select)
def select(e: Emitter, op: isa.Select) -> None:
    e.result(op, f"select {e.typed(op.condition)}, {e.typed(op.if_true)}, {e.typed(op.if_false)}")
