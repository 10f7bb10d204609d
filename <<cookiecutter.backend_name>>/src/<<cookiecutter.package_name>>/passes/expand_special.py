"""Expands the special-function unit's instructions for a target that has none.

f32 becomes plain arithmetic (``special_f32.py``), f64 a call of the math library. A target that has hardware for some
of these functions drops them from `FORMULAS` and emits its own instruction.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Final

from xdsl.dialects import scf
from xdsl.dialects.builtin import Float32Type, Float64Type, FloatAttr, IntegerAttr, IntegerType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..dialects.formula import F32, F64, Formula, Number
from ..dialects.isa import alu, control, lanes
from ..dialects.isa.base import element_of
from ..errors import UnsupportedOperation
from ..frontend.locations import LOC, location_of
from . import special_f32
from .registry import register_pass

FORMULAS: Final[dict[type[Operation], Callable[[Formula, SSAValue], SSAValue]]] = {
    alu.Exp: special_f32.exp,
    alu.Exp2: special_f32.exp2,
    alu.Log: special_f32.log,
    alu.Log2: special_f32.log2,
    alu.Tanh: special_f32.tanh,
    alu.Erf: special_f32.erf,
    alu.Sin: special_f32.sin_core,
    alu.Cos: special_f32.cos_core,
}
"""How an instruction is computed in f32."""

LIMITS: Final[dict[type[Operation], float]] = {
    alu.Sin: special_f32.TRIG_LIMIT,
    alu.Cos: special_f32.TRIG_LIMIT,
}
"""Below which magnitude the formula holds, where that is not always. Where a lane is beyond, the library is called."""

CALLEES: Final[dict[type[Operation], str]] = {
    alu.Exp: "exp",
    alu.Exp2: "exp2",
    alu.Log: "log",
    alu.Log2: "log2",
    alu.Sin: "sin",
    alu.Cos: "cos",
    alu.Tanh: "tanh",
    alu.Erf: "erf",
}
"""The math library's name of an instruction's function."""


@register_pass(stage="isa", name="expand-special")
def expand_special(module: ModuleOp, options: object = None) -> None:
    """Replaces the instructions of `FORMULAS` in all kernels of `module`; left in, they become library calls.

    Raises:
        UnsupportedOperation: such an instruction on registers other than f32 or f64.
    """
    for kernel in module.ops:
        if not isinstance(kernel, control.Kernel):
            continue
        found = [op for op in kernel.walk() if type(op) in FORMULAS]
        if found:
            constants = _Constants(kernel.body.blocks[0])
            for op in found:
                _replace(op, constants)


class _Constants:
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


class _Before:
    """A `Sink` that inserts before an operation, or at the end of a block, with the location of `op`."""

    def __init__(self, op: Operation, constants: _Constants, block: Block | None = None) -> None:
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


def _replace(op: Operation, constants: _Constants) -> None:
    kind, x = type(op), op.operands[0]
    element = element_of(x.type)
    sink = _Before(op, constants)
    if element == F64:
        value = Formula(sink).call(CALLEES[kind], x)
    elif element != F32:
        raise UnsupportedOperation(
            f"{op.name} has no form for {element}",
            location=location_of(op),
            add_support_in="passes/expand_special.py",
        )
    elif kind in LIMITS:
        value = _within_limit(sink, op, x, constants)
    else:
        value = FORMULAS[kind](Formula(sink), x)
    op.results[0].replace_all_uses_with(value)
    block = op.parent
    assert block is not None
    block.erase_op(op)


def _within_limit(sink: _Before, op: Operation, x: SSAValue, constants: _Constants) -> SSAValue:
    """The formula in a branch that is taken if every lane of `x` is below its limit; NaN is not."""
    kind = type(op)
    f = Formula(sink)
    beyond = f.any(f.compare("uge", f(alu.AbsF, x), LIMITS[kind]))
    fast, slow = Block(), Block()
    value = FORMULAS[kind](Formula(_Before(op, constants, fast)), x)
    fast.add_op(scf.YieldOp(value))
    value = Formula(_Before(op, constants, slow)).call(CALLEES[kind], x)
    slow.add_op(scf.YieldOp(value))
    branch = scf.IfOp.create(operands=[beyond], result_types=[x.type], regions=[Region(slow), Region(fast)])
    sink.insert(branch)
    return branch.results[0]
