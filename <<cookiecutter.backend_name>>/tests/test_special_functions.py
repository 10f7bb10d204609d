"""The special-function instructions, expanded and compiled, over the whole range of f32 against f64.

The remainder, which is expanded like them, is in ``test_library_functions.py``.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import math
import platform
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import lane_functions
import numpy as np
import pytest
from lane_functions import BlockSink, LaneFunction
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, VectorType, f16
from xdsl.dialects.scf import Scf
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser

from <<cookiecutter.package_name>>.dialects.isa import ISA, alu, lanes
from <<cookiecutter.package_name>>.errors import UnsupportedOperation
from <<cookiecutter.package_name>>.formulas import f32_tables
from <<cookiecutter.package_name>>.machine import reference_device
from <<cookiecutter.package_name>>.passes.expand_special import CALLEES, FORMULAS, expand

REFERENCES: dict[type[Operation], Callable[[Any], Any]] = {
    alu.Exp: np.exp,
    alu.Exp2: np.exp2,
    alu.Log: np.log,
    alu.Log2: np.log2,
    alu.Sin: np.sin,
    alu.Cos: np.cos,
    alu.Tanh: np.tanh,
    alu.Erf: np.vectorize(math.erf, otypes=[np.float64]),
}
"""In f64, where their errors do not matter."""

ULPS = {
    **{alu.Exp: 0.9, alu.Exp2: 0.85, alu.Log: 0.9, alu.Log2: 1.0},
    **{alu.Sin: 2.0, alu.Cos: 2.0, alu.Tanh: 2.5, alu.Erf: 1.35},
}
"""Largest error in f32, in units in the last place of the exact result."""

PIECES_ULPS = {alu.Tanh: 2.1, alu.Erf: 1.3}
"""The same where coefficients are looked up."""

STEPS = {
    alu.Exp: 23,
    alu.Exp2: 22,
    alu.Log: 33,
    alu.Log2: 33,
    alu.Sin: 34,
    alu.Cos: 35,
    alu.Tanh: 25,
    alu.Erf: 40,
}
"""Instructions of an expansion, without constants: creating one takes some 10 us, so each counts."""

PIECES_STEPS = {alu.Tanh: 19, alu.Erf: 22}
"""The same where coefficients are looked up."""

CASES = [pytest.param(cls, id=cls.name.rsplit(".", 1)[1]) for cls in REFERENCES]
EDGES = np.array(
    [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        1,
        -1,
        0.5,
        2,
        1e-45,
        -1e-45,
        2**-126,
        -(2**-126),
        3.4028235e38,
        -3.4028235e38,
    ],
    np.float32,
)


def compiled(
    cls: type[Operation], letter: str = "f", count: int = 16, *, expand: bool = True
) -> LaneFunction:
    def rule(sink: BlockSink, values: list[SSAValue]) -> SSAValue:
        return sink.emit(cls, values, values[0].type)

    return LaneFunction(letter, letter, rule, count, expand=expand)


def samples() -> np.ndarray:
    """Numbers spread evenly over the codes of f32, both signs, denormals and NaNs included; and many of ordinary size."""
    codes = np.arange(0, 2**32, 5003, dtype=np.uint64).astype(np.uint32).view(np.float32)
    ordinary = np.random.default_rng(1).uniform(-105, 105, 200_000).astype(np.float32)
    near_one = np.linspace(0.6, 1.6, 100_000, dtype=np.float32)
    return np.concatenate([EDGES, codes, ordinary, near_one])


def errors(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Distances in ulp of f32; infinite where one is NaN, or one infinite, and the other isn't."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        rounded = exact.astype(np.float32)
        exponent = np.maximum(np.frexp(np.where(np.isfinite(exact), exact, 0))[1] - 1, -126)
        distance = np.abs(got.astype(np.float64) - exact) / np.exp2(exponent - 23.0)
    both_nan = np.isnan(got) & np.isnan(rounded)
    equal = got == rounded
    unlike = (np.isnan(got) != np.isnan(rounded)) | (np.isinf(got) != np.isinf(rounded))
    return np.where(both_nan | (equal & ~np.isfinite(rounded)), 0, np.where(unlike, np.inf, distance))


@pytest.fixture(params=[False, True], ids=["general", "pieces"])
def pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether coefficients are looked up, which any host can do."""
    machine = replace(lane_functions.MACHINE, looks_up=request.param)
    monkeypatch.setattr(lane_functions, "MACHINE", machine)
    return bool(request.param)


FORMS = [*((cls, False) for cls in REFERENCES), *((cls, True) for cls in PIECES_ULPS)]


@pytest.mark.parametrize(("cls", "pieces"), FORMS, indirect=["pieces"])
def test_f32_over_the_whole_range(cls: type[Operation], pieces: bool) -> None:
    ulps = PIECES_ULPS if pieces else ULPS
    x = samples()
    got = compiled(cls)(x)
    with np.errstate(all="ignore"):
        exact = REFERENCES[cls](x.astype(np.float64))
    error = errors(got, exact)
    worst = int(np.argmax(error))
    assert error[worst] <= ulps[cls], f"{x[worst]!r} gives {got[worst]!r} instead of {exact[worst]!r}"


@pytest.mark.parametrize("cls", CASES)
def test_f32_edges_bit_by_bit(cls: type[Operation], pieces: bool) -> None:
    """Zeros with their sign, infinities, NaN, and exact results."""
    got = compiled(cls)(EDGES)
    with np.errstate(all="ignore"):
        exact = REFERENCES[cls](EDGES.astype(np.float64)).astype(np.float32)
    special = ~np.isfinite(exact) | (exact == 0) | (np.abs(exact) == 1)
    assert special.sum() >= 3
    np.testing.assert_array_equal(got[special], exact[special])
    np.testing.assert_array_equal(
        np.signbit(got[special & ~np.isnan(exact)]), np.signbit(exact[special & ~np.isnan(exact)])
    )


