"""Attributes and types as plain Python values."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    TensorType,
    UnitAttr,
    i1,
)
from xdsl.ir import Attribute


def integer(attr: Attribute) -> int:
    """The value of an integer attribute, sign included. (xDSL holds a true ``i1`` as -1: see `truth`.)"""
    if not isinstance(attr, IntegerAttr):
        raise TypeError(f"{attr} is not an integer attribute")
    return attr.value.data


def truth(attr: Attribute | None) -> bool:
    """Whether a boolean or unit attribute is there and set."""
    return attr is not None and (isinstance(attr, UnitAttr) or integer(attr) != 0)


def integers(attr: Attribute | None) -> tuple[int, ...]:
    """The elements of ``array<i32: ...>``; nothing where the attribute is missing."""
    if attr is None:
        return ()
    if not isinstance(attr, DenseArrayBase):
        raise TypeError(f"{attr} is not an array of integers")
    return tuple(int(v) for v in attr.get_values())


def shape(type_: Attribute) -> tuple[int, ...]:
    """The shape of a tensor type; ``()`` for a scalar type."""
    return type_.get_shape() if isinstance(type_, TensorType) else ()


def element_type(type_: Attribute) -> Attribute:
    """The element type of a tensor type; a scalar type is its own."""
    tensor: Any = type_
    element: Attribute = tensor.element_type if isinstance(type_, TensorType) else type_
    return element


def constant_value(attr: Attribute) -> int | float | None:
    """The one value of a scalar or splat constant; None where elements differ.

    Integers come signed as MLIR prints them, except that a true ``i1`` is 1. Costs no more than a comparison
    of the bytes, however large the tensor.
    """
    if isinstance(attr, IntegerAttr):
        scalar: Any = attr.get_type()
        return int(attr.value.data != 0) if scalar == i1 else attr.value.data
    if isinstance(attr, FloatAttr):
        return attr.value.data
    if isinstance(attr, DenseIntOrFPElementsAttr):
        element: Any = element_type(attr.get_type())
        data = attr.data.data
        one = data[: element.compile_time_size]
        if not one or data != one * (len(data) // len(one)):
            return None
        value: int | float = element.unpack(one, 1)[0]
        return int(value != 0) if element == i1 else value
    return None
