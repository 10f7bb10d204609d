"""Dropout without a stored mask: random numbers made in the kernel.

``tl.rand(seed, position)`` is a pure function (the counter-based generator Philox): a backward pass makes the
very same mask again from the seed, so nothing has to be saved.
"""

from typing import Any

import numpy as np
import triton
import triton.language as tl

from .arrays import Array, empty_like


@triton.jit
def dropout(x, out, count, p, seed, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < count
    kept = tl.rand(seed, lanes) > p
    values = tl.load(x + lanes, mask=inside)
    # Scaled up, so that the expected value of an element is what it was.
    tl.store(out + lanes, tl.where(kept, values / (1 - p), 0.0), mask=inside)


def run(x: Array, p: float, seed: int, out: Array | None = None, *, block: int = 1024) -> Array:
    """Zero each element of ``x`` with probability ``p`` and divide the others by ``1 - p``."""
    out = empty_like(x) if out is None else out
    count = x.numel()

    def grid(meta: dict[str, Any]) -> tuple[int]:
        return (triton.cdiv(count, meta["BLOCK"]),)

    dropout[grid](x, out, count, p, seed, BLOCK=block)
    return out


def reference(x: np.ndarray, p: float, seed: int) -> np.ndarray:
    keep = uniform(seed, np.arange(x.size, dtype=np.uint32)).reshape(x.shape) > np.float32(p)
    return np.where(keep, x / (np.float32(1) - np.float32(p)), np.float32(0))


def philox(seed: int, position: np.ndarray, rounds: int = 10) -> tuple[np.ndarray, ...]:
    """Philox 4x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11): four uint32 arrays.

    The counter is ``(position, 0, 0, 0)`` and the key is the low and the high half of ``seed``.
    """
    low = np.uint64(0xFFFF_FFFF)
    counter = [position.astype(np.uint64), *(np.zeros(position.shape, np.uint64) for _ in range(3))]
    key = [seed & 0xFFFF_FFFF, (seed >> 32) & 0xFFFF_FFFF]
    for _ in range(rounds):
        first = counter[0] * np.uint64(0xD251_1F53)
        second = counter[2] * np.uint64(0xCD9E_8D57)
        counter = [
            (second >> np.uint64(32)) ^ counter[1] ^ np.uint64(key[0]),
            second & low,
            (first >> np.uint64(32)) ^ counter[3] ^ np.uint64(key[1]),
            first & low,
        ]
        key = [(key[0] + 0x9E37_79B9) & 0xFFFF_FFFF, (key[1] + 0xBB67_AE85) & 0xFFFF_FFFF]
    return tuple(word.astype(np.uint32) for word in counter)


def uniform(seed: int, position: np.ndarray) -> np.ndarray:
    """What ``tl.rand`` returns: float32 in [0, 1) from the first word of `philox`, folded at its sign."""
    word = philox(seed, position)[0].view(np.int32)
    return np.where(word < 0, ~word, word).astype(np.float32) * np.float32(4.6566127342e-10)
