"""Where the instructions go that passes put in place of others: what `Formula` writes to."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from xdsl.dialects.builtin import Float32Type, Float64Type, FloatAttr, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..dialects.isa import lanes
from ..dialects.isa.base import element_of
from ..dialects.locations import LOC
from ..formulas.formula import Number


class Constants:
    """The constants of one kernel, each made once, at its beginning."""

    def __init__(self, entry: Block) -> None:
        self._entry = entry
        self._known: dict[tuple[int | str, Attribute], SSAValue] = {}

    def get(self, value: Number, ty: Attribute) -> SSAValue:
        key = (value if isinstance(value, int) else value.hex(), ty)
        known = self._known.get(key)
        if known is None:
            first = self._entry.first_op
            assert first is not None
            attr = _constant(key[0], element_of(ty))
            op = lanes.Const.create(result_types=[ty], properties={"value": attr})
            self._entry.insert_op_before(op, first)
            known = self._known[key] = op.result
        return known


@functools.cache
def _constant(value: int | str, element: Attribute) -> Attribute:
    """The attribute of an integer, or of a float given by `float.hex`: an attribute costs as much as an operation."""
    if isinstance(value, int):
        assert isinstance(element, IntegerType)
        return IntegerAttr(value, element)
    assert isinstance(element, Float32Type | Float64Type)
    return FloatAttr(float.fromhex(value), element)


class InsertionPoint:
    """A `Sink`: in front of an operation, or at the end of `block` if one is given; the location is that of `op`."""

    def __init__(self, op: Operation, constants: Constants, block: Block | None = None) -> None:
        self._op = op
        self._loc = op.attributes.get(LOC)
        self._constants = constants
        self._block = block

    def insert(self, op: Operation) -> None:
        if self._loc is not None:
            op.attributes[LOC] = self._loc
        if self._block is not None:
            self._block.add_op(op)
        else:
            parent = self._op.parent
            assert parent is not None
            parent.insert_op_before(op, self._op)

    def emit(
        self,
        cls: type[Operation],
        operands: list[SSAValue],
        result: Attribute,
        properties: Mapping[str, Attribute] | None = None,
        *,
        key: tuple[object, ...] = (),
    ) -> SSAValue:
        op = cls.create(operands=operands, result_types=[result], properties=dict(properties or {}))
        self.insert(op)
        return op.results[0]

    def const(self, value: Number, ty: Attribute) -> SSAValue:
        return self._constants.get(value, ty)
