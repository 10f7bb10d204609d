"""The lane-wise functions for kernels (``language/``) by name, and what each is made of. Others may be entered."""

from __future__ import annotations

from typing import Final

from xdsl.ir import Operation

from ..dialects.isa import alu
from ..errors import DefinitionError
from ..extensions import note
from ..tables import merged
from .compositions import FUNCTIONS
from .directed_rounding import ROUNDING
from .elementwise import UNITS
from .formula import Rule
from .integers import INTEGERS

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
"""Functions that the target's math library has under the same name (``dialects/isa/math_library.py``)."""

RULES: Final[dict[str, Rule]] = merged("a rule", INTEGERS, ROUNDING, FUNCTIONS, UNITS)
"""The others: a formula each."""


ENTERED: Final[set[str]] = set()
"""The functions that `lower_function` entered: types are checked where kernels call them."""


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
    ENTERED.add(name)
    note(lowering)


def _identity(lowering: type[Operation] | Rule) -> tuple[str, str]:
    """The same for a module that is loaded again."""
    return lowering.__module__, lowering.__qualname__
