"""Numbers are rounded once, wherever they come from: an argument, a constant, an array. Mostly: to bfloat16."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import FloatAttr, VectorType, bf16, f64

from <<cookiecutter.package_name>>.assembler.linearize import number_bits
from <<cookiecutter.package_name>>.assembler.program import type_of
from <<cookiecutter.package_name>>.codegen.registers import float_literal, register_type
from <<cookiecutter.package_name>>.rounding import bfloat16_array, bfloat16_bits, rounded
from <<cookiecutter.package_name>>.runtime.array import DeviceArray
from <<cookiecutter.package_name>>.runtime.dtypes import dtype_of

LARGEST = float.fromhex("0x1.fep127")
TIE_TO_INFINITY = float.fromhex("0x1.ffp127")


def exact(bits: int) -> Fraction:
    """The value of finite bfloat16 bits; of those of infinity, as if the format went on."""
    exponent, fraction = bits >> 7 & 0xFF, bits & 0x7F
    size = Fraction(fraction | (0x80 if exponent else 0)) * Fraction(2) ** (max(exponent, 1) - 134)
    return -size if bits & 0x8000 else size


def nearest(number: float) -> int:
    """By rational arithmetic."""
    sign = 0x8000 if math.copysign(1, number) < 0 else 0
    size = abs(Fraction(number))
    low, high = 0, 0x7F80
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if exact(middle) <= size else (low, middle)
    below, above = size - exact(low), exact(high) - size
    return sign | (high if above < below or (above == below and high % 2 == 0) else low)


def numbers() -> list[float]:
    """Ties of all magnitudes, what is just beside them, and beside that what f32 cannot tell from them."""
    found: list[float] = [0.0, -0.0, 5e-324, LARGEST, TIE_TO_INFINITY, 1e300, -1e300, math.inf, -math.inf]
    for bits in (0, 1, 2, 0x7F, 0x80, 0x81, 0x3F80, 0x3F81, 0x4B7F, 0x7F7E, 0x7F7F):
        tie = float((exact(bits) + exact(bits + 1)) / 2)
        near = [
            tie,
            math.nextafter(tie, 0),
            math.nextafter(tie, math.inf),
            tie * (1 + 2**-40),
            tie * (1 - 2**-40),
        ]
        found += [sign * value for value in near for sign in (1, -1)]
    return found


def expected(number: float) -> int:
    if math.isinf(number):
        return 0x7F80 | (0x8000 if number < 0 else 0)
    return nearest(number)


def test_numbers_are_rounded_once() -> None:
    for number in numbers():
        assert bfloat16_bits(number) == expected(number), number.hex()
    got = bfloat16_array(np.array(numbers()))
    assert got.tolist() == [expected(number) for number in numbers()]
    random = np.random.default_rng(0).integers(0, 2**64, 2000, np.uint64).view(np.float64)
    random = random[np.isfinite(random)]
    assert bfloat16_array(random).tolist() == [bfloat16_bits(float(x)) for x in random]


@pytest.mark.parametrize(
    "number", [257, 2**24 + 2**16 + 1, 2**53 + 2**45 + 1, 2**62 + 2**54 + 1, 10**400, -(10**400)]
)
def test_integers(number: int) -> None:
    bits = 0x7F80 | (0x8000 if number < 0 else 0) if abs(number) > 2**1000 else nearest_integer(number)
    assert bfloat16_bits(number) == bits
    if abs(number) < 2**63:
        assert bfloat16_array(np.array([number], np.int64)).tolist() == [bits]


def nearest_integer(number: int) -> int:
    """The candidates are the neighbours of a rounding that may be off by one."""
    near = bfloat16_bits(float(number))
    return min(range(near - 1, near + 2), key=lambda bits: (abs(exact(bits) - number), bits % 2))


@pytest.mark.parametrize("nan", [math.nan, -math.nan, float(np.uint32(0x7F800001).view(np.float32))])
def test_nan_stays_nan(nan: float) -> None:
    for bits in (
        bfloat16_bits(nan),
        int(bfloat16_array(nan)),
        int(bfloat16_array(np.array(nan, np.float32))),
    ):
        assert bits & 0x7F80 == 0x7F80 and bits & 0x7F


@pytest.mark.parametrize("form", ["<e", "<f", "<d"])
def test_too_large_numbers_are_infinity(form: str) -> None:
    for number in (10**400, -(10**400), math.inf, -math.inf):
        assert rounded(form, number) == math.copysign(math.inf, 1 if number > 0 else -1)
    assert rounded("<e", 65519.0) == 65504.0 and rounded("<e", 65520) == math.inf
    assert math.isnan(rounded(form, math.nan))


DOUBLY: float = 1 + 2**-8 + 2**-40
"""A tie once it is an f32, and just above one as it is."""


@pytest.mark.parametrize("ty", ["bf16", "vector<8xbf16>"])
def test_a_constant_of_a_kernel(ty: str) -> None:
    """On both devices; Triton's own front end gives constants as f32, a pass of somebody's may not."""
    element = bf16 if ty == "bf16" else VectorType(bf16, [8])
    attribute = FloatAttr(DOUBLY, f64)
    assert float_literal(attribute.value.data, register_type(element)) == str(0x3F81)
    assert number_bits(DOUBLY, type_of(element)) == 0x3F81


def test_an_argument() -> None:
    from test_launcher import slots_of

    for value in (DOUBLY, np.float64(DOUBLY), 2**53 + 2**45 + 1):
        slot = slots_of({"x": "bf16"}, value)[0]
        assert int.from_bytes(slot[:2], "little") == bfloat16_bits(value)


def test_arrays() -> None:
    array: Any = DeviceArray.full((3,), DOUBLY, "bfloat16")
    assert array.bits().tolist() == [0x3F81] * 3
    assert DeviceArray.from_numpy(np.full(3, DOUBLY)).to("bfloat16").bits().tolist() == [0x3F81] * 3
    assert dtype_of("bfloat16").encode(np.float32(1.00390625)).tolist() == 0x3F80
