"""The ``math`` operations of Triton IR that are one instruction."""

from __future__ import annotations

from typing import Final

from xdsl.ir import Operation

from ..dialects.isa import alu

MATH_OPS: Final[dict[str, type[Operation]]] = {
    "math.absf": alu.AbsF,
    "math.ceil": alu.Ceil,
    "math.copysign": alu.CopySign,
    "math.cos": alu.Cos,
    "math.erf": alu.Erf,
    "math.exp": alu.Exp,
    "math.exp2": alu.Exp2,
    "math.floor": alu.Floor,
    "math.fma": alu.Fma,
    "math.log": alu.Log,
    "math.log2": alu.Log2,
    "math.roundeven": alu.RoundEvenF,
    "math.rsqrt": alu.Rsqrt,
    "math.sin": alu.Sin,
    "math.sqrt": alu.Sqrt,
    "math.tanh": alu.Tanh,
    "math.trunc": alu.TruncIntF,
}
"""Operation name -> instruction. Operands and result are of one type, in the same order."""
