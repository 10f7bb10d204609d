"""Object code in this process: link, find the entry point, take out again."""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import struct
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import BackendError
from ..target import BACKEND_NAME
from . import elf

if TYPE_CHECKING:  # making a protocol takes longer than all else in this file

    class Code(Protocol):
        """What `elf.link` gives, or LLVM."""

        def close(self) -> None:
            """Free it. Once."""

        def detach(self) -> None:
            """Do not free it, whatever happens to this object."""


_library_numbers = itertools.count()


class LoadError(BackendError, RuntimeError):
    """Object code cannot be linked into this process."""


class LoadedImage:
    """Object code linked into this process; in memory until `unload` or until nothing refers to this object."""

    def __init__(self, code: Code, addresses: dict[str, int]) -> None:
        self.addresses = addresses
        """Symbol -> address. Calling one after `unload` is undefined."""
        self._code = code
        self._free = weakref.finalize(self, code.close)
        self._free.atexit = False  # the system is faster

    def unload(self) -> None:
        """Free the code. May be called twice."""
        self.addresses = {}
        self._free()

    def keep_forever(self) -> None:
        """Leave the code in memory even when Python shuts down: threads may still be running it then."""
        self._free.detach()
        self._code.detach()


def load_image(image: bytes, *symbols: str) -> LoadedImage:
    """Link relocatable object code and look up ``symbols``.

    Undefined symbols are looked up among those of this process (libc, libm, libmvec). Raises LoadError naming the ones
    that are not there.
    """
    try:
        linked = elf.link(image, symbols)
    except elf.MissingSymbols as error:
        raise LoadError(_missing(symbols, error.args)) from error
    except elf.CannotLink:
        tracker = link_with_llvm(image, symbols)
        return LoadedImage(tracker, {symbol: tracker[symbol] for symbol in symbols})
    return LoadedImage(linked, linked.addresses)


def link_with_llvm(image: bytes, symbols: Sequence[str]) -> Any:
    """An image that `elf` does not know: another processor's, say. About 0.5 ms, and 30 ms once a process.

    Returns what gives addresses by name, and has `close`. Raises LoadError.
    """
    import llvmlite.binding as llvm

    from .. import llvm_lock as llvm_lock

    builder = llvm.JITLibraryBuilder().add_object_img(image).add_current_process()
    for symbol in symbols:
        builder.export_symbol(symbol)
    try:
        # LLVM wants a new library name each time, also after an unload.
        return builder.link(_jit(), f"{BACKEND_NAME}-{next(_library_numbers)}")
    except RuntimeError as error:
        raise LoadError(_explain(image, symbols, error)) from error


@functools.cache
def _jit() -> Any:
    """The linker of this process (1 ms). It is never disposed of: pool threads outlive the Python interpreter."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for library in filter(None, elf.LIBRARIES):
        try:
            llvm.load_library_permanently(library)
        except RuntimeError:
            pass  # a symbol that is missing for this reason is named when something needs it
    # JITLink, unlike the older linker, gives all memory back when an image is unloaded.
    jit = llvm.create_lljit_compiler(use_jit_link=True, suppress_errors=True)
    _immortal.append(jit)
    return jit


_immortal: list[Any] = []


def _forget_after_fork() -> None:
    # Another thread of the parent may have been linking: its locks are copied as they were. Code that is loaded already
    # stays usable; new code gets a new linker.
    _jit.cache_clear()


os.register_at_fork(after_in_child=_forget_after_fork)


def _missing(symbols: Sequence[str], missing: Sequence[str]) -> str:
    return (
        f"{BACKEND_NAME}: the object code of {', '.join(symbols)} calls {', '.join(missing)}, which no library of this "
        "process has: the code generator must emit it inline or the loader must load the library that has it"
    )


def _explain(image: bytes, symbols: Sequence[str], error: RuntimeError) -> str:
    if image and not elf.MAGIC.startswith(image[:4]):
        return (
            f"{BACKEND_NAME}: the binary of {', '.join(symbols)} begins with {image[:4]!r}, which no device here "
            "knows. Either it is damaged (delete it from the cache folder, or set TRITON_ALWAYS_COMPILE=1 once), or it "
            "is for a device that RUNTIMES in device_kinds.py does not list yet"
        )
    try:
        undefined = elf.undefined_symbols(image)
    except (struct.error, ValueError, IndexError):
        return (
            f"{BACKEND_NAME}: the object code of {', '.join(symbols)} is damaged ({error}): delete it from the cache "
            "folder (TRITON_CACHE_DIR) or set TRITON_ALWAYS_COMPILE=1 once"
        )
    process = ctypes.CDLL(None)
    missing = [name for name in undefined if not hasattr(process, name)]
    if missing:
        return _missing(symbols, missing)
    return f"{BACKEND_NAME}: cannot link the object code of {', '.join(symbols)}: {error}"
