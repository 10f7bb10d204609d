"""Kernels in which a program owns a row: losses, normalisation, running sums, sorting."""

import triton
import triton.language as tl

from ...examples.arrays import Array


@triton.jit
def cross_entropy(logits, labels, losses, pitch, classes, BLOCK: tl.constexpr):
    """``log(sum(exp(row))) - row[label]``, in one pass over a row of any length."""
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    peak = -float("inf")
    total = 0.0
    for start in range(0, classes, BLOCK):
        at = start + lanes
        value = tl.load(logits + row * pitch + at, mask=at < classes, other=-float("inf")).to(tl.float32)
        new_peak = tl.maximum(peak, tl.max(value, axis=0))
        total = total * tl.exp(peak - new_peak) + tl.sum(tl.exp(value - new_peak), axis=0)
        peak = new_peak
    label = tl.load(labels + row)
    right = tl.load(logits + row * pitch + label).to(tl.float32)
    tl.store(losses + row, peak + tl.log(total) - right)


@triton.jit
def rms_norm(x, weight, y, pitch, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    inside = lanes < columns
    value = tl.load(x + row * pitch + lanes, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(value * value, axis=0) / columns + eps)
    result = value * scale * tl.load(weight + lanes, mask=inside)
    tl.store(y + row * pitch + lanes, result.to(y.dtype.element_ty), mask=inside)


@triton.jit
def scaled_softmax(x, out, columns, SCALE: tl.constexpr, BLOCK: tl.constexpr):
    """The scale is compiled in, so that each makes a kernel of its own."""
    lanes = tl.arange(0, BLOCK)
    inside = lanes < columns
    value = tl.load(x + lanes, mask=inside, other=-float("inf")) * SCALE
    weight = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + lanes, weight / tl.sum(weight, axis=0), mask=inside)


@triton.jit
def cumulative_sum(x, out, pitch, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    inside = lanes < columns
    value = tl.load(x + row * pitch + lanes, mask=inside, other=0.0)
    tl.store(out + row * pitch + lanes, tl.cumsum(value, axis=0), mask=inside)


@triton.jit
def sort_rows(x, out, pitch, BLOCK: tl.constexpr):
    at = tl.program_id(0) * pitch + tl.arange(0, BLOCK)
    tl.store(out + at, tl.sort(tl.load(x + at)))


def run_cross_entropy(logits: Array, labels: Array, losses: Array) -> Array:
    """The loss of each row of ``logits``, whose right classes are ``labels``."""
    rows, classes = logits.shape
    block = min(4096, triton.next_power_of_2(classes))
    cross_entropy[(rows,)](logits, labels, losses, logits.stride(0), classes, BLOCK=block)
    return losses


def run_rms_norm(x: Array, weight: Array, y: Array, eps: float = 1e-6) -> Array:
    rows, columns = x.shape
    rms_norm[(rows,)](x, weight, y, x.stride(0), columns, eps, BLOCK=triton.next_power_of_2(columns))
    return y


def run_cumulative_sum(x: Array, out: Array) -> Array:
    """Running sums along each row."""
    rows, columns = x.shape
    cumulative_sum[(rows,)](x, out, x.stride(0), columns, BLOCK=triton.next_power_of_2(columns))
    return out


def run_sort(x: Array, out: Array) -> Array:
    """Each row in ascending order; rows have a power of two of elements."""
    rows, columns = x.shape
    sort_rows[(rows,)](x, out, x.stride(0), BLOCK=columns)
    return out
