"""Element types of device arrays, those included that NumPy does not have."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..rounding import bfloat16_array

Values = NDArray[Any]


def _bfloat16_values(bits: Values) -> Values:
    return (bits.astype(np.uint32) << 16).view(np.float32)


class _Float8:
    """An 8-bit floating-point format, by tables. ``finite_only``: no infinity, one NaN (OCP e4m3)."""

    def __init__(self, exponent_bits: int, mantissa_bits: int, *, finite_only: bool) -> None:
        bias = 2 ** (exponent_bits - 1) - 1
        codes = np.arange(128)
        exponent, mantissa = codes >> mantissa_bits, codes & (2**mantissa_bits - 1)
        fraction = mantissa / 2**mantissa_bits + (exponent > 0)
        positive = np.ldexp(fraction, np.maximum(exponent, 1) - bias).astype(np.float32)
        top = 2**exponent_bits - 1
        if finite_only:
            positive[127] = np.nan
            self.nan, self.largest, self.overflow = 127, 126, 126
        else:
            positive[(exponent == top) & (mantissa == 0)] = np.inf
            positive[(exponent == top) & (mantissa != 0)] = np.nan
            self.nan, self.overflow = 127, top << mantissa_bits
            self.largest = self.overflow - 1
        self.table = np.concatenate([positive, -positive])

    def values(self, bits: Values) -> Values:
        return self.table[bits]

    def bits(self, values: Values) -> Values:
        """Rounded to nearest, ties to even; what is too large becomes infinity, or the largest value where the
        format has no infinity (as in torch and on GPUs)."""
        wide = np.asarray(values, np.float64)
        size = np.abs(wide)
        finite = self.table[: self.largest + 1].astype(np.float64)
        upper = np.clip(np.searchsorted(finite, size), 1, self.largest)
        below, above = finite[upper - 1], finite[upper]
        middle = (below + above) / 2
        up = (size > middle) | ((size == middle) & (upper % 2 == 0))
        code = np.where(up, upper, upper - 1)
        code = np.where(size == 0, 0, code)
        limit = finite[self.largest] + (finite[self.largest] - finite[self.largest - 1]) / 2
        tie_up = self.largest % 2 == 1
        code = np.where((size > limit) | ((size == limit) & tie_up), self.overflow, code)
        code = np.where(np.isnan(wide), self.nan, code)
        return (code | np.where(np.signbit(wide), 128, 0)).astype(np.uint8)


class DType:
    """An element type. One object a type: compared by identity. ``str()`` is the name torch and NumPy use.

    ``storage`` is the NumPy type of the bytes in memory; where it is not the type itself (bfloat16, float8)
    the values are converted, to nearest even, on the way in and to float32 on the way out.
    """

    __slots__ = ("from_bits", "is_floating_point", "itemsize", "name", "storage", "to_bits")

    def __init__(
        self,
        name: str,
        storage: Any = None,
        *,
        to_bits: Callable[[Values], Values] | None = None,
        from_bits: Callable[[Values], Values] | None = None,
    ) -> None:
        self.name: Final = name
        self.storage: np.dtype[Any] = np.dtype(name if storage is None else storage)
        self.itemsize: Final[int] = self.storage.itemsize
        self.is_floating_point: Final[bool] = "float" in name
        self.to_bits: Final = to_bits
        self.from_bits: Final = from_bits

    def encode(self, values: Values) -> Values:
        """Values of any numeric type as they lie in memory."""
        return self.to_bits(values) if self.to_bits is not None else np.asarray(values).astype(self.storage)

    def decode(self, stored: Values) -> Values:
        """What lies in memory, as numbers: float32 for bfloat16 and float8, else the memory itself (no copy)."""
        return self.from_bits(stored) if self.from_bits is not None else stored

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__

    def __reduce__(self) -> tuple[object, ...]:
        return (dtype_of, (self.name,))


_E4M3, _E5M2 = _Float8(4, 3, finite_only=True), _Float8(5, 2, finite_only=False)

DTYPES: Final[dict[str, DType]] = {
    dtype.name: dtype
    for dtype in (
        *(
            DType(name)
            for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
        ),
        *(DType(name) for name in ("float16", "float32", "float64")),
        DType("bfloat16", np.uint16, to_bits=bfloat16_array, from_bits=_bfloat16_values),
        DType("float8_e4m3fn", np.uint8, to_bits=_E4M3.bits, from_bits=_E4M3.values),
        DType("float8_e5m2", np.uint8, to_bits=_E5M2.bits, from_bits=_E5M2.values),
    )
}

ALIASES: Final[dict[str, str]] = {
    "i1": "bool",
    "u1": "bool",
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"fp{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "bf16": "bfloat16",
    "fp8e4nv": "float8_e4m3fn",
    "fp8e5": "float8_e5m2",
}
"""Triton's names -> the names of `DTYPES`."""


@functools.cache
def dtype_of(name: object) -> DType:
    """The type of that name (torch's, NumPy's or Triton's); also takes a DType, a NumPy type or a Triton type.

    Raises TypeError, with the names there are, if the device has no such type.
    """
    if isinstance(name, DType):
        return name
    try:
        text = name if isinstance(name, str) else np.dtype(name).name  # type: ignore[call-overload]
    except TypeError:
        text = str(name)
    text = text.removeprefix("torch.")
    dtype = DTYPES.get(ALIASES.get(text, text))
    if dtype is None:
        raise TypeError(f"the device has no element type {text!r}; it has {', '.join(DTYPES)}")
    return dtype
