"""Blocks of tensors in memory: descriptors, and the block pointers of Triton 3.7."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType
from xdsl.irdl import (
    IRDLOperation,
    SameVariadicOperandSize,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure

from ..tt_enums import DescriptorReduceKind, PaddingOption
from ..tt_types import CachePolicyAttr, PointerType, TensorDescType
from .memory import CacheHints
from .values import integer


@irdl_op_definition
class MakeTensorPtrOp(IRDLOperation):
    """A pointer to a block of a tensor in memory (Triton 3.7)."""

    name = "tt.make_tensor_ptr"
    base = operand_def(PointerType)
    shape = var_operand_def()
    strides = var_operand_def()
    offsets = var_operand_def()
    order = prop_def(DenseArrayBase)
    result = result_def(PointerType)
    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(Pure())


@irdl_op_definition
class AdvanceOp(IRDLOperation):
    """A block pointer moved by `offsets` elements (Triton 3.7)."""

    name = "tt.advance"
    ptr = operand_def(PointerType)
    offsets = var_operand_def()
    result = result_def(PointerType)
    traits = traits_def(Pure())


@irdl_op_definition
class MakeTensorDescOp(IRDLOperation):
    """A descriptor of a tensor in memory: `shape` in i32, `strides` in i64, both in elements."""

    name = "tt.make_tensor_descriptor"
    base = operand_def(PointerType)
    shape = var_operand_def()
    strides = var_operand_def()
    padding = opt_prop_def(IntegerAttr)
    result = result_def(TensorDescType)
    irdl_options = (SameVariadicOperandSize(),)
    traits = traits_def(Pure())

    @property
    def padding_option(self) -> PaddingOption:
        return PaddingOption.ZERO if self.padding is None else PaddingOption(integer(self.padding))


@irdl_op_definition
class DescriptorLoadOp(IRDLOperation, CacheHints):
    """The block at `indices` (elements, not blocks); the descriptor's padding outside of the tensor."""

    name = "tt.descriptor_load"
    desc = operand_def()
    indices = var_operand_def()
    cache = opt_prop_def(IntegerAttr)
    evict = opt_prop_def(IntegerAttr)
    cachePolicy = opt_prop_def(CachePolicyAttr)
    result = result_def(TensorType)
    traits = traits_def(MemoryReadEffect())


@irdl_op_definition
class DescriptorStoreOp(IRDLOperation):
    """The block written at `indices`; elements outside of the tensor are dropped."""

    name = "tt.descriptor_store"
    desc = operand_def()
    src = operand_def(TensorType)
    indices = var_operand_def()
    traits = traits_def(MemoryWriteEffect())


@irdl_op_definition
class DescriptorReduceOp(IRDLOperation):
    """The block combined atomically into memory at `indices`."""

    name = "tt.descriptor_reduce"
    kind = prop_def(IntegerAttr)
    desc = operand_def()
    src = operand_def(TensorType)
    indices = var_operand_def()
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    @property
    def reduce_kind(self) -> DescriptorReduceKind:
        return DescriptorReduceKind(integer(self.kind))


@irdl_op_definition
class DescriptorGatherOp(IRDLOperation):
    """Rows `x_offsets` of a 2-D tensor from column `y_offset` on; the descriptor's block is one row."""

    name = "tt.descriptor_gather"
    desc = operand_def()
    x_offsets = operand_def(TensorType)
    y_offset = operand_def()
    result = result_def(TensorType)
    traits = traits_def(MemoryReadEffect())


@irdl_op_definition
class DescriptorScatterOp(IRDLOperation):
    """The rows of `src` written to rows `x_offsets` from column `y_offset` on."""

    name = "tt.descriptor_scatter"
    desc = operand_def()
    x_offsets = operand_def(TensorType)
    y_offset = operand_def()
    src = operand_def(TensorType)
    traits = traits_def(MemoryWriteEffect())
