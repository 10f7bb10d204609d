"""Memory that compiled kernels keep: a process compiles and launches many that differ."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

KERNELS = 500
STATISTICS = Path("/proc/self/statm")


def kernel_memory(count: int = KERNELS) -> dict[str, Any]:
    """MB resident after the ``first`` kernel, and how much they grow until the last, all of them kept."""
    import numpy as np

    from ..runtime.array import DeviceArray
    from .compiling import empty_cache
    from .kernels.rows import scaled_softmax

    x, out = (DeviceArray.from_numpy(np.ones(256, np.float32)) for _ in range(2))
    with empty_cache():
        kept = [scaled_softmax[(1,)](x, out, 250, SCALE=1, BLOCK=256)]
        first = resident()
        for scale in range(2, count + 1):
            kept.append(scaled_softmax[(1,)](x, out, 250, SCALE=scale, BLOCK=256))
        growth = resident() - first
    return {"kernels": len({kernel.hash for kernel in kept}), "first": first, "growth": growth}


def resident() -> float:
    gc.collect()
    pages = int(STATISTICS.read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
