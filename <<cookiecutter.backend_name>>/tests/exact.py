"""Arithmetic on the host without rounding of its own: Python's integers and fractions, rounded once at the end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Format:
    """A binary floating-point format: bits of the significand (the leading one included) and of the exponent."""

    precision: int
    exponent_bits: int

    @property
    def largest_exponent(self) -> int:
        return 2 ** (self.exponent_bits - 1) - 1

    @property
    def smallest_exponent(self) -> int:
        return 1 - self.largest_exponent


FORMATS = {
    "float16": Format(11, 5),
    "bfloat16": Format(8, 8),
    "float32": Format(24, 8),
    "float64": Format(53, 11),
}


def rounded(value: Fraction, name: str) -> float:
    """`value` to the nearest number of a format, ties to even; the sign of a zero is the caller's business."""
    form = FORMATS[name]
    if value == 0:
        return 0.0
    magnitude = abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    step = Fraction(2) ** (max(exponent, form.smallest_exponent) - form.precision + 1)
    result = round(magnitude / step) * step  # Python's round is to even
    if result >= Fraction(2) ** (form.largest_exponent + 1):
        return math.inf if value > 0 else -math.inf
    return float(result) if value > 0 else -float(result)


def wrapped(value: int, dtype: str) -> int:
    """`value` modulo 2^width, as a number of an integer type."""
    limits = np.iinfo(dtype)
    return (value - int(limits.min)) % 2**limits.bits + int(limits.min)


def saturated(value: float, dtype: str) -> int:
    """`value` towards zero, into the range of an integer type; 0 for a NaN."""
    limits = np.iinfo(dtype)
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return int(limits.max if value > 0 else limits.min)
    return min(max(int(value), int(limits.min)), int(limits.max))


# --- integers --------------------------------------------------------------------------------------------------


def quotient(a: int, b: int, bits: int, *, signed: bool) -> int:
    """Rounded to zero; all ones for a division by zero."""
    if b == 0:
        return -1 if signed else 2**bits - 1
    return -(abs(a) // abs(b)) if (a < 0) != (b < 0) else abs(a) // abs(b)


def remainder(a: int, b: int) -> int:
    """With the sign of the dividend, which it is for a division by zero."""
    return a if b == 0 else a - b * quotient(a, b, 64, signed=True)


def shift_left(a: int, b: int, bits: int) -> int:
    amount = b % 2**bits
    return a * 2**amount if amount < bits else 0


def shift_right(a: int, b: int, bits: int) -> int:
    amount = min(b % 2**bits, bits)
    return a // 2**amount


# --- floats ----------------------------------------------------------------------------------------------------


def exact(operation: str, a: float, b: float, name: str) -> float:
    """``a operation b`` rounded once to a format; operands that are not finite, and zeros, as IEEE 754 has it."""
    if not (math.isfinite(a) and math.isfinite(b)) or (operation == "/" and b == 0):
        with np.errstate(all="ignore"):
            return float(special(operation, np.float64(a), np.float64(b)))
    x, y = Fraction(a), Fraction(b)
    if operation == "/":
        result = x / y
    else:
        result = x + y if operation == "+" else x - y if operation == "-" else x * y
    if result == 0:  # the sign: that of the same operation on doubles, which is exact here
        return float(
            special(operation, np.float64(math.copysign(min(abs(a), 1), a)), signed_like(operation, a, b))
        )
    return rounded(result, name)


def signed_like(operation: str, a: float, b: float) -> Any:
    if operation in "+-":
        return np.float64(math.copysign(min(abs(b), 1), b))
    return np.float64(math.copysign(0.0 if b == 0 else 1.0, b))


def special(operation: str, a: Any, b: Any) -> Any:
    return a + b if operation == "+" else a - b if operation == "-" else a * b if operation == "*" else a / b


def fused(a: float, b: float, c: float, name: str) -> float:
    """``a * b + c`` rounded once."""
    if not all(map(math.isfinite, (a, b, c))):
        with np.errstate(all="ignore"):
            return float(np.float64(a) * np.float64(b) + np.float64(c)) if not_finite_product(a, b) else c
    result = Fraction(a) * Fraction(b) + Fraction(c)
    if result == 0:
        sign = math.copysign(1, a) * math.copysign(1, b)
        return math.copysign(0.0, sign) + math.copysign(0.0, c) if a == 0 or b == 0 else 0.0
    return rounded(result, name)


def not_finite_product(a: float, b: float) -> bool:
    return not (math.isfinite(a) and math.isfinite(b))


def extreme(a: float, b: float, *, largest: bool, propagate: bool) -> float:
    """minNum / maxNum, or minimum / maximum if NaN propagates; -0 is less than +0."""
    if math.isnan(a) or math.isnan(b):
        if propagate or (math.isnan(a) and math.isnan(b)):
            return math.nan
        return b if math.isnan(a) else a

    def with_sign(value: float) -> tuple[float, float]:
        return value, math.copysign(1, value)

    return max(a, b, key=with_sign) if largest else min(a, b, key=with_sign)
