"""Reductions, scans and histograms."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, TensorType
from xdsl.ir import Attribute, Block, Operation
from xdsl.irdl import (
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

from .values import integer, truth


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
