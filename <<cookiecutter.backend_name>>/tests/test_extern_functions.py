"""Functions for kernels that a vendor adds: their lowering, and the types and names that are refused."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import launch

from <<cookiecutter.package_name>>.dialects.formula import Formula
from <<cookiecutter.package_name>>.dialects.isa import alu
from <<cookiecutter.package_name>>.language.extern import extern_function


def _distance(f: Formula, x, y):
    return f(alu.AbsF, f(alu.SubF, x, y))


distance = extern_function("test_distance", "ff>f dd>d", _distance, module=__name__)


@triton.jit
def apply(x, y, z, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    i, j = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
    tl.store(z + i * COLUMNS + j, distance(tl.load(x + i), tl.load(y + j)))


@triton.jit
def apply_scalar(x, z):
    i = tl.arange(0, 8)
    tl.store(z + i, distance(tl.load(x + i), 2.5))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_rule_is_the_function(dtype: type) -> None:
    x, y = np.linspace(-3, 3, 8, dtype=dtype), np.linspace(-1, 1, 16, dtype=dtype)
    z = np.empty((8, 16), dtype)
    launch(apply, (1,), x, y, z, 8, 16)
    np.testing.assert_array_equal(z, np.abs(x[:, None] - y[None, :]))


def test_numbers_are_operands() -> None:
    x, z = np.linspace(-3, 3, 8, dtype=np.float32), np.empty(8, np.float32)
    launch(apply_scalar, (1,), x, z)
    np.testing.assert_array_equal(z, np.abs(x - np.float32(2.5)))


def test_other_types_are_refused_where_the_kernel_calls_it() -> None:
    x = np.zeros(8, np.int32)
    with pytest.raises(triton.CompilationError) as refused:
        launch(apply, (1,), x, x, x, 8, 8)
    text = f"{refused.value}\n{refused.value.__cause__}"
    assert "test_distance takes (fp32, fp32) or (fp64, fp64), not (int32, int32)" in text


@pytest.mark.parametrize("name", ["test_distance", "exp", "tan", "saturatef"])
def test_a_name_means_one_function(name: str) -> None:
    with pytest.raises(ValueError, match=f"there is a function '{name}' already"):
        extern_function(name, "ff>f", alu.AddF)


def test_a_module_may_be_loaded_again() -> None:
    extern_function("test_distance", "ff>f dd>d", _distance)
