"""Casts and elementwise arithmetic that MLIR's `arith` and `math` lack."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect, ReturnLike

from ..tt_enums import PropagateNan, RoundingMode
from .values import integer, truth


@irdl_op_definition
class IntToPtrOp(IRDLOperation):
    name = "tt.int_to_ptr"
    src = operand_def()
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class PtrToIntOp(IRDLOperation):
    name = "tt.ptr_to_int"
    src = operand_def()
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class BitcastOp(IRDLOperation):
    """Same bits, other type: integers, floats of equal width, or pointers."""

    name = "tt.bitcast"
    src = operand_def()
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class FpToFpOp(IRDLOperation):
    """Conversion from or to an 8-bit float, or one with a rounding mode."""

    name = "tt.fp_to_fp"
    src = operand_def()
    rounding = opt_prop_def(IntegerAttr)
    result = result_def()
    traits = traits_def(Pure())

    @property
    def rounding_mode(self) -> RoundingMode | None:
        """None for a widening conversion, which is exact."""
        return None if self.rounding is None else RoundingMode(integer(self.rounding))


@irdl_op_definition
class ClampFOp(IRDLOperation):
    """``min(max(x, min), max)``."""

    name = "tt.clampf"
    x = operand_def()
    min = operand_def()
    max = operand_def()
    propagateNan = prop_def(IntegerAttr)
    result = result_def()
    traits = traits_def(Pure())

    @property
    def propagate_nan(self) -> PropagateNan:
        return PropagateNan(integer(self.propagateNan) & 0xFFFF)


@irdl_op_definition
class PreciseSqrtOp(IRDLOperation):
    """Correctly rounded square root."""

    name = "tt.precise_sqrt"
    x = operand_def()
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class PreciseDivFOp(IRDLOperation):
    """Correctly rounded division."""

    name = "tt.precise_divf"
    x = operand_def()
    y = operand_def()
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class ApproxDivFOp(IRDLOperation):
    """fp32 division that may be a few units off (since Triton 3.9); exact division is a valid answer."""

    name = "tt.approx_divf"
    x = operand_def()
    y = operand_def()
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class MulhiUIOp(IRDLOperation):
    """The upper half of the double-width unsigned product."""

    name = "tt.mulhiui"
    x = operand_def()
    y = operand_def()
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class ExternElementwiseOp(IRDLOperation):
    """A call of a library function (``libdevice``) on every element."""

    name = "tt.extern_elementwise"
    srcs = var_operand_def()
    libname = prop_def(StringAttr)
    libpath = prop_def(StringAttr)
    symbol = prop_def(StringAttr)
    pure = prop_def(IntegerAttr)
    result = result_def()

    @property
    def symbol_name(self) -> str:
        return self.symbol.data

    @property
    def is_pure(self) -> bool:
        return truth(self.pure)


@irdl_op_definition
class ElementwiseInlineAsmOp(IRDLOperation):
    """Assembly text applied to groups of `packed_element` elements."""

    name = "tt.elementwise_inline_asm"
    asm_string = prop_def(StringAttr)
    constraints = prop_def(StringAttr)
    pure = prop_def(IntegerAttr)
    packed_element = prop_def(IntegerAttr)
    args = var_operand_def()
    result = var_result_def()

    @property
    def is_pure(self) -> bool:
        return truth(self.pure)


@irdl_op_definition
class MapElementwiseOp(IRDLOperation):
    """A scalar region, which may branch (`cf`), applied to `pack` elements at a time."""

    name = "tt.map_elementwise"
    srcs = var_operand_def()
    pack = prop_def(IntegerAttr)
    result = var_result_def()
    scalarOp = region_def()
    traits = traits_def(RecursiveMemoryEffect())

    @property
    def pack_size(self) -> int:
        return integer(self.pack)


@irdl_op_definition
class MapElementwiseReturnOp(IRDLOperation):
    name = "tt.map_elementwise.return"
    result = var_operand_def()
    traits = traits_def(IsTerminator(), ReturnLike(), Pure())
