"""What `import triton` costs and does where this package is installed but nobody asked for it."""

from __future__ import annotations

import inspect
import json
import statistics

import pytest
from native import run_python

from <<cookiecutter.package_name>>.target import BACKEND_NAME, PACKAGE_NAME

HEAVY = ("torch", "numpy", "xdsl", "llvmlite")

REPORT = """
import json, sys
spawned = []
sys.addaudithook(lambda event, args: spawned.append(event) if event in ("subprocess.Popen", "os.fork", "os.exec") else None)
{statement}
names = sorted({{name.partition(".")[0] for name in sys.modules}})
print(json.dumps({{"modules": names, "spawned": spawned, "ours": [m for m in sys.modules if m.startswith("{package}")]}}))
"""


def report(statement: str) -> dict[str, list[str]]:
    done = run_python(REPORT.format(statement=statement, package=PACKAGE_NAME), TRITON_DEFAULT_BACKEND="")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1, "something was printed"
    return json.loads(done.stdout)


def test_import_triton_alone() -> None:
    found = report("import triton")
    assert f"{PACKAGE_NAME}.backend.driver" in found["ours"]
    assert not set(HEAVY) & set(found["modules"])
    assert found["spawned"] == []


def test_import_triton_with_torch_unimportable() -> None:
    found = report("sys.modules['torch'] = None; import triton; triton.jit")
    assert f"{PACKAGE_NAME}.backend.compiler" in found["ours"]


@pytest.mark.parametrize("order", ["import triton; import torch", "import torch; import triton"])
def test_import_beside_torch(order: str) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    assert "torch" in report(order)["modules"]


def test_import_of_this_package_imports_nothing_heavy() -> None:
    assert not {*HEAVY, "triton"} & set(report(f"import {PACKAGE_NAME}")["modules"])


def test_added_import_time() -> None:
    """Less than 30 ms, measured inside one process: from the first of our modules to the last."""
    code = f"""
        import importlib, sys, time
        import triton.backends
        for name in [name for name in sys.modules if name.startswith("{PACKAGE_NAME}")]:
            del sys.modules[name]
        start = time.perf_counter()
        importlib.import_module("{PACKAGE_NAME}.backend.compiler")
        importlib.import_module("{PACKAGE_NAME}.backend.driver")
        print(1e3 * (time.perf_counter() - start))
    """
    times = [float(run_python(code).stdout) for _ in range(3)]
    assert statistics.median(times) < 30, times


def test_triton_sees_one_class_in_each_module() -> None:
    from triton.backends import backends
    from triton.backends.compiler import BaseBackend
    from triton.backends.driver import DriverBase

    from <<cookiecutter.package_name>>.backend import compiler, driver

    for module, base in ((compiler, BaseBackend), (driver, DriverBase)):
        concrete = [
            item
            for item in vars(module).values()
            if isinstance(item, type) and issubclass(item, base) and not inspect.isabstract(item)
        ]
        assert len(concrete) == 1
    assert backends[BACKEND_NAME].compiler is compiler.Backend
    assert backends[BACKEND_NAME].driver is driver.Driver


def test_missing_toolchain_is_one_sentence() -> None:
    code = f"""
        import sys
        sys.modules["xdsl"] = None
        from {PACKAGE_NAME} import activate
        try:
            import importlib.util, {PACKAGE_NAME}.requirements_check as check
            check.find_module = lambda name: None if name == "xdsl" else importlib.util.find_spec(name)
            activate()
        except Exception as error:
            print(type(error).__name__, str(error).count(chr(10)), "xdsl is not installed" in str(error))
    """
    done = run_python(code)
    assert done.stdout == "InstallationError 0 True\n", done.stdout + done.stderr


@pytest.mark.parametrize(
    "module", ["backend.driver", "backend.compiler", "runtime.launcher", "passes.pipeline", "compat"]
)
def test_submodule_first(module: str) -> None:
    report(
        f"import {PACKAGE_NAME}.{module}; import triton; triton.backends.backends[{BACKEND_NAME!r}].driver()"
    )
