"""Functions, calls, the grid, and talking to the user."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    FunctionType,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    i32,
)
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
from xdsl.traits import (
    IsolatedFromAbove,
    IsTerminator,
    MemoryWriteEffect,
    Pure,
    ReturnLike,
    SymbolOpInterface,
)

from ..tt_enums import ProgramDim
from .values import integer, integers, truth


@irdl_op_definition
class FuncOp(IRDLOperation):
    """A kernel (public) or a device function that was not inlined (private)."""

    name = "tt.func"
    sym_name = prop_def(StringAttr)
    function_type = prop_def(FunctionType)
    sym_visibility = opt_prop_def(StringAttr)
    arg_attrs = opt_prop_def(ArrayAttr)
    res_attrs = opt_prop_def(ArrayAttr)
    body = region_def()
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    @property
    def is_kernel(self) -> bool:
        """Whether the host can launch this function."""
        return self.sym_visibility is None or self.sym_visibility.data == "public"

    @property
    def is_declaration(self) -> bool:
        return not self.body.blocks

    def argument_hint(self, index: int, key: str) -> int | None:
        """An integer that Triton promises about argument `index`, such as ``tt.divisibility``."""
        if self.arg_attrs is None or index >= len(self.arg_attrs.data):
            return None
        value = getattr(self.arg_attrs.data[index], "data", {}).get(key)
        return None if value is None else integer(value)


@irdl_op_definition
class ReturnOp(IRDLOperation):
    name = "tt.return"
    srcs = var_operand_def()
    traits = traits_def(IsTerminator(), ReturnLike(), Pure())


@irdl_op_definition
class CallOp(IRDLOperation):
    name = "tt.call"
    callee = prop_def(SymbolRefAttr)
    arg_attrs = opt_prop_def(ArrayAttr)
    res_attrs = opt_prop_def(ArrayAttr)
    arguments = var_operand_def()
    res = var_result_def()

    @property
    def callee_name(self) -> str:
        return self.callee.root_reference.data


@irdl_op_definition
class GetProgramIdOp(IRDLOperation):
    name = "tt.get_program_id"
    axis = prop_def(IntegerAttr)
    result = result_def(i32)
    traits = traits_def(Pure())

    @property
    def dimension(self) -> ProgramDim:
        return ProgramDim(integer(self.axis))


@irdl_op_definition
class GetNumProgramsOp(IRDLOperation):
    name = "tt.get_num_programs"
    axis = prop_def(IntegerAttr)
    result = result_def(i32)
    traits = traits_def(Pure())

    @property
    def dimension(self) -> ProgramDim:
        return ProgramDim(integer(self.axis))


@irdl_op_definition
class PrintOp(IRDLOperation):
    """``tl.device_print``."""

    name = "tt.print"
    prefix = prop_def(StringAttr)
    hex = prop_def(IntegerAttr)
    args = var_operand_def()
    isSigned = prop_def(DenseArrayBase)
    traits = traits_def(MemoryWriteEffect())

    @property
    def is_hex(self) -> bool:
        return truth(self.hex)

    @property
    def signed(self) -> tuple[bool, ...]:
        """For each argument whether its integers print as signed."""
        return tuple(bool(v) for v in integers(self.isSigned))


@irdl_op_definition
class AssertOp(IRDLOperation):
    """``tl.device_assert``: every element of `condition` must be true."""

    name = "tt.assert"
    condition = operand_def()
    message = prop_def(StringAttr)
    traits = traits_def(MemoryWriteEffect())
