"""Expands the activation unit's instruction, `alu.Act`, for a target without one.

A target that has some kinds in hardware drops them from `FORMULAS` and emits its own instruction. The formulas use
other special functions, which ``expand_special.py`` expands in turn.
"""

from __future__ import annotations

import math
from typing import Final

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ..dialects.isa import alu, control
from ..dialects.walk import operations_in
from ..formulas.formula import Formula, Rule
from .expansion import Constants, InsertionPoint
from .registry import register_pass

LEAST_ARGUMENT: Final = -1024.0
"""Below this, t * sigmoid(t) and the like are -0 in f32 and f64. At t = -inf the product would be inf * 0."""

LEAKY_SLOPE: Final = 0.01
CLIP: Final = 6.0
CUBIC: Final = 0.044715
"""Of the approximation of GELU: Hendrycks and Gimpel, "Gaussian Error Linear Units" (2016), section 2."""


def _linear(f: Formula, t: SSAValue) -> SSAValue:
    return t


def _relu(f: Formula, t: SSAValue) -> SSAValue:
    return f.select(f.compare("ole", t, 0.0), 0.0, t)


def _relu6(f: Formula, t: SSAValue) -> SSAValue:
    return f.select(f.compare("oge", t, CLIP), CLIP, _relu(f, t))


def _leaky_relu(f: Formula, t: SSAValue) -> SSAValue:
    return f.select(f.compare("ogt", t, 0.0), t, f(alu.MulF, t, LEAKY_SLOPE))


def _sigmoid(f: Formula, t: SSAValue) -> SSAValue:
    """By e^-|t|, which neither overflows nor cancels."""
    small = f(alu.Exp, f(alu.NegF, f(alu.AbsF, t)))
    numerator = f.select(f.compare("oge", t, 0.0), 1.0, small)
    return f(alu.DivF, numerator, f(alu.AddF, small, 1.0))


def _above_least(f: Formula, t: SSAValue) -> SSAValue:
    return f.select(f.compare("olt", t, LEAST_ARGUMENT), LEAST_ARGUMENT, t)


def _silu(f: Formula, t: SSAValue) -> SSAValue:
    t = _above_least(f, t)
    return f(alu.MulF, t, _sigmoid(f, t))


def _gelu(f: Formula, t: SSAValue) -> SSAValue:
    t = _above_least(f, t)
    distribution = f(alu.AddF, f(alu.Erf, f(alu.MulF, t, math.sqrt(0.5))), 1.0)
    return f(alu.MulF, f(alu.MulF, t, 0.5), distribution)


def _gelu_tanh(f: Formula, t: SSAValue) -> SSAValue:
    """(1 + tanh u) / 2 = sigmoid(2 u)."""
    t = _above_least(f, t)
    factor = f(alu.Fma, f(alu.MulF, t, t), CUBIC, 1.0)
    u = f(alu.MulF, f(alu.MulF, t, 2 * math.sqrt(2 / math.pi)), factor)
    return f(alu.MulF, t, _sigmoid(f, u))


def _tanh(f: Formula, t: SSAValue) -> SSAValue:
    return f(alu.Tanh, t)


FORMULAS: Final[dict[str, Rule]] = {
    "linear": _linear,
    "relu": _relu,
    "relu6": _relu6,
    "leaky_relu": _leaky_relu,
    "sigmoid": _sigmoid,
    "silu": _silu,
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "tanh": _tanh,
}
"""How a kind of activation is computed, of its argument t."""


@register_pass(stage="isa", name="expand-act", before="expand-special")
def expand_act(module: ModuleOp, options: object = None) -> None:
    """Replaces activations of the kinds of `FORMULAS` by plain arithmetic, in all kernels of `module`."""
    for kernel in module.ops:
        if not isinstance(kernel, control.Kernel):
            continue
        found = [op for op in operations_in(kernel) if isinstance(op, alu.Act) and op.kind.data in FORMULAS]
        if found:
            constants = Constants(kernel.body.blocks[0])
            for op in found:
                f = Formula(InsertionPoint(op, constants))
                argument = f(alu.Fma, op.source, op.scale, op.bias)
                op.result.replace_all_uses_with(FORMULAS[op.kind.data](f, argument))
                block = op.parent
                assert block is not None
                block.erase_op(op)
