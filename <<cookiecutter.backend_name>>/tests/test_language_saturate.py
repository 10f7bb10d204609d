"""`saturate`: every pair of types against exact integers, special values, refusals, and the instructions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import isa_kernels
import numpy as np
import pytest
import triton
import triton.language as tl
from emulated_kernels import EmulatedKernel
from harness import Typed, bf16, bf16_bits, bf16_values, launch
from isa_kernels import HOSTS, map_lanes, vector

from <<cookiecutter.package_name>>.language.elementwise import saturate
from <<cookiecutter.package_name>>.target import BACKEND_NAME, VECTOR_LANES

TARGETS = ("int8", "uint8", "int16", "uint16", "int32", "uint32")
FLOATS = ("float16", "float32", "float64")
INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))


@triton.jit
def convert(x, y, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + i, saturate(tl.load(x + i), y.dtype.element_ty))


@triton.jit
def convert_scalar(x, y):
    tl.store(y, saturate(tl.load(x), y.dtype.element_ty))


def exact(value: Any, target: str) -> int:
    """By the definition, without rounding."""
    limits = np.iinfo(target)
    if value != value:
        return 0
    if math.isinf(value):
        return int(limits.max if value > 0 else limits.min)
    return int(min(max(round(Fraction(value)), int(limits.min)), int(limits.max)))


def numbers(dtype: str) -> np.ndarray:
    """Ends of all ranges and their neighbours, ties, and random numbers of every size."""
    generator = np.random.default_rng(5)
    kind = np.dtype(dtype)
    ends = [float(end) for name in TARGETS for end in (np.iinfo(name).min, np.iinfo(name).max)]
    if kind.kind == "f":
        with np.errstate(over="ignore"):
            near = np.array([end + step for end in ends for step in (-1, -0.5, 0, 0.5, 1)]).astype(kind)
            sizes = (generator.normal(0, 1, 256) * 2.0 ** generator.integers(-3, 40, 256)).astype(kind)
        near = np.concatenate([near, np.nextafter(near, kind.type(0)), np.nextafter(near, kind.type(np.inf))])
        ties = (np.arange(-64, 64) + 0.5).astype(kind)
        special = np.array(
            [np.nan, np.inf, -np.inf, 0.0, -0.0, np.finfo(kind).max, np.finfo(kind).tiny], kind
        )
        values = np.concatenate([near, ties, sizes, special])
    else:
        limits = np.iinfo(kind)
        near = [int(end) + step for end in ends for step in (-1, 0, 1)] + [limits.min, limits.max]
        inside = [value for value in near if limits.min <= value <= limits.max]
        random = generator.integers(limits.min, limits.max, 256, dtype=kind, endpoint=True)
        values = np.concatenate([np.array(inside, kind), random, random >> kind.type(kind.itemsize * 4)])
    return np.resize(values, 1024)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", [*FLOATS, *INTEGERS])
def test_every_pair_of_types(source: str, target: str) -> None:
    x, y = numbers(source), np.zeros(1024, target)
    launch(convert, (4,), x, y, 256)
    np.testing.assert_array_equal(y, np.array([exact(value, target) for value in x.tolist()], target))


@pytest.mark.parametrize("target", TARGETS)
def test_bfloat16(target: str) -> None:
    x = numbers("float32")
    y = np.zeros(1024, target)
    launch(convert, (4,), bf16(x), y, 256)
    rounded = bf16_values(bf16_bits(x))
    np.testing.assert_array_equal(y, np.array([exact(value, target) for value in rounded.tolist()], target))


@pytest.mark.parametrize("count", [1, 2, 32])
def test_few_elements(count: int) -> None:
    x, y = np.linspace(-300, 300, count).astype(np.float32), np.zeros(count, np.int8)
    launch(convert, (1,), x, y, count)
    np.testing.assert_array_equal(y, np.clip(np.rint(x), -128, 127))


@pytest.mark.parametrize("value", [2.5, -3.5, 1e9, np.nan])
def test_scalars(value: float) -> None:
    y = np.zeros(1, np.uint8)
    launch(convert_scalar, (1,), np.array([value]), y)
    assert y[0] == exact(value, "uint8")


FP8 = {"float8_e4m3fn": (448.0, 0x7E, 0x7F), "float8_e5m2": (57344.0, 0x7B, 0x7F)}
"""Format -> its largest number, the code of that, and one of NaN."""


@pytest.mark.parametrize("name", FP8)
@pytest.mark.parametrize("source", [np.float16, np.float32])
def test_fp8(name: str, source: Any) -> None:
    largest, code, nan = FP8[name]
    x = np.array([np.inf, -np.inf, largest, -largest, 65504.0, -65504.0, 1.0, np.nan], source)
    y = Typed(np.zeros(8, np.uint8), name)
    launch(convert, (1,), x, y, 8)
    one = 0x38 if name == "float8_e4m3fn" else 0x3C
    assert y.bits[:7].tolist() == [code, code | 0x80] * 3 + [one]
    assert y.bits[7] & 0x7F == nan


# --- refusals ---------------------------------------------------------------------------------------------------------


def refusal(x: np.ndarray, y: Any) -> str:
    with pytest.raises(triton.CompilationError) as refused:
        launch(convert, (1,), x, y, 8)
    return f"{refused.value}\n{refused.value.__cause__}"


def test_refusals_name_the_function_and_the_line() -> None:
    text = refusal(np.zeros(8, np.float32), np.zeros(8, np.int64))
    assert "saturate: dtype must be int8, uint8, int16, uint16, int32, uint32, fp8e4nv or fp8e5, not " in text
    assert "int64" in text and "saturate(tl.load(x + i), y.dtype.element_ty)" in text, "Triton shows the line"
    text = refusal(np.zeros(8, bool), np.zeros(8, np.int8))
    assert "saturate: x must be of fp64, fp32, bf16, fp16, int8," in text
    assert "not a block of int1 and shape (8,)" in text
    text = refusal(np.zeros(8, np.int32), Typed(np.zeros(8, np.uint8), "float8_e5m2"))
    assert "saturate: x, for fp8e5, must be of fp32, bf16 or fp16, not a block of int32" in text


# --- the instructions -------------------------------------------------------------------------------------------------


def test_it_is_one_instruction() -> None:
    x = np.zeros(16 * VECTOR_LANES, np.float32)
    text = launch(convert, (1,), x, np.zeros(len(x), np.int8), len(x)).asm[f"{BACKEND_NAME}ir"]
    used = {
        word
        for word in ("sats", "satu", "ftosi", "trunci", "roundeven", "cmpf")
        if f"{BACKEND_NAME}.{word} " in text
    }
    assert used == {"sats"}


BITS = {
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "f32": np.float32,
    "f64": np.float64,
}


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("lanes", [1, VECTOR_LANES])
@pytest.mark.parametrize("element", BITS)
def test_instructions_on_every_device(
    element: str, lanes: int, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All pairs of types by the definition: machine code for this and for older CPUs, and the emulator."""
    results = [other for other in BITS if other.startswith("i")]
    code = {
        f"{name}_{other}": (other, f"%# = isa.{name} %x : {vector(element, lanes)} -> {vector(other, lanes)}")
        for name in ("sats", "satu")
        for other in results
    }
    x = numbers(np.dtype(BITS[element]).name)
    found = [map_lanes({"x": (element, x)}, code, lanes, HOSTS[host])]
    with monkeypatch.context() as patch:
        patch.setattr(isa_kernels, "IsaKernel", EmulatedKernel)
        found.append(map_lanes({"x": (element, x)}, code, lanes))
    for outputs in found:
        for name, values in outputs.items():
            target = np.dtype(f"{'i' if name.startswith('sats') else 'u'}{values.itemsize}")
            expected = np.array([exact(value, target.name) for value in x.tolist()], target)
            np.testing.assert_array_equal(values.view(target), expected, name)
