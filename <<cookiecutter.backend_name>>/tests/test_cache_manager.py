"""Which kernels get our manager of Triton's cache: those of this backend. What others store and see is Triton's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import triton
import triton.language as tl
from native import run_python
from triton import knobs
from triton.backends import Backend as Entry
from triton.backends import backends
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.cache import FileCacheManager, get_cache_manager

from <<cookiecutter.package_name>>.backend import cache_manager
from <<cookiecutter.package_name>>.backend.cache_manager import CacheFolderError, KernelCache, ManagerOfKernel
from <<cookiecutter.package_name>>.backend.compiler import Backend
from <<cookiecutter.package_name>>.compat import compiling_backend
from <<cookiecutter.package_name>>.runtime.array import DeviceArray
from <<cookiecutter.package_name>>.target import BACKEND_NAME


class Theirs:
    """It has all that Triton calls, and is no `Backend` of ours."""

    binary_ext = "obj"

    def __init__(self, target: GPUTarget) -> None:
        self.target = target
        self.ours = Backend(GPUTarget(BACKEND_NAME, "a1", 32))

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return target.backend == "theirs"

    def hash(self) -> str:
        return "theirs"

    def pack_metadata(self, metadata: Any) -> tuple[int, ...]:
        return ()

    def add_stages(self, stages: dict[str, Any], options: Any, language: Any = None) -> None:
        stages["ttir"] = lambda module, metadata: metadata.update(name="double") or module
        stages["obj"] = lambda module, metadata: b"theirs"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.ours, name)


@triton.jit
def double(x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i) * 2)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The managers that are made, in order."""
    found: list[Any] = []
    make = ManagerOfKernel.__new__

    def noted(cls: Any, *arguments: Any, **keywords: Any) -> Any:
        found.append(make(cls, *arguments, **keywords))
        return found[-1]

    monkeypatch.setattr(ManagerOfKernel, "__new__", noted)
    monkeypatch.setattr(knobs.cache, "manager_class", ManagerOfKernel)
    monkeypatch.setitem(backends, "theirs", Entry(Theirs, None))
    return found


def compile_theirs(**constants: int) -> Any:
    source = ASTSource(double, {"x": "*fp32", "BLOCK": "constexpr"}, {"BLOCK": 32, **constants})
    return triton.compile(source, target=GPUTarget("theirs", "t1", 32))


def test_other_backends_get_triton_s_own(fresh_cache: Path, made: list[Any]) -> None:
    compile_theirs()
    assert made and all(type(manager) is FileCacheManager for manager in made)
    (metadata,) = fresh_cache.rglob("double.json")
    binary = metadata.with_name("double.obj")
    assert binary.read_bytes() == b"theirs"
    binary.write_bytes(b"")
    assert compile_theirs().kernel == b"", "whatever lies there, as without us"


def test_ours_get_ours(fresh_cache: Path, made: list[Any]) -> None:
    double.device_caches.clear()
    double[(1,)](DeviceArray.zeros(32), BLOCK=32)
    assert made and type(made[0]) is KernelCache
    double.device_caches.clear()


def test_errors_of_other_backends_are_the_system_s(
    tmp_path: Path, made: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "file" / "cache"))
    with pytest.raises(OSError) as theirs:
        compile_theirs()
    assert not isinstance(theirs.value, CacheFolderError) and BACKEND_NAME not in str(theirs.value)
    double.device_caches.clear()
    with pytest.raises(CacheFolderError):
        double[(1,)](DeviceArray.zeros(32), BLOCK=32)
    double.device_caches.clear()


def test_nobody_compiles(fresh_cache: Path, made: list[Any]) -> None:
    assert compiling_backend() is None
    assert type(get_cache_manager("00ff")) is FileCacheManager


def test_installing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knobs.cache, "manager_class", None)
    cache_manager.install()
    assert knobs.cache.manager_class is ManagerOfKernel
    cache_manager.uninstall()
    assert knobs.cache.manager_class is None
    knobs.cache.manager_class = KernelCache  # a choice of the user's
    cache_manager.install()
    cache_manager.uninstall()
    assert knobs.cache.manager_class is KernelCache


def test_deactivate_leaves_nothing() -> None:
    program = """
        import triton, <<cookiecutter.package_name>>
        from triton import knobs
        <<cookiecutter.package_name>>.activate()
        from triton.runtime import driver
        from triton.compiler.compiler import make_backend
        make_backend(driver.active.get_current_target()).hash()
        print(knobs.cache.manager_class is not None)
        <<cookiecutter.package_name>>.deactivate()
        print(knobs.cache.manager_class)
    """
    assert run_python(program, TRITON_DEFAULT_BACKEND="").stdout.split() == ["True", "None"]
