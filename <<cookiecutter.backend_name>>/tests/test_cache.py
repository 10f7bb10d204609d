"""Triton's file cache and its ways in and out: races, folders that cannot be used, damaged files, overrides, IR files."""

from __future__ import annotations

import multiprocessing
import os
import pathlib
import shutil
import sys
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import launch
from native import run_python

from <<cookiecutter.package_name>>.target import BACKEND_NAME, PACKAGE_NAME


@triton.jit
def add_constant(x, out, n, C: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + C, mask=mask)


def run_variants(count: int) -> list[float]:
    """Sums of results, one a variant, each a kernel of its own."""
    x = np.arange(100, dtype=np.float32)
    sums = []
    for constant in range(count):
        out = np.zeros_like(x)
        launch(add_constant, (4,), x, out, 100, C=constant, BLOCK=32)
        sums.append(float(out.sum()))
    return sums


EXPECTED = [4950.0 + 100 * constant for constant in range(4)]


def forget_kernels() -> None:
    add_constant.device_caches.clear()


def race(barrier: Any, results: Any) -> None:
    forget_kernels()
    barrier.wait(60)
    try:
        results.put(run_variants(4))
    except BaseException as error:
        results.put(repr(error))


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on this system")
def test_processes_that_compile_the_same_kernels_at_once(fresh_cache: pathlib.Path) -> None:
    """R27 and R28: forked workers, one empty cache folder."""
    run_variants(1)  # the parent has compiled and launched: pools and linkers exist
    context = multiprocessing.get_context("fork")
    for round in range(3):
        os.environ["TRITON_CACHE_DIR"] = str(fresh_cache / str(round))
        barrier, results = context.Barrier(6), context.Queue()
        workers = [context.Process(target=race, args=(barrier, results)) for _ in range(6)]
        for worker in workers:
            worker.start()
        found = [results.get(timeout=120) for _ in workers]
        for worker in workers:
            worker.join(60)
        assert found == [EXPECTED] * 6
        assert [worker.exitcode for worker in workers] == [0] * 6
    forget_kernels()
    assert run_variants(4) == EXPECTED, "the parent still compiles and launches"


def in_child(child: Any) -> None:
    child.send(run_variants(2))


def test_spawned_process(fresh_cache: pathlib.Path) -> None:
    run_variants(1)
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    worker = context.Process(target=in_child, args=(theirs,))
    worker.start()
    assert ours.poll(120), "no answer from the child"
    assert ours.recv() == EXPECTED[:2]
    worker.join(60)
    assert worker.exitcode == 0


def test_folder_that_cannot_be_made(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from <<cookiecutter.package_name>>.errors import InstallationError

    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "file" / "cache"))
    forget_kernels()
    with pytest.raises(
        InstallationError, match="Not a directory.*set TRITON_CACHE_DIR to a folder"
    ) as caught:
        run_variants(1)
    assert isinstance(caught.value, OSError) and "\n" not in str(caught.value)


