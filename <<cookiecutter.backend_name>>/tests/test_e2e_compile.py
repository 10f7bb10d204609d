"""Compiling as Triton's users know it: stages, listener, cache, dumps, and errors for what is not supported."""

from __future__ import annotations

import inspect
import os
import pathlib
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import launch

from <<cookiecutter.package_name>>.errors import CompileError, UnsupportedOperation
from <<cookiecutter.package_name>>.target import BACKEND_NAME, ENV_PREFIX


@triton.jit
def increment(x, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(x + lanes, tl.load(x + lanes) + 1)


def compile_afresh(**options: Any) -> Any:
    """Compile and run `increment`, not from this process's memory; from the disk if it is there."""
    increment.device_caches.clear()
    x = np.zeros(16, np.int32)
    compiled = launch(increment, (1,), x, N=16, **options)
    assert x.tolist() == [1] * 16
    return compiled


def test_stages() -> None:
    """Every stage is there to look at: Triton's, our instructions, LLVM's, the object code."""
    asm = compile_afresh().asm
    assert "tt.store" in asm["ttir"]
    assert f"{BACKEND_NAME}." in asm[f"{BACKEND_NAME}ir"]
    assert "define" in asm["llir"]
    assert asm["obj"][1:4] == b"ELF" or sys.platform != "linux"


def listened() -> tuple[Any, list[Any]]:
    """A listener, and the list that it appends (cache hit?, stage times) to."""
    seen: list[Any] = []

    def listener(*, src: Any, metadata: Any, metadata_group: Any, times: Any, cache_hit: bool) -> None:
        seen.append((cache_hit, times))

    return listener, seen


def test_listener_and_cache(fresh_cache: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first compilation runs the stages; the second comes from the cache folder; TRITON_ALWAYS_COMPILE from neither."""
    listener, seen = listened()
    monkeypatch.setattr(triton.knobs.compilation, "listener", listener)
    compile_afresh()
    compile_afresh()
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    compile_afresh()
    assert [hit for hit, _ in seen] == [False, True, False]
    assert {str(stage) for stage, _ in seen[0][1].lowering_stages} == {
        "ttir",
        f"{BACKEND_NAME}ir",
        "llir",
        "obj",
    }
    stored = {path.suffix for path in fresh_cache.rglob("increment.*")}
    assert stored >= {".ttir", f".{BACKEND_NAME}ir", ".llir", ".obj", ".json"}


def test_options_are_part_of_the_key(fresh_cache: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R26: another option is another kernel."""
    listener, seen = listened()
    monkeypatch.setattr(triton.knobs.compilation, "listener", listener)
    compile_afresh(num_warps=4)
    compile_afresh(num_warps=8)
    compile_afresh(num_warps=4)
    assert [hit for hit, _ in seen] == [False, False, True]


def test_store_binary_only(fresh_cache: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TRITON_STORE_BINARY_ONLY: the folder has the object code and no readable stage; it launches from there."""
    monkeypatch.setenv("TRITON_STORE_BINARY_ONLY", "1")
    compile_afresh()
    compile_afresh()
    suffixes = {path.suffix for path in fresh_cache.rglob("increment.*")}
    assert {".obj", ".json"} <= suffixes
    assert not suffixes & {".ttir", f".{BACKEND_NAME}ir", ".llir"}


def test_kernel_dump(
    fresh_cache: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TRITON_KERNEL_DUMP writes every stage into TRITON_DUMP_DIR."""
    monkeypatch.setenv("TRITON_KERNEL_DUMP", "1")
    monkeypatch.setenv("TRITON_DUMP_DIR", str(tmp_path / "dump"))
    compile_afresh()
    dumped = {path.name for path in (tmp_path / "dump").rglob("*.*")}
    assert dumped >= {"increment.ttir", f"increment.{BACKEND_NAME}ir", "increment.llir", "increment.obj"}


@triton.jit
def with_inline_assembly(x):
    value = tl.load(x)
    result = tl.inline_asm_elementwise("mov $0, $1;", "=r,r", [value], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(x, result)


def test_unsupported_operation(fresh_cache: pathlib.Path) -> None:
    """One typed error: operation, place in the kernel, file for support. Twice, so nothing was cached."""
    line = inspect.getsourcelines(with_inline_assembly.fn)[1] + 3
    for _ in range(2):
        with pytest.raises(UnsupportedOperation) as caught:
            launch(with_inline_assembly, (1,), np.zeros(1, np.int32))
        error = caught.value
        assert "tt.elementwise_inline_asm" in str(error)
        assert error.location == f"{__file__}:{line}"
        assert pathlib.Path(error.add_support_in).suffix == ".py"
    assert not list(fresh_cache.rglob("*.obj"))
    compile_afresh()


def test_errors_survive_pickling() -> None:
    """Compile workers send their errors to the parent process."""
    error = UnsupportedOperation("no", location="a.py:3", add_support_in="b.py")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.location) == (UnsupportedOperation, str(error), "a.py:3")
    assert issubclass(UnsupportedOperation, CompileError)


@triton.jit
def with_static_assert(x, N: tl.constexpr):
    tl.static_assert(N > 100, "N is too small")
    tl.store(x, N)


def test_error_of_the_front_end() -> None:
    """A mistake in the kernel is Triton's error, unchanged."""
    with pytest.raises(triton.CompilationError, match="N is too small"):
        launch(with_static_assert, (1,), np.zeros(1, np.int32), N=4)


@triton.jit
def checked(x, index, n, N: tl.constexpr):
    at = tl.load(index + tl.arange(0, N))
    tl.device_assert(at < n, "index out of range")
    tl.store(x + tl.arange(0, N), at)


def test_device_assert() -> None:
    """R19: with debug on, a bad lane raises the message and the next launch works; with debug off it is gone."""
    x, index = np.zeros(16, np.int32), np.arange(16, dtype=np.int32)
    launch(checked, (1,), x, index, 16, N=16, debug=True)
    with pytest.raises(RuntimeError, match="index out of range"):
        launch(checked, (1,), x, index, 15, N=16, debug=True)
    launch(checked, (1,), x, index, 16, N=16, debug=True)
    x[:] = 0
    launch(checked, (1,), x, index, 15, N=16, debug=False)
    assert x.tolist() == list(range(16))


PRINTING = """
import numpy as np, triton, triton.language as tl
from <<cookiecutter.package_name>>.runtime.array import DeviceArray

@triton.jit
def show(x):
    tl.device_print("100% sure ", tl.load(x + tl.arange(0, 2)))

show[(1,)](DeviceArray.from_numpy(np.array([7, 9], np.int32)))
"""


def test_device_print(tmp_path: pathlib.Path) -> None:
    """R19: in a child process whose output is captured; the percent sign is text."""
    script = tmp_path / "show.py"
    script.write_text(PRINTING)
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=120, env=os.environ
    )
    assert done.returncode == 0, done.stderr
    assert "100% sure" in done.stdout
    assert "7" in done.stdout
    assert "9" in done.stdout


WITHOUT_TORCH = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'")

sys.meta_path.insert(0, NoTorch())
import numpy as np
from <<cookiecutter.package_name>>.examples import vector_add
from <<cookiecutter.package_name>>.runtime.array import DeviceArray
a = DeviceArray.from_numpy(np.arange(5, dtype=np.float32))
print(vector_add.run(a, a).numpy().tolist())
"""


def test_without_torch() -> None:
    """A process that cannot import torch compiles and launches."""
    done = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, timeout=120)
    assert done.stdout.split("\n")[0] == "[0.0, 2.0, 4.0, 6.0, 8.0]", done.stderr


def test_opaque_operations_give_the_same_code(fresh_cache: pathlib.Path) -> None:
    """Without passes that look at classes, Triton's arithmetic is read without xDSL's `arith`. That changes nothing."""
    script = (
        "import sys, numpy as np, hashlib\n"
        "from <<cookiecutter.package_name>>.examples import fused_softmax\n"
        "from <<cookiecutter.package_name>>.runtime.array import DeviceArray\n"
        "from <<cookiecutter.package_name>>.target import BACKEND_NAME\n"
        "seen = []\n"
        "import triton\n"
        "triton.knobs.compilation.listener = lambda **kw: seen.append(kw['metadata_group'])\n"
        "x = np.random.default_rng(0).standard_normal((4, 100)).astype(np.float32)\n"
        "out = fused_softmax.run(DeviceArray.from_numpy(x))\n"
        "assert np.allclose(out.numpy(), fused_softmax.reference(x), atol=1e-6)\n"
        "text = open(next(p for n, p in seen[0].items() if n.endswith(BACKEND_NAME + 'ir'))).read()\n"
        "print('xdsl.dialects.arith' in sys.modules, hashlib.sha256(text.encode()).hexdigest())\n"
    )
    answers: list[list[str]] = []
    for verify in ("0", "1"):
        env = {
            **os.environ,
            f"{ENV_PREFIX}_VERIFY_PASSES": verify,
            "TRITON_CACHE_DIR": str(fresh_cache / verify),
        }
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, timeout=120)
        assert done.returncode == 0, done.stderr
        answers.append(done.stdout.split())
    assert [answer[0] for answer in answers] == ["False", "True"]
    assert answers[0][1] == answers[1][1]
