"""Expands special functions that the target lacks (``SPECIAL_FUNCTIONS``), and calls of the math library.

f32 becomes plain arithmetic: the instructions by ``special_f32.py``, calls (`alu.MathCall`) by ``library_f32.py`` and
``library_wide.py``. f64 becomes, or stays, a call, lane by lane. The tables are here rather than in the lowering,
so that up to this pass a function is one instruction, whoever asks for it: libdevice, an operator, or another formula.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from ..dialects.formula import F32, F64, Formula, Rule
from ..dialects.isa import alu, control
from ..dialects.isa.base import element_of
from ..dialects.walk import operations_in
from ..errors import UnsupportedOperation
from ..frontend.locations import location_of
from ..target import SPECIAL_FUNCTIONS, VECTOR_TYPES
from . import library_f32, library_wide, special_f32
from .expansion import Before, Constants
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

ROOTS: Final[dict[type[Operation], Rule]] = {
    alu.Rsqrt: special_f32.rsqrt,
    alu.Sqrt: special_f32.sqrt,
}
"""The same for those that other formulas contain."""

MISSING: Final = frozenset(
    cls for cls in (*FORMULAS, *ROOTS) if cls.name.partition(".")[2] not in SPECIAL_FUNCTIONS
)
"""The instructions that the target lacks."""

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
    expand(module, MISSING)


def expand(module: ModuleOp, instructions: Collection[type[Operation]]) -> None:
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
            _replace(op, constants)
        for cls in roots:
            for op in [op for op in operations_in(kernel) if type(op) is cls and _has_formula(op)]:
                _replace(op, constants)


def _has_formula(root: Operation) -> bool:
    """Whether a root is expanded here: where f64 as a whole is missing, ``expand_f64.py`` does it."""
    return element_of(root.results[0].type) != F64 or "f64" in VECTOR_TYPES


def _is_known_call(op: Operation) -> bool:
    return (
        isinstance(op, alu.MathCall)
        and op.callee.data in LIBRARY
        and all(element_of(operand.type) == F32 for operand in op.operands)
    )


def _replace(op: Operation, constants: Constants) -> None:
    if isinstance(op, alu.MathCall):
        name = op.callee.data
        rule = LIBRARY[name]
    else:
        name, rule = CALLEES.get(type(op), ""), FORMULAS.get(type(op)) or ROOTS[type(op)]
    operands = list(op.operands)
    element = element_of(operands[0].type)
    sink = Before(op, constants)
    if element == F64:
        value = Formula(sink).call(name, *operands) if name else rule(Formula(sink), *operands)
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


def _where_it_holds(sink: Before, op: Operation, name: str, rule: Rule, constants: Constants) -> SSAValue:
    """The formula in a branch that is taken if it holds in every lane; for a NaN it does not."""
    f = Formula(sink)
    beyond = f.any(BEYOND[name](f, *op.operands))
    fast, slow = Block(), Block()
    value = rule(Formula(Before(op, constants, fast)), *op.operands)
    fast.add_op(scf.YieldOp(value))
    value = Formula(Before(op, constants, slow)).call(name, *op.operands)
    slow.add_op(scf.YieldOp(value))
    branch = scf.IfOp.create(
        operands=[beyond], result_types=[value.type], regions=[Region(slow), Region(fast)]
    )
    sink.insert(branch)
    return branch.results[0]
