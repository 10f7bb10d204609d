"""Numbers of Python and NumPy in the formats of registers, rounded once, to nearest even; too large ones are infinity.

Python has no bfloat16. By way of f32 without care, some numbers would be rounded twice: 1 + 2^-8 + 2^-40 becomes the
tie 1 + 2^-8, and that 1.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SINGLE: Final = "<f"
"""`struct`'s name of f32; half is ``<e``, double ``<d``."""


def packed(form: str, number: float) -> bytes:
    """A Python number, which may be an int of any size, in one of `struct`'s floating-point formats."""
    try:
        return struct.pack(form, number)
    except (OverflowError, struct.error):  # the latter for an int that no double holds
        if not isinstance(number, int | float):
            raise
        return struct.pack(form, float("inf") if number > 0 else float("-inf"))


def rounded(form: str, number: float) -> float:
    """What a number is in one of `struct`'s floating-point formats."""
    return float(struct.unpack(form, packed(form, number))[0])


def bfloat16_bits(number: float) -> int:
    """The bits of a Python number, which may be an int of any size."""
    data = packed(SINGLE, number)
    (single,), bits = struct.unpack(SINGLE, data), int.from_bytes(data, "little")
    if number != number:
        return int(bits >> 16 | 0x40)
    if single != number:
        bits = (bits - (abs(single) > abs(number))) | 1
    return int(nearest(bits))


def bfloat16_array(values: Any) -> NDArray[np.uint16]:
    """The bits of NumPy's numbers."""
    import numpy as np

    given = np.asarray(values)
    with np.errstate(over="ignore", invalid="ignore"):
        single = np.asarray(given, np.float32)
        bits = single.view(np.uint32)
        if given.dtype.itemsize > 2 and given.dtype != np.float32:
            exact = given.astype(
                np.longdouble if given.dtype.kind in "iu" else np.result_type(given, np.float64)
            )
            below = bits - (np.abs(single) > np.abs(exact)).astype(np.uint32)
            bits = np.where(single == exact, bits, below | 1)
    is_nan = np.isnan(single)
    return np.where(is_nan, bits >> 16 | 0x40, nearest(bits)).astype(np.uint16)


def nearest(bits: Any) -> Any:
    """Of an f32's bits the upper half, rounded. The f32 is exact, or *rounded to odd*: cut off, and its last bit set if
    that lost something. Such a bit keeps it from looking like a tie."""
    return bits + ((bits >> 16 & 1) + 0x7FFF) >> 16
