"""Conversions, as `dialects/isa/convert.py` defines them. The narrow floats by the definition of their formats."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from ..assembler.program import Instruction
from .alu import unsigned
from .machine import DTYPES, Machine, Step, View, copying
from .steps import executes

# --- integers -------------------------------------------------------------------------------------------------------


@executes("exts", "trunci", "sitof")
def convert_signed(machine: Machine, instruction: Instruction) -> Step:
    result, source = machine.views(instruction)
    if result.dtype == bool:
        return lambda: np.not_equal(source & 1, 0, out=result)
    if source.dtype == bool:
        return lambda: np.copyto(result, -source.view(np.int8), casting="unsafe")
    return copying(result, source)


@executes("extu", "uitof")
def convert_unsigned(machine: Machine, instruction: Instruction) -> Step:
    result, source = machine.views(instruction)
    return copying(result, unsigned(source))


@executes("bitcast")
def bitcast(machine: Machine, instruction: Instruction) -> Step:
    result, source = machine.views(instruction)
    return copying(result, source.view(result.dtype))


@executes("ftosi", "ftoui")
def float_to_integer(machine: Machine, instruction: Instruction) -> Step:
    result, source = machine.views(instruction)
    signed = instruction.name == "ftosi"
    target = np.dtype(f"{'i' if signed else 'u'}{result.itemsize}")
    limits = np.iinfo(target)
    low, high = float(limits.min), 2.0 ** (8 * result.itemsize - signed)  # the first that is too large
    out = result.view(target)

    def step() -> None:
        fits = (source > low) & (source < high)
        converted = np.where(fits, source, 0).astype(target)
        out[...] = np.where(source >= high, limits.max, np.where(source <= low, limits.min, converted))

    return step


@executes("sats", "satu")
def saturate(machine: Machine, instruction: Instruction) -> Step:
    result, source = machine.views(instruction)
    target = np.dtype(f"{'i' if instruction.name == 'sats' else 'u'}{result.itemsize}")
    limits = np.iinfo(target)
    out = result.view(target)
    if source.dtype.kind == "i":
        # Bounds that the source does not have do not matter.
        ends = np.iinfo(source.dtype)
        low, high = max(limits.min, ends.min), min(limits.max, ends.max)
        return lambda: np.copyto(out, np.clip(source, low, high), casting="unsafe")
    beyond = 2.0 ** (8 * result.itemsize - (instruction.name == "sats"))  # the first that is too large

    def step() -> None:
        whole = np.rint(source)
        fits = (whole > limits.min) & (whole < beyond)
        converted = np.where(fits, whole, 0).astype(target)
        out[...] = np.where(whole >= beyond, limits.max, np.where(whole <= limits.min, limits.min, converted))

    return step


# --- floating point -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Format:
    """A float of 8 or 16 bits: codes above ``largest`` are no finite numbers, the next one is infinity if ``infinite``.

    ``saturates``: what is too large, infinity included, becomes the largest finite number.
    """

    bits: int
    mantissa: int
    bias: int
    largest: int
    nan: int
    infinite: bool = True
    saturates: bool = False


FORMATS: Final = {
    "f16": Format(16, 10, 15, 0x7BFF, 0x7E00),
    "bf16": Format(16, 7, 127, 0x7F7F, 0x7FC0),
    "f8E5M2": Format(8, 2, 15, 0x7B, 0x7F, saturates=True),
    "f8E4M3FN": Format(8, 3, 7, 0x7E, 0x7F, infinite=False, saturates=True),
}


@cache
def values_of(element: str) -> View:
    """The value of every code of a narrow format, as f64."""
    form = FORMATS[element]
    codes = np.arange(1 << (form.bits - 1))
    exponent, fraction = codes >> form.mantissa, codes & ((1 << form.mantissa) - 1)
    significand = np.where(exponent == 0, fraction, fraction + (1 << form.mantissa))
    values = np.ldexp(significand.astype(np.float64), np.maximum(exponent, 1) - form.bias - form.mantissa)
    values[form.largest + 1 :] = np.nan
    if form.infinite:
        values[form.largest + 1] = np.inf
    return np.concatenate([values, -values])


def widened(lanes: View, element: str) -> View:
    """Any float as f64, exactly."""
    return values_of(element)[lanes] if element in FORMATS else lanes.astype(np.float64)


def narrowed(values: View, element: str, rounding: str) -> View:
    """f64 rounded once to another format, as its lanes are stored."""
    if element in FORMATS:
        return _encode(values, FORMATS[element], rounding)
    nearest = values.astype(DTYPES[element])
    if rounding == "rtz":
        too_large = np.abs(nearest.astype(np.float64)) > np.abs(values)
        nearest = np.where(too_large, np.nextafter(nearest, nearest.dtype.type(0)), nearest)
    return nearest


def _encode(values: View, form: Format, rounding: str) -> View:
    size = np.abs(values)
    _, exponent = np.frexp(np.where(np.isfinite(size), size, 0))
    least = 1 - form.bias
    exponent = np.where(size == 0, least, np.maximum(exponent.astype(np.int64) - 1, least))
    units = np.ldexp(size, form.mantissa - exponent)
    units = np.rint(units) if rounding == "rtne" else np.trunc(units)
    numbers = np.where(np.isfinite(units), units, 0).astype(np.int64)
    code = numbers + (exponent - least << form.mantissa)
    infinity = form.largest if form.saturates else form.largest + 1
    code = np.where(code > form.largest, infinity if rounding == "rtne" else form.largest, code)
    code = np.where(np.isinf(values), infinity, code)
    code = np.where(np.isnan(values), form.nan, code)
    return code | np.signbit(values).astype(np.int64) << (form.bits - 1)


@executes("extf", "truncf")
def convert_float(machine: Machine, instruction: Instruction) -> Step:
    result, source = machine.views(instruction)
    before, after = instruction.operands[0].type.element, instruction.results[0].type.element
    rounding = str(instruction.immediates[0]) if instruction.immediates else "rtne"
    quick: Any = np.float16 if before == "f16" else source.dtype
    if after not in FORMATS and before not in ("bf16", "f8E5M2", "f8E4M3FN") and rounding == "rtne":
        return copying(result, source.view(quick))
    if after == "f16" and before == "f32" and rounding == "rtne":
        return copying(result.view(np.float16), source)

    def step() -> None:
        result[...] = narrowed(widened(source, before), after, rounding)

    return step
