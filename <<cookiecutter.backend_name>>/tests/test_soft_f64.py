"""f64 in integer instructions: every formula against the host's own f64, bit by bit."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import launch
from lane_functions import BlockSink, LaneFunction
from xdsl.dialects.builtin import IntegerType, f32, i64
from xdsl.ir import Operation, SSAValue

from <<cookiecutter.package_name>>.dialects.isa import alu, convert
from <<cookiecutter.package_name>>.errors import UnsupportedOperation
from <<cookiecutter.package_name>>.formulas import f32_special, soft_f64
from <<cookiecutter.package_name>>.formulas.formula import Formula, Rule
from <<cookiecutter.package_name>>.passes import expand_f64
from <<cookiecutter.package_name>>.target import BACKEND_NAME

SIZE = 20_000
EDGES = np.array(
    [
        0, 0.5, 1, 1.5, 2.5, np.inf, np.nan, 5e-324, 2.225073858507201e-308, 2.2250738585072014e-308, 1e-300,
        1.7976931348623157e308, 2**52, 2**52 - 0.5, 2**53, 2.0**63, 2.0**64, 0.49999999999999994, 2**31, 2**31 - 1,
        1 + 2**-52, 1 - 2**-53,
    ]
)  # fmt: skip


@cache
def samples(seed: int) -> np.ndarray:
    """Codes of all kinds: any, of similar size, with few bits, denormals, and edges with both signs."""
    generator = np.random.default_rng(seed)
    codes = generator.integers(0, 2**64, SIZE, dtype=np.uint64)
    kind = generator.integers(0, 5, SIZE)
    fraction, sign = codes & np.uint64(2**52 - 1), codes & np.uint64(2**63)
    near = sign | (generator.integers(1023 - 60, 1023 + 60, SIZE).astype(np.uint64) <<'<<'>> np.uint64(52))
    few = fraction & np.uint64(0xF_FFFF_0000_0000)
    small = generator.integers(0, 60, SIZE).astype(np.uint64) * (generator.random(SIZE) < 0.5)
    tiny = sign | (small.astype(np.uint64) <<'<<'>> np.uint64(52)) | (fraction >> (codes % np.uint64(53)))
    mixed = np.select(
        [kind == 0, kind == 1, kind == 2, kind == 3], [codes, near | fraction, near | few, tiny], 0
    )
    values = mixed.astype(np.uint64).view(np.float64)
    edges = generator.choice(np.concatenate([EDGES, -EDGES]), SIZE)
    return np.where(kind == 4, edges, values)


def assert_same(got: np.ndarray, exact: np.ndarray, inputs: tuple[np.ndarray, ...]) -> None:
    """The same bits, but for the payload of a NaN."""
    got = got.view(exact.dtype)
    if exact.dtype.kind != "f":
        wrong = got != exact
    else:
        codes = f"u{exact.itemsize}"
        wrong = (got.view(codes) != exact.view(codes)) & ~(np.isnan(got) & np.isnan(exact))
    at = np.flatnonzero(wrong)[:3]
    assert not wrong.any(), [([x[i].item() for x in inputs], got[i], exact[i]) for i in at]


def function(arguments: str, result: str, rule: Rule) -> LaneFunction:
    def lanes(sink: BlockSink, values: list[SSAValue]) -> SSAValue:
        return rule(Formula(sink), *values)

    return LaneFunction(arguments, result, lanes, 8)


def instruction(cls: type[Operation]) -> Rule:
    return lambda f, *operands: f(cls, *operands)


@pytest.mark.parametrize("cls", soft_f64.RULES, ids=lambda cls: cls.__name__)
def test_arithmetic(cls: type[Operation]) -> None:
    count = 3 if cls is alu.Fma else 1 if issubclass(cls, alu.Unary) else 2
    inputs = tuple(samples(seed) for seed in range(count))
    if cls in (alu.MinNum, alu.MaxNum):
        # Some CPUs take a signaling NaN for more than a missing number.
        inputs = tuple(np.where(np.isnan(x), np.nan, x) for x in inputs)
    exact = function("d" * count, "d", instruction(cls))(*inputs)
    got = function("l" * count, "l", soft_f64.RULES[cls])(*(x.view(np.int64) for x in inputs))
    assert_same(got, exact, inputs)


@pytest.mark.parametrize("how", alu.FLOAT_PREDICATES)
def test_comparisons(how: str) -> None:
    inputs = samples(0), np.where(np.arange(SIZE) % 3, samples(1), samples(0))
    exact = function("dd", "b", lambda f, x, y: f.compare(how, x, y))(*inputs)
    got = function("ll", "b", lambda f, x, y: soft_f64.compare(f, how, x, y))(
        *(x.view(np.int64) for x in inputs)
    )
    assert_same(got, exact, inputs)


def widened(f: Formula, x: SSAValue, bits: int) -> SSAValue:
    return x if bits == 64 else f.convert(convert.ExtS, x, i64)


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_integers(bits: int, signed: bool) -> None:
    element = IntegerType(bits)
    to_integer, from_integer = (convert.FToSI, convert.SIToF) if signed else (convert.FToUI, convert.UIToF)
    x = samples(0)
    exact = function("d", "l", lambda f, v: widened(f, f.convert(to_integer, v, element), bits))(x)
    got = function(
        "l", "l", lambda f, v: widened(f, soft_f64.to_integer(f, v, element, signed=signed), bits)
    )(x.view(np.int64))
    assert_same(got, exact, (x,))

    def narrowed(f: Formula, v: SSAValue) -> SSAValue:
        return v if bits == 64 else f.convert(convert.TruncI, v, element)

    number = x.view(np.int64) >> (np.arange(SIZE) % 64)
    number[:3] = 0, -(2**63), 2**63 - 1
    f64_bits = soft_f64.from_integer
    exact = function("l", "d", lambda f, v: _as_f64(f, narrowed(f, v), from_integer))(number)
    got = function("l", "l", lambda f, v: f64_bits(f, narrowed(f, v), signed=signed))(number)
    assert_same(got, exact, (number,))


def _as_f64(f: Formula, v: SSAValue, cls: type[Operation]) -> SSAValue:
    from <<cookiecutter.package_name>>.formulas.formula import F64

    return f.convert(cls, v, F64)


def test_from_and_to_f32() -> None:
    codes = np.random.default_rng(2).integers(0, 2**32, SIZE).astype(np.uint32)
    codes[:6] = 0, 0x8000_0000, 1, 0x807F_FFFF, 0x7F80_0000, 0xFFC0_0000
    narrow = codes.view(np.float32)
    with np.errstate(all="ignore"):
        wide = narrow.astype(np.float64)
        assert_same(function("f", "l", soft_f64.from_f32)(narrow), wide, (narrow,))
        nudges = np.random.default_rng(3).choice([0, 2.0**-25, 2.0**-24, 2.0**-24 + 2.0**-50, 1e-9], SIZE)
        x = np.concatenate([samples(0), wide * (1 + nudges)])
        bits = x.view(np.int64)
        assert_same(
            function("l", "f", lambda f, v: soft_f64.to_f32(f, v, "rtne"))(bits), x.astype(np.float32), (x,)
        )
    truncated = function("d", "f", lambda f, v: f.narrow(v, f32, "rtz"))(x)
    assert_same(function("l", "f", lambda f, v: soft_f64.to_f32(f, v, "rtz"))(bits), truncated, (x,))


def test_the_root_in_f32_is_correctly_rounded() -> None:
    """All fractions of two exponents, an odd and an even one; denormals; and codes of all kinds."""
    root = function("f", "f", f32_special.sqrt)
    everything = np.arange(0x3F80_0000, 0x4080_0000, 7, np.uint32)
    others = np.random.default_rng(1).integers(0, 2**32, 100_000).astype(np.uint32)
    denormals = np.arange(0, 2**23, 997, np.uint32)
    edges = np.array([0x8000_0000, 0x7F80_0000, 0xFF80_0000, 0x7FC0_0000, 0xBF80_0000], np.uint32)
    x = np.concatenate([everything, others, denormals, edges]).view(np.float32)
    with np.errstate(invalid="ignore"):
        assert_same(root(x), np.sqrt(x), (x,))


# --- the pass -----------------------------------------------------------------------------------------------------


@triton.jit
def mixture(x, halves, out, scale, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i, mask=i < N - 1, other=2.5)
    total = 0.0
    total = total.to(tl.float64)
    for step in range(3):
        v = tl.where(v > 1, v / 3 + step, v * scale)
        total += tl.sum(v, axis=0)
    tl.store(halves + i, v.to(tl.float16))
    tl.store(out + i, tl.sqrt(tl.abs(v)) + total + tl.exp(v / 10) + tl.load(halves + i).to(tl.float64))


@pytest.fixture
def without_f64(monkeypatch: pytest.MonkeyPatch, fresh_cache: Any) -> None:
    monkeypatch.setattr(expand_f64, "VECTOR_TYPES", expand_f64.VECTOR_TYPES - {"f64"})


def arguments() -> list[Any]:
    x = np.random.default_rng(0).normal(0, 3, 64)
    return [x, np.zeros(64, np.float16), np.zeros(64), np.float64(0.7)]


@pytest.mark.usefixtures("without_f64")
def test_a_kernel_without_f64_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    expanded, expected = arguments(), arguments()
    text = launch(mixture, (1,), *expanded, 64).asm[f"{BACKEND_NAME}ir"]
    assert not re.search(r"[ x]f64\b", text)
    monkeypatch.undo()
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "other"))
    mixture.device_caches.clear()
    launch(mixture, (1,), *expected, 64)
    for got, exact in zip(expanded[1:3], expected[1:3], strict=True):
        np.testing.assert_array_equal(got, exact)


@triton.jit
def add_atomically(x):
    tl.atomic_add(x, tl.load(x))


@triton.jit
def show(x):
    tl.device_print("x", tl.load(x))


@pytest.mark.usefixtures("without_f64")
@pytest.mark.parametrize("kernel", [add_atomically, show])
def test_what_has_no_expansion_is_refused(kernel: Any) -> None:
    line = rf"(?s)of fp64.*VECTOR_TYPES in target\.py.*Use fp32.*{__name__}\.py:\d+.*passes/expand_f64\.py"
    with pytest.raises(UnsupportedOperation, match=line):
        launch(kernel, (1,), np.zeros(1))
    launch(kernel, (1,), np.zeros(1, np.float32))
