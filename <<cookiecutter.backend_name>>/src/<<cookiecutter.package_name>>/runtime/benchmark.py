"""What ``triton.testing.do_bench`` wants of a device: the part of ``torch.cuda``'s interface that it uses.

Launches return when they are done, so an event is a reading of the clock and there is nothing to wait for.
"""

from __future__ import annotations

import ctypes
import time
from typing import Final

from ..device_kinds import DEVICE

FLUSH_BYTES: Final = 32 * 1024 * 1024
"""Written between timed runs, so that every run starts with its inputs out of the nearer caches (about 3 ms)."""


class Event:
    """A moment in time. ``enable_timing`` and the other arguments are torch's and ignored: it is always timed."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self._nanoseconds = 0

    def record(self, stream: object = None) -> None:
        self._nanoseconds = time.perf_counter_ns()

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this event to ``end``; at least a nanosecond, since callers divide by it."""
        return max(end._nanoseconds - self._nanoseconds, 1) / 1e6

    def synchronize(self) -> None:
        """Nothing is pending."""

    def query(self) -> bool:
        return True


def synchronize(device: object = None) -> None:
    """Nothing is pending."""


def current_device() -> int:
    return DEVICE


class CacheFlush:
    """Memory that is written to push other data out of the caches."""

    def __init__(self) -> None:
        self._memory = (ctypes.c_uint8 * FLUSH_BYTES)()

    def zero_(self) -> None:
        ctypes.memset(self._memory, 0, FLUSH_BYTES)
