"""LLVM across a fork.

llvmlite lets one thread at a time into LLVM. A process that forks while another of its threads is inside would leave
its child a lock that nobody releases, around data structures in the middle of a change. So whoever forks waits until it
has LLVM for itself. Imported for that effect by what uses LLVM.
"""

from __future__ import annotations

import os
from typing import Any

from llvmlite.binding import ffi


def _hold_across_fork(lock: Any) -> None:
    def release() -> None:
        lock.__exit__(None, None, None)

    os.register_at_fork(before=lock.__enter__, after_in_parent=release, after_in_child=release)


if hasattr(os, "register_at_fork") and hasattr(ffi.lib, "_lock"):
    _hold_across_fork(ffi.lib._lock)  # pyright: ignore[reportPrivateUsage]
