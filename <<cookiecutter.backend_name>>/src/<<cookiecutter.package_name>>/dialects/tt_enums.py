"""Triton's integer enumerations, as they appear in printed TTIR.

Values and meanings follow ``include/triton/Dialect/Triton/IR/TritonAttrDefs.td`` of Triton; generic form
prints the number (``sem = 4 : i32``). They are the same in Triton 3.7 to 3.9. The two comparison predicates
are MLIR's (``mlir/Dialect/Arith/IR/ArithBase.td``).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Never

from ..errors import UnsupportedOperation


class UnknownValue(UnsupportedOperation, ValueError):
    """Triton IR has a number that an enumeration does not have: a newer Triton made it."""


class Printed(IntEnum):
    """An enumeration whose numbers Triton prints."""

    @classmethod
    def _missing_(cls, value: object) -> Never:
        raise UnknownValue(
            f"Triton's {cls.__name__} {value} is new to this package, which knows {', '.join(cls.__members__)}",
            add_support_in=f"dialects/tt_enums.py, in {cls.__name__}",
        )


class CacheModifier(Printed):
    """How a load or store may be cached. A hint: it never changes results."""

    NONE = 1
    CA = 2
    CG = 3
    WB = 4
    CS = 5
    WT = 6
    CV = 7


class EvictionPolicy(Printed):
    """Which cache lines to give up first. A hint: it never changes results."""

    NORMAL = 1
    EVICT_FIRST = 2
    EVICT_LAST = 3


class PaddingOption(Printed):
    """What a descriptor or block pointer reads outside of its tensor."""

    ZERO = 1
    NAN = 2


class MemSemantic(Printed):
    """Memory ordering of an atomic operation."""

    RELAXED = 1
    ACQUIRE = 2
    RELEASE = 3
    ACQUIRE_RELEASE = 4


class MemSyncScope(Printed):
    """Who takes part in the ordering of an atomic operation."""

    GPU = 1
    CTA = 2
    SYSTEM = 3


class RMWOp(Printed):
    """What ``tt.atomic_rmw`` does.

    MAX and MIN compare signed integers, UMAX and UMIN unsigned ones. FADD adds floats; the maximum of floats
    arrives as one MAX and one UMIN of their bits.
    """

    AND = 1
    OR = 2
    XOR = 3
    ADD = 4
    FADD = 5
    MAX = 6
    MIN = 7
    UMAX = 8
    UMIN = 9
    XCHG = 10


class DescriptorReduceKind(Printed):
    """What ``tt.descriptor_reduce`` does with the element in memory."""

    ADD = 1
    MIN = 2
    MAX = 3
    INC = 4
    DEC = 5
    AND = 6
    OR = 7
    XOR = 8


class ProgramDim(Printed):
    """A dimension of the launch grid."""

    X = 0
    Y = 1
    Z = 2


class RoundingMode(Printed):
    """Rounding of ``tt.fp_to_fp``: toward zero, or to nearest with ties to even."""

    RTZ = 0
    RTNE = 1


class PropagateNan(Printed):
    """``ALL``: a NaN operand gives NaN. ``NONE``: the other operand wins."""

    NONE = 0
    ALL = 0xFFFF


class InputPrecision(Printed):
    """How ``tt.dot`` may treat fp32 inputs."""

    TF32 = 0
    TF32X3 = 1
    IEEE = 2
    BF16X3 = 3
    BF16X6 = 4


class ScaleDotElemType(Printed):
    """Element formats of ``tt.dot_scaled``. E2M1 comes packed, two elements a byte."""

    E4M3 = 0
    E5M2 = 1
    E2M3 = 2
    E3M2 = 3
    E2M1 = 4
    BF16 = 5
    FP16 = 6


class CmpIPredicate(Printed):
    """``arith.cmpi``: S is signed, U unsigned."""

    EQ = 0
    NE = 1
    SLT = 2
    SLE = 3
    SGT = 4
    SGE = 5
    ULT = 6
    ULE = 7
    UGT = 8
    UGE = 9


class CmpFPredicate(Printed):
    """``arith.cmpf``: O is false where an operand is NaN, U is true there."""

    FALSE = 0
    OEQ = 1
    OGT = 2
    OGE = 3
    OLT = 4
    OLE = 5
    ONE = 6
    ORD = 7
    UEQ = 8
    UGT = 9
    UGE = 10
    ULT = 11
    ULE = 12
    UNE = 13
    UNO = 14
    TRUE = 15