def test_a_file_that_cannot_be_written_leaves_nothing(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from <<cookiecutter.package_name>>.backend.cache_manager import CacheFolderError, KernelCache

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    cache = KernelCache("key")
    assert pathlib.Path(cache.put("text", "a.ttir")).read_text() == "text"
    assert pathlib.Path(cache.put(b"bytes", "a.obj")).read_bytes() == b"bytes"
    (tmp_path / "key" / "b.obj").mkdir()  # nothing can take its place
    with pytest.raises(CacheFolderError, match="Is a directory"):
        cache.put(b"bytes", "b.obj")
    assert sorted(path.name for path in (tmp_path / "key").iterdir()) == ["a.obj", "a.ttir", "b.obj"]


def test_the_cache_is_emptied_while_a_kernel_compiles(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is there when compiling begins; Triton's own manager makes it again, too."""
    from <<cookiecutter.package_name>>.backend.cache_manager import KernelCache

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    cache = KernelCache("key")
    shutil.rmtree(tmp_path / "cache")
    assert pathlib.Path(cache.put(b"bytes", "a.obj")).read_bytes() == b"bytes"


def test_an_interruption_leaves_nothing(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from <<cookiecutter.package_name>>.backend import cache_manager

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    cache = cache_manager.KernelCache("key")
    monkeypatch.setattr(cache_manager.os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cache.put(b"bytes", "a.obj")
    assert not list((tmp_path / "key").iterdir())


OVERRIDE = f"""
import os, pathlib, sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
import {PACKAGE_NAME}
{PACKAGE_NAME}.activate()
from test_cache import run_variants, forget_kernels
dump, override = pathlib.Path(os.environ["TRITON_DUMP_DIR"]), pathlib.Path(os.environ["TRITON_OVERRIDE_DIR"])
"""


def test_kernel_override(tmp_path: pathlib.Path) -> None:
    """TRITON_KERNEL_OVERRIDE takes LLVM IR from a file: edit the dumped text, run it."""
    environment = {
        "TRITON_DUMP_DIR": str(tmp_path / "dump"),
        "TRITON_OVERRIDE_DIR": str(tmp_path / "override"),
        "TRITON_CACHE_DIR": str(tmp_path / "cache"),
        "TRITON_ALWAYS_COMPILE": "1",
    }
    dumped = run_python(OVERRIDE + "print(run_variants(2))", TRITON_KERNEL_DUMP="1", **environment)
    assert dumped.stdout == f"{EXPECTED[:2]}\n", dumped.stderr
    files = {path.suffix for path in (tmp_path / "dump").rglob("add_constant.*")}
    assert {".ttir", f".{BACKEND_NAME}ir", ".llir", ".obj"} <= files
    edited = 0
    for path in (tmp_path / "dump").rglob("add_constant.llir"):
        text = path.read_text()
        target = tmp_path / "override" / path.parent.name / path.name
        target.parent.mkdir(parents=True)
        if "fadd" in text:  # a constant of zero may have been folded away
            target.write_text(text.replace("fadd", "fsub"))
            edited += 1
    assert edited, "nothing to edit"
    overridden = run_python(OVERRIDE + "print(run_variants(2)[1])", TRITON_KERNEL_OVERRIDE="1", **environment)
    assert overridden.stdout.splitlines()[-1] == str(4950.0 - 100), overridden.stderr


def test_stage_that_triton_cannot_read_back(tmp_path: pathlib.Path) -> None:
    from <<cookiecutter.package_name>>.backend.compiler import make_llir
    from <<cookiecutter.package_name>>.backend.options import Options
    from <<cookiecutter.package_name>>.errors import CompileError

    with pytest.raises(
        CompileError, match=f"cannot read .{BACKEND_NAME}ir files back: override the .ttir or the .llir"
    ):
        make_llir(None, {}, Options())


def test_kernel_from_an_ir_file(tmp_path: pathlib.Path) -> None:
    """`triton.compile` of a .ttir file: the signature has MLIR's type names, and there is no Python function."""
    forget_kernels()
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    first = launch(add_constant, (1,), x, out, 5, C=2, BLOCK=8)
    path = tmp_path / "from_file.ttir"
    path.write_text(first.asm["ttir"])
    kernel = triton.compile(str(path))
    again = np.zeros(8, np.float32)
    launch(kernel, (1, 1, 1), x, again, 5)
    np.testing.assert_array_equal(again, out)
    assert kernel.metadata.name == "add_constant"


def test_stages_inspection_hook(fresh_cache: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from triton import knobs

    seen: list[Any] = []

    def hook(*arguments: Any) -> Any:
        if not arguments:
            return "key", "hash"
        seen.append(list(arguments[1]))
        return None

    monkeypatch.setattr(knobs.runtime, "add_stages_inspection_hook", hook)
    forget_kernels()
    assert run_variants(1) == EXPECTED[:1]
    assert seen == [["ttir", f"{BACKEND_NAME}ir", "llir", "obj"]]


def test_gluon_is_refused() -> None:
    from triton.backends.compiler import GPUTarget, Language

    from <<cookiecutter.package_name>>.backend.compiler import Backend
    from <<cookiecutter.package_name>>.errors import UnsupportedOperation

    backend = Backend(GPUTarget(BACKEND_NAME, "", 1))
    with pytest.raises(UnsupportedOperation, match="Gluon kernels are written for GPU layouts"):
        backend.add_stages({}, backend.parse_options({}), Language.GLUON)
