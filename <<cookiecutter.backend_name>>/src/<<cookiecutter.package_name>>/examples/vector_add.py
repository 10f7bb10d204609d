"""Vector addition: programs, blocks, masks.

One program adds one block of ``BLOCK`` consecutive elements. The last block may reach past the end of the
vectors; the mask keeps those lanes away from memory.
"""

from typing import Any

import numpy as np
import triton
import triton.language as tl

from .arrays import Array, empty_like


@triton.jit
def vector_add(left, right, out, count, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < count
    total = tl.load(left + lanes, mask=inside) + tl.load(right + lanes, mask=inside)
    tl.store(out + lanes, total, mask=inside)


def run(left: Array, right: Array, out: Array | None = None, *, block: int = 4096) -> Array:
    """``left + right`` for two arrays of one shape and dtype, contiguous."""
    out = empty_like(left) if out is None else out
    count = left.numel()

    def grid(meta: dict[str, Any]) -> tuple[int]:
        return (triton.cdiv(count, meta["BLOCK"]),)

    vector_add[grid](left, right, out, count, BLOCK=block)
    return out


def reference(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return left + right
