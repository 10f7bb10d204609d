"""Expands special functions that the target lacks (``SPECIAL_FUNCTIONS``), and calls of the math library.

f32 becomes plain arithmetic: the instructions by ``f32_special.py``, calls (`alu.MathCall`) by ``f32_library.py`` and
``f32_through_f64.py``. f64 becomes, or stays, a call, lane by lane. The tables are here rather than in the lowering,
so that up to this pass a function is one instruction, whoever asks for it: libdevice, an operator, or another formula.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ..dialects.isa import alu, control
from ..dialects.isa.base import element_of
from ..dialects.locations import location_of
from ..dialects.walk import operations_in
from ..errors import UnsupportedOperation
from ..formulas import f32_library, f32_special, f32_through_f64
from ..formulas.f32_common import TRIG_LIMIT
from ..formulas.formula import F32, F64, Formula, Rule
from ..machine import TARGET, Machine, machine_of
from ..target import SPECIAL_FUNCTIONS, VECTOR_TYPES
from .expansion import Constants, InsertionPoint
from .registry import register_pass

FORMULAS: Final[dict[type[Operation], Rule]] = {
    alu.Exp: f32_special.exp,
    alu.Exp2: f32_special.exp2,
    alu.Log: f32_special.log,
    alu.Log2: f32_special.log2,
    alu.Tanh: f32_special.tanh,
    alu.Erf: f32_special.erf,
    alu.Sin: f32_special.sin_core,
    alu.Cos: f32_special.cos_core,
    alu.RemF: f32_through_f64.fmod_core,
}
"""How an instruction is computed in f32."""

ROOTS: Final[dict[type[Operation], Rule]] = {
    alu.Rsqrt: f32_special.rsqrt,
    alu.Sqrt: f32_special.sqrt,
}
"""The same for those that other formulas contain."""

MISSING: Final = frozenset(
    cls for cls in (*FORMULAS, *ROOTS) if cls.name.partition(".")[2] not in SPECIAL_FUNCTIONS
)
"""The instructions that the target lacks."""

LIBRARY: Final[dict[str, Rule]] = {
    "acos": f32_library.acos,
    "acosh": f32_through_f64.acosh,
    "asin": f32_library.asin,
    "asinh": f32_through_f64.asinh,
    "atan": f32_library.atan,
    "atan2": f32_library.atan2,
    "atanh": f32_through_f64.atanh,
    "cbrt": f32_library.cbrt,
    "cosh": f32_library.cosh,
    "erfc": f32_through_f64.erfc,
    "exp10": f32_library.exp10,
    "expm1": f32_library.expm1,
    "hypot": f32_through_f64.hypot,
    "log10": f32_library.log10,
    "log1p": f32_library.log1p,
    "pow": f32_through_f64.power,
    "remainder": f32_through_f64.remainder_core,
    "sinh": f32_library.sinh,
    "tan": f32_library.tan_core,
}
"""How a function of the math library is computed in f32. Those that are not here stay calls."""


def _large_angle(f: Formula, x: SSAValue) -> SSAValue:
    return f.compare("uge", f(alu.AbsF, x), TRIG_LIMIT)


BEYOND: Final[dict[str, Rule]] = {
    "cos": _large_angle,
    "fmod": f32_through_f64.quotient_beyond,
    "remainder": f32_through_f64.quotient_beyond,
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
    alu.Sqrt: "sqrt",
}
"""The math library's name of an instruction's function."""


@register_pass(stage="isa", name="expand-special")
def expand_special(module: ModuleOp, options: object = None) -> None:
    """Replaces the special functions that the target lacks, and f32 calls of `LIBRARY`, in all kernels of `module`.

    Left in, they become library calls.

    Raises:
        UnsupportedOperation: such an instruction on registers other than f32 or f64.
    """
    expand(module, MISSING, machine_of(options))


def expand(module: ModuleOp, instructions: Collection[type[Operation]], machine: Machine = TARGET) -> None:
    """`expand_special` for a target that lacks `instructions` of `FORMULAS` or `ROOTS`; f64's `FORMULAS` all do."""
    roots = [cls for cls in ROOTS if cls in instructions]
    for kernel in module.ops:
        if not isinstance(kernel, control.Kernel):
            continue
        found = [
            op
            for op in operations_in(kernel)
            if _is_known_call(op)
            or (type(op) in FORMULAS and (type(op) in instructions or element_of(op.operands[0].type) == F64))
        ]
        constants = Constants(kernel.body.blocks[0])
        for op in found:
            _replace(op, constants, machine)
        for cls in roots:
            for op in [op for op in operations_in(kernel) if type(op) is cls and _has_formula(op)]:
                _replace(op, constants, machine)


def _has_formula(root: Operation) -> bool:
    """Whether a root is expanded here: where f64 as a whole is missing, ``expand_f64.py`` does it."""
    return element_of(root.results[0].type) != F64 or "f64" in VECTOR_TYPES


def _is_known_call(op: Operation) -> bool:
    return (
        isinstance(op, alu.MathCall)
        and op.callee.data in LIBRARY
        and all(element_of(operand.type) == F32 for operand in op.operands)
    )


def _replace(op: Operation, constants: Constants, machine: Machine) -> None:
    if isinstance(op, alu.MathCall):
        name = op.callee.data
        rule = LIBRARY[name]
    else:
        name, rule = CALLEES.get(type(op), ""), FORMULAS.get(type(op)) or ROOTS[type(op)]
    operands = list(op.operands)
    element = element_of(operands[0].type)
    sink = InsertionPoint(op, constants)
    if element == F64:
        f = Formula(sink, machine)
        value = f.call(name, *operands) if name else rule(f, *operands)
    elif element != F32:
        raise UnsupportedOperation(
            f"{op.name} has no form for {element}",
            location=location_of(op),
            add_support_in="passes/expand_special.py",
        )
    elif name in BEYOND:
        value = _where_it_holds(sink, op, name, rule, constants, machine)
    else:
        value = rule(Formula(sink, machine), *operands)
    op.results[0].replace_all_uses_with(value)
    block = op.parent
    assert block is not None
    block.erase_op(op)


def _where_it_holds(
    sink: InsertionPoint, op: Operation, name: str, rule: Rule, constants: Constants, machine: Machine
) -> SSAValue:
    """The formula in a branch that is taken if the formula holds in every lane; it does not hold for a NaN."""
    f = Formula(sink, machine)
    beyond = f.any(BEYOND[name](f, *op.operands))
    fast, slow = Block(), Block()
    value = rule(Formula(InsertionPoint(op, constants, fast), machine), *op.operands)
    fast.add_op(scf.YieldOp(value))
    value = Formula(InsertionPoint(op, constants, slow), machine).call(name, *op.operands)
    slow.add_op(scf.YieldOp(value))
    branch = scf.IfOp.create(
        operands=[beyond], result_types=[value.type], regions=[Region(slow), Region(fast)]
    )
    sink.insert(branch)
    return branch.results[0]
