"""Formulas of others: each instruction that one asks for is one that there is."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects.isa.verification import refusal
from ..errors import UnsupportedOperation
from .formula import Number, Sink


class Checked:
    """A `Sink` that passes instructions on after it has asked their classes whether there are any of such types."""

    def __init__(self, function: str, sink: Sink) -> None:
        self._function = function
        self._sink = sink

    def emit(
        self,
        cls: type[Operation],
        operands: list[SSAValue],
        result: Attribute,
        properties: Mapping[str, Attribute] | None = None,
        *,
        key: tuple[object, ...] = (),
    ) -> SSAValue:
        types = tuple(operand.type for operand in operands)
        wrong = refusal(cls, types, result, tuple((properties or {}).items()))
        if wrong:
            raise UnsupportedOperation(
                f"function {self._function!r} needs {cls.name} of ({', '.join(map(str, types))}) -> {result}, which "
                f"there is not: {wrong}"
            )
        return self._sink.emit(cls, operands, result, properties, key=key)

    def const(self, value: Number, ty: Attribute) -> SSAValue:
        return self._sink.const(value, ty)
