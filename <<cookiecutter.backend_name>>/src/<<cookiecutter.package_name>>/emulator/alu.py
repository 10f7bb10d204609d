"""Arithmetic, logic and comparison, as `dialects/isa/alu.py` defines them."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

import numpy as np

from ..assembler.program import Instruction
from ..codegen.math_library import signature_of, symbol_for
from .machine import Machine, Step, View
from .steps import executes

Function = Callable[..., Any]

DIRECT: Final[dict[str, Function]] = {
    "addi": np.add,
    "subi": np.subtract,
    "muli": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "mins": np.minimum,
    "maxs": np.maximum,
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "remf": np.fmod,
    "copysign": np.copysign,
    "negf": np.negative,
    "absf": np.fabs,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "truncf.int": np.trunc,
    "roundeven": np.rint,
}
"""Instructions that are one NumPy function."""


@executes(*DIRECT)
def direct(machine: Machine, instruction: Instruction) -> Step:
    result, *operands = machine.views(instruction)
    return partial(DIRECT[instruction.name], *operands, out=result)


def unsigned(lanes: View) -> View:
    """The same bits as unsigned integers."""
    return lanes.view(f"u{lanes.itemsize}")


def computed(function: Function) -> Callable[[Machine, Instruction], Step]:
    """A maker for ``result = function(*operands)``."""

    def make(machine: Machine, instruction: Instruction) -> Step:
        result, *operands = machine.views(instruction)

        def step() -> None:
            result[...] = function(*operands)

        return step

    return make


def on_unsigned(function: Function) -> Callable[[Machine, Instruction], Step]:
    """A maker for ``result = function(*operands)`` on unsigned numbers."""

    def make(machine: Machine, instruction: Instruction) -> Step:
        result, *operands = map(unsigned, machine.views(instruction))

        def step() -> None:
            result[...] = function(*operands)

        return step

    return make


executes("minu")(on_unsigned(np.minimum))
executes("maxu")(on_unsigned(np.maximum))


# --- shifts ---------------------------------------------------------------------------------------------------------


def shift_left(value: View, amount: View) -> View:
    bits = 8 * value.itemsize
    return np.where(amount < bits, value << np.minimum(amount, bits - 1).astype(value.dtype), 0)


def shift_right(value: View, amount: View) -> View:
    bits = 8 * value.itemsize
    return np.where(amount < bits, value >> np.minimum(amount, bits - 1).astype(value.dtype), 0)


def shift_right_signed(value: View, amount: View) -> View:
    most = np.minimum(unsigned(amount), 8 * value.itemsize - 1)
    return value >> most.astype(value.dtype)


executes("shl")(on_unsigned(shift_left))
executes("shru")(on_unsigned(shift_right))
executes("shrs")(computed(shift_right_signed))


# --- division -------------------------------------------------------------------------------------------------------


def divide_unsigned(lhs: View, rhs: View) -> View:
    zero = rhs == 0
    return np.where(zero, np.array(-1).astype(lhs.dtype), lhs // np.where(zero, 1, rhs))


def remainder_unsigned(lhs: View, rhs: View) -> View:
    zero = rhs == 0
    return np.where(zero, lhs, lhs % np.where(zero, 1, rhs))


def divide_signed(lhs: View, rhs: View) -> View:
    one = np.array(1, lhs.dtype)
    zero, minus = rhs == 0, rhs == -1
    divisor = np.where(zero | minus, one, rhs)
    quotient = lhs // divisor  # rounded down
    inexact = lhs - quotient * divisor != 0
    quotient = quotient + (inexact & ((lhs < 0) != (divisor < 0)))
    return np.where(zero, -one, np.where(minus, -lhs, quotient))


def remainder_signed(lhs: View, rhs: View) -> View:
    return np.where(rhs == 0, lhs, lhs - divide_signed(lhs, rhs) * rhs)


executes("divu")(on_unsigned(divide_unsigned))
executes("remu")(on_unsigned(remainder_unsigned))
executes("divs")(computed(divide_signed))
executes("rems")(computed(remainder_signed))


def multiply_high(lhs: View, rhs: View) -> View:
    """High half of the product; signed as the operands' type is."""
    bits = 8 * lhs.itemsize
    if bits < 64:
        wide = f"{lhs.dtype.kind}8"
        return ((lhs.astype(wide) * rhs.astype(wide)) >> bits).astype(lhs.dtype)
    products = [int(a) * int(b) >> bits for a, b in zip(lhs, rhs, strict=True)]
    return np.array(products, lhs.dtype)


executes("mulhs")(computed(multiply_high))
executes("mulhu")(on_unsigned(multiply_high))


def count_ones(value: View) -> View:
    return np.unpackbits(value.view(np.uint8).reshape(len(value), -1), axis=1).sum(axis=1)


def leading_zeros(value: View) -> View:
    bits = np.unpackbits(
        value.astype(value.dtype.newbyteorder(">")).view(np.uint8).reshape(len(value), -1), axis=1
    )
    return np.where(value == 0, bits.shape[1], bits.argmax(axis=1))


executes("popc")(on_unsigned(count_ones))
executes("clz")(on_unsigned(leading_zeros))


# --- floating point -------------------------------------------------------------------------------------------------


def _extremum(lhs: View, rhs: View, *, largest: bool) -> View:
    """-0 < +0; `rhs` if either is NaN."""
    better = lhs > rhs if largest else lhs < rhs
    a, b = unsigned(lhs), unsigned(rhs)
    zeros = (a & b if largest else a | b).view(lhs.dtype)  # of two equal numbers only zeros differ
    return np.where(lhs == rhs, zeros, np.where(better, lhs, rhs))


