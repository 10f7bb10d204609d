"""Layer normalisation, forward and backward: several passes over a row, locks, partial sums.

Forward, for a row ``x``: ``y = (x - mean) / sqrt(variance + eps) * weight + bias``. Backward needs, besides the
gradient of ``x``, those of ``weight`` and ``bias``: sums over *all* rows. Each program adds its row to one of
``GROUPS`` partial sums, which a lock protects; a second kernel adds up the groups. Neighbouring rows, which mostly one
core takes, share a group: its sums stay in that core's cache, and hardly anybody waits for a lock.
"""

from typing import Any, NamedTuple

import numpy as np
import triton
import triton.language as tl

from .arrays import Array, empty, empty_like, zeros

GROUPS = 128
LOCK_WORDS = 16
"""int32 words from one lock to the next: a line of the cache, or cores would wait for each other's locks."""


@triton.jit
def layer_norm_forward(x, weight, bias, y, mean_out, rstd_out, pitch, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * pitch
    y += row * pitch
    lanes = tl.arange(0, BLOCK)

    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + lanes
        total += tl.load(x + at, mask=at < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / columns

    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + lanes
        value = tl.load(x + at, mask=at < columns, other=0.0).to(tl.float32)
        centred = tl.where(at < columns, value - mean, 0.0)
        squares += centred * centred
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / columns + eps)

    tl.store(mean_out + row, mean)
    tl.store(rstd_out + row, rstd)
    for start in range(0, columns, BLOCK):
        at = start + lanes
        inside = at < columns
        normal = (tl.load(x + at, mask=inside, other=0.0).to(tl.float32) - mean) * rstd
        scale = tl.load(weight + at, mask=inside)
        shift = tl.load(bias + at, mask=inside)
        tl.store(y + at, normal * scale + shift, mask=inside)


@triton.jit
def layer_norm_backward(
    dy, x, weight, mean_in, rstd_in, dx, dweight_parts, dbias_parts, locks, pitch, columns,
    GROUPS: tl.constexpr, LOCK_WORDS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    inside = lanes < columns
    upstream = tl.load(dy + row * pitch + lanes, mask=inside, other=0.0).to(tl.float32)
    scale = tl.load(weight + lanes, mask=inside, other=0.0).to(tl.float32)
    rstd = tl.load(rstd_in + row)
    value = tl.load(x + row * pitch + lanes, mask=inside, other=0.0).to(tl.float32)
    normal = tl.where(inside, (value - tl.load(mean_in + row)) * rstd, 0.0)

    # The gradient, less its parts along the two directions that normalisation removes.
    scaled = upstream * scale
    along_normal = tl.sum(normal * scaled, axis=0) / columns
    along_ones = tl.sum(scaled, axis=0) / columns
    tl.store(dx + row * pitch + lanes, (scaled - (normal * along_normal + along_ones)) * rstd, mask=inside)

    # Add this row's share to its group. The lock is 1 while a program writes; the next word becomes 1 with the
    # first share, so that the partial sums need not be cleared before the launch.
    group = row * GROUPS // tl.num_programs(0)
    lock = locks + group * LOCK_WORDS
    started = lock + 1
    to_weight = dweight_parts + group * columns + lanes
    to_bias = dbias_parts + group * columns + lanes
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    before = inside & (tl.load(started) == 1)
    dweight = tl.load(to_weight, mask=before, other=0.0) + upstream * normal
    dbias = tl.load(to_bias, mask=before, other=0.0) + upstream
    tl.store(to_weight, dweight, mask=inside)
    tl.store(to_bias, dbias, mask=inside)
    tl.debug_barrier()  # on a GPU: before a thread says that there is a share, all have asked, and written theirs
    tl.store(started, 1)
    tl.atomic_xchg(lock, 0)


@triton.jit
def add_groups(dweight_parts, dbias_parts, dweight, dbias, groups, columns,
               BLOCK_GROUPS: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    weight_sum = tl.zeros((BLOCK_GROUPS, BLOCK), dtype=tl.float32)
    bias_sum = tl.zeros((BLOCK_GROUPS, BLOCK), dtype=tl.float32)
    for start in range(0, groups, BLOCK_GROUPS):
        group = start + tl.arange(0, BLOCK_GROUPS)
        inside = (group[:, None] < groups) & (at[None, :] < columns)
        position = group[:, None] * columns + at[None, :]
        weight_sum += tl.load(dweight_parts + position, mask=inside, other=0.0)
        bias_sum += tl.load(dbias_parts + position, mask=inside, other=0.0)
    tl.store(dweight + at, tl.sum(weight_sum, axis=0), mask=at < columns)
    tl.store(dbias + at, tl.sum(bias_sum, axis=0), mask=at < columns)


class Forward(NamedTuple):
    """``y`` of the shape of ``x``; fp32 ``mean`` and ``rstd`` (1 / standard deviation), one for each row."""

    y: Any
    mean: Any
    rstd: Any


class Gradients(NamedTuple):
    """Gradients with the shapes and dtypes of what they belong to."""

    dx: Any
    dweight: Any
    dbias: Any


def run_forward(x: Array, weight: Array, bias: Array, eps: float = 1e-5, y: Array | None = None) -> Forward:
    """Normalise the rows of the contiguous matrix ``x``; ``weight`` and ``bias`` have one value a column."""
    rows, columns = x.shape
    y = empty_like(x) if y is None else y
    mean, rstd = empty((rows,), like=x, dtype="float32"), empty((rows,), like=x, dtype="float32")
    block = min(1024, triton.next_power_of_2(columns))
    layer_norm_forward[(rows,)](x, weight, bias, y, mean, rstd, x.stride(0), columns, eps, BLOCK=block)
    return Forward(y, mean, rstd)


def run_backward(dy: Array, x: Array, weight: Array, forward: Forward) -> Gradients:
    """Gradients of `run_forward` for the upstream gradient ``dy``."""
    rows, columns = x.shape
    groups = min(GROUPS, rows)
    dweight_parts = empty((groups, columns), like=x, dtype="float32")
    dbias_parts = empty((groups, columns), like=x, dtype="float32")
    locks = zeros((groups * LOCK_WORDS,), like=x, dtype="int32")
    dx, dweight, dbias = empty_like(x), empty_like(weight), empty_like(weight)
    layer_norm_backward[(rows,)](
        dy, x, weight, forward.mean, forward.rstd, dx, dweight_parts, dbias_parts, locks, x.stride(0), columns,
        GROUPS=groups, LOCK_WORDS=LOCK_WORDS, BLOCK=triton.next_power_of_2(columns),
    )  # fmt: skip
    add_groups[(triton.cdiv(columns, 128),)](
        dweight_parts, dbias_parts, dweight, dbias, groups, columns, BLOCK_GROUPS=8, BLOCK=128
    )
    return Gradients(dx, dweight, dbias)


def reference_forward(x: np.ndarray, weight: np.ndarray, bias: np.ndarray, eps: float = 1e-5) -> np.ndarray:
    centred = x - x.mean(axis=1, keepdims=True)
    return (
        centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + np.float32(eps)) * weight + bias
    )


def reference_backward(dy: np.ndarray, x: np.ndarray, weight: np.ndarray, eps: float = 1e-5) -> Gradients:
    centred = x - x.mean(axis=1, keepdims=True)
    rstd = 1 / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + np.float32(eps))
    normal, scaled = centred * rstd, dy * weight
    along_normal = (normal * scaled).mean(axis=1, keepdims=True)
    dx = (scaled - normal * along_normal - scaled.mean(axis=1, keepdims=True)) * rstd
    return Gradients(dx, (dy * normal).sum(axis=0), dy.sum(axis=0))
