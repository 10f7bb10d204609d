"""Softmax over the rows of a matrix: reductions, and programs that stay and loop.

A row is read once, kept on chip while its maximum and its sum are found, and written once. The grid is sized
by the device rather than by the data: each program takes a run of neighbouring rows, the next of which is on its way
while it works on one.
"""

import numpy as np
import triton
import triton.language as tl
from triton.runtime import driver

from .arrays import Array, empty_like

PROGRAMS_PER_CORE = 8


@triton.jit
def fused_softmax(out, out_pitch, x, x_pitch, rows, columns, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    inside = lanes < columns
    run = tl.cdiv(rows, tl.num_programs(0))
    first = tl.program_id(0) * run
    for row in tl.range(first, tl.minimum(first + run, rows), num_stages=STAGES):
        # A lane outside the row must neither win the maximum nor add to the sum: exp(-inf) is 0.
        values = tl.load(x + row * x_pitch + lanes, mask=inside, other=-float("inf"))
        weights = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * out_pitch + lanes, weights / tl.sum(weights, axis=0), mask=inside)


def run(x: Array, out: Array | None = None) -> Array:
    """Softmax of each row of the matrix ``x``; rows may be padded (any pitch), columns are contiguous."""
    out = empty_like(x) if out is None else out
    rows, columns = x.shape
    cores = driver.active.utils.get_device_properties(driver.active.get_current_device())[
        "multiprocessor_count"
    ]
    programs = min(rows, cores * PROGRAMS_PER_CORE)
    fused_softmax[(programs,)](
        out, out.stride(0), x, x.stride(0), rows, columns, BLOCK=triton.next_power_of_2(columns), STAGES=2
    )
    return out


def reference(x: np.ndarray) -> np.ndarray:
    weights = np.exp(x - x.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)
