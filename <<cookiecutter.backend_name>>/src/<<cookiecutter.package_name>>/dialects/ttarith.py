"""`arith` operations whose xDSL definitions refuse what Triton prints: tensors, mostly.

xDSL 0.75 wants a scalar ``i1`` from ``cmpi`` and ``cmpf`` and for ``select``, scalars in casts between
integers and floats and in ``extsi``/``extui``; it does not know the overflow flags of ``trunci``, the
fast-math flags of ``extf`` and the integer casts, nor ``remf``. These classes take their place when TTIR is
read (`op_table`). Operands are named as in xDSL.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i1
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .tt.values import element_type, integer, shape
from .tt_enums import CmpFPredicate, CmpIPredicate


class _Elementwise(IRDLOperation):
    """Operands and results have one shape."""

    def verify_(self) -> None:
        shapes = {shape(v.type) for v in (*self.operands, *self.results)}
        if len(shapes) > 1:
            raise VerifyException(f"{self.name}: operands and results must have one shape, not {shapes}")


class _Compare(IRDLOperation):
    def verify_(self) -> None:
        left, right = self.operand_types
        (result,) = self.result_types
        if left != right or shape(result) != shape(left) or element_type(result) != i1:
            raise VerifyException(f"{self.name}: cannot compare {left} with {right} giving {result}")


@irdl_op_definition
class CmpiOp(_Compare):
    name = "arith.cmpi"
    predicate = prop_def(IntegerAttr)
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()
    traits = traits_def(Pure())

    @property
    def comparison(self) -> CmpIPredicate:
        return CmpIPredicate(integer(self.predicate))


@irdl_op_definition
class CmpfOp(_Compare):
    name = "arith.cmpf"
    predicate = prop_def(IntegerAttr)
    fastmath = opt_prop_def(Attribute)
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()
    traits = traits_def(Pure())

    @property
    def comparison(self) -> CmpFPredicate:
        return CmpFPredicate(integer(self.predicate))


@irdl_op_definition
class SelectOp(IRDLOperation):
    """`lhs` where `cond`, else `rhs`; a scalar `cond` picks a whole tensor."""

    name = "arith.select"
    cond = operand_def()
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()
    traits = traits_def(Pure())

    def verify_(self) -> None:
        condition, left, right = self.operand_types
        (result,) = self.result_types
        if not left == right == result or element_type(condition) != i1:
            raise VerifyException(f"{self.name}: cannot pick from {left} and {right} by {condition}")
        if shape(condition) not in ((), shape(result)):
            raise VerifyException(f"{self.name}: condition {condition} does not fit {result}")


class _Cast(_Elementwise):
    """Another element type, the same shape."""

    input = operand_def()
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class ExtSIOp(_Cast):
    name = "arith.extsi"


@irdl_op_definition
class ExtUIOp(_Cast):
    name = "arith.extui"
    nonNeg = opt_prop_def(UnitAttr)


@irdl_op_definition
class TruncIOp(_Cast):
    name = "arith.trunci"
    overflowFlags = opt_prop_def(Attribute)


@irdl_op_definition
class SIToFPOp(_Cast):
    name = "arith.sitofp"


@irdl_op_definition
class UIToFPOp(_Cast):
    name = "arith.uitofp"
    nonNeg = opt_prop_def(UnitAttr)


@irdl_op_definition
class FPToSIOp(_Cast):
    name = "arith.fptosi"


@irdl_op_definition
class FPToUIOp(_Cast):
    name = "arith.fptoui"


@irdl_op_definition
class ExtFOp(_Cast):
    name = "arith.extf"
    fastmath = opt_prop_def(Attribute)


@irdl_op_definition
class TruncFOp(_Cast):
    """`roundingmode` follows MLIR's ``arith::RoundingMode``: 0 is to nearest even."""

    name = "arith.truncf"
    roundingmode = opt_prop_def(Attribute)
    fastmath = opt_prop_def(Attribute)


@irdl_op_definition
class BitcastOp(_Cast):
    name = "arith.bitcast"


@irdl_op_definition
class RemFOp(_Elementwise):
    """The remainder with the sign of `lhs` (C's ``fmod``)."""

    name = "arith.remf"
    fastmath = opt_prop_def(Attribute)
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()
    traits = traits_def(Pure())


TT_ARITH = Dialect(
    "arith",
    [
        BitcastOp,
        CmpfOp,
        CmpiOp,
        ExtFOp,
        ExtSIOp,
        ExtUIOp,
        FPToSIOp,
        FPToUIOp,
        RemFOp,
        SIToFPOp,
        SelectOp,
        TruncFOp,
        TruncIOp,
        UIToFPOp,
    ],
)
"""What replaces operations of the same name in xDSL's `arith`."""
