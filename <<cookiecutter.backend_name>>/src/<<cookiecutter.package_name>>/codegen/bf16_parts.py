"""Vectors of f32 and f16 as sums of bf16 numbers, each next to what is left, in words that tile registers multiply.

Upper halves of i32 are bf16 numbers. The rest after one is exact, so three of them are all of an f32. Of NaN and
infinities the first part says everything; the others mean nothing then.
"""

from __future__ import annotations

from typing import Final

from .convert import NARROW, widen
from .emission import Emitter

LANES: Final = 16
F32: Final = f"<{LANES} x float>"
I32: Final = f"<{LANES} x i32>"

UPPER: Final = -0x10000
HALF_DIGIT: Final = 0x8000
"""Half of a bf16's last digit."""

LARGEST: Final = 0x7F7F7FFF
"""The largest f32 whose nearest bf16 is finite."""

LARGEST_REST: Final = 0x7B7F7FFF
"""The largest f32 whose nearest bf16 makes no infinity with that of `LARGEST`."""

CLAMP: Final = 2
"""``vrange``: what is smaller in absolute value, with the sign of the first operand."""

SPECIAL: Final = 0x00660022
"""``vfixupimm``: NaN and infinities as the second operand has them, everything else as the first."""

AND_OR: Final = 0xEA
"""``vpternlog``: the third operand, or what the first two have in common. LLVM would permute words: slower."""

ROUNDING_IN_FORCE: Final = 4


def parts_of(e: Emitter, x: str, count: int) -> list[str]:
    """The parts of a vector, two or three, highest first.

    Rounding may carry into the exponent, but must not make infinite what is finite, nor a number of a NaN.
    """
    nearest = _plus_half(e, _clamped(e, x, LARGEST))
    first, rest = _with_specials(e, nearest, x), _without_upper(e, x, nearest)
    if count == 2:
        return [first, _plus_half(e, _clamped(e, rest, LARGEST_REST))]
    # The rest has 16 bits: whether the first 8 are rounded or not, 8 are left.
    second = e.let(f"bitcast {F32} {rest} to {I32}")
    third = e.let(f"bitcast {F32} {_without_upper(e, rest, second)} to {I32}")
    return [first, second, third]


def parts_of_half(e: Emitter, x: str) -> list[str]:
    """The two parts of a vector of f16: the first 8 of its 11 bits, and the others.

    A NaN must have one among the first: it is a quiet one by then.
    """
    wide = widen(e, x, LANES, NARROW["f16"])
    bits = e.let(f"bitcast {F32} {wide} to {I32}")
    return [bits, e.let(f"bitcast {F32} {_without_upper(e, wide, bits)} to {I32}")]


def words_of(e: Emitter, low: str, high: str) -> str:
    """Words whose halves are the upper halves of two vectors' elements."""
    shifted = e.let(f"lshr {I32} {low}, splat (i32 16)")
    operands = (I32, high), (I32, f"splat (i32 {UPPER})"), (I32, shifted)
    return e.call(I32, "llvm.x86.avx512.pternlog.d.512", *operands, ("i32", str(AND_OR)))


def _clamped(e: Emitter, x: str, bits: int) -> str:
    limit = e.let(f"bitcast {I32} splat (i32 {bits}) to {F32}")
    control = ("i32", str(CLAMP)), (F32, "zeroinitializer"), ("i16", "-1"), ("i32", str(ROUNDING_IN_FORCE))
    return e.call(F32, "llvm.x86.avx512.mask.range.ps.512", (F32, x), (F32, limit), *control)


def _with_specials(e: Emitter, bits: str, x: str) -> str:
    """`bits`, or those of `x` where it is infinite or NaN."""
    value = e.let(f"bitcast {I32} {bits} to {F32}")
    table = (I32, f"splat (i32 {SPECIAL})")
    control = ("i32", "0"), ("i16", "-1"), ("i32", str(ROUNDING_IN_FORCE))
    fixed = e.call(F32, "llvm.x86.avx512.mask.fixupimm.ps.512", (F32, value), (F32, x), table, *control)
    return e.let(f"bitcast {F32} {fixed} to {I32}")


def _plus_half(e: Emitter, x: str) -> str:
    """Bits whose upper half is the bf16 that is nearest to `x`."""
    return e.let(f"add {I32} {e.let(f'bitcast {F32} {x} to {I32}')}, splat (i32 {HALF_DIGIT})")


def _without_upper(e: Emitter, x: str, bits: str) -> str:
    """`x` less the bf16 in the upper half of `bits`."""
    upper = e.let(f"bitcast {I32} {e.let(f'and {I32} {bits}, splat (i32 {UPPER})')} to {F32}")
    return e.let(f"fsub {F32} {x}, {upper}")
