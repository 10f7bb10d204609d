"""``tt.extern_elementwise``: calls of the functions for kernels (``language/``) as instructions."""

from __future__ import annotations

from typing import Final

from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects.formula import Formula, Rule, Sink
from ..dialects.isa import alu
from ..errors import DefinitionError, UnsupportedOperation
from ..extensions import note
from .extern_functions import FUNCTIONS
from .extern_integers import INTEGERS
from .extern_rounding import ROUNDING
from .extern_units import UNITS

PREFIX: Final = "math."
"""Of the symbols of lane-wise functions."""

SHIFT: Final = "block.shift."
"""Symbol of a shift (`block_functions.py`), before ``AXIS.BY``. It is not lane-wise."""

INSTRUCTIONS: Final[dict[str, type[Operation]]] = {
    "add_rn": alu.AddF,
    "ceil": alu.Ceil,
    "copysign": alu.CopySign,
    "cos": alu.Cos,
    "div_rn": alu.DivF,
    "erf": alu.Erf,
    "exp": alu.Exp,
    "exp2": alu.Exp2,
    "fast_cosf": alu.Cos,
    "fast_dividef": alu.DivF,
    "fast_expf": alu.Exp,
    "fast_log2f": alu.Log2,
    "fast_logf": alu.Log,
    "fast_sinf": alu.Sin,
    "fast_tanhf": alu.Tanh,
    "floor": alu.Floor,
    "fma": alu.Fma,
    "fma_rn": alu.Fma,
    "fmod": alu.RemF,
    "log": alu.Log,
    "log2": alu.Log2,
    "mul_rn": alu.MulF,
    "nearbyint": alu.RoundEvenF,
    "rint": alu.RoundEvenF,
    "rsqrt": alu.Rsqrt,
    "sin": alu.Sin,
    "sqrt": alu.Sqrt,
    "sqrt_rn": alu.Sqrt,
    "sub_rn": alu.SubF,
    "tanh": alu.Tanh,
    "trunc": alu.TruncIntF,
}
"""Functions that are one instruction."""

LIBRARY: Final = frozenset(
    """
    acos acosh asin asinh atan atan2 atanh cbrt cosh erfc exp10 expm1 hypot j0 j1 ldexp lgamma log10 log1p logb
    nextafter remainder scalbn sinh tan tgamma y0 y1
    """.split()
)
"""Functions that the target's math library has under the same name (``codegen/math_library.py``)."""

RULES: Final[dict[str, Rule]] = {**INTEGERS, **ROUNDING, **FUNCTIONS, **UNITS}
"""The others: a formula each."""


def lower_function(name: str, lowering: type[Operation] | Rule) -> None:
    """Enter a function for kernels: the instruction that it is, or the rule that makes it of several.

    Raises DefinitionError, a ValueError, if the name is taken.
    """
    known = INSTRUCTIONS.get(name, RULES.get(name))
    if name in LIBRARY or (known is not None and _identity(known) != _identity(lowering)):
        raise DefinitionError(f"there is a function {name!r} already")
    if isinstance(lowering, type):
        INSTRUCTIONS[name] = lowering
    else:
        RULES[name] = lowering
    note(lowering)


def _identity(lowering: type[Operation] | Rule) -> tuple[str, str]:
    """The same for a module that is loaded again."""
    return lowering.__module__, lowering.__qualname__


def instruction_of(symbol: str) -> type[Operation] | None:
    """The instruction that function `symbol` is, if it is one."""
    return INSTRUCTIONS.get(symbol.removeprefix(PREFIX))


def lower_extern(symbol: str, args: list[SSAValue], result_type: Attribute, builder: Sink) -> SSAValue:
    """The value of function `symbol` (``"math.asin"``) of registers `args`, scalars or vectors of one length.

    Raises:
        UnsupportedOperation: an unknown symbol, or one without a form for these types.
    """
    name = symbol.removeprefix(PREFIX)
    f = Formula(builder)
    instruction = INSTRUCTIONS.get(name)
    if instruction is not None:
        value = f(instruction, *args)
    elif name in LIBRARY:
        value = f.call(name, *args)
    elif name in RULES:
        value = RULES[name](f, *args)
    else:
        raise UnsupportedOperation(
            f"no external function {symbol!r} is known", add_support_in="lowering/extern_elementwise.py"
        )
    if value.type != result_type:
        raise UnsupportedOperation(
            f"external function {symbol!r} gives {value.type}, but {result_type} is wanted",
            add_support_in="lowering/extern_elementwise.py",
        )
    return value
