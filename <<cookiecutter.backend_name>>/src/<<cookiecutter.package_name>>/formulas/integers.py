"""The math library's functions on integers and on the bits of floating-point numbers."""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, SSAValue

from ..dialects.isa import alu, convert
from ..dialects.isa.base import element_of
from .formula import F32, F64, I32, I64, Formula, Rule, binary, unary


def width_of(x: SSAValue) -> int:
    element = element_of(x.type)
    assert isinstance(element, IntegerType)
    return element.width.data


def as_i32(f: Formula, x: SSAValue) -> SSAValue:
    """The low 32 bits."""
    return x if width_of(x) == 32 else f.convert(convert.TruncI, x, I32)


def absolute(f: Formula, x: SSAValue) -> SSAValue:
    """|x|; of the least number, itself."""
    if not isinstance(element_of(x.type), IntegerType):
        return f(alu.AbsF, x)
    return f(alu.MaxS, x, f(alu.SubI, f.const(0, x.type), x))


def count_leading_zeros(f: Formula, x: SSAValue) -> SSAValue:
    return as_i32(f, f(alu.CountLeadingZeros, x))


def count_ones(f: Formula, x: SSAValue) -> SSAValue:
    return as_i32(f, f(alu.CountOnes, x))


def find_first_set(f: Formula, x: SSAValue) -> SSAValue:
    """Position of the lowest bit set, counted from 1; 0 for 0."""
    lowest = f(alu.And, x, f(alu.SubI, f.const(0, x.type), x))
    return as_i32(f, f(alu.SubI, f.const(width_of(x), x.type), f(alu.CountLeadingZeros, lowest)))


def reverse_bits(f: Formula, x: SSAValue) -> SSAValue:
    """Swaps neighbouring bits, then pairs, and so on up to the halves."""
    width = width_of(x)
    distance = 1
    while distance < width // 2:
        period = (1 << 2 * distance) - 1
        mask = ((1 << distance) - 1) * (((1 << width) - 1) // period)
        low = f(alu.Shl, f(alu.And, x, signed(mask, width)), distance)
        x = f(alu.Or, low, f(alu.And, f(alu.ShrU, x, distance), signed(mask, width)))
        distance *= 2
    return f(alu.Or, f(alu.Shl, x, distance), f(alu.ShrU, x, distance))


def signed(bits: int, width: int) -> int:
    """The signed number with these bits."""
    return bits - (1 << width) if bits >> (width - 1) else bits


def multiply_24(f: Formula, a: SSAValue, b: SSAValue) -> SSAValue:
    """Low 32 bits of the product of two signed 24-bit numbers, the low bits of the operands."""
    x, y = (f(alu.ShrS, f(alu.Shl, value, 8), 8) for value in (a, b))
    return f(alu.MulI, x, y)


def multiply_24_unsigned(f: Formula, a: SSAValue, b: SSAValue) -> SSAValue:
    return f(alu.MulI, f(alu.And, a, 0xFFFFFF), f(alu.And, b, 0xFFFFFF))


def average(*, up: bool, unsigned: bool) -> Rule:
    """(a + b) / 2 without overflow, rounded down or up: the common bits and half of the others."""

    def rule(f: Formula, a: SSAValue, b: SSAValue) -> SSAValue:
        half = f(alu.ShrU if unsigned else alu.ShrS, f(alu.Xor, a, b), 1)
        return f(alu.SubI, f(alu.Or, a, b), half) if up else f(alu.AddI, f(alu.And, a, b), half)

    return rule


def sum_of_difference(*, unsigned: bool) -> Rule:
    """|a - b| + c."""
    low, high = (alu.MinU, alu.MaxU) if unsigned else (alu.MinS, alu.MaxS)

    def rule(f: Formula, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
        return f(alu.AddI, f(alu.SubI, f(high, a, b), f(low, a, b)), c)

    return rule


def permute_bytes(f: Formula, x: SSAValue, y: SSAValue, selector: SSAValue) -> SSAValue:
    """Byte i of the result is that of the eight bytes y:x which the low three bits of nibble i of `selector` name."""
    both = join(f, y, x)
    result: SSAValue | None = None
    for i in range(4):
        # Eight times the nibble's low bits.
        amount = f(alu.Shl, selector, 3) if i == 0 else f(alu.ShrU, selector, 4 * i - 3)
        amount = f.convert(convert.ExtU, f(alu.And, amount, 0x38), I64)
        byte = f(alu.And, f.convert(convert.TruncI, f(alu.ShrU, both, amount), I32), 0xFF)
        byte = byte if i == 0 else f(alu.Shl, byte, 8 * i)
        result = byte if result is None else f(alu.Or, result, byte)
    assert result is not None
    return result


def join(f: Formula, high: SSAValue, low: SSAValue) -> SSAValue:
    """An i64 from two i32."""
    top = f(alu.Shl, f.convert(convert.ExtU, high, I64), 32)
    return f(alu.Or, top, f.convert(convert.ExtU, low, I64))


def high_half(f: Formula, x: SSAValue) -> SSAValue:
    return as_i32(f, f(alu.ShrU, f.bits(x, I64), 32))


def approximate_reciprocal(f: Formula, x: SSAValue) -> SSAValue:
    """1/x with only the upper 32 bits kept (20 of the fraction)."""
    quotient = f(alu.DivF, f.const(1.0, x.type), x)
    return f.bits(f(alu.And, f.bits(quotient, I64), -(1 << 32)), F64)


def sign_bit(f: Formula, x: SSAValue) -> SSAValue:
    wide = element_of(x.type) == F64
    return as_i32(f, f(alu.ShrU, f.bits(x, I64 if wide else I32), 63 if wide else 31))


def _as(element: Attribute) -> Rule:
    return unary(lambda f, x: f.bits(x, element))


def _instruction(cls: type[alu.Binary]) -> Rule:
    return binary(lambda f, a, b: f(cls, a, b))


INTEGERS: Final[dict[str, Rule]] = {
    "abs": absolute,
    "brev": reverse_bits,
    "byte_perm": permute_bytes,
    "clz": count_leading_zeros,
    "ffs": find_first_set,
    "hadd": average(up=False, unsigned=False),
    "hadd.u": average(up=False, unsigned=True),
    "mul24": multiply_24,
    "mul24.u": multiply_24_unsigned,
    "mulhi": _instruction(alu.MulHS),
    "mulhi.u": _instruction(alu.MulHU),
    "popc": count_ones,
    "rhadd": average(up=True, unsigned=False),
    "rhadd.u": average(up=True, unsigned=True),
    "sad": sum_of_difference(unsigned=False),
    "sad.u": sum_of_difference(unsigned=True),
    "signbit": sign_bit,
    "double2hiint": high_half,
    "double2loint": unary(lambda f, x: as_i32(f, f.bits(x, I64))),
    "hiloint2double": binary(lambda f, high, low: f.bits(join(f, high, low), F64)),
    "rcp64h": approximate_reciprocal,
    "double_as_longlong": _as(I64),
    "float_as_int": _as(I32),
    "float_as_uint": _as(I32),
    "int_as_float": _as(F32),
    "longlong_as_double": _as(F64),
    "uint_as_float.u": _as(F32),
}
"""Function name, with ".u" for an unsigned operand -> ``rule(formula, *operands)``."""
