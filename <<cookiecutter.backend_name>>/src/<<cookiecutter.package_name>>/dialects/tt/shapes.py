"""Tensors made from scalars, and tensors in another shape."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, UnitAttr
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

from .values import integer, integers


@irdl_op_definition
class MakeRangeOp(IRDLOperation):
    """``start, start + 1, ..., end - 1`` as a 1-D tensor."""

    name = "tt.make_range"
    start = prop_def(IntegerAttr)
    end = prop_def(IntegerAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def bounds(self) -> tuple[int, int]:
        """``(start, end)``, the end exclusive."""
        return integer(self.start), integer(self.end)


@irdl_op_definition
class SplatOp(IRDLOperation):
    """A scalar in every element of a tensor."""

    name = "tt.splat"
    src = operand_def()
    result = result_def(TensorType)
    traits = traits_def(Pure())


@irdl_op_definition
class UnsplatOp(IRDLOperation):
    """The only element of a tensor."""

    name = "tt.unsplat"
    src = operand_def(TensorType)
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class ExpandDimsOp(IRDLOperation):
    """A new dimension of size 1 at `axis`."""

    name = "tt.expand_dims"
    src = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def axis_index(self) -> int:
        return integer(self.axis)


@irdl_op_definition
class BroadcastOp(IRDLOperation):
    """Dimensions of size 1 repeated; the rank stays."""

    name = "tt.broadcast"
    src = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())


@irdl_op_definition
class ReshapeOp(IRDLOperation):
    """Same elements in row-major order, other shape."""

    name = "tt.reshape"
    src = operand_def(TensorType)
    allow_reorder = opt_prop_def(UnitAttr)
    efficient_layout = opt_prop_def(UnitAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def may_reorder(self) -> bool:
        """Whether any order of the elements will do."""
        return self.allow_reorder is not None


@irdl_op_definition
class TransOp(IRDLOperation):
    """Dimensions permuted: dimension ``d`` of the result is dimension ``order[d]`` of `src`."""

    name = "tt.trans"
    src = operand_def(TensorType)
    order = prop_def(DenseArrayBase)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def permutation(self) -> tuple[int, ...]:
        return integers(self.order)


@irdl_op_definition
class JoinOp(IRDLOperation):
    """Two tensors side by side along a new last dimension of size 2."""

    name = "tt.join"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())


@irdl_op_definition
class SplitOp(IRDLOperation):
    """The two halves of a tensor whose last dimension has size 2."""

    name = "tt.split"
    src = operand_def(TensorType)
    outLHS = result_def(TensorType)
    outRHS = result_def(TensorType)
    traits = traits_def(Pure())


@irdl_op_definition
class CatOp(IRDLOperation):
    """The elements of two 1-D tensors; Triton lets the compiler choose their order."""

    name = "tt.cat"
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())


@irdl_op_definition
class GatherOp(IRDLOperation):
    """Elements of `src` picked along `axis` by `indices`, which has the result's shape."""

    name = "tt.gather"
    src = operand_def(TensorType)
    indices = operand_def(TensorType)
    axis = prop_def(IntegerAttr)
    efficient_layout = opt_prop_def(UnitAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def axis_index(self) -> int:
        return integer(self.axis)
