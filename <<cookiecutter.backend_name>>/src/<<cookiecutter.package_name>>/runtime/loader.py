"""Object code in this process: link, find the entry point, take out again."""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import struct
from typing import Any

from ..errors import BackendError
from ..target import BACKEND_NAME

_library_numbers = itertools.count()


class LoadError(BackendError, RuntimeError):
    """Object code cannot be linked into this process."""


class LoadedImage:
    """Object code linked into this process; in memory until `unload` or until nothing refers to this object."""

    def __init__(self, tracker: Any, symbols: tuple[str, ...]) -> None:
        self._tracker = tracker
        self.addresses: dict[str, int] = {symbol: tracker[symbol] for symbol in symbols}
        """Symbol -> address. Calling one after `unload` is undefined."""

    def unload(self) -> None:
        """Free the code. May be called twice."""
        tracker, self._tracker = self._tracker, None
        self.addresses = {}
        if tracker is not None:
            tracker.close()

    def keep_forever(self) -> None:
        """Leave the code in memory even when Python shuts down: threads may still be running it then."""
        if self._tracker is not None:
            self._tracker.detach()


def load_image(image: bytes, *symbols: str) -> LoadedImage:
    """Link relocatable object code and look up ``symbols``, about 0.5 ms.

    Undefined symbols are looked up among those of this process (libc, libm, libmvec). Raises LoadError naming the ones
    that are not there.
    """
    import llvmlite.binding as llvm

    builder = llvm.JITLibraryBuilder().add_object_img(image).add_current_process()
    for symbol in symbols:
        builder.export_symbol(symbol)
    try:
        # LLVM wants a new library name each time, also after an unload.
        tracker = builder.link(_jit(), f"{BACKEND_NAME}-{next(_library_numbers)}")
    except RuntimeError as error:
        raise LoadError(_explain(image, symbols, error)) from error
    return LoadedImage(tracker, symbols)


@functools.cache
def _jit() -> Any:
    """The linker of this process (1 ms). It is never disposed of: pool threads outlive the Python interpreter."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    for library in ("libm.so.6", "libmvec.so.1"):  # what vectorised code calls; libmvec comes with glibc only
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


def _explain(image: bytes, symbols: tuple[str, ...], error: RuntimeError) -> str:
    try:
        undefined = undefined_symbols(image)
    except (struct.error, ValueError, IndexError):
        return (
            f"{BACKEND_NAME}: the object code of {', '.join(symbols)} is damaged ({error}): delete it from the cache "
            "folder (TRITON_CACHE_DIR) or set TRITON_ALWAYS_COMPILE=1 once"
        )
    process = ctypes.CDLL(None)
    missing = [name for name in undefined if not hasattr(process, name)]
    if missing:
        return (
            f"{BACKEND_NAME}: the object code of {', '.join(symbols)} calls {', '.join(missing)}, which no "
            "library of this process has: the code generator must emit it inline or the loader must load the "
            "library that has it"
        )
    return f"{BACKEND_NAME}: cannot link the object code of {', '.join(symbols)}: {error}"


def undefined_symbols(image: bytes) -> list[str]:
    """Names that a 64-bit little-endian ELF object needs from elsewhere. Raises ValueError or struct.error
    if it is none."""
    if image[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF object")
    section_table = struct.unpack_from("<Q", image, 0x28)[0]
    entry_size, count = struct.unpack_from("<HH", image, 0x3A)
    sections = [
        struct.unpack_from("<IIQQQQIIQQ", image, section_table + i * entry_size) for i in range(count)
    ]
    names: list[str] = []
    for _, kind, _, _, offset, size, link, *_ in sections:
        if kind != 2:  # SHT_SYMTAB
            continue
        strings = sections[link][4]
        for at in range(offset + 24, offset + size, 24):
            name, _, _, section, _, _ = struct.unpack_from("<IBBHQQ", image, at)
            if section == 0:  # SHN_UNDEF
                names.append(image[strings + name : image.index(b"\0", strings + name)].decode())
    return sorted(set(names))
