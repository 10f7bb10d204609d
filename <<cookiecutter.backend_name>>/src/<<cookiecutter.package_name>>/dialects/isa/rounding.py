"""Python's numbers rounded once to the formats of registers: what constants become."""

from __future__ import annotations

import math
import struct


def to_single(value: float) -> float:
    return float(struct.unpack("<f", packed("<f", value))[0])


def packed(form: str, value: float) -> bytes:
    """`value` in one of `struct`'s formats, rounded to nearest even; too large a value is infinity."""
    try:
        return struct.pack(form, value)
    except OverflowError:
        return struct.pack(form, math.copysign(math.inf, value))
