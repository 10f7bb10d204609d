"""Matrix products."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from ..tt_enums import InputPrecision, ScaleDotElemType
from .values import integer, truth


@irdl_op_definition
class DotOp(IRDLOperation):
    """``a @ b + c``, 2-D or with leading batch dimensions."""

    name = "tt.dot"
    a = operand_def(TensorType)
    b = operand_def(TensorType)
    c = operand_def(TensorType)
    inputPrecision = opt_prop_def(IntegerAttr)
    maxNumImpreciseAcc = opt_prop_def(IntegerAttr)
    d = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def input_precision(self) -> InputPrecision:
        return (
            InputPrecision.IEEE
            if self.inputPrecision is None
            else InputPrecision(integer(self.inputPrecision))
        )


@irdl_op_definition
class DotScaledOp(IRDLOperation):
    """``(a * a_scale) @ (b * b_scale) + c`` with one scale (a power of two) for each 32 elements along K."""

    name = "tt.dot_scaled"
    a = operand_def(TensorType)
    b = operand_def(TensorType)
    c = operand_def(TensorType)
    a_scale = opt_operand_def(TensorType)
    b_scale = opt_operand_def(TensorType)
    a_elem_type = prop_def(IntegerAttr)
    b_elem_type = prop_def(IntegerAttr)
    fastMath = prop_def(IntegerAttr)
    lhs_k_pack = opt_prop_def(IntegerAttr)
    rhs_k_pack = opt_prop_def(IntegerAttr)
    d = result_def(TensorType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    @property
    def a_format(self) -> ScaleDotElemType:
        return ScaleDotElemType(integer(self.a_elem_type))

    @property
    def b_format(self) -> ScaleDotElemType:
        return ScaleDotElemType(integer(self.b_elem_type))

    @property
    def fast_math(self) -> bool:
        """Whether NaN scales may be ignored."""
        return truth(self.fastMath)

    @property
    def a_packed_along_k(self) -> bool:
        """Whether packed 4-bit elements of `a` are neighbours along K (otherwise along M)."""
        return self.lhs_k_pack is None or truth(self.lhs_k_pack)

    @property
    def b_packed_along_k(self) -> bool:
        """Whether packed 4-bit elements of `b` are neighbours along K (otherwise along N)."""
        return self.rhs_k_pack is None or truth(self.rhs_k_pack)
