"""Tile registers (AMX) are used where the operating system lets this process, and only there."""

from __future__ import annotations

import ctypes
import os
import platform
from types import SimpleNamespace
from typing import Any

import pytest
from isa_kernels import NATIVE
from native import run_python

from <<cookiecutter.package_name>> import host_features, tile_permission
from <<cookiecutter.package_name>>.backend import fingerprint
from <<cookiecutter.package_name>>.dialects.isa.matrix import has_unit_for
from <<cookiecutter.package_name>>.host_features import HostFeatures
from <<cookiecutter.package_name>>.target import PACKAGE_NAME

TESTS = os.path.dirname(__file__)

needs_tiles = pytest.mark.skipif(
    not (NATIVE.has("amx-tile") and NATIVE.has("amx-int8") and has_unit_for("i32")),
    reason="this host has no tile registers (AMX), or is not allowed them, or the target has no matrix unit",
)


def child(code: str, **environment: str) -> None:
    """Runs code with `tile_product` imported in a fresh process."""
    start = f"import sys, os, ctypes, threading; sys.path.insert(0, {TESTS!r})\n"
    result = run_python(start + code, **environment)
    assert result.returncode == 0, result.stderr


def test_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, ...]] = []

    def refuse(*arguments: int) -> int:
        asked.append(arguments)
        return -1

    monkeypatch.setattr(tile_permission.sys, "platform", "linux")
    monkeypatch.setattr(tile_permission.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(tile_permission.ctypes, "CDLL", lambda name: SimpleNamespace(syscall=refuse))
    assert not tile_permission.tiles_allowed.__wrapped__()
    assert asked == [(tile_permission.ARCH_PRCTL, tile_permission.REQUEST, tile_permission.TILE_DATA)]


@pytest.mark.parametrize(
    ("system", "machine"), [("linux", "aarch64"), ("darwin", "x86_64"), ("win32", "AMD64")]
)
def test_other_systems_are_not_asked(monkeypatch: pytest.MonkeyPatch, system: str, machine: str) -> None:
    monkeypatch.setattr(tile_permission.sys, "platform", system)
    monkeypatch.setattr(tile_permission.platform, "machine", lambda: machine)
    monkeypatch.setattr(tile_permission.ctypes, "CDLL", lambda name: pytest.fail("asked"))
    assert not tile_permission.tiles_allowed.__wrapped__()


def test_the_answer_decides_the_features_and_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[bool, tuple[Any, str]] = {}
    for answer in (False, True):
        for module in (host_features, fingerprint):
            monkeypatch.setattr(module, "tiles_allowed", lambda answer=answer: answer)
        found[answer] = HostFeatures.current.__wrapped__(), fingerprint.toolchain.__wrapped__()
    assert not [feature for feature in found[False][0].enabled if feature.startswith("amx")]
    assert found[False][1] != found[True][1]
    others = {feature for feature in found[True][0].enabled if not feature.startswith("amx")}
    assert others == found[False][0].enabled


@needs_tiles
def test_a_cached_kernel_asks_too(fresh_cache: Any) -> None:
    """Neither xDSL nor LLVM are there to do it. Permission is for all threads, and for children of a fork."""
    child(
        "from tile_product import run; assert 'tdpbssd' in run().asm['llir']",
        TRITON_CACHE_DIR=str(fresh_cache),
    )
    code = f"""
started, go, failed = threading.Event(), threading.Event(), []

def early():
    started.set()
    go.wait()
    try:
        from tile_product import run
        run()
    except BaseException as error:
        failed.append(error)

thread = threading.Thread(target=early)
thread.start()
started.wait()
state = ctypes.c_ulong()
assert ctypes.CDLL(None).syscall(158, 0x1022, ctypes.byref(state)) == 0
from tile_product import run
assert not state.value >> 18 & 1, "nobody has asked yet"
run()
go.set()
thread.join()
assert not failed, failed
child = os.fork()
if not child:
    try:
        run()
    except BaseException:
        os._exit(1)
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert not {{"xdsl", "llvmlite", "{PACKAGE_NAME}.codegen"}} & set(sys.modules)
"""
    child(code, TRITON_CACHE_DIR=str(fresh_cache))


@needs_tiles
def test_a_kernel_that_refuses(fresh_cache: Any) -> None:
    """Linux does where the stack for signals is too small for tiles: products work without, and from the same cache."""
    code = """
class Stack(ctypes.Structure):
    _fields_ = [("at", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t)]

memory = ctypes.create_string_buffer(8192)
stack = Stack(ctypes.addressof(memory), 0, 8192)
assert ctypes.CDLL(None).sigaltstack(ctypes.byref(stack), None) == 0
from tile_product import run
assert "tdpbssd" not in run().asm["llir"]
"""
    with_tiles = "from tile_product import run; assert 'tdpbssd' in run().asm['llir']"
    for part in (with_tiles, code, with_tiles):
        child(part, TRITON_CACHE_DIR=str(fresh_cache))


@pytest.mark.skipif(
    platform.machine() != "x86_64" or not os.path.exists("/proc/cpuinfo"), reason="x86 Linux only"
)
def test_importing_asks_for_nothing() -> None:
    state = "state = ctypes.c_ulong(); ctypes.CDLL(None).syscall(158, 0x1022, ctypes.byref(state)); "
    child(f"import triton; {state}assert not state.value >> 18 & 1")


def test_asking_again_is_harmless() -> None:
    assert tile_permission.tiles_allowed.__wrapped__() == tile_permission.tiles_allowed()
    assert ctypes.sizeof(ctypes.c_void_p) == 8 or not tile_permission.tiles_allowed()
