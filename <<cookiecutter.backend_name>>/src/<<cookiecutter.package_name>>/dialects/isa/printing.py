"""Modules of instructions as text, in a third of the time that xDSL takes, and the same text.

Each compiled kernel is printed once, for Triton's cache. What is special about instructions is that they are many,
that their syntax is a sequence of operands, properties and types, and that the same few types and locations occur again
and again. Anything else is left to xDSL.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from io import StringIO
from typing import Any, Final

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import OperandDef, ResultDef
from xdsl.irdl import declarative_assembly_format as syntax
from xdsl.printer import Printer

from .base import Instruction, format_of

Slot = Callable[["InstructionPrinter", Operation], str]
"""What one variable part of an instruction is printed as."""

LOCATION: Final = "loc"


class InstructionModule(ModuleOp):
    """What the lowering makes of a kernel: a module that is printed fast."""

    def __str__(self) -> str:
        printer = InstructionPrinter()
        printer.print_op(self)
        return "".join(printer.pieces)


class InstructionPrinter(Printer):
    """Prints one module. Types, properties and locations are spelled once; it keeps them alive meanwhile."""

    def __init__(self) -> None:
        super().__init__(StringIO())
        self.pieces: list[str] = []
        self._spelled: dict[tuple[int, object], tuple[Attribute, str]] = {}

    def _write(self, content: str) -> None:
        self.pieces.append(content)

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        if "\n" in text:
            super().print_string(text, indent=indent)
        else:
            self.pieces.append(text)

    def print_attribute(self, attribute: Attribute) -> None:
        self.pieces.append(self.spelled(attribute))

    def spelled(self, attribute: Attribute, how: Callable[[Printer, Attribute], None] | None = None) -> str:
        """An attribute as `how` prints it, by default in its full form."""
        key = (id(attribute), how)
        known = self._spelled.get(key)
        if known is None:
            text = self._captured(partial(how or Printer.print_attribute, self, attribute))
            known = self._spelled[key] = (attribute, text)
        return known[1]

    def name(self, value: SSAValue) -> str:
        """The name of a value, a new one if it has none yet."""
        known = self._ssa_values.get(value)
        if known is not None:
            return f"%{known}"
        return self._captured(partial(self.print_ssa_value, value))

    def dictionary(self, attributes: dict[str, Attribute], reserved: set[str]) -> str:
        """The attributes of an operation, except the `reserved` ones, with a space before them."""
        return self._captured(partial(self.print_op_attributes, attributes, reserved_attr_names=reserved))

    def _captured(self, write: Callable[[], object]) -> str:
        """What `write` prints, which is taken away again."""
        before, self.pieces = self.pieces, []
        write()
        text, self.pieces = "".join(self.pieces), before
        return text

    def print_op(self, op: Operation) -> None:
        parts = _parts(type(op))
        if parts is None:
            super().print_op(op)
            return
        for part in parts:
            self.pieces.append(part if type(part) is str else part(self, op))  # type: ignore[operator]


@cache
def _parts(cls: type[Operation]) -> list[str | Slot] | None:
    """What an instruction's line consists of; None if its syntax has parts that are not known here."""
    if not issubclass(cls, Instruction) or cls.print is not Instruction.print:
        return None
    program = format_of(cls)
    if program is None:
        return None
    definition = cls.get_irdl_definition()
    if not all(type(each) is OperandDef for _, each in definition.operands):
        return None
    if len(definition.results) > 1 or not all(type(each) is ResultDef for _, each in definition.results):
        return None
    parts: list[str | Slot] = [_result, f" = {cls.name}"] if definition.results else [cls.name]
    recorder = _Recorder()
    states = [syntax.PrintingState()]
    for directive in program.stmts:
        if type(directive) is syntax.AttrDictDirective:
            if directive.with_keyword or directive.expected_properties or definition.attributes:
                return None
            parts.append(_dictionary(directive))
            states.append(syntax.PrintingState(last_was_punctuation=False, should_emit_space=True))
            continue
        texts = {recorder.space_before(directive, state) for state in states}
        slot = _slot(directive)
        if len(texts) != 1 or (slot is None and type(directive) not in _FIXED):
            return None  # the space depends on whether the instruction has a location
        parts.append(texts.pop())
        if slot is not None:
            parts.append(slot)
    return parts


_FIXED: Final = (syntax.PunctuationDirective, syntax.KeywordDirective)


class _Recorder(Printer):
    """Records what xDSL prints for the fixed parts of a syntax."""

    def __init__(self) -> None:
        super().__init__(StringIO())
        self.text = ""

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        self.text += text

    def space_before(self, directive: Any, state: syntax.PrintingState) -> str:
        """What a fixed part is printed as, or the space before a variable one; `state` moves on past it."""
        self.text = ""
        if isinstance(directive, _FIXED):
            directive.print(self, state, None)  # type: ignore[arg-type]
        else:
            state.print_whitespace(self)
        return self.text


def _result(printer: InstructionPrinter, op: Operation) -> str:
    return printer.name(op.results[0])


def _slot(directive: Any) -> Slot | None:
    """How a variable part is printed; None if it is not a known one."""
    match directive:
        case syntax.OperandVariable(index=index):
            return lambda printer, op: printer.name(op.operands[index])
        case syntax.TypeDirective(inner=syntax.OperandVariable(index=index)):
            return lambda printer, op: printer.spelled(op.operands[index].type)
        case syntax.TypeDirective(inner=syntax.ResultVariable()):
            return lambda printer, op: printer.spelled(op.results[0].type)
        case syntax.DenseArrayAttributeVariable(
            name=name, is_property=True, is_optional=False, elt_type=element
        ) if element == i64:
            return lambda printer, op: printer.spelled(op.properties[name], _lanes)
        case syntax.AttributeVariable(name=name, is_property=True, is_optional=False, default_value=None):
            how = directive.print_attr
            return lambda printer, op: printer.spelled(op.properties[name], how)
        case _:
            return None


def _lanes(printer: Printer, lanes: Attribute) -> None:
    assert isinstance(lanes, DenseArrayBase)
    printer.print_string(f"[{', '.join(map(str, lanes.get_values()))}]")


def _dictionary(directive: syntax.AttrDictDirective) -> Slot:
    """Nothing, mostly; or where the instruction comes from."""

    def how(printer: Printer, location: Attribute) -> None:
        printer.print_op_attributes({LOCATION: location})

    def slot(printer: InstructionPrinter, op: Operation) -> str:
        attributes = op.attributes
        if not attributes:
            return ""
        if len(attributes) == 1 and LOCATION in attributes:
            return printer.spelled(attributes[LOCATION], how)
        return printer.dictionary(attributes, directive.reserved_attr_names)

    return slot
