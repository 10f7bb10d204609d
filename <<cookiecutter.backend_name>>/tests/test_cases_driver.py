"""Public failures around the package as a whole: launch arguments (R21), several backends in one Python (R22), stale
entry points (R23), what `import triton` does (R24), and what Triton expects of a driver (R34)."""

from __future__ import annotations

import json
import os
import shutil
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import Typed, bf16_bits, launch
from native import run_python
from package_copy import copy_package

from <<cookiecutter.package_name>>.errors import LaunchError
from <<cookiecutter.package_name>>.runtime.array import DeviceArray
from <<cookiecutter.package_name>>.target import BACKEND_NAME, PACKAGE_NAME

TESTS = os.path.dirname(__file__)

# --- R21: arguments --------------------------------------------------------------------------------------------


@triton.jit
def everything(pointers, sizes, CONSTANTS: tl.constexpr, optional, flag, real):
    value = sizes[0] * CONSTANTS[0] + sizes[1] * CONSTANTS[1]
    if optional is not None:
        value += tl.load(optional)
    tl.store(pointers[0], value)
    tl.store(pointers[1], tl.where(flag, real, -real))


@pytest.mark.parametrize("size", [1, 16, 7, 2**31 + 5, -3])
@pytest.mark.parametrize("flag", [True, False])
def test_r21_tuples_and_an_optional_pointer(size: int, flag: bool) -> None:
    first, second = np.zeros(1, np.int64), np.zeros(1, np.float32)
    hundred = np.full(1, 100, np.int64)
    for optional, more in ((None, 0), (hundred, 100), (None, 0)):
        launch(everything, (1,), (first, second), (size, 2), (10, 1000), optional, flag, 0.5)
        assert first[0] == 10 * size + 2000 + more
        assert second[0] == (0.5 if flag else -0.5)


Layout = namedtuple("Layout", ["sizes", "base", "scale"])


@triton.jit
def nested(layout, rest, out):
    total = layout.sizes[0] + layout.sizes[1] * 10
    tl.store(out, total + tl.load(layout.base) * layout.scale)
    tl.store(out + 1, rest[1][0][0] + rest[0])


def test_r21_nested_and_named_tuples() -> None:
    out, base = np.zeros(2, np.float64), np.full(1, 3.0)
    launch(nested, (1,), Layout((1, 2**40), base, 2.0), (4, ((5,), 6)), out)
    assert out.tolist() == [1 + 10 * 2**40 + 6, 9]


@triton.jit
def whole_number(out, n):
    tl.store(out, n)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1, "int32"),
        (2**31 - 1, "int32"),
        (2**31, "int64"),
        (-(2**31) - 1, "int64"),
        (2**63 - 1, "int64"),
        (-(2**63), "int64"),
        (2**63, "uint64"),
        (2**64 - 1, "uint64"),
        (2**64 - 16, "uint64"),
        (True, "int32"),
    ],
)
def test_r21_whole_numbers(value: int, dtype: str) -> None:
    out = np.zeros(1, dtype)
    launch(whole_number, (1,), out, value)
    assert out[0] == value


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1])
def test_r21_numbers_that_no_type_holds(value: int) -> None:
    """Triton's own error, and the process goes on."""
    with pytest.raises(OverflowError):
        launch(whole_number, (1,), np.zeros(1, np.int64), value)
    test_r21_whole_numbers(5, "int32")


@triton.jit
def real_number_16(out, x: tl.float16):
    tl.store(out, x)


@triton.jit
def real_number_b16(out, x: tl.bfloat16):
    tl.store(out, x)


@triton.jit
def real_number_64(out, x: tl.float64):
    tl.store(out, x)


