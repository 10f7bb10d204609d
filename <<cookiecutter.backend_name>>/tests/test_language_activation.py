"""`activation`: every kind and type against the definition, special values, operands, refusals, and the instruction."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import bf16, bf16_bits, bf16_values, launch

from <<cookiecutter.package_name>>.dialects.isa.alu import ACTIVATIONS
from <<cookiecutter.package_name>>.errors import UnsupportedOperation
from <<cookiecutter.package_name>>.language.elementwise import activation
from <<cookiecutter.package_name>>.passes.expand_act import FORMULAS
from <<cookiecutter.package_name>>.target import BACKEND_NAME, ENV_PREFIX

INSTRUCTIONS = f"{BACKEND_NAME}ir"

LIMIT = {np.dtype(np.float32): 2e-6, np.dtype(np.float64): 1e-14}
"""Of the error, relative to max(1, |t|), as the docstring has it."""


def lanes(function: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda t: np.array([function(value) for value in t.tolist()])


def sigmoid(t: np.ndarray) -> np.ndarray:
    return np.where(t >= 0, 1, np.exp(-np.abs(t))) / (1 + np.exp(-np.abs(t)))


DEFINITIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "linear": lambda t: t,
    "relu": lambda t: np.maximum(t, 0),
    "relu6": lambda t: np.clip(t, 0, 6),
    "leaky_relu": lambda t: np.where(t > 0, t, t / 100),
    "sigmoid": sigmoid,
    "silu": lambda t: t * sigmoid(t),
    "gelu": lanes(lambda t: t * math.erfc(-t / math.sqrt(2)) / 2),
    "gelu_tanh": lambda t: t * (1 + np.tanh(math.sqrt(2 / math.pi) * (t + 0.044715 * t**3))) / 2,
    "tanh": np.tanh,
}
"""In f64."""


@triton.jit
def apply(x, y, scale, bias, KIND: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + i, activation(tl.load(x + i), KIND, scale, bias))


@triton.jit
def apply_plain(x, y, KIND: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, activation(tl.load(x + i), KIND))


@triton.jit
def apply_half(x, y, KIND: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, activation(tl.load(x + i), KIND, scale=0.5, bias=0.25))


@triton.jit
def apply_to_scalar(x, y, KIND: tl.constexpr):
    tl.store(y, activation(tl.load(x), KIND, 2.0, bias=1.0))


@triton.jit
def by_channel(x, scale, bias, y, M: tl.constexpr, N: tl.constexpr):
    i, j = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    s, b = tl.load(scale + j), tl.load(bias + i)
    tl.store(y + i * N + j, activation(tl.load(x + i * N + j), "relu", s, b))


def test_kinds_are_complete() -> None:
    assert set(DEFINITIONS) == set(ACTIVATIONS) == set(FORMULAS)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_values(kind: str, dtype: Any) -> None:
    """Small, large and tiny arguments; scale 1.5 and bias 0.25, with which f64 has the argument of f32 exactly."""
    generator = np.random.default_rng(1)
    sizes = np.concatenate(
        [generator.normal(0, 3, 1024), generator.normal(0, 60, 512), 10 ** generator.uniform(-30, 1, 512)]
    )
    x = sizes.astype(dtype)
    scale, bias = (1.5, 0.25) if dtype is np.float32 else (1.0, 0.0)
    y = np.empty_like(x)
    launch(apply_values, (4,), x, y, kind, scale, bias, 512)
    t = (x.astype(np.float64) * scale + bias).astype(dtype).astype(np.float64)
    expected = DEFINITIONS[kind](t)
    if kind in ("linear", "relu", "relu6"):
        np.testing.assert_array_equal(y, expected.astype(dtype))
    assert (np.abs(y - expected) / np.maximum(1, np.abs(t))).max() <= LIMIT[np.dtype(dtype)]


@triton.jit
def apply_values(x, y, KIND: tl.constexpr, SCALE: tl.constexpr, BIAS: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + i, activation(tl.load(x + i), KIND, SCALE, BIAS))


@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_halves_are_computed_in_fp32_and_rounded_once(kind: str) -> None:
    """The same bits as fp32's result, rounded."""
    x = np.random.default_rng(2).normal(0, 4, 256).astype(np.float16)
    y, wide = np.empty_like(x), np.empty(256, np.float32)
    launch(apply_half, (1,), x, y, kind, 256)
    launch(apply_half, (1,), x.astype(np.float32), wide, kind, 256)
    np.testing.assert_array_equal(y, wide.astype(np.float16))
    bits = bf16_bits(x.astype(np.float32))
    out = bf16(np.empty(256, np.float32))
    launch(apply_half, (1,), bf16(x.astype(np.float32)), out, kind, 256)
    launch(apply_half, (1,), bf16_values(bits), wide, kind, 256)
    np.testing.assert_array_equal(out.bits, bf16_bits(wide))


