"""What the kernel tests share: launching on NumPy data, and formats that NumPy does not know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from <<cookiecutter.package_name>>.runtime.array import DeviceArray
from <<cookiecutter.package_name>>.runtime.dtypes import dtype_of
from <<cookiecutter.package_name>>.target import VECTOR_TYPES


@dataclass(frozen=True)
class Typed:
    """Bits in an integer array, and the name of the format that they are in ("bfloat16", "float8_e5m2", ...)."""

    bits: np.ndarray
    dtype: str


def launch(kernel: Any, grid: Any, *args: Any, **keywords: Any) -> Any:
    """Launch ``kernel``. NumPy arrays and `Typed` ones are the device's memory: it writes into them."""
    return kernel[grid](*map(on_device, args), **{name: on_device(arg) for name, arg in keywords.items()})


def on_device(arg: Any) -> Any:
    if isinstance(arg, tuple):
        parts = tuple(map(on_device, arg))
        return type(arg)(*parts) if hasattr(arg, "_fields") else parts
    if isinstance(arg, Typed):
        return DeviceArray.wrap(arg.bits.view(dtype_of(arg.dtype).storage), arg.dtype)
    return DeviceArray.wrap(arg) if isinstance(arg, np.ndarray) else arg


def skip_if_refused(dtype: str) -> None:
    """For atomic additions and printing: a machine without f64 refuses them in fp64 (`test_soft_f64.py` tests that)."""
    if dtype == "float64" and "f64" not in VECTOR_TYPES:
        pytest.skip("refused in fp64 by a machine without it")


def bf16_bits(values: np.ndarray) -> np.ndarray:
    """float32 rounded to bfloat16 (to nearest, ties to even; a NaN stays one) by integer arithmetic: uint16."""
    word = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32).astype(np.uint64)
    rounded = (word + 0x7FFF + (word // 0x1_0000 & 1)) // 0x1_0000
    is_nan = (word & 0x7FFF_FFFF) > 0x7F80_0000
    return np.where(is_nan, word // 0x1_0000 | 0x40, rounded).astype(np.uint16)


def bf16_values(bits: np.ndarray) -> np.ndarray:
    """The float32 values of bfloat16 bits."""
    return (bits.astype(np.uint32) * 0x1_0000).view(np.float32)


def bf16(values: np.ndarray) -> Typed:
    return Typed(bf16_bits(values), "bfloat16")


def random(shape: tuple[int, ...] | int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    """Normally distributed floats, or integers over the whole range of the type."""
    generator = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return generator.standard_normal(shape).astype(kind)
    if kind.kind == "b":
        return generator.integers(0, 2, shape).astype(bool)
    limits = np.iinfo(kind)
    return generator.integers(limits.min, limits.max, shape, dtype=kind, endpoint=True)