@pytest.mark.parametrize("value", [1, 0.1, -2.5, 65504.0, 1e30, 1e-30, float("inf"), float("-inf"), -0.0])
def test_r21_reals(value: float) -> None:
    """Each type gets the nearest value that it has."""
    half, brain, double = np.zeros(1, np.float16), np.zeros(1, np.uint16), np.zeros(1)
    launch(real_number_16, (1,), half, value)
    launch(real_number_b16, (1,), Typed(brain, "bfloat16"), value)
    launch(real_number_64, (1,), double, value)
    with np.errstate(over="ignore"):
        assert half.view(np.uint16)[0] == np.float16(value).view(np.uint16)
    assert brain[0] == bf16_bits(np.array([value], np.float32))[0]
    assert double.tobytes() == np.float64(value).tobytes()


def test_r21_a_missing_argument() -> None:
    """Through the kernel, through the compiled kernel and straight to the launcher."""
    out = DeviceArray.zeros(1, "int32")
    compiled = whole_number[(1,)](out, 5)
    with pytest.raises(TypeError, match="missing"):
        whole_number[(1,)](out)
    for args in ((), (out,), (out, 5, 6)):
        with pytest.raises(ValueError, match="argument") as caught:
            compiled[(1, 1, 1)](*args)
        assert isinstance(caught.value, LaunchError)
    with pytest.raises(ValueError, match="missing argument for parameter n: got 1 of 2 arguments"):
        compiled.run(1, 1, 1, 0, compiled.function, compiled.packed_metadata, None, None, None, out)
    compiled[(1, 1, 1)](out, 6)
    assert out.item() == 6


def test_r21_tensors_without_memory_here() -> None:
    """A meta or a fake tensor is refused by name: its address is null. A tensor without elements is none of these."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    out = torch.zeros(1, dtype=torch.int32)
    whole_number[(1,)](out, 5)
    with pytest.raises(LaunchError, match="parameter out: the tensor is on device 'meta'"):
        whole_number[(1,)](out.to("meta"), 5)

    class Fake:
        dtype, is_cpu, device = out.dtype, True, out.device

        def data_ptr(self) -> int:
            return 0

        def numel(self) -> int:
            return 3

    with pytest.raises(LaunchError, match="parameter out: the tensor has no memory"):
        whole_number[(1,)](Fake(), 5)
    whole_number[(0,)](torch.zeros(0, dtype=torch.int32), 5)
    assert out.item() == 5


def test_r21_tensors_of_other_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the device is called: only memory of this process is taken."""
    from native import copying_kernel

    from <<cookiecutter.package_name>>.runtime import device_memory

    monkeypatch.setattr(device_memory, "tensors_may_be_elsewhere", lambda: True)

    class Elsewhere:
        is_cuda = is_cpu = False
        device = namedtuple("device", ["type"])("npu")

        def data_ptr(self) -> int:
            return 64

    with pytest.raises(LaunchError, match="parameter x: the tensor is on device .*npu"):
        copying_kernel({"x": "*fp32"})((1, 1, 1), Elsewhere())


# --- R22: several backends in one Python -----------------------------------------------------------------------

OTHER = f"{BACKEND_NAME}other"
OTHER_PACKAGE = f"{PACKAGE_NAME}_other"


