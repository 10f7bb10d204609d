"""Leave to use the tile registers of x86 (AMX), which Linux gives to a process that asks.

Their contents are 8 KB that the kernel saves at each switch of threads and makes room for in signal frames. It refuses
where it knows nothing of them, and where a thread has an alternative signal stack too small for them. What was given
holds for all threads, also those that were there before, and for forked children; a program that is started by ``exec``
asks again. The answer decides which code is made (`host_features`) and found in the cache (`backend.fingerprint`): both
ask before any kernel can run.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import sys
from typing import Final

ARCH_PRCTL: Final = 158
"""The system call's number on x86-64."""

REQUEST: Final = 0x1023
"""ARCH_REQ_XCOMP_PERM, since Linux 5.16."""

TILE_DATA: Final = 18
"""The number of the tiles' part of the state that ``xsave`` saves."""


@functools.cache
def tiles_allowed() -> bool:
    """Asks, once a process; whether this process may use tile registers. About 10 us."""
    if not (sys.platform == "linux" and platform.machine() == "x86_64" and sys.maxsize > 2**32):
        return False
    try:
        return ctypes.CDLL(None).syscall(ARCH_PRCTL, REQUEST, TILE_DATA) == 0
    except (OSError, AttributeError):  # no C library that can be called
        return False
