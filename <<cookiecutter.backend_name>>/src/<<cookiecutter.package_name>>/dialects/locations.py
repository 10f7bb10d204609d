"""Where in the kernel's Python source an operation comes from."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import ClassVar, Final

from xdsl.dialects.builtin import IntAttr, StringAttr
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ..target import BACKEND_NAME

LIBRARY: Final = "triton/language/"
"""What the path of a file of Triton's own functions for kernels contains."""


@irdl_attr_definition
class SourceLoc(ParametrizedAttribute):
    """``file:line:column`` of the kernel source; ``inside`` is where in Triton's library that line has come to, if it
    calls a function of it (``"triton/language/standard.py:314"``).
    """

    name: ClassVar[str] = f"{BACKEND_NAME}.loc"
    file: StringAttr
    line: IntAttr
    column: IntAttr
    inside: StringAttr

    @staticmethod
    @lru_cache(maxsize=4096)
    def of(file: str, line: int, column: int, inside: str = "") -> SourceLoc:
        return SourceLoc(StringAttr(file), IntAttr(line), IntAttr(column), StringAttr(inside))

    @property
    def place(self) -> tuple[str, int, int]:
        return self.file.data, self.line.data, self.column.data

    def called_at(self, caller: SourceLoc | None) -> SourceLoc:
        """The place that a person is shown of this one in a function that is called at `caller`: the innermost that is
        not Triton's own."""
        path = self.file.data.replace("\\", "/")
        start = path.rfind(LIBRARY)
        if caller is None or start < 0:
            return self
        inside = self.inside.data or f"{path[start:]}:{self.line.data}"
        return SourceLoc.of(*caller.place, inside)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<")
        printer.print_string_literal(self.file.data)
        printer.print_string(f":{self.line.data}:{self.column.data}")
        if self.inside.data:
            printer.print_string(" in ")
            printer.print_string_literal(self.inside.data)
        printer.print_string(">")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            file = _literal(parser)
            parser.parse_punctuation(":")
            line = parser.parse_integer()
            parser.parse_punctuation(":")
            column = parser.parse_integer()
            inside = "" if parser.parse_optional_keyword("in") is None else _literal(parser)
        return StringAttr(file), IntAttr(line), IntAttr(column), StringAttr(inside)

    def __str__(self) -> str:
        inside = f" ({self.inside.data})" if self.inside.data else ""
        return f"{self.file.data}:{self.line.data}{inside}"


def _literal(parser: AttrParser) -> str:
    # Escapes of what is not ASCII make bytes of a literal.
    encoded = parser.parse_optional_bytes_literal()
    return parser.parse_str_literal() if encoded is None else encoded.decode(errors="replace")


LOC = "loc"
"""Key in ``op.attributes`` that holds the op's `SourceLoc`."""


def place_of(op: Operation) -> str:
    """`location_of` for any operation, at a price: pure ones carry no location of their own.

    They come after the lines that what they use is from, and before those of what uses them:
    ``"file:first-last"``. Without either the place is that of the operation around.
    """
    own = op.attributes.get(LOC)
    if isinstance(own, SourceLoc):
        return str(own)
    before = _nearest(op, lambda at: [o.owner for o in at.operands if isinstance(o.owner, Operation)])
    after = _nearest(op, lambda at: [use.operation for result in at.results for use in result.uses])
    return lines_between(
        (before.file.data, before.line.data) if before else None,
        (after.file.data, after.line.data) if after else None,
    ) or location_of(op)


def lines_between(before: tuple[str, int] | None, after: tuple[str, int] | None) -> str:
    """``"file:first-last"``, or one line where there is one; ``""`` where nothing is known."""
    first, last = before or after, after or before
    if first is None or last is None:
        return ""
    if (
        first[0] != last[0] or first[1] >= last[1]
    ):  # of an inlined function, or around a loop: what uses it counts
        first = last
    return f"{first[0]}:{first[1]}" if first == last else f"{first[0]}:{first[1]}-{last[1]}"


def _nearest(op: Operation, neighbours: Callable[[Operation], list[Operation]]) -> SourceLoc | None:
    """The location of the first operation that has one, on a way of `neighbours`."""
    seen, waiting = {op}, deque([op])
    while waiting:
        for found in neighbours(waiting.popleft()):
            loc = found.attributes.get(LOC)
            if isinstance(loc, SourceLoc):
                return loc
            if found not in seen:
                seen.add(found)
                waiting.append(found)
    return None


def location_of(op: Operation | None) -> str:
    """``"file:line"`` of `op` or of the nearest enclosing op that has one; ``""`` if none has."""
    while op is not None:
        loc = op.attributes.get(LOC)
        if isinstance(loc, SourceLoc):
            return str(loc)
        op = op.parent_op()
    return ""
