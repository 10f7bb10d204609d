"""The functions of ``language/elementwise.py``. Each is one instruction; its name carries a property of that."""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from ..dialects.isa import alu, convert
from .formula import Formula, Rule, unary

SATURATING: Final = {"i": convert.SatS, "u": convert.SatU}
"""Letter of a signed or unsigned result -> instruction."""

WIDTHS: Final = (8, 16, 32)
"""Of results of saturating conversions."""


def _activation(kind: str) -> Rule:
    def rule(f: Formula, x: SSAValue, scale: SSAValue, bias: SSAValue) -> SSAValue:
        return f.activate(kind, x, scale, bias)

    return rule


def _saturation(letter: str, width: int) -> Rule:
    return unary(lambda f, x: f.convert(SATURATING[letter], x, IntegerType(width)))


UNITS: Final[dict[str, Rule]] = {
    **{f"act.{kind}": _activation(kind) for kind in alu.ACTIVATIONS},
    **{f"saturate.{letter}{width}": _saturation(letter, width) for letter in SATURATING for width in WIDTHS},
}
"""Function name -> ``rule(formula, *operands)``."""
