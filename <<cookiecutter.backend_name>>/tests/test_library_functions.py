"""The math library's functions that the expansion computes with formulas in f32, over all of f32 against f64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from lane_functions import BlockSink, LaneFunction
from test_special_functions import EDGES, errors, samples
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue

from <<cookiecutter.package_name>>.dialects.isa import alu, lanes
from <<cookiecutter.package_name>>.lowering.extern_elementwise import lower_extern
from <<cookiecutter.package_name>>.passes.expand_special import BEYOND, CALLEES, FORMULAS, LIBRARY, ROOTS
from <<cookiecutter.package_name>>.target_rules import EXPANDABLE

RNG = np.random.default_rng(7)


class Function(NamedTuple):
    """Reference in f64, largest error in ulp of f32, instructions of the expansion without constants."""

    reference: Callable[..., Any]
    ulps: float
    steps: int


def elementwise(function: Callable[..., float]) -> Callable[..., Any]:
    """`function` of numbers for arrays; NaN where it says that an argument is outside of its domain."""

    def one(*args: float) -> float:
        try:
            return function(*args)
        except ValueError:
            return math.nan

    return np.vectorize(one, otypes=[np.float64])


UNARY = {
    "acos": Function(np.arccos, 1.3, 19),
    "acosh": Function(np.arccosh, 1.6, 32),
    "asin": Function(np.arcsin, 1.9, 17),
    "asinh": Function(np.arcsinh, 1.6, 35),
    "atan": Function(np.arctan, 1.4, 19),
    "atanh": Function(np.arctanh, 1.6, 38),
    "cbrt": Function(np.cbrt, 1.05, 26),
    "cosh": Function(np.cosh, 1.4, 20),
    "erfc": Function(elementwise(math.erfc), 0.85, 38),
    "exp10": Function(lambda x: np.power(10.0, x), 0.9, 23),
    "expm1": Function(np.expm1, 1.5, 23),
    "log10": Function(np.log10, 0.95, 33),
    "log1p": Function(np.log1p, 1.6, 37),
    "sinh": Function(np.sinh, 1.8, 28),
    "tan": Function(np.tan, 3.6, 28),
}
BINARY = {
    "atan2": Function(np.arctan2, 1.5, 30),
    "fmod": Function(np.fmod, 0.0, 19),
    "hypot": Function(np.hypot, 0.501, 11),
    "pow": Function(np.power, 0.55, 64),
    "remainder": Function(elementwise(math.remainder), 0.0, 21),
}
ALL = {**UNARY, **BINARY}
MORE_EDGES = np.array(
    [-2, 3, -3, 2.5, -0.5, 1.5, 2**24, -(2**24), 2**23 + 1, -(2**23) - 1, 2**25 + 4, 1 + 2**-23, 1 - 2**-24],
    np.float32,
)  # for powers: odd and even exponents, bases next to 1


def compiled(name: str, letter: str = "f", count: int = 16, *, expand: bool = True) -> LaneFunction:
    def rule(sink: BlockSink, values: list[SSAValue]) -> SSAValue:
        if name == "fmod":
            return sink.emit(alu.RemF, values, values[0].type)
        return sink.emit(alu.MathCall, values, values[0].type, {"callee": StringAttr(name)})

    return LaneFunction(letter * (2 if name in BINARY else 1), letter, rule, count, expand=expand)


def exactly(name: str, *inputs: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return ALL[name].reference(*[x.astype(np.float64) for x in inputs])


def unary_samples() -> np.ndarray:
    sizes = np.exp2(RNG.uniform(-30, 7, 100_000)) * RNG.choice([-1, 1], 100_000)
    return np.concatenate(
        [samples(), RNG.uniform(-1, 1, 100_000).astype(np.float32), sizes.astype(np.float32)]
    )


def binary_samples(name: str) -> tuple[np.ndarray, np.ndarray]:
    """All codes of f32 paired at random; and pairs whose result is an ordinary number."""
    codes = samples()[:60_000]
    size = 60_000
    x = (np.exp2(RNG.uniform(-20, 20, size)) * RNG.choice([-1, 1], size)).astype(np.float32)
    if name == "pow":
        x = np.abs(x)
        x[: size // 4] = RNG.uniform(0.9, 1.1, size // 4)
        with np.errstate(divide="ignore"):
            y = RNG.uniform(-152, 130, size) / np.log2(x.astype(np.float64))
    else:
        y = x * np.exp2(RNG.uniform(-12, 12, size)) * RNG.choice([-1, 1], size)
    return np.concatenate([codes, x]), np.concatenate([RNG.permutation(codes), y.astype(np.float32)])


def test_the_tables_agree() -> None:
    assert set(ALL) == {*LIBRARY, "fmod"}
    assert set(BEYOND) <= {*LIBRARY, *CALLEES.values()}
    assert set(CALLEES) == {*FORMULAS, alu.Sqrt}
    assert {cls.name.partition(".")[2] for cls in (*FORMULAS, *ROOTS)} == EXPANDABLE - {"ldexp", "lookup"}


@pytest.mark.parametrize("name", ALL)
def test_f32_over_the_whole_range(name: str) -> None:
    inputs = binary_samples(name) if name in BINARY else (unary_samples(),)
    got, exact = compiled(name)(*inputs), exactly(name, *inputs)
    error = errors(got, exact)
    worst = int(np.argmax(error))
    told = f"{[float(x[worst]) for x in inputs]} gives {got[worst]!r} instead of {exact[worst]!r}"
    assert error[worst] <= ALL[name].ulps, f"{told}: {error[worst]:.2f} ulp"


@pytest.mark.parametrize("name", ALL)
def test_f32_edges_bit_by_bit(name: str) -> None:
    """Zeros with their sign, infinities, NaN, and exact results; of two operands in all combinations."""
    edges = np.concatenate([EDGES, MORE_EDGES])
    inputs = tuple(grid.ravel() for grid in np.meshgrid(edges, edges)) if name in BINARY else (edges,)
    got = compiled(name)(*inputs)
    with np.errstate(over="ignore"):
        exact = exactly(name, *inputs).astype(np.float32)
    special = ~np.isfinite(exact) | (exact == 0) | (np.abs(exact) == 1)
    assert special.sum() >= 3
    np.testing.assert_array_equal(got[special], exact[special])
    signed = special & ~np.isnan(exact)
    np.testing.assert_array_equal(np.signbit(got[signed]), np.signbit(exact[signed]))


@pytest.mark.parametrize("count", [1, 2, 64])
@pytest.mark.parametrize("name", ALL)
def test_every_register_length_gives_the_same_bits(name: str, count: int) -> None:
    x = np.concatenate([EDGES, np.linspace(-99, 99, 1009, dtype=np.float32)])
    if name in BEYOND:
        x = x[np.abs(x) < 100]  # beyond, a vector with one large lane is computed otherwise
    inputs = (x, np.abs(x[::-1]) + np.float32(0.25)) if name in BINARY else (x,)
    np.testing.assert_array_equal(compiled(name, count=count)(*inputs), compiled(name)(*inputs))


@pytest.mark.parametrize("name", ALL)
def test_f64_is_a_library_call(name: str) -> None:
    calls = [op for op in compiled(name, "d", 4).module.walk() if isinstance(op, alu.MathCall)]
    assert [call.callee.data for call in calls] == [name]


@pytest.mark.parametrize("name", ALL)
def test_f32_calls_the_library_only_where_the_formula_does_not_hold(name: str) -> None:
    ops = list(compiled(name).module.walk())
    calls = [op for op in ops if isinstance(op, alu.MathCall)]
    assert len(calls) == (name in BEYOND)
    assert not any(isinstance(op, alu.RemF) for op in ops)
    plain = compiled(name, expand=False).module.walk()
    steps = sum(not isinstance(op, lanes.Const) for op in ops)
    assert steps - (sum(not isinstance(op, lanes.Const) for op in plain) - 1) <= ALL[name].steps


def test_large_angles_are_reduced_exactly() -> None:
    x = np.full(64, 0.75, np.float32)
    x[5], x[37], x[50] = 3.4028235e38, -1e22, 131072.0
    assert errors(compiled("tan")(x), exactly("tan", x)).max() <= UNARY["tan"].ulps


@pytest.mark.parametrize("name", ["fmod", "remainder"])
def test_remainders_are_exact(name: str) -> None:
    """Quotients next to integers and to halves, where a quotient that was rounded up would show; and huge ones."""
    y = np.exp2(RNG.uniform(-140, 90, 40_000)).astype(np.float32)
    n = np.exp2(RNG.uniform(-1, 27.9, 40_000)).round() / RNG.choice([1, 2], 40_000)
    x = np.nextafter((n * y).astype(np.float32), RNG.choice([-np.inf, 0, np.inf], 40_000).astype(np.float32))
    x[np.abs(x) < 2**90] *= RNG.choice(np.float32([1, 2**27]), p=[0.9, 0.1])
    function = compiled(name, count=1)
    np.testing.assert_array_equal(function(x, y), exactly(name, x, y).astype(np.float32))


def test_powers_of_whole_numbers_are_exact() -> None:
    base, exponent = (
        grid.ravel().astype(np.float32) for grid in np.meshgrid(np.arange(-40, 41), np.arange(0, 5))
    )
    np.testing.assert_array_equal(compiled("pow")(base, exponent), base.astype(np.float64) ** exponent)


def test_whole_powers_of_f32() -> None:
    """An exponent that f32 does not hold, parities included; bases next to 1, and C's limits."""

    def rule(sink: BlockSink, values: list[SSAValue]) -> SSAValue:
        return lower_extern("math.pow", values, values[0].type, sink)

    base, exponent = (
        grid.ravel()
        for grid in np.meshgrid(
            np.concatenate([EDGES, MORE_EDGES, RNG.uniform(-3, 3, 300).astype(np.float32)]),
            np.array([0, 1, -1, 2, 3, -2, 5, 16, 77, 2**24 + 1, -(2**24) - 1, 2**31 - 1, -(2**31)], np.int32),
        )
    )
    got = LaneFunction("fi", "f", rule)(base, exponent)
    exact = exactly("pow", base, exponent)
    assert errors(got, exact).max() <= BINARY["pow"].ulps
    signed = ~np.isnan(exact)
    np.testing.assert_array_equal(np.signbit(got[signed]), np.signbit(exact[signed]))
