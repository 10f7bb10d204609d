"""What verifiers of instructions check, and the sentences in which they say what was expected.

All functions raise VerifyException. A role is how an error calls a register: "the mask", "the result".
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from xdsl.dialects.builtin import IntegerAttr, VectorType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ...target import PREDICATE_REGISTERS, VECTOR_LANES, VECTOR_REGISTERS
from .base import element_of, lanes_of


@dataclass(frozen=True)
class Elements:
    """Element types that an operand may have, by their names in MLIR; ``text`` names them in errors."""

    text: str
    names: frozenset[str]

    def __contains__(self, ty: Attribute) -> bool:
        """Whether the elements of register type `ty` are among them."""
        return element_name(ty) in self.names


BITS: Final = {
    "i1": 1,
    "i8": 8,
    "i16": 16,
    "i32": 32,
    "i64": 64,
    "f8E5M2": 8,
    "f8E4M3FN": 8,
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "f64": 64,
}
"""Every element type that a register can hold, and its width."""

PREDICATES: Final = Elements("a predicate (i1)", frozenset({"i1"}))
INTEGERS: Final = Elements("integers of 8, 16, 32 or 64 bits", frozenset({"i8", "i16", "i32", "i64"}))
INTEGERS_AND_PREDICATES: Final = Elements(
    "integers of 1, 8, 16, 32 or 64 bits", INTEGERS.names | PREDICATES.names
)
FLOATS: Final = Elements("f32 or f64", frozenset({"f32", "f64"}))
NUMBERS: Final = Elements("f32, f64, or integers of 8, 16, 32 or 64 bits", FLOATS.names | INTEGERS.names)
ALL_FLOATS: Final = Elements(
    "f64, f32, f16, bf16, f8E5M2 or f8E4M3FN", frozenset(name for name in BITS if "f" in name)
)
ANYTHING: Final = Elements("anything", frozenset(BITS))
STORABLE: Final = Elements("whole bytes (extend predicates to i8)", ANYTHING.names - PREDICATES.names)
WORDS: Final = Elements("bits of an f64 (i64)", frozenset({"i64"}))
ADDRESSES: Final = Elements("addresses (i64)", frozenset({"i64"}))


@lru_cache(maxsize=1024)
def element_name(ty: Attribute) -> str:
    """MLIR's name of the elements of a register type, such as "f32"."""
    return str(element_of(ty))


def bits_of(ty: Attribute) -> int:
    """The width of an element of a register type."""
    return BITS[element_name(ty)]


def expect(condition: bool, message: str) -> None:
    if not condition:
        raise VerifyException(message)


@lru_cache(maxsize=1024)
def check_register(ty: Attribute) -> None:
    """`ty` is one that registers have."""
    if isinstance(ty, VectorType):
        shape = ty.get_shape()
        lanes = shape[0] if len(shape) == 1 else 0
        if lanes < 2 or lanes & (lanes - 1):
            raise VerifyException(
                f"a register has a power of two of lanes, at least 2 (one lane is a scalar), which {ty} does not"
            )
    if element_name(ty) not in BITS:
        raise VerifyException(f"no register holds {ty}; elements are {', '.join(BITS)}")
    most = most_lanes(ty)
    if lanes_of(ty) > most:
        raise VerifyException(
            f"all registers of the machine together hold {most} lanes of {element_name(ty)}, which {ty} exceeds"
        )


def most_lanes(ty: Attribute) -> int:
    """Lanes of the longest group of registers that there is (``target.py``)."""
    if element_name(ty) == "i1":
        return PREDICATE_REGISTERS * 4 * VECTOR_LANES
    return VECTOR_REGISTERS * VECTOR_LANES * 32 // bits_of(ty)


def expect_elements(role: str, ty: Attribute, elements: Elements) -> None:
    if ty not in elements:
        raise VerifyException(f"{role} must be {elements.text}, not {ty}")


def expect_lanes(role: str, ty: Attribute, like: Attribute) -> None:
    """`ty` has as many lanes as `like`."""
    if lanes_of(ty) != lanes_of(like):
        raise VerifyException(f"{role} must have {_lanes(lanes_of(like))}, as {like} has, not {ty}")


def expect_same_elements(role: str, ty: Attribute, like: Attribute) -> None:
    if element_of(ty) != element_of(like):
        raise VerifyException(f"{role} must have elements of {element_of(like)}, not {ty}")


def expect_scalar(role: str, ty: Attribute) -> None:
    if lanes_of(ty) != 1:
        raise VerifyException(f"{role} must be a scalar, not {ty}")


def expect_mask(role: str, ty: Attribute, like: Attribute) -> None:
    """`ty` is the predicate for each lane of `like`."""
    expect_elements(role, ty, PREDICATES)
    expect_lanes(role, ty, like)


def expect_addresses(role: str, ty: Attribute, like: Attribute) -> None:
    """`ty` is an address for each lane of `like`."""
    expect_elements(role, ty, ADDRESSES)
    expect_lanes(role, ty, like)


def expect_number(role: str, number: IntegerAttr, least: int, most: int | None = None) -> None:
    """A number is at least `least`, and at most `most` where that is given."""
    value = number.value.data
    if value < least or (most is not None and value > most):
        wanted = f"at least {least}" if most is None else f"from {least} to {most}"
        raise VerifyException(f"{role} must be {wanted}, not {value}")


def expect_word(role: str, word: str, known: Iterable[str]) -> None:
    """`word` is one of those that an instruction knows."""
    words = list(known)
    if word not in words:
        raise VerifyException(f"{role} must be one of {', '.join(words)}, not {word!r}")


def _lanes(count: int) -> str:
    return "one lane" if count == 1 else f"{count} lanes"
