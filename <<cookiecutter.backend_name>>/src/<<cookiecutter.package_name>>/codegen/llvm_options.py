"""Flags of LLVM's command line, set for a moment.

LLVM keeps one set of flags for the whole process, and other packages compile with the same LLVM. So a flag is set
under the lock with which llvmlite lets one thread at a time into LLVM, and taken back before the lock is.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import llvmlite.binding as llvm
from llvmlite.binding import ffi

CAN_LOCK: Final = hasattr(ffi.lib, "_lock")
"""Whether other threads can be kept from seeing the flag. It is no public name of llvmlite; without it none is set."""


@contextmanager
def flag(name: str, *, on: bool) -> Generator[None]:
    """Sets the flag `name`, off by default, if `on`. An LLVM that does not know it goes on as if it were not there."""
    if not (on and CAN_LOCK):
        yield
        return
    with ffi.lib._lock:  # pyright: ignore[reportPrivateUsage]
        llvm.set_option("", f"-{name}=true")
        try:
            yield
        finally:
            llvm.set_option("", f"-{name}=false")
