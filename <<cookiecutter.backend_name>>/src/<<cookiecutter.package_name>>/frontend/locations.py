"""Where in the kernel's Python source an operation comes from."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

from xdsl.dialects.builtin import IntAttr, StringAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ..target import BACKEND_NAME


@irdl_attr_definition
class SourceLoc(ParametrizedAttribute):
    """``file:line:column`` of the kernel source."""

    name: ClassVar[str] = f"{BACKEND_NAME}.loc"
    file: StringAttr
    line: IntAttr
    column: IntAttr

    @staticmethod
    @lru_cache(maxsize=4096)
    def of(file: str, line: int, column: int) -> SourceLoc:
        return SourceLoc(StringAttr(file), IntAttr(line), IntAttr(column))

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<")
        printer.print_string_literal(self.file.data)
        printer.print_string(f":{self.line.data}:{self.column.data}>")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            file = parser.parse_str_literal()
            parser.parse_punctuation(":")
            line = parser.parse_integer()
            parser.parse_punctuation(":")
            column = parser.parse_integer()
        return StringAttr(file), IntAttr(line), IntAttr(column)

    def __str__(self) -> str:
        return f"{self.file.data}:{self.line.data}"


LOC = "loc"
"""Key in ``op.attributes`` that holds the op's `SourceLoc`."""


def location_of(op: Operation | None) -> str:
    """``"file:line"`` of `op` or of the nearest enclosing op that has one; ``""`` if none has."""
    while op is not None:
        loc = op.attributes.get(LOC)
        if isinstance(loc, SourceLoc):
            return str(loc)
        op = op.parent_op()
    return ""