AT_MINUS_INFINITY = {
    "linear": -np.inf, "relu": 0.0, "relu6": 0.0, "leaky_relu": -np.inf, "sigmoid": 0.0, "silu": -0.0, "gelu": -0.0,
    "gelu_tanh": -0.0, "tanh": -1.0,
}  # fmt: skip
AT_INFINITY = {**dict.fromkeys(ACTIVATIONS, np.inf), "relu6": 6.0, "sigmoid": 1.0, "tanh": 1.0}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_special_values(kind: str, dtype: Any) -> None:
    """NaN stays; infinities, and numbers beyond everything, give the limits; 0 gives 0, or a half."""
    largest = np.finfo(dtype).max
    x = np.array([np.nan, -np.inf, np.inf, -largest, largest, -0.0, 0.0, -np.nan], dtype)
    y = np.empty_like(x)
    launch(apply_plain, (1,), x, y, kind, 8)
    low = {"linear": -largest, "leaky_relu": -largest * dtype(0.01)}.get(kind, AT_MINUS_INFINITY[kind])
    high = AT_INFINITY[kind] if AT_INFINITY[kind] < np.inf else largest
    zero = 0.5 if kind == "sigmoid" else 0.0
    expected = np.array(
        [np.nan, AT_MINUS_INFINITY[kind], AT_INFINITY[kind], low, high, zero, zero, np.nan], dtype
    )
    np.testing.assert_allclose(y, expected, rtol=1e-3)
    np.testing.assert_array_equal(np.signbit(y[1:5]), np.signbit(expected[1:5]))


@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_infinity_times_zero_is_nan(kind: str) -> None:
    x, y = np.array([np.inf, 1.0], np.float32), np.empty(2, np.float32)
    launch(apply, (1,), x, y, 0.0, 0.25, kind, 2)
    assert np.isnan(y[0]) and np.isfinite(y[1])


def test_the_argument_is_rounded_once() -> None:
    """In two roundings x * x would be 1 + 2^-11, and the sum 0."""
    x, y = np.array([1 + 2.0**-12] * 4, np.float32), np.empty(4, np.float32)
    launch(apply, (1,), x, y, 1 + 2.0**-12, -1 - 2.0**-11, "linear", 4)
    np.testing.assert_array_equal(y, np.float32(2.0**-24))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_scalars(dtype: Any) -> None:
    x, y = np.array([1.5], dtype), np.zeros(1, dtype)
    launch(apply_to_scalar, (1,), x, y, "relu6")
    assert y[0] == 4
    launch(apply_to_scalar, (1,), -x, y, "relu6")
    assert y[0] == 0


@pytest.mark.parametrize("shape", [(1, 8), (8, 1), (4, 64)])
def test_scales_and_biases_of_channels(shape: tuple[int, int]) -> None:
    generator = np.random.default_rng(3)
    x = generator.integers(-50, 50, shape).astype(np.float32)
    scale, bias = (generator.integers(-8, 8, n).astype(np.float16) for n in shape[::-1])
    y = np.empty_like(x)
    launch(by_channel, (1,), x, scale, bias, y, *shape)
    wide = x * scale.astype(np.float32) + bias.astype(np.float32)[:, None]
    np.testing.assert_array_equal(y, np.maximum(wide, 0))


# --- refusals ---------------------------------------------------------------------------------------------------------


@triton.jit
def kind_at_run_time(x, kind):
    tl.store(x, activation(tl.load(x), kind))


def refusal(kernel: Any, *args: Any) -> str:
    with pytest.raises(triton.CompilationError) as refused:
        launch(kernel, (1,), *args)
    return f"{refused.value}\n{refused.value.__cause__}"


