"""How registers of the instruction set are spelled in LLVM IR.

The narrow floats (f16, bf16, fp8) are integers of their width: arithmetic happens in f32 and f64 only, and
LLVM would turn some operations on its own narrow types into calls of functions that no process has.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, IntegerType, VectorType
from xdsl.ir import Attribute

from ..errors import UnsupportedOperation
from ..rounding import SINGLE, bfloat16_bits, packed, rounded

FLOATS: Final = {
    "f64": ("double", 64),
    "f32": ("float", 32),
    "f16": ("i16", 16),
    "bf16": ("i16", 16),
    "f8E5M2": ("i8", 8),
    "f8E4M3FN": ("i8", 8),
    "f8E4B15": ("i8", 8),
}
"""Format name -> LLVM type of a lane, bits."""

INTEGER_BITS: Final = (1, 8, 16, 32, 64)

MANGLED: Final = {"double": "f64", "float": "f32"}
"""LLVM type -> its name inside the names of intrinsics, where that differs."""


def spell(element: str, lanes: int) -> str:
    """The LLVM type of `lanes` elements: ``spell("float", 16) == "<16 x float>"``; a scalar where `lanes` is 1."""
    return element if lanes == 1 else f"<{lanes} x {element}>"


def fill(element: str, lanes: int, literal: str | int) -> str:
    """The LLVM constant with `literal` in every lane."""
    return str(literal) if lanes == 1 else f"splat ({element} {literal})"


def mangle(element: str, lanes: int) -> str:
    """The suffix of an intrinsic's name: ``mangle("float", 16) == "v16f32"``."""
    suffix = MANGLED.get(element, element)
    return suffix if lanes == 1 else f"v{lanes}{suffix}"


@dataclass(frozen=True)
class RegisterType:
    """A register type: ``format`` names the element as MLIR does, ``element`` as LLVM does."""

    format: str
    element: str
    bits: int
    lanes: int
    text: str

    @property
    def is_float(self) -> bool:
        """Whether LLVM sees floating-point numbers (f32, f64)."""
        return self.element in MANGLED

    @property
    def is_predicate(self) -> bool:
        return self.element == "i1"

    @property
    def mangled(self) -> str:
        return mangle(self.element, self.lanes)

    @property
    def bytes(self) -> int:
        """Bytes of an element in memory."""
        return self.bits // 8

    def of(self, element: str) -> str:
        """The LLVM type with as many lanes of another element."""
        return spell(element, self.lanes)

    def fill(self, literal: str | int, element: str = "") -> str:
        """The LLVM constant with `literal` in every lane."""
        return fill(element or self.element, self.lanes, literal)


@lru_cache(maxsize=4096)
def register_type(ty: Attribute) -> RegisterType:
    """Describes a register type; raises `UnsupportedOperation` for what no register can hold."""
    lanes = 1
    element = ty
    if isinstance(ty, VectorType):
        if len(ty.shape.data) != 1:
            raise UnsupportedOperation(f"registers have one dimension, but this one is {ty}")
        lanes = ty.shape.data[0].data
        element = ty.element_type
    if isinstance(element, IntegerType) and element.width.data in INTEGER_BITS:
        bits = element.width.data
        spelled = name = f"i{bits}"
    elif isinstance(element, IndexType):
        name, spelled, bits = "index", "i64", 64
    elif element.name in FLOATS:
        name = element.name
        spelled, bits = FLOATS[name]
    else:
        raise UnsupportedOperation(
            f"no register holds elements of type {element}", add_support_in="codegen/registers.py"
        )
    return RegisterType(name, spelled, bits, lanes, spell(spelled, lanes))


def literal(value: Attribute, ty: RegisterType) -> str:
    """The LLVM constant of one lane for an IntegerAttr or FloatAttr `value` in a register of type `ty`."""
    if isinstance(value, IntegerAttr):
        number = value.value.data
        if ty.is_predicate:
            return "true" if number else "false"
        if not ty.is_float:
            return str(number)
        return float_literal(float(number), ty)
    if isinstance(value, FloatAttr):
        return float_literal(value.value.data, ty)
    raise UnsupportedOperation(
        f"no register can hold the constant {value}", add_support_in="codegen/registers.py"
    )


def float_literal(value: float, ty: RegisterType) -> str:
    """The LLVM constant for `value` rounded to `ty`'s format."""
    if ty.format == "f64":
        return f"0x{_double_bits(value):016X}"
    if ty.format == "f32":
        # LLVM spells a float as the double of the same value.
        return f"0x{_double_bits(rounded(SINGLE, value)):016X}"
    if ty.format == "f16":
        return str(int.from_bytes(packed("<e", value), "little"))
    if ty.format == "bf16":
        return str(bfloat16_bits(value))
    raise UnsupportedOperation(f"a constant of type {ty.format} is given by its bits, not as {value}")


def _double_bits(value: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", value))[0])
