"""Products, reductions, scans and histograms."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import Attribute, Block, Operation
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsTerminator, Pure, ReturnLike

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


class _Combining:
    """An operation with a region that combines scalars."""

    @property
    def combiner(self) -> Block:
        """The combining block: the first half of its arguments is the left value, the rest the right one."""
        assert isinstance(self, Operation)
        return self.regions[0].block


@irdl_op_definition
class ReduceOp(IRDLOperation, _Combining):
    """Reduction of one or more tensors along an axis; scalars where the tensors are 1-D."""

    name = "tt.reduce"
    srcs = var_operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    reduction_ordering = opt_prop_def(Attribute)
    result = var_result_def()
    combineOp = region_def("single_block")
    traits = traits_def(Pure())

    @property
    def axis_index(self) -> int:
        return integer(self.axis)


@irdl_op_definition
class ReduceReturnOp(IRDLOperation):
    name = "tt.reduce.return"
    result = var_operand_def()
    traits = traits_def(IsTerminator(), ReturnLike(), Pure())


@irdl_op_definition
class ScanOp(IRDLOperation, _Combining):
    """Inclusive scan of one or more tensors along an axis."""

    name = "tt.scan"
    srcs = var_operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    reverse = prop_def(IntegerAttr)
    result = var_result_def(TensorType)
    combineOp = region_def("single_block")
    traits = traits_def(Pure())

    @property
    def axis_index(self) -> int:
        return integer(self.axis)

    @property
    def is_reverse(self) -> bool:
        """Whether the scan starts at the end of the axis."""
        return truth(self.reverse)


@irdl_op_definition
class ScanReturnOp(IRDLOperation):
    name = "tt.scan.return"
    result = var_operand_def()
    traits = traits_def(IsTerminator(), ReturnLike(), Pure())


@irdl_op_definition
class HistogramOp(IRDLOperation):
    """How often each of the values ``0 ... len(result) - 1`` occurs among the unmasked elements."""

    name = "tt.histogram"
    src = operand_def(TensorType)
    mask = opt_operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())
