"""Writes lane-wise instructions as formulas: for scalars and vectors alike, with Python numbers as constants.

Used by everything that expands one operation into several: the formulas of this folder, and passes
(``passes/expand_special.py`` and its siblings).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float32Type,
    Float64Type,
    IntegerType,
    StringAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects.isa import alu, convert, lanes
from ..dialects.isa.base import element_of, like
from ..machine import TARGET, Machine

F32: Final = Float32Type()
F64: Final = Float64Type()
I32: Final = i32
I64: Final = i64

Number = int | float
Operand = SSAValue | Number


class Sink(Protocol):
    """Takes the instructions: `lowering.builder.Builder`, or the one of the expansion pass."""

    def emit(
        self,
        cls: type[Operation],
        operands: list[SSAValue],
        result: Attribute,
        properties: Mapping[str, Attribute] | None = None,
        *,
        key: tuple[object, ...] = (),
    ) -> SSAValue: ...

    def const(self, value: Number, ty: Attribute) -> SSAValue: ...


class Formula:
    """``f = Formula(sink); y = f(alu.Fma, x, x, 0.5)``: puts instructions into `sink`, typed by their operands.

    A rule that has several ways may choose by ``f.machine``, which by default is the target wherever this runs.
    """

    def __init__(self, sink: Sink, machine: Machine = TARGET) -> None:
        self._sink = sink
        self.machine = machine

    def __call__(
        self, cls: type[Operation], *operands: Operand, element: Attribute | None = None
    ) -> SSAValue:
        """An instruction without properties. Numbers, and the result, have the type of the first operand that is none.

        ``element``: that of the result's lanes, where it differs.
        """
        ty = next(operand.type for operand in operands if isinstance(operand, SSAValue))
        result = ty if element is None else like(ty, element)
        return self._sink.emit(cls, [self._value(operand, ty) for operand in operands], result)

    def const(self, value: Number, ty: Attribute) -> SSAValue:
        """`value` in every lane of a register of type `ty`."""
        return self._sink.const(value, ty)

    def compare(self, how: str, lhs: SSAValue, rhs: Operand) -> SSAValue:
        """A predicate; `how` is one of `alu.INTEGER_PREDICATES` or `alu.FLOAT_PREDICATES`, as the type asks for."""
        integers = isinstance(element_of(lhs.type), IntegerType)
        operands = [lhs, self._value(rhs, lhs.type)]
        return self._sink.emit(
            alu.CmpI if integers else alu.CmpF,
            operands,
            like(lhs.type, i1),
            {"predicate": alu.Predicate(how)},
            key=(how,),
        )

    def select(self, condition: SSAValue, if_true: Operand, if_false: Operand) -> SSAValue:
        """``condition ? if_true : if_false``; one of the two is no number."""
        ty = next(value.type for value in (if_true, if_false) if isinstance(value, SSAValue))
        return self._sink.emit(
            alu.Select, [condition, self._value(if_true, ty), self._value(if_false, ty)], ty
        )

    def lookup(
        self, index: SSAValue, values: DenseArrayBase[IntegerType], element: Attribute = F32
    ) -> SSAValue:
        """An element of a table by the low bits of i32 numbers (`lanes.Lookup`)."""
        return self._sink.emit(
            lanes.Lookup, [index], like(index.type, element), {"values": values}, key=(values,)
        )

    def convert(self, cls: type[Operation], source: SSAValue, element: Attribute) -> SSAValue:
        """A conversion without properties (`dialects/isa/convert.py`) to lanes of `element`."""
        return self._sink.emit(cls, [source], like(source.type, element))

    def activate(self, kind: str, source: SSAValue, scale: Operand, bias: Operand) -> SSAValue:
        """``kind(source * scale + bias)``; `kind` is one of `alu.ACTIVATIONS`."""
        ty = source.type
        operands = [source, self._value(scale, ty), self._value(bias, ty)]
        return self._sink.emit(alu.Act, operands, ty, {"kind": StringAttr(kind)}, key=(kind,))

    def bits(self, source: SSAValue, element: Attribute) -> SSAValue:
        """The same bits as lanes of `element`."""
        return self.convert(convert.Bitcast, source, element)

    def any(self, predicate: SSAValue) -> SSAValue:
        """Whether a predicate is set in some lane, as a scalar."""
        return self._sink.emit(lanes.AnyTrue, [predicate], i1)

    def narrow(self, source: SSAValue, element: Attribute = F32, rounding: str = "rtne") -> SSAValue:
        """A float as a narrower one; `rounding` is one of `convert.ROUNDINGS`."""
        return self._sink.emit(
            convert.TruncF,
            [source],
            like(source.type, element),
            {"rounding": StringAttr(rounding)},
            key=(rounding,),
        )

    def call(self, callee: str, *args: SSAValue, element: Attribute | None = None) -> SSAValue:
        """A function of the math library (``dialects/isa/math_library.py``).

        The result has lanes of `element`, by default those of the first operand.
        """
        first = args[0].type
        result = first if element is None else like(first, element)
        return self._sink.emit(
            alu.MathCall, list(args), result, {"callee": StringAttr(callee)}, key=(callee,)
        )

    def horner(self, x: SSAValue, coefficients: tuple[float, ...]) -> SSAValue:
        """The polynomial ``c[0] + c[1] x + c[2] x^2 + ...``: fused multiply-adds from the highest power down."""
        *rest, second, highest = coefficients
        total = self(alu.Fma, x, highest, second)
        for coefficient in reversed(rest):
            total = self(alu.Fma, total, x, coefficient)
        return total

    def _value(self, operand: Operand, ty: Attribute) -> SSAValue:
        return operand if isinstance(operand, SSAValue) else self._sink.const(operand, ty)


Rule = Callable[..., SSAValue]
"""``rule(formula, *operands)``: how a function of some registers is computed."""


def unary(rule: Callable[[Formula, SSAValue], SSAValue]) -> Rule:
    """`rule`, with its types spelled out for a lambda."""
    return rule


def binary(rule: Callable[[Formula, SSAValue, SSAValue], SSAValue]) -> Rule:
    """`rule`, with its types spelled out for a lambda."""
    return rule