def number_extremum(lhs: View, rhs: View, *, largest: bool) -> View:
    return np.where(rhs != rhs, lhs, _extremum(lhs, rhs, largest=largest))


def propagating_extremum(lhs: View, rhs: View, *, largest: bool) -> View:
    return np.where(lhs != lhs, lhs, _extremum(lhs, rhs, largest=largest))


executes("minnum")(computed(partial(number_extremum, largest=False)))
executes("maxnum")(computed(partial(number_extremum, largest=True)))
executes("minimum")(computed(partial(propagating_extremum, largest=False)))
executes("maximum")(computed(partial(propagating_extremum, largest=True)))


def fused_multiply_add(a: View, b: View, c: View) -> View:
    """``a * b + c``, rounded once.

    In f32: the product is exact in f64. The sum there is rounded to odd, which a second rounding, to a format with at
    least two bits less, does not spoil. f64 is C's ``fma``, lane by lane.
    """
    if a.dtype == np.float64:
        multiply_add = library_function("fma", "f64", "xxx")
        a, b, c = np.broadcast_arrays(a, b, c)
        return np.array([multiply_add(*lane) for lane in zip(a.flat, b.flat, c.flat, strict=True)]).reshape(
            a.shape
        )
    product = np.multiply(a, b, dtype=np.float64)
    total = product + c
    back = total - product
    error = (product - (total - back)) + (c - back)
    bits = total.view(np.int64)
    even = (error != 0) & (bits & 1 == 0) & np.isfinite(total)
    if even.any():
        away = np.where((error > 0) == (total > 0), 1, -1)
        total = (bits + np.where(even, away, 0)).view(np.float64)
    return total.astype(np.float32)


executes("fma")(computed(fused_multiply_add))


@executes("rsqrt")
def reciprocal_root(machine: Machine, instruction: Instruction) -> Step:
    result, source = machine.views(instruction)
    one = source.dtype.type(1)

    def step() -> None:
        np.divide(one, np.sqrt(source), out=result)

    return step


# --- the math library -----------------------------------------------------------------------------------------------


@cache
def library_function(callee: str, element: str, arguments: str) -> Function:
    """A function of C's math library; `arguments` as in ``codegen/math_library.py``."""
    library = ctypes.CDLL(ctypes.util.find_library("m") or None)
    number = ctypes.c_float if element == "f32" else ctypes.c_double
    function = getattr(library, symbol_for(callee, element))
    function.restype = number
    function.argtypes = [number if letter == "x" else ctypes.c_int32 for letter in arguments]
    return function


def by_lane(machine: Machine, instruction: Instruction, callee: str) -> Step:
    result, *operands = machine.views(instruction)
    element = instruction.results[0].type.element
    function = library_function(callee, element, signature_of(callee).arguments)

    def step() -> None:
        result[:] = [function(*lane) for lane in zip(*(lanes.tolist() for lanes in operands), strict=True)]

    return step


@executes("exp", "exp2", "log", "log2", "sin", "cos", "tanh", "erf")
def special(machine: Machine, instruction: Instruction) -> Step:
    return by_lane(machine, instruction, instruction.name)


@executes("math")
def math_call(machine: Machine, instruction: Instruction) -> Step:
    return by_lane(machine, instruction, str(instruction.immediates[0]))


# --- comparison -----------------------------------------------------------------------------------------------------


def either(first: Function, second: Function) -> Function:
    def compare(lhs: View, rhs: View) -> Any:
        return first(lhs, rhs) | second(lhs, rhs)

    return compare


def opposite(function: Function) -> Function:
    def compare(lhs: View, rhs: View) -> Any:
        return ~function(lhs, rhs)

    return compare


def constantly(value: bool) -> Function:
    def compare(lhs: View, rhs: View) -> Any:
        return np.full(lhs.shape, value)

    return compare


def ordered(lhs: View, rhs: View) -> View:
    return (lhs == lhs) & (rhs == rhs)


INTEGER_COMPARISONS: Final = (
    np.equal, np.not_equal, *2 * (np.less, np.less_equal, np.greater, np.greater_equal),
)  # fmt: skip
FIRST_UNSIGNED: Final = 6
FLOAT_COMPARISONS: Final[tuple[Function, ...]] = (
    constantly(False), np.equal, np.greater, np.greater_equal, np.less, np.less_equal,
    either(np.less, np.greater), ordered, opposite(either(np.less, np.greater)), opposite(np.less_equal),
    opposite(np.less), opposite(np.greater_equal), opposite(np.greater), np.not_equal, opposite(ordered),
    constantly(True),
)  # fmt: skip


@executes("cmpi")
def compare_integers(machine: Machine, instruction: Instruction) -> Step:
    result, lhs, rhs = machine.views(instruction)
    (number,) = instruction.immediates
    assert isinstance(number, int)
    if number >= FIRST_UNSIGNED:
        lhs, rhs = unsigned(lhs), unsigned(rhs)
    return partial(INTEGER_COMPARISONS[number], lhs, rhs, out=result)


@executes("cmpf")
def compare_floats(machine: Machine, instruction: Instruction) -> Step:
    (number,) = instruction.immediates
    assert isinstance(number, int)
    return computed(FLOAT_COMPARISONS[number])(machine, instruction)


executes("select")(computed(np.where))