@pytest.mark.parametrize("count", [1, 2, 8, 64])
@pytest.mark.parametrize("cls", CASES)
def test_every_register_length_gives_the_same_bits(cls: type[Operation], count: int, pieces: bool) -> None:
    x = np.concatenate([EDGES, np.linspace(-200_000, 200_000, 4096, dtype=np.float32)])
    if cls in (alu.Sin, alu.Cos):
        x = x[np.abs(x) < 100_000]  # beyond, a vector with one large lane is computed otherwise
    np.testing.assert_array_equal(compiled(cls, count=count)(x), compiled(cls)(x))


@pytest.mark.parametrize("cls", CASES)
def test_f64_is_a_library_call(cls: type[Operation]) -> None:
    function = compiled(cls, "d", 4)
    calls = [op for op in function.module.walk() if isinstance(op, alu.MathCall)]
    assert [call.callee.data for call in calls] == [CALLEES[cls]]
    x = np.linspace(-30, 30, 1001)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(function(x), REFERENCES[cls](x), rtol=1e-15)


@pytest.mark.parametrize("cls", PIECES_ULPS)
def test_pieces_meet(cls: type[Operation], pieces: bool) -> None:
    """Around the ends of the pieces, and from the last one on, where the result is 1; never more than that."""
    ends = np.arange(0.5, 34) * {alu.Tanh: f32_tables.TANH_STEP, alu.Erf: f32_tables.ERF_STEP}[cls]
    near = ends.astype(np.float32).view(np.int32)[:, None] + np.arange(-200, 200, dtype=np.int32)
    x = np.concatenate([near.view(np.float32).ravel(), np.linspace(3.5, 20, 50_000, dtype=np.float32)])
    got = compiled(cls)(x)
    assert errors(got, REFERENCES[cls](x.astype(np.float64))).max() <= (PIECES_ULPS if pieces else ULPS)[cls]
    assert (got <= 1).all() and (got[x > 10] == 1).all()
    np.testing.assert_array_equal(compiled(cls)(-x), -got)


@pytest.mark.parametrize("cls", [alu.Sin, alu.Cos])
def test_large_angles_are_reduced_exactly(cls: type[Operation]) -> None:
    """One large lane among small ones, and 3.4e38: no bit of the result is lost."""
    x = np.full(64, 0.75, np.float32)
    x[5], x[37], x[50] = 3.4028235e38, -1e22, 131072.0
    exact = REFERENCES[cls](x.astype(np.float64))
    assert errors(compiled(cls)(x), exact).max() <= ULPS[cls]


@pytest.mark.parametrize("cls", CASES)
def test_nothing_special_is_left(cls: type[Operation], pieces: bool) -> None:
    steps = PIECES_STEPS.get(cls, STEPS[cls]) if pieces else STEPS[cls]
    ops = list(compiled(cls).module.walk())
    assert not [op for op in ops if type(op) in FORMULAS]
    plain = [op for op in compiled(cls, expand=False).module.walk() if not isinstance(op, lanes.Const)]
    assert len([op for op in ops if not isinstance(op, lanes.Const)]) - (len(plain) - 1) <= steps


def test_constants_are_shared() -> None:
    def twice(sink: BlockSink, values: list[SSAValue]) -> SSAValue:
        first = sink.emit(alu.Exp, values, values[0].type)
        return sink.emit(alu.Exp, [first], first.type)

    once = compiled(alu.Exp).module
    both = LaneFunction("f", "f", twice).module
    count = [sum(isinstance(op, lanes.Const) for op in module.walk()) for module in (once, both)]
    assert count[0] == count[1]


@pytest.mark.parametrize("cls", CASES)
def test_the_text_can_be_read_back(cls: type[Operation]) -> None:
    context = Context()
    for dialect in (Builtin, Scf, ISA):
        context.load_dialect(dialect)
    module = compiled(cls).module
    again = Parser(context, str(module)).parse_module()
    again.verify()
    assert str(again) == str(module)


def test_other_formats_are_refused() -> None:
    module = compiled(alu.Exp, expand=False).module
    exp = next(op for op in module.walk() if isinstance(op, alu.Exp))
    exp.operands[0] = lanes.Const.create(result_types=[VectorType(f16, [16])]).result
    with pytest.raises(UnsupportedOperation, match=r"exp has no form for f16"):
        expand(module, FORMULAS)


FE_UNDERFLOW: Final = 0x10
"""Of x86's floating point environment."""


@pytest.mark.skipif(
    not reference_device().scales_by_powers or platform.machine() != "x86_64", reason="scales in two steps"
)
@pytest.mark.parametrize("cls", [alu.Exp, alu.Exp2])
def test_masked_lanes_do_not_underflow(cls: type[Operation]) -> None:
    """What a mask filled with -inf gives 0 without a product too small to be a number: on some CPUs that is slow."""
    function, environment = compiled(cls), ctypes.CDLL(ctypes.util.find_library("m"))
    x = np.array([-np.inf, -1e30, -3.4e38, -1e4, -500, -200, -152, -1, 0] * 16, np.float32)
    environment.feclearexcept(FE_UNDERFLOW)
    got = function(x)
    assert not environment.fetestexcept(FE_UNDERFLOW)
    np.testing.assert_array_equal(got == 0, x < -150)
    function(np.full(16, -103.0 if cls is alu.Exp else -148.5, np.float32))
    assert environment.fetestexcept(FE_UNDERFLOW)  # an honest denormal
