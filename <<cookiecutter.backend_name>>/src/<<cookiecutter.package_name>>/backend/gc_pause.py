"""Python's garbage collector, which waits while a kernel is compiled.

A module is many objects that stay until it is done. The collector would walk them again and again, and now and then
everything else that the process holds: a sixth of the time. Other threads' garbage waits, too, for less than a second.
"""

from __future__ import annotations

import gc
from threading import Lock


class PausedCollector:
    """A context manager. Threads compile at the same time: the last one to leave lets the collector go on."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._was_enabled = False

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._was_enabled:
                gc.enable()


paused_collector = PausedCollector()