def test_refusals_name_the_function_and_the_line() -> None:
    x = np.zeros(8, np.float32)
    text = refusal(apply_plain, x, x, "swish", 8)
    assert "activation: kind must be linear, relu, relu6," in text and "not 'swish'" in text
    assert "activation(tl.load(x + i), KIND)" in text, "Triton shows the line"
    text = refusal(kind_at_run_time, x, 3)
    assert "activation: kind must be a string, known when the kernel is compiled" in text
    assert "not a value of type int32" in text
    text = refusal(apply_plain, np.zeros(8, np.int32), x, "relu", 8)
    assert "activation: x must be of fp64, fp32, bf16 or fp16, not a block of int32 and shape (8,)" in text
    text = refusal(by_channel, x, np.zeros(8), x, x, 1, 8)
    assert "activation: scale must be a number or floats of at most 32 bits" in text
    assert "not a block of fp64 and shape (1, 8)" in text


# --- the instruction --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_the_emulator_has_the_instruction(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has it: nothing is expanded. Both devices say the same, but for the last bits."""
    generator = np.random.default_rng(4)
    for dtype in (np.float32, np.float64):
        x = np.concatenate(
            [generator.normal(0, 5, 248), [np.nan, np.inf, -np.inf, 0.0, -0.0, 6.0, 1e30, -1e30]]
        )
        x = x.astype(dtype)
        expected, y = np.empty_like(x), np.empty_like(x)
        kernel = launch(apply_half, (1,), x, expected, kind, 256)
        assert f"{BACKEND_NAME}.act" not in kernel.asm[INSTRUCTIONS]
        with monkeypatch.context() as patch:
            patch.setenv(f"{ENV_PREFIX}_DISABLE_PASSES", "expand-act")
            apply_half.device_caches.clear()
            kernel = launch(apply_half, (1,), x, y, kind, 256, device_kind="emulator")
            apply_half.device_caches.clear()
        assert f'{BACKEND_NAME}.act "{kind}"' in kernel.asm[INSTRUCTIONS]
        np.testing.assert_array_equal(np.isnan(y), np.isnan(expected))
        x, y, expected = (values[~np.isnan(expected)] for values in (x, y, expected))
        np.testing.assert_array_equal(np.signbit(y), np.signbit(expected))
        with np.errstate(invalid="ignore"):
            close = (y == expected) | (np.abs(y - expected) <= LIMIT[x.dtype] * np.maximum(1, np.abs(x)))
        assert close.all(), x[~close]


def test_left_alone_it_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference device has no activation unit: without the pass there is nothing that it could run."""
    x = np.zeros(16, np.float32)
    monkeypatch.setenv(f"{ENV_PREFIX}_DISABLE_PASSES", "expand-act")
    apply_plain.device_caches.clear()
    with pytest.raises(UnsupportedOperation, match=rf"the reference device does not know {BACKEND_NAME}\.act"):
        launch(apply_plain, (1,), x, x, "relu", 16)
    apply_plain.device_caches.clear()


def test_one_instruction_however_often_it_is_asked_for() -> None:
    """Pure: equal calls are one, and dead ones none."""
    y = np.empty(16, np.float32)
    text = launch(twice, (1,), np.ones(16, np.float32), y, 16).asm[INSTRUCTIONS]
    assert text.count(f"{BACKEND_NAME}.fma") == 1
    np.testing.assert_array_equal(y, 2)


@triton.jit
def of_a_splat(y, value, N: tl.constexpr):
    tl.store(y + tl.arange(0, N), activation(tl.zeros([N], tl.float32) + value, "relu"))


def test_triton_moves_it_before_a_splat() -> None:
    """As it may move what is elementwise; `test_language_shift.py` sees to it that it does not move what is not."""
    y = np.empty(16, np.float32)
    text = launch(of_a_splat, (1,), y, 2.0, 16).asm["ttir"]
    assert '"math.act.relu"} : (f32, f32, f32) -> f32' in text
    np.testing.assert_array_equal(y, 2)


@triton.jit
def twice(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    dead = activation(value, "tanh")  # noqa: F841
    tl.store(y + i, activation(value, "relu") + activation(value, "relu"))
