"""Every test runs on this backend, with a kernel cache of its own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

if "TEST_TARGET" in os.environ:
    import targets

    _target = targets.become(os.environ.pop("TEST_TARGET"))  # child processes then import what this one does

from <<cookiecutter.package_name>>.dialects.op_table import use_library_dialects
from <<cookiecutter.package_name>>.target import BACKEND_NAME, ENV_PREFIX

# Before triton is imported, and inherited by child processes.
os.environ["TRITON_DEFAULT_BACKEND"] = BACKEND_NAME
_cache = tempfile.TemporaryDirectory(prefix="triton-tests-")
os.environ["TRITON_CACHE_DIR"] = _cache.name
os.environ[f"{ENV_PREFIX}_VERIFY_PASSES"] = "1"

# Tests look at the classes of operations.
use_library_dialects()


QUICK: Final = (
    "array", "assembler_forms", "codegen_alu", "codegen_control", "devices", "driver", "e2e_launch", "filecheck", "import",
    "language_dot", "language_elementwise", "language_reduce", "launcher", "opt", "options_hash", "registry", "selection",
    "target_rules", "tt_dialect", "ttir_parser",
)  # fmt: skip
"""Files (``test_NAME.py``) that ``--quick`` runs: something of every layer, and none that takes long."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="only the files in QUICK of tests/conftest.py")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    name = collection_path.name
    skipped = name.startswith("test_") and name.removeprefix("test_").removesuffix(".py") not in QUICK
    return True if skipped and config.getoption("quick") else None


def _device_array(values: np.ndarray) -> Any:
    from <<cookiecutter.package_name>>.runtime.array import DeviceArray

    return DeviceArray.from_numpy(values)


def _torch_tensor(values: np.ndarray) -> Any:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    return torch.from_numpy(values)


@pytest.fixture(params=[_device_array, _torch_tensor], ids=["device_array", "torch"])
def to_device(request: pytest.FixtureRequest) -> Callable[[np.ndarray], Any]:
    """A function that makes a device array of a NumPy array: our own kind, then torch's where it is installed."""
    return request.param


@pytest.fixture
def fresh_cache(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An empty kernel cache for one test: its folder."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("TRITON_CACHE_DIR", str(folder))
    return folder
