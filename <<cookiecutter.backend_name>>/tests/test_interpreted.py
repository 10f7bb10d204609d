"""The functions for kernels in Triton's interpreter give what they give on the reference device."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from native import run_python

from <<cookiecutter.package_name>>.language.interpreted import kernel_of
from <<cookiecutter.package_name>>.target import BACKEND_NAME

pytest.importorskip("torch", reason="Triton's interpreter takes tensors of torch")

TOLERANCES = {
    "library": {"rtol": 1e-5, "atol": 1e-6},  # NumPy adds up what the device multiplies and adds at once
    "bfloat16": {"rtol": 2**-7, "atol": 0},  # the interpreter cuts what the device rounds
}
EXACT = {"rtol": 0, "atol": 0}

KERNELS = Path(__file__).with_name("interpreted_kernels.py")


def run(file: Path, **environment: str) -> Any:
    variables = {**os.environ, "TRITON_CACHE_DIR": str(file.parent / "cache"), **environment}
    done = subprocess.run(
        [sys.executable, KERNELS, file],
        env=variables,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return np.load(file)


def test_same_results(tmp_path: Path) -> None:
    compiled = run(tmp_path / "compiled.npz", TRITON_DEFAULT_BACKEND=BACKEND_NAME, TRITON_INTERPRET="0")
    interpreted = run(tmp_path / "interpreted.npz", TRITON_INTERPRET="1")
    assert len(compiled.files) == 32
    for name in compiled.files:
        close = TOLERANCES.get(name.split(".")[-1], EXACT)
        np.testing.assert_allclose(interpreted[name], compiled[name], err_msg=name, **close)


def test_no_driver_is_made_active(tmp_path: Path) -> None:
    code = """
        import interpreted_kernels
        from triton.runtime.driver import driver
        interpreted_kernels.results()
        print(driver._active)
    """
    done = run_python(
        code, TRITON_INTERPRET="1", PYTHONPATH=str(KERNELS.parent), TRITON_CACHE_DIR=str(tmp_path)
    )
    assert done.stdout.split() == ["None"], done.stderr


def test_a_boolean_is_a_byte_in_memory() -> None:
    text = kernel_of("math.isnan", ("fp32",), "int1")
    assert "%p1: !tt.ptr<i8>" in text
    assert "arith.extui" in text
