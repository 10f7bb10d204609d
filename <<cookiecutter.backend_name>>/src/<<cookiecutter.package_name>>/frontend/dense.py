"""The bytes of numbers in MLIR text, as xDSL keeps them.

Little endian; an ``i1`` takes a byte, 0xFF if it is true.
"""

from __future__ import annotations

import struct
from typing import Any

from xdsl.dialects.builtin import IndexType, IntegerType, i1
from xdsl.utils.exceptions import VerifyException

from .cursor import Unreadable


def float_bytes(literal: str, type_: Any, position: int) -> bytes:
    """The bytes of a float written in decimal, or in hex as the bits themselves."""
    if "0x" in literal:
        bits = int(literal, 16)
        if literal[0] == "-" or bits >> (8 * type_.compile_time_size):
            raise Unreadable(f"the bits of one {type_}", position)
        return bits.to_bytes(type_.compile_time_size, "little")
    try:
        return bytes(type_.pack((float(literal),)))
    except (ValueError, OverflowError, struct.error):
        raise Unreadable(f"a number of type {type_}", position) from None


def element_bytes(literal: str, type_: Any, position: int) -> bytes:
    """The bytes of one element as xDSL keeps it: little endian, one byte for an i1 (0xFF is true)."""
    if type_.name not in (IntegerType.name, IndexType.name):
        return float_bytes(literal, type_, position)
    if literal in ("true", "false"):
        if type_ != i1:
            raise Unreadable(f"an integer of type {type_}", position)
        return b"\xff" if literal == "true" else b"\x00"
    try:
        value = int(literal, 0)
        if type_.name == IntegerType.name:
            value = type_.get_normalized_value(value)
        return bytes(type_.pack((value,)))
    except (ValueError, OverflowError, VerifyException, struct.error):
        raise Unreadable(f"an integer of type {type_}", position) from None


def raw_bytes(text: str, type_: Any, count: int, position: int) -> bytes:
    """The bytes of ``dense<"0x...">``: all elements, or one that fills the tensor."""
    try:
        data = bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        raise Unreadable("bytes in hex", position) from None
    size = type_.compile_time_size
    if type_ == i1 and len(data) != count and len(data) == (count + 7) // 8:  # packed eight to a byte
        data = bytes((data[i // 8] >> (i % 8)) & 1 for i in range(count))
    if len(data) not in (size, size * count):
        raise Unreadable(f"{size * count} bytes", position)
    if type_ == i1:
        data = bytes(0xFF if b else 0 for b in data)
    return data if len(data) == size * count else data * count
