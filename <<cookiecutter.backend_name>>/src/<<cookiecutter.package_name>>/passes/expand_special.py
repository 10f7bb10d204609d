"""Expands the special-function unit's instructions, and calls of the math library, for a target that has neither.

f32 becomes plain arithmetic: the instructions by ``special_f32.py``, calls (`alu.MathCall`) by ``library_f32.py`` and
``library_wide.py``. f64 becomes, or stays, a call, lane by lane. A target that has hardware for some of these functions
drops them from `FORMULAS` or `LIBRARY` and emits its own instruction. Both tables are here rather than in the lowering,
so that up to this pass a function is one instruction, whoever asks for it: libdevice, an operator, or another formula.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Final

from xdsl.dialects import scf
from xdsl.dialects.builtin import Float32Type, Float64Type, FloatAttr, IntegerAttr, IntegerType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..dialects.formula import F32, F64, Formula, Number, Rule
from ..dialects.isa import alu, control, lanes
from ..dialects.isa.base import element_of
from ..errors import UnsupportedOperation
from ..frontend.locations import LOC, location_of
from . import library_f32, library_wide, special_f32
from .parts_f32 import TRIG_LIMIT
from .registry import register_pass

FORMULAS: Final[dict[type[Operation], Rule]] = {
    alu.Exp: special_f32.exp,
    alu.Exp2: special_f32.exp2,
    alu.Log: special_f32.log,
    alu.Log2: special_f32.log2,
    alu.Tanh: special_f32.tanh,
    alu.Erf: special_f32.erf,
    alu.Sin: special_f32.sin_core,
    alu.Cos: special_f32.cos_core,
    alu.RemF: library_wide.fmod_core,
}
"""How an instruction is computed in f32."""

LIBRARY: Final[dict[str, Rule]] = {
    "acos": library_f32.acos,
    "acosh": library_wide.acosh,
    "asin": library_f32.asin,
    "asinh": library_wide.asinh,
    "atan": library_f32.atan,
    "atan2": library_f32.atan2,
    "atanh": library_wide.atanh,
    "cbrt": library_f32.cbrt,
    "cosh": library_f32.cosh,
    "erfc": library_wide.erfc,
    "exp10": library_f32.exp10,
    "expm1": library_f32.expm1,
    "hypot": library_wide.hypot,
    "log10": library_f32.log10,
    "log1p": library_f32.log1p,
    "pow": library_wide.power,
    "remainder": library_wide.remainder_core,
    "sinh": library_f32.sinh,
    "tan": library_f32.tan_core,
}
"""How a function of the math library is computed in f32. Those that are not here stay calls."""


def _large_angle(f: Formula, x: SSAValue) -> SSAValue:
    return f.compare("uge", f(alu.AbsF, x), TRIG_LIMIT)


BEYOND: Final[dict[str, Rule]] = {
    "cos": _large_angle,
    "fmod": library_wide.quotient_beyond,
    "remainder": library_wide.quotient_beyond,
    "sin": _large_angle,
    "tan": _large_angle,
}
"""Where a function's formula does not hold. If that is so in some lane, the library is called for all."""

CALLEES: Final[dict[type[Operation], str]] = {
    alu.Exp: "exp",
    alu.Exp2: "exp2",
    alu.Log: "log",
    alu.Log2: "log2",
    alu.Sin: "sin",
    alu.Cos: "cos",
    alu.Tanh: "tanh",
    alu.Erf: "erf",
    alu.RemF: "fmod",
}
"""The math library's name of an instruction's function."""


@register_pass(stage="isa", name="expand-special")
def expand_special(module: ModuleOp, options: object = None) -> None:
    """Replaces the instructions of `FORMULAS`, and f32 calls of `LIBRARY`, in all kernels of `module`.

    Left in, they become library calls.

    Raises:
        UnsupportedOperation: such an instruction on registers other than f32 or f64.
    """
    for kernel in module.ops:
        if not isinstance(kernel, control.Kernel):
            continue
        found = [op for op in kernel.walk() if type(op) in FORMULAS or _is_known_call(op)]
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


def _is_known_call(op: Operation) -> bool:
    return (
        isinstance(op, alu.MathCall)
        and op.callee.data in LIBRARY
        and all(element_of(operand.type) == F32 for operand in op.operands)
    )


def _replace(op: Operation, constants: _Constants) -> None:
    if isinstance(op, alu.MathCall):
        name = op.callee.data
        rule = LIBRARY[name]
    else:
        name, rule = CALLEES[type(op)], FORMULAS[type(op)]
    operands = list(op.operands)
    element = element_of(operands[0].type)
    sink = _Before(op, constants)
    if element == F64:
        value = Formula(sink).call(name, *operands)
    elif element != F32:
        raise UnsupportedOperation(
            f"{op.name} has no form for {element}",
            location=location_of(op),
            add_support_in="passes/expand_special.py",
        )
    elif name in BEYOND:
        value = _where_it_holds(sink, op, name, rule, constants)
    else:
        value = rule(Formula(sink), *operands)
    op.results[0].replace_all_uses_with(value)
    block = op.parent
    assert block is not None
    block.erase_op(op)


def _where_it_holds(sink: _Before, op: Operation, name: str, rule: Rule, constants: _Constants) -> SSAValue:
    """The formula in a branch that is taken if it holds in every lane; for a NaN it does not."""
    f = Formula(sink)
    beyond = f.any(BEYOND[name](f, *op.operands))
    fast, slow = Block(), Block()
    value = rule(Formula(_Before(op, constants, fast)), *op.operands)
    fast.add_op(scf.YieldOp(value))
    value = Formula(_Before(op, constants, slow)).call(name, *op.operands)
    slow.add_op(scf.YieldOp(value))
    branch = scf.IfOp.create(
        operands=[beyond], result_types=[value.type], regions=[Region(slow), Region(fast)]
    )
    sink.insert(branch)
    return branch.results[0]
