"""Division of floats. Where a loop divides by one and the same number, by its reciprocal: as exact, and faster.

The quotient comes from a product and two corrections by the remainder, which a fused multiply-add gives exactly
(Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990, theorem 8). Where a lane
is outside of what that holds for (the remainder would be denormal, or there is no finite quotient), the register is
divided by the instruction. Softmax of 4096 x 1024 takes 0.9 times as long: a division of 512 bits takes 16 cycles
on Intel's processors, the products and checks six.
"""

from __future__ import annotations

import math
import struct
from typing import Final

from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.ir import Operation, SSAValue, Use

from ..dialects.isa import alu as isa
from ..dialects.isa import lanes
from .emission import Emitter, Reciprocal, emits
from .registers import RegisterType, float_literal, register_type

SCALAR: Final = register_type(f32)

LEAST_BITS: Final = 512
"""Bits of a register worth it: up to 256 are divided in about as many cycles as the products take."""

DIVISORS: Final = (2.0**-100, 2.0**25)
"""Numbers in this range have a reciprocal, and `LEAST_DIVIDEND` a quotient, that is not denormal."""

LEAST_DIVIDEND: Final = 2.0**-100
"""The remainder of a smaller one may have bits below 2^-149: its last bit is 2 x 23 places below the first of the
dividend or one more."""


@emits(isa.DivF)
def divide(e: Emitter, op: isa.DivF) -> None:
    by = e.reciprocals.get(op.rhs)
    if by is None:
        e.result(op, f"fdiv {e.typed(op.lhs)}, {e.ref(op.rhs)}")
    else:
        e.bind(op.result, by_product(e, e.type(op.result), e.ref(op.lhs), e.ref(op.rhs), by))


def prepare_divisor(e: Emitter, value: SSAValue) -> None:
    """Computes the reciprocal of `value` where it is made, if it is one number and loops further in divide by it."""
    ty = register_type(value.type)
    if ty.format != "f32" or ty.bits * ty.lanes < LEAST_BITS or e.vector_bits < LEAST_BITS:
        return
    maker = value.owner
    if isinstance(maker, lanes.Splat) and any(divides(use, value) for use in value.uses):
        e.reciprocals[value] = reciprocal(e, ty, e.ref(maker.source))
    elif isinstance(maker, lanes.Const) and isinstance(maker.value, FloatAttr):
        number = maker.value.value.data
        is_power_of_two = abs(math.frexp(number)[0]) == 0.5  # LLVM multiplies by itself
        if not is_power_of_two and any(divides(use, value) for use in value.uses):
            e.reciprocals[value] = reciprocal(e, ty, float_literal(number, SCALAR))


def divides(use: Use, divisor: SSAValue) -> bool:
    """Whether a use of `divisor` is a division further in than it is made."""
    op, maker = use.operation, divisor.owner
    return (
        isinstance(op, isa.DivF)
        and op.rhs is divisor
        and isinstance(maker, Operation)
        and op.parent is not maker.parent
    )


def reciprocal(e: Emitter, ty: RegisterType, number: str) -> Reciprocal:
    """What registers of type `ty` are divided by `number` with."""
    low, high = (float_literal(bound, SCALAR) for bound in DIVISORS)
    above = e.let(f"fcmp oge float {number}, {low}")
    below = e.let(f"fcmp ole float {number}, {high}")
    fits = e.let(f"and i1 {above}, {below}")
    least = e.let(f"select i1 {fits}, i32 {rank(LEAST_DIVIDEND)}, i32 -1")
    value = e.let(f"fdiv float {float_literal(1.0, SCALAR)}, {number}")
    return Reciprocal(e.broadcast(value, "float", ty.lanes), e.broadcast(least, "i32", ty.lanes))


def rank(value: float) -> int:
    """Orders floats by size, from the smallest denormal number on; zero, which divides well, comes last."""
    return (2 * int(struct.unpack("<I", struct.pack("<f", value))[0]) - 1) % 2**32


def by_product(e: Emitter, ty: RegisterType, x: str, divisor: str, by: Reciprocal) -> str:
    """``x / divisor``, rounded once."""
    whole, predicate = ty.of("i32"), ty.of("i1")
    bits = e.let(f"bitcast {ty.text} {x} to {whole}")
    doubled = e.let(f"add {whole} {bits}, {bits}")
    ranks = e.let(f"add {whole} {doubled}, {ty.fill(-1, 'i32')}")
    small = e.let(f"icmp ule {whole} {ranks}, {by.least}")
    negated = e.let(f"fneg {ty.text} {x}")
    quotient = e.let(f"fmul {ty.text} {x}, {by.value}")
    for _ in range(2):
        # In this order a zero keeps its sign.
        excess = e.intrinsic("fma", ty, quotient, divisor, negated)
        correction = e.let(f"fneg {ty.text} {excess}")
        quotient = e.intrinsic("fma", ty, correction, by.value, quotient)
    none = e.let(f"fcmp uno {ty.text} {quotient}, {quotient}")
    failed = e.let(f"or {predicate} {small}, {none}")
    flags = e.let(f"bitcast {predicate} {failed} to i{ty.lanes}")
    with e.when(e.let(f"icmp ne i{ty.lanes} {flags}, 0")) as before:
        exact = e.let(f"fdiv {ty.text} {x}, {divisor}")
        then = e.block
    phi = e.phi(ty.text)
    phi.add(exact, then)
    phi.add(quotient, before)
    return phi.name
