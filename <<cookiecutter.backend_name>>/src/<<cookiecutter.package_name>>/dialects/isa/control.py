"""Kernels, program ids, traps and printing. Structured control flow is xDSL's ``scf`` and ``cf`` on registers."""

from __future__ import annotations

from typing import ClassVar, Final, cast

from xdsl.dialects.builtin import (
    I64,
    ArrayAttr,
    BytesAttr,
    DictionaryAttr,
    FunctionType,
    IntAttr,
    IntegerAttr,
    StringAttr,
    i1,
    i32,
)
from xdsl.dialects.utils import parse_func_op_like, print_func_op_like
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure, SymbolOpInterface

from ...target import SCRATCHPAD_BYTES, SCRATCHPAD_OVERFLOWS
from .base import Instruction, Register, Unit, mnemonic
from .checks import Elements, check_register, expect, expect_elements, expect_number, expect_scalar

LAST_AXIS: Final = 2
PRINTABLE: Final = Elements("i32, i64, f32 or f64", frozenset({"i32", "i64", "f32", "f64"}))


@irdl_op_definition
class Kernel(Instruction):
    """One kernel: runs once per program of the grid.

    The entry block's arguments are the kernel's, as scalars (a pointer is an i64). ``scratch_bytes``: workspace of one
    program. ``traps``: per trap code, from 1 on, an array ``[kind, message, file, line]``.
    """

    name = mnemonic("kernel")
    UNIT: ClassVar[Unit] = Unit.CONTROL
    sym_name = prop_def(StringAttr)
    function_type = prop_def(FunctionType)
    scratch_bytes = prop_def(IntegerAttr[I64])
    traps = prop_def(ArrayAttr)
    body = region_def()
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def check(self) -> None:
        expect(bool(self.body.blocks), "a kernel has a body")
        types = self.body.blocks[0].arg_types
        expect(
            tuple(self.function_type.inputs) == tuple(types),
            f"the arguments of the entry block must be those of {self.function_type}, not {list(map(str, types))}",
        )
        expect(not self.function_type.outputs.data, "a kernel has no results")
        for ty in types:
            check_register(ty)
            expect_scalar("a kernel's argument", ty)
        most = None if SCRATCHPAD_OVERFLOWS else SCRATCHPAD_BYTES
        expect_number("scratch_bytes", self.scratch_bytes, 0, most)
        for trap in self.traps:
            expect(
                isinstance(trap, ArrayAttr) and tuple(map(type, trap)) == TRAP_FIELDS,
                f"a trap is described by [kind, message, file, line], not by {trap}",
            )

    def print(self, printer: Printer) -> None:
        print_func_op_like(
            printer,
            self.sym_name,
            self.function_type,
            self.body,
            {**self.attributes, "scratch_bytes": self.scratch_bytes, "traps": self.traps},
            reserved_attr_names=(),
        )

    @classmethod
    def parse(cls, parser: Parser) -> Kernel:
        name, inputs, outputs, body, extra, _, _ = parse_func_op_like(parser, reserved_attr_names=())
        attributes: dict[str, Attribute] = dict(extra.data if isinstance(extra, DictionaryAttr) else {})
        given: dict[str, Attribute] = {
            key: attributes.pop(key) for key in ("scratch_bytes", "traps") if key in attributes
        }
        if isinstance(traps := given.get("traps"), ArrayAttr):
            given["traps"] = _as_text(traps)
        return cls.create(
            properties={
                "sym_name": StringAttr(name),
                "function_type": FunctionType.from_lists(inputs, outputs),
                **given,
            },
            attributes=attributes,
            regions=[body],
        )


def _as_text(value: Attribute) -> Attribute:
    """`value` with strings for the bytes that literals are read as where they have escapes of what is not ASCII."""
    if isinstance(value, ArrayAttr):
        parts = cast("ArrayAttr[Attribute]", value)
        return ArrayAttr([_as_text(part) for part in parts])
    return StringAttr(value.data.decode(errors="replace")) if isinstance(value, BytesAttr) else value


TRAP_FIELDS: Final = (StringAttr, StringAttr, StringAttr, IntAttr)


def kernel_of(op: Operation) -> Kernel | None:
    """The kernel that `op` is part of; None outside of any."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, Kernel):
        parent = parent.parent_op()
    return parent


@irdl_op_definition
class Return(Instruction):
    """End of this program."""

    name = mnemonic("return")
    UNIT: ClassVar[Unit] = Unit.CONTROL
    traits = traits_def(IsTerminator())
    ASSEMBLY: ClassVar[str] = "attr-dict"


@irdl_op_definition
class ProgramId(Instruction):
    """This program's coordinate in the grid along ``axis`` (0, 1, 2)."""

    name = mnemonic("program_id")
    UNIT: ClassVar[Unit] = Unit.SCALAR
    traits = traits_def(Pure())
    axis = prop_def(IntegerAttr[I64])
    result = result_def(i32)
    ASSEMBLY: ClassVar[str] = "$axis attr-dict"

    def check(self) -> None:
        expect_number("the axis", self.axis, 0, LAST_AXIS)


@irdl_op_definition
class NumPrograms(Instruction):
    """The grid's extent along ``axis`` (0, 1, 2)."""

    name = mnemonic("num_programs")
    UNIT: ClassVar[Unit] = Unit.SCALAR
    traits = traits_def(Pure())
    axis = prop_def(IntegerAttr[I64])
    result = result_def(i32)
    ASSEMBLY: ClassVar[str] = "$axis attr-dict"

    def check(self) -> None:
        expect_number("the axis", self.axis, 0, LAST_AXIS)


@irdl_op_definition
class Trap(Instruction):
    """Ends the launch with trap ``code`` if ``condition`` (a scalar predicate) is set.

    Programs already claimed may still finish.
    """

    name = mnemonic("trap")
    UNIT: ClassVar[Unit] = Unit.CONTROL
    code = prop_def(IntegerAttr[I64])
    condition = operand_def(i1)
    ASSEMBLY: ClassVar[str] = "$code `if` $condition attr-dict"

    def check(self) -> None:
        kernel = kernel_of(self)
        expect_number("the code", self.code, 1, None if kernel is None else max(len(kernel.traps), 1))


@irdl_op_definition
class Print(Instruction):
    """C's printf to standard output with ``format`` and scalar arguments (i32, i64, f32, f64; no strings).

    An f32 is passed as C passes it to printf: as a double.
    """

    name = mnemonic("print")
    UNIT: ClassVar[Unit] = Unit.CONTROL
    format = prop_def(StringAttr)
    args = var_operand_def(Register)
    ASSEMBLY: ClassVar[str] = "$format `(` $args `)` attr-dict `:` type($args)"

    def check(self) -> None:
        for argument in self.args:
            expect_scalar("an argument", argument.type)
            expect_elements("an argument", argument.type, PRINTABLE)


@irdl_op_definition
class Fence(Instruction):
    """Orders this program's memory accesses before it against those after it, as other programs see them."""

    name = mnemonic("fence")
    UNIT: ClassVar[Unit] = Unit.MEMORY
    ASSEMBLY: ClassVar[str] = "attr-dict"
