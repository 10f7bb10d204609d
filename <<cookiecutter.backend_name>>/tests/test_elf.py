"""Linking without LLVM gives what LLVM's linker gives, and leaves to it what it does not know."""

from __future__ import annotations

import ctypes
import math
import platform
import struct
from collections.abc import Callable
from typing import Any

import pytest
from native import run_python

from <<cookiecutter.package_name>>.codegen.object_code import compile_llvm
from <<cookiecutter.package_name>>.runtime import elf
from <<cookiecutter.package_name>>.runtime.loader import LoadedImage, link_with_llvm, load_image

here = pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.system() != "Linux", reason="links code for x86-64 Linux only"
)

PROGRAM = """
@counter = internal global i32 40
@zeros = internal global [5000 x i8] zeroinitializer, align 64
@table = internal constant [2 x ptr] [ptr @counter, ptr @twice]
@weights = internal constant <4 x double> <double 1.0, double 2.0, double 3.0, double 4.0>
@environ = external global ptr
declare double @hypot(double, double)
define internal i32 @twice(i32 %x) {
  %y = mul i32 %x, 2
  ret i32 %y
}
define i32 @count() {
  %where = load ptr, ptr @table
  %old = load i32, ptr %where
  %new = add i32 %old, 1
  store i32 %new, ptr @counter
  %last = getelementptr i8, ptr @zeros, i64 4999
  store i8 7, ptr %last
  %f.at = getelementptr ptr, ptr @table, i64 1
  %f = load volatile ptr, ptr %f.at
  %r = call i32 %f(i32 %new)
  ret i32 %r
}
define double @length(double %x, double %y) {
  %r = call double @hypot(double %x, double %y)
  %i = fptosi double %x to i64
  %w = getelementptr double, ptr @weights, i64 %i
  %weight = load double, ptr %w
  %scaled = fmul double %r, %weight
  ret double %scaled
}
define ptr @outside() {
  ret ptr @environ
}
define i32 @jump(i32 %x) {
  switch i32 %x, label %other [i32 0, label %a i32 1, label %b i32 2, label %c i32 3, label %d i32 4, label %e]
a:
  ret i32 17
b:
  ret i32 -4
c:
  %n = call i32 @twice(i32 %x)
  ret i32 %n
d:
  %m = call i32 @count()
  ret i32 %m
e:
  ret i32 99
other:
  ret i32 0
}
"""
"""Data of every kind, a jump table, functions of its own and of libraries, the address of a variable elsewhere."""

SYMBOLS = ("count", "length", "outside", "jump")


def by_llvm(image: bytes, *symbols: str) -> LoadedImage:
    tracker = link_with_llvm(image, symbols)
    return LoadedImage(tracker, {symbol: tracker[symbol] for symbol in symbols})


@pytest.mark.parametrize("load", [pytest.param(load_image, marks=here), by_llvm])
def test_linked_code_runs(load: Callable[..., LoadedImage]) -> None:
    image = load(compile_llvm(PROGRAM), *SYMBOLS)

    def function(name: str, result: Any, *arguments: Any) -> Any:
        return ctypes.CFUNCTYPE(result, *arguments)(image.addresses[name])

    count = function("count", ctypes.c_int)
    assert [count(), count()] == [82, 84]
    length = function("length", ctypes.c_double, ctypes.c_double, ctypes.c_double)
    assert length(3.0, 4.0) == 20.0 and math.isnan(length(0.0, math.nan))
    environ = ctypes.c_void_p.in_dll(ctypes.CDLL(None), "environ")
    assert function("outside", ctypes.c_void_p)() == ctypes.addressof(environ)
    jump = function("jump", ctypes.c_int, ctypes.c_int)
    assert [jump(x) for x in (0, 1, 2, 4, 5)] == [17, -4, 4, 99, 0]
    image.unload()


@here
def test_llvm_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(image: bytes, symbols: Any) -> Any:
        raise AssertionError("LLVM links this")

    monkeypatch.setattr("<<cookiecutter.package_name>>.runtime.loader.link_with_llvm", asked)
    load_image(compile_llvm(PROGRAM), *SYMBOLS)


@here
def test_code_cannot_be_written() -> None:
    code = f"""
        import ctypes
        from {elf.__name__} import link
        from {compile_llvm.__module__} import compile_llvm
        image = link(compile_llvm("define i32 @k() {{ ret i32 5 }}"), ["k"])
        print(ctypes.CFUNCTYPE(ctypes.c_int)(image.addresses["k"])(), flush=True)
        ctypes.memset(image.addresses["k"], 0, 1)
    """
    done = run_python(code)
    assert done.stdout == "5\n" and done.returncode < 0, "no signal"


@here
def test_thread_local_data_is_left_to_llvm() -> None:
    image = compile_llvm("@t = thread_local global i32 1\ndefine ptr @k() {\n ret ptr @t\n}")
    with pytest.raises(elf.CannotLink, match="thread-local"):
        elf.link(image, ["k"])


COMMON = """
@seen = common global i32 0
define i32 @k(i32 %x) {
  %old = load i32, ptr @seen
  %new = add i32 %old, %x
  store i32 %new, ptr @seen
  ret i32 %new
}
"""
INDIRECT = """
@chosen = ifunc i32 (i32), ptr @choose
define internal ptr @choose() {
  ret ptr @same
}
define internal i32 @same(i32 %x) {
  ret i32 %x
}
define i32 @k(i32 %x) {
  %y = call i32 @chosen(i32 %x)
  ret i32 %y
}
"""


@here
@pytest.mark.parametrize("program", [COMMON, INDIRECT], ids=["common", "indirect"])
def test_symbols_without_an_address_are_left_to_llvm(program: str) -> None:
    with pytest.raises(elf.CannotLink, match="seen|chosen"):
        elf.link(compile_llvm(program), ["k"])


@here
@pytest.mark.parametrize("kept", range(0, 1200, 37))
def test_damaged_objects(kept: int) -> None:
    image = compile_llvm(PROGRAM)
    with pytest.raises(elf.CannotLink):
        elf.link(image[:kept], SYMBOLS)


@here
def test_object_without_symbols() -> None:
    image = bytearray(compile_llvm(PROGRAM))
    table = struct.unpack_from("<Q", image, 0x28)[0]
    size, count = struct.unpack_from("<HH", image, 0x3A)
    for at in range(table, table + size * count, size):
        if struct.unpack_from("<I", image, at + 4)[0] == elf.SYMTAB:
            struct.pack_into("<I", image, at + 4, elf.PROGBITS)
    with pytest.raises(elf.CannotLink, match="no table of symbols"):
        elf.link(bytes(image), ["count"])
    assert elf.undefined_symbols(bytes(image)) == []


@here
def test_unknown_relocation() -> None:
    image = bytearray(compile_llvm(PROGRAM))
    table = struct.unpack_from("<Q", image, 0x28)[0]
    size, count = struct.unpack_from("<HH", image, 0x3A)
    sections = [elf.Section(bytes(image), table + index * size) for index in range(count)]
    relocations = next(s for s in sections if s.type == elf.RELA and sections[s.info].is_loaded)
    struct.pack_into("<I", image, relocations.offset + 8, 77)
    with pytest.raises(elf.CannotLink, match="relocation 77"):
        elf.link(bytes(image), SYMBOLS)


@here
def test_symbol_that_is_not_there() -> None:
    with pytest.raises(elf.CannotLink, match="nowhere"):
        elf.link(compile_llvm(PROGRAM), ["nowhere"])
