"""``a * b + c`` of half-precision numbers, rounded once.

An f32 or f64 sum that is rounded again may land on the wrong side: it has lost what lay just beside a tie. Rounded
to odd it keeps that, and rounding it to a format with at least two bits less gives what rounding the exact sum would.
Source: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd"
(2008).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import Float64Type, i64
from xdsl.ir import SSAValue

from ..dialects.isa import alu, convert
from ..dialects.isa.base import like
from .builder import Builder

ORDERED_AND_DIFFERENT = 6
"""``one`` of ``arith.cmpf``: false where an operand is NaN."""
EQUAL, NOT_NEGATIVE = 0, 5
"""``eq`` and ``sge`` of ``arith.cmpi``."""


def multiply_add_to_odd(b: Builder, args: Sequence[SSAValue]) -> SSAValue:
    """``a * b + c`` of f16 or bf16 values as f64, rounded to odd."""
    wide = like(args[0].type, Float64Type())
    words = like(args[0].type, i64)
    first, second, third = (b.emit(convert.ExtF, [arg], wide) for arg in args)
    product = b.emit(alu.MulF, [first, second], wide)  # exact: at most 22 bits
    total = b.emit(alu.AddF, [product, third], wide)
    error = sum_error(b, product, third, total)

    bits, error_bits = (b.emit(convert.Bitcast, [value], words) for value in (total, error))
    one, zero = b.const(1, words), b.const(0, words)
    attr = {"predicate": alu.FLOAT_COMPARISONS[ORDERED_AND_DIFFERENT]}
    inexact = b.emit(
        alu.CmpF,
        [error, b.const(0.0, wide)],
        b.cmpi(EQUAL, bits, zero).type,
        attr,
        key=(ORDERED_AND_DIFFERENT,),
    )
    even = b.cmpi(EQUAL, b.emit(alu.And, [bits, one], words), zero)
    # The exact sum lies further from zero than the rounded one where its error has the same sign.
    further = b.cmpi(NOT_NEGATIVE, b.emit(alu.Xor, [bits, error_bits], words), zero)
    step = b.emit(alu.Select, [further, one, b.const(-1, words)], words)
    odd = b.emit(convert.Bitcast, [b.emit(alu.AddI, [bits, step], words)], wide)
    return b.emit(alu.Select, [b.emit(alu.And, [inexact, even], even.type), odd, total], wide)


def sum_error(b: Builder, x: SSAValue, y: SSAValue, total: SSAValue) -> SSAValue:
    """``x + y - total`` exactly (Knuth's two-sum); NaN where the sum is not finite."""
    wide = total.type
    part = b.emit(alu.SubF, [total, x], wide)
    rest = b.emit(alu.SubF, [total, part], wide)
    return b.emit(alu.AddF, [b.emit(alu.SubF, [x, rest], wide), b.emit(alu.SubF, [y, part], wide)], wide)
