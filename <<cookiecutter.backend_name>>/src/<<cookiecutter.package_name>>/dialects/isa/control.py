"""Kernels, program ids, traps and printing. Structured control flow is xDSL's ``scf`` and ``cf`` on registers."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import I64, ArrayAttr, FunctionType, IntegerAttr, StringAttr, i1, i32
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import IsolatedFromAbove, IsTerminator, SymbolOpInterface

from .base import Instruction, Register, Unit, mnemonic


@irdl_op_definition
class Kernel(Instruction):
    """One kernel: runs once per program of the grid. The entry block's arguments are the kernel's, as scalars (a pointer is an i64).

    ``scratch_bytes``: workspace of one program. ``traps``: per trap code, from 1 on, an array ``[kind, message, file, line]``.
    """

    name = mnemonic("kernel")
    UNIT: ClassVar[Unit] = Unit.CONTROL
    sym_name = prop_def(StringAttr)
    function_type = prop_def(FunctionType)
    scratch_bytes = prop_def(IntegerAttr[I64])
    traps = prop_def(ArrayAttr)
    body = region_def()
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())


@irdl_op_definition
class Return(Instruction):
    """End of this program."""

    name = mnemonic("return")
    UNIT: ClassVar[Unit] = Unit.CONTROL
    traits = traits_def(IsTerminator())
    assembly_format = "attr-dict"


@irdl_op_definition
class ProgramId(Instruction):
    """This program's coordinate in the grid along ``axis`` (0, 1, 2)."""

    name = mnemonic("program_id")
    UNIT: ClassVar[Unit] = Unit.SCALAR
    axis = prop_def(IntegerAttr[I64])
    result = result_def(i32)
    assembly_format = "$axis attr-dict"


@irdl_op_definition
class NumPrograms(Instruction):
    """The grid's extent along ``axis`` (0, 1, 2)."""

    name = mnemonic("num_programs")
    UNIT: ClassVar[Unit] = Unit.SCALAR
    axis = prop_def(IntegerAttr[I64])
    result = result_def(i32)
    assembly_format = "$axis attr-dict"


@irdl_op_definition
class Trap(Instruction):
    """Ends the launch with trap ``code`` if ``condition`` (a scalar predicate) is set; programs already claimed may still finish."""

    name = mnemonic("trap")
    UNIT: ClassVar[Unit] = Unit.CONTROL
    code = prop_def(IntegerAttr[I64])
    condition = operand_def(i1)
    assembly_format = "$code `if` $condition attr-dict"


@irdl_op_definition
class Print(Instruction):
    """C's printf to standard output with ``format`` and scalar arguments (i32, i64, f64; a string is not an argument)."""

    name = mnemonic("print")
    UNIT: ClassVar[Unit] = Unit.CONTROL
    format = prop_def(StringAttr)
    args = var_operand_def(Register)
    assembly_format = "$format `(` $args `)` attr-dict `:` type($args)"


@irdl_op_definition
class Fence(Instruction):
    """Orders this program's memory accesses before it against those after it, as other programs see them."""

    name = mnemonic("fence")
    UNIT: ClassVar[Unit] = Unit.MEMORY
    assembly_format = "attr-dict"