@pytest.fixture(scope="module")
def two_backends(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder for PYTHONPATH with a second backend package: this one's copy under other names."""
    folder = tmp_path_factory.mktemp("two")
    copy_package(folder, OTHER_PACKAGE, OTHER, "triton-other")
    return str(folder)


LAUNCH = """
from triton.runtime import driver
import numpy as np, importlib, triton
def active():
    try: return driver.active.get_current_target().backend
    except Exception as error: return str(error).partition("(")[0].partition(".")[0].strip()
def run(package):
    from test_cases_driver import whole_number
    array = importlib.import_module(package + ".runtime.array").DeviceArray.zeros(1, "int32")
    whole_number[(1,)](array, 7)
    return array.item()
"""


def in_python(folder: str, code: str, selected: str = "") -> list[str]:
    done = run_python(
        LAUNCH + code,
        PYTHONPATH=f"{folder}:{TESTS}",
        TRITON_DEFAULT_BACKEND=selected,
        TRITON_CACHE_DIR=f"{folder}/cache",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_r22_nobody_asked(two_backends: str) -> None:
    """Two packages with a reference device, and a host that has a CPU: neither claims it."""
    assert in_python(two_backends, "print(active())") == ["0 active drivers"]


@pytest.mark.parametrize(("name", "package"), [(BACKEND_NAME, PACKAGE_NAME), (OTHER, OTHER_PACKAGE)])
def test_r22_selected_by_name(two_backends: str, name: str, package: str) -> None:
    # conftest.py selects this package for child processes unless told otherwise
    code = f"""
import os; os.environ["TRITON_DEFAULT_BACKEND"] = {name!r}
print(active(), run({package!r}))
from triton.backends import backends
print(sorted(name for name, backend in backends.items() if backend.driver.is_active()))
"""
    assert in_python(two_backends, code, name) == [f"{name} 7", f"[{name!r}]"]


def test_r22_a_typo_is_named(two_backends: str) -> None:
    (text,) = in_python(two_backends, "print(active())", BACKEND_NAME + "x")
    assert text.startswith("Unknown backend") and BACKEND_NAME + "x" in text


def test_r22_both_in_one_process(two_backends: str) -> None:
    """Each in turn, with `activate` and with Triton's own `set_active` and `reset_active`; no kernel of one is taken for
    the other's."""
    code = f"""
import {PACKAGE_NAME} as ours, {OTHER_PACKAGE} as other
from {OTHER_PACKAGE}.backend.driver import Driver
import os
ours.activate()
print(active(), run({PACKAGE_NAME!r}))
other.activate()
print(active(), run({OTHER_PACKAGE!r}))
other.deactivate()
print(active(), run({PACKAGE_NAME!r}))
driver.set_active(Driver())
print(active(), run({OTHER_PACKAGE!r}))
driver.reset_active()
print(active(), run({PACKAGE_NAME!r}))
ours.deactivate()
print(active())
"""
    code = code.replace("import os\n", "import os; os.environ.pop('TRITON_DEFAULT_BACKEND', None)\n")
    found = in_python(two_backends, code)
    assert found == [
        f"{BACKEND_NAME} 7",
        f"{OTHER} 7",
        f"{BACKEND_NAME} 7",
        f"{OTHER} 7",
        f"{BACKEND_NAME} 7",
        "0 active drivers",
    ]


def doctor(folder: Path | str, *arguments: str) -> dict[str, Any]:
    """The findings of the doctor in a Python that sees ``folder`` first, by name."""
    code = f"""
import sys
sys.argv[1:] = {[*arguments, "--json"]!r}
from {PACKAGE_NAME}.cli.doctor import main
sys.exit(main())
"""
    done = run_python(code, PYTHONPATH=str(folder), TRITON_DEFAULT_BACKEND="")
    assert done.stdout.startswith("{"), done.stderr
    return {finding["check"]: finding for finding in json.loads(done.stdout)["findings"]}


def test_r22_one_target_name_for_two_packages(tmp_path: Path) -> None:
    """Triton refuses to compile for a target that two packages claim; the doctor says who they are."""
    copy_package(tmp_path, OTHER_PACKAGE, BACKEND_NAME, "triton-other", entry_point=OTHER)
    code = f"""
import {PACKAGE_NAME}
{PACKAGE_NAME}.activate()
try: run({PACKAGE_NAME!r})
except RuntimeError as error: print(str(error).partition("(")[0])
"""
    assert in_python(str(tmp_path), code) == ["2 compatible backends for target "]
    bad = [finding for finding in doctor(tmp_path).values() if finding["status"] == "FAIL"]
    assert any("triton-other" in finding["what"] for finding in bad), bad


# --- R23: stale entry points -----------------------------------------------------------------------------------


def import_triton(folder: Path) -> str:
    """'' if it works, else the last line of what Python says."""
    done = run_python("import triton, triton.backends", PYTHONPATH=str(folder), TRITON_DEFAULT_BACKEND="")
    return done.stderr.strip().rpartition("\n")[2] if done.returncode else ""


def test_r23_source_deleted_then_uninstalled(tmp_path: Path) -> None:
    """Triton cannot be imported while metadata point to a package that is gone; the doctor of another package, which
    imports no Triton, says what to remove; after that all is well."""
    package = copy_package(tmp_path, OTHER_PACKAGE, OTHER, "triton-other")
    assert import_triton(tmp_path) == ""
    shutil.rmtree(package)
    assert OTHER_PACKAGE in import_triton(tmp_path)
    finding = doctor(tmp_path)["entry-point.stale"]
    assert finding["status"] == "FAIL" and "triton-other" in finding["what"] + finding["command"]
    shutil.rmtree(tmp_path / "triton_other-1.dist-info")
    assert import_triton(tmp_path) == ""
    assert "entry-point.stale" not in doctor(tmp_path)


def test_r23_package_renamed_without_uninstalling(tmp_path: Path) -> None:
    package = copy_package(tmp_path, OTHER_PACKAGE, OTHER, "triton-other")
    package.rename(tmp_path / "renamed_backend")
    assert OTHER_PACKAGE in import_triton(tmp_path)
    assert doctor(tmp_path)["entry-point.stale"]["status"] == "FAIL"


def test_r23_driver_that_raises(tmp_path: Path) -> None:
    """The doctor goes on by files without importing anything, and tries it in a process of its own: then it names the
    package and the error."""
    package = copy_package(tmp_path, OTHER_PACKAGE, OTHER, "triton-other")
    driver = package / "backend" / "driver.py"
    driver.write_text(driver.read_text() + "\nraise OSError('no such device')\n")
    assert import_triton(tmp_path) == "OSError: no such device"
    assert not [f for f in doctor(tmp_path, "--files").values() if f["check"].startswith("import")]
    finding = doctor(tmp_path)["import.fails"]
    assert "OSError: no such device" in finding["what"] and OTHER_PACKAGE in finding["what"]
    assert "triton_other" in finding["command"].replace("-", "_")


# --- R24: importing --------------------------------------------------------------------------------------------


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="no list of mapped files on this system")
def test_r24_no_native_library_is_loaded() -> None:
    """After ``import triton``: neither LLVM of llvmlite, nor torch, nor NumPy, nor anything of ours."""
    code = "import triton; print(open('/proc/self/maps').read())"
    mapped = run_python(code, TRITON_DEFAULT_BACKEND="").stdout
    assert "libtriton" in mapped
    found = [word for word in ("llvmlite", "libtorch", "numpy", PACKAGE_NAME) if word in mapped]
    assert not found


# --- R34: drift of Triton's interface --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "method"), [("driver", "get_active_torch_device"), ("compiler", "load_dialects")]
)
def test_r34_an_abstract_method_that_is_not_there(tmp_path: Path, file: str, method: str) -> None:
    """Triton says only that it found no class; the doctor says what the class lacks."""
    package = copy_package(tmp_path)
    module = package / "backend" / f"{file}.py"
    text = module.read_text()
    assert f"    def {method}(" in text
    module.write_text(text.replace(f"    def {method}(", "    def other_name("))
    shown = import_triton(tmp_path)
    assert shown and method not in shown
    finding = doctor(tmp_path)["import.fails"]
    assert f"{PACKAGE_NAME}.backend.{file}." in finding["what"]
    assert f"does not define {method}" in finding["what"]


def test_r34_every_abstract_method_is_ours() -> None:
    """None is left to Triton, so that a release that drops its default does not break us."""
    from triton.backends.compiler import BaseBackend
    from triton.backends.driver import DriverBase

    from <<cookiecutter.package_name>>.backend.compiler import Backend
    from <<cookiecutter.package_name>>.backend.driver import Driver

    for ours, base in ((Backend, BaseBackend), (Driver, DriverBase)):
        assert not ours.__abstractmethods__
        for name in base.__abstractmethods__:
            assert name in vars(ours), name
