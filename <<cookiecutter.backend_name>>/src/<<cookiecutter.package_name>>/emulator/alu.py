"""Arithmetic, logic and comparison, as `dialects/isa/alu.py` defines them."""

from __future__ import annotations

import ctypes
import ctypes.util
import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

import numpy as np

from ..assembler.program import Instruction
from ..dialects.isa.alu import BITS_CALL
from ..dialects.isa.math_library import signature_of, symbol_for
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


@executes("ldexp")
def ldexp(machine: Machine, instruction: Instruction) -> Step:
    result, value, exponent = machine.views(instruction)
    most = 5000  # beyond, results are zeros and infinities anyway

    def step() -> None:
        whole = np.nan_to_num(np.clip(np.floor(exponent), -most, most)).astype(np.int32)
        np.ldexp(value, whole, out=result)

    return step


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
    """A function of C's math library; `arguments` as in ``dialects/isa/math_library.py``."""
    library = ctypes.CDLL(ctypes.util.find_library("m") or None)
    number = ctypes.c_float if element == "f32" else ctypes.c_double
    function = getattr(library, symbol_for(callee, element))
    function.restype = number
    function.argtypes = [number if letter == "x" else ctypes.c_int32 for letter in arguments]
    return function


def by_lane(machine: Machine, instruction: Instruction, callee: str) -> Step:
    result, *operands = machine.views(instruction)
    element = instruction.results[0].type.element
    if callee.endswith(BITS_CALL):
        callee, element = callee.removesuffix(BITS_CALL), "f64"
        result, *operands = (
            view.view(np.float64) if view.itemsize == 8 else view for view in (result, *operands)
        )
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


# --- activations ----------------------------------------------------------------------------------------------------


def _of_exact(function: Callable[[float], float], below: float) -> Function:
    """`function` of each number, computed in f64; NaN for NaN, and `below` for minus infinity."""

    def lane(t: float) -> float:
        return t if math.isnan(t) else below if t == -math.inf else function(t)

    return lambda values: np.array([lane(t) for t in values.tolist()])


def _sigmoid(t: float) -> float:
    small = math.exp(-abs(t))
    return (1.0 if t >= 0 else small) / (1.0 + small)


def _gelu_tanh(t: float) -> float:
    return t * _sigmoid(2 * math.sqrt(2 / math.pi) * t * (1 + 0.044715 * min(t * t, 1e9)))


ACTIVATIONS: Final[dict[str, Function]] = {
    "linear": lambda t: t,
    "relu": lambda t: np.where(t <= 0, 0, t),
    "relu6": lambda t: np.where(t <= 0, 0, np.where(t >= 6, 6, t)),
    "leaky_relu": lambda t: np.where(t > 0, t, t * t.dtype.type(0.01)),
    "sigmoid": _of_exact(_sigmoid, 0.0),
    "silu": _of_exact(lambda t: t * _sigmoid(t), -0.0),
    "gelu": _of_exact(lambda t: t / 2 * math.erfc(-t * math.sqrt(0.5)), -0.0),
    "gelu_tanh": _of_exact(_gelu_tanh, -0.0),
    "tanh": _of_exact(math.tanh, -1.0),
}


@executes("act")
def activate(machine: Machine, instruction: Instruction) -> Step:
    function = ACTIVATIONS[str(instruction.immediates[0])]

    def compute(source: View, scale: View, bias: View) -> View:
        return function(fused_multiply_add(source, scale, bias))

    return computed(compute)(machine, instruction)


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


_ORDERED: Final = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}
INTEGER_COMPARISONS: Final[dict[str, Function]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    **{sign + how: function for sign in "su" for how, function in _ORDERED.items()},
}
FLOAT_COMPARISONS: Final[dict[str, Function]] = {
    "false": constantly(False), "true": constantly(True), "ord": ordered, "uno": opposite(ordered),
    "oeq": np.equal, "ogt": np.greater, "oge": np.greater_equal, "olt": np.less, "ole": np.less_equal,
    "one": either(np.less, np.greater), "ueq": opposite(either(np.less, np.greater)), "une": np.not_equal,
    "ugt": opposite(np.less_equal), "uge": opposite(np.less), "ult": opposite(np.greater_equal),
    "ule": opposite(np.greater),
}  # fmt: skip


@executes("cmpi")
def compare_integers(machine: Machine, instruction: Instruction) -> Step:
    result, lhs, rhs = machine.views(instruction)
    predicate = str(instruction.immediates[0])
    if predicate[0] == "u":
        lhs, rhs = unsigned(lhs), unsigned(rhs)
    return partial(INTEGER_COMPARISONS[predicate], lhs, rhs, out=result)


@executes("cmpf")
def compare_floats(machine: Machine, instruction: Instruction) -> Step:
    return computed(FLOAT_COMPARISONS[str(instruction.immediates[0])])(machine, instruction)


executes("select")(computed(np.where))
