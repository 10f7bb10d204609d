"""Attention in one kernel, ``softmax(q @ k.T * scale) @ v``: the scores never reach memory.

A program owns a block of queries and walks over the keys. It keeps, for each query, the largest score so far,
the sum of weights relative to it, and the weighted sum of values; when a larger score turns up, what was summed
is scaled down (the online softmax of Milakov and Gimelshein, tiled as in FlashAttention by Dao et al.).
"""

import math

import numpy as np
import triton
import triton.language as tl

from .arrays import Array, empty, empty_like
from .device import fast_memory


@triton.jit
def visit_keys(
    total, weight_sum, peak, queries, k, v, k_step, v_step, rows, scale, first, last, length,
    KEYS: tl.constexpr, MASKED: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """Attend to keys ``first <= key < last``; MASKED where some of them may be invisible to some query."""
    for start in tl.range(first, last, KEYS):
        start = tl.multiple_of(start, KEYS)
        key = start + tl.arange(0, KEYS)
        inside = key < length
        if MASKED:
            keys_here = tl.load(k + start * k_step, mask=inside[None, :], other=0.0)
            values = tl.load(v + start * v_step, mask=inside[:, None], other=0.0)
        else:
            keys_here = tl.load(k + start * k_step)
            values = tl.load(v + start * v_step)
        scores = tl.dot(queries, keys_here, input_precision="ieee") * scale
        if MASKED:
            visible = inside[None, :]
            if CAUSAL:
                visible = visible & (key[None, :] <= rows[:, None])
            scores = tl.where(visible, scores, -float("inf"))
        new_peak = tl.maximum(peak, tl.max(scores, axis=1))
        weights = tl.math.exp2(scores - new_peak[:, None])
        shrink = tl.math.exp2(peak - new_peak)
        weight_sum = weight_sum * shrink + tl.sum(weights, axis=1)
        total = tl.dot(weights.to(values.dtype), values, total * shrink[:, None], input_precision="ieee")
        peak = new_peak
    return total, weight_sum, peak


@triton.jit
def fused_attention(
    q, k, v, out, log_sum, scale, heads, length,
    q_batch, q_head, q_step, k_batch, k_head, k_step, v_batch, v_head, v_step, out_batch, out_head, out_step,
    QUERIES: tl.constexpr, KEYS: tl.constexpr, WIDTH: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    block = tl.program_id(0)
    batch = (tl.program_id(1) // heads).to(tl.int64)
    head = (tl.program_id(1) % heads).to(tl.int64)
    rows = block * QUERIES + tl.arange(0, QUERIES)
    lanes = tl.arange(0, WIDTH)
    keys = tl.arange(0, KEYS)
    q += batch * q_batch + head * q_head
    k += batch * k_batch + head * k_head
    v += batch * v_batch + head * v_head
    out += batch * out_batch + head * out_head
    k_tile = k + lanes[:, None] + keys[None, :] * k_step  # read transposed: WIDTH x KEYS
    v_tile = v + keys[:, None] * v_step + lanes[None, :]

    queries = tl.load(q + rows[:, None] * q_step + lanes[None, :], mask=rows[:, None] < length, other=0.0)
    scale *= 1.44269504  # exp(x) = exp2(x / ln 2), and exp2 is the cheaper one
    peak = tl.full([QUERIES], -float("inf"), dtype=tl.float32)
    weight_sum = tl.zeros([QUERIES], dtype=tl.float32)
    total = tl.zeros([QUERIES, WIDTH], dtype=tl.float32)

    # Keys before `whole` are visible to every query of the block: no mask there.
    whole = length // KEYS * KEYS
    end = length
    if CAUSAL:
        whole = tl.minimum(whole, block * QUERIES // KEYS * KEYS)
        end = tl.minimum(length, (block + 1) * QUERIES)
    total, weight_sum, peak = visit_keys(
        total, weight_sum, peak, queries, k_tile, v_tile, k_step, v_step, rows, scale, 0, whole, length,
        KEYS, False, CAUSAL,
    )  # fmt: skip
    total, weight_sum, peak = visit_keys(
        total, weight_sum, peak, queries, k_tile, v_tile, k_step, v_step, rows, scale, whole, end, length,
        KEYS, True, CAUSAL,
    )  # fmt: skip

    inside = rows < length
    tl.store(log_sum + tl.program_id(1) * length + rows, peak + tl.math.log2(weight_sum), mask=inside)
    result = (total / weight_sum[:, None]).to(out.dtype.element_ty)
    tl.store(out + rows[:, None] * out_step + lanes[None, :], result, mask=inside[:, None])


def run(
    q: Array, k: Array, v: Array, *, causal: bool, scale: float | None = None, out: Array | None = None
) -> Array:
    """Attention for arrays of shape ``(batch, heads, length, width)``: width 16 to 256, a power of two, contiguous.

    ``scale`` defaults to ``1 / sqrt(width)``. With ``causal`` a query sees the keys up to its own position.
    """
    batch, heads, length, width = q.shape
    out = empty_like(q) if out is None else out
    log_sum = empty((batch * heads, length), like=q, dtype="float32")
    queries, keys = blocks_for(length, width)
    fused_attention[(triton.cdiv(length, queries), batch * heads)](
        q, k, v, out, log_sum, 1 / math.sqrt(width) if scale is None else scale, heads, length,
        *q.stride()[:3], *k.stride()[:3], *v.stride()[:3], *out.stride()[:3],
        QUERIES=queries, KEYS=keys, WIDTH=width, CAUSAL=causal,
    )  # fmt: skip
    return out


def blocks_for(length: int, width: int) -> tuple[int, int]:
    """Queries and keys of a step: many, where there are as many and a quarter of the fast memory holds such a step."""
    queries, keys = 128, 64
    step = 4 * (queries * (2 * width + keys) + 2 * keys * width)
    return (queries, keys) if length >= queries and 4 * step <= fast_memory() else (64, 32)


def reference(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, *, causal: bool, scale: float | None = None
) -> np.ndarray:
    q, k, v = (part.astype(np.float32, copy=False) for part in (q, k, v))
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = q @ k.swapaxes(-1, -2) * np.float32(scale)
    if causal:
        scores = np.where(np.tri(q.shape[-2], dtype=bool), scores, -np.float32(np.inf))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ v
