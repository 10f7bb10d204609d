"""How fast a core multiplies and adds where nothing else holds it up: the floor under products of matrices."""

from __future__ import annotations

from collections.abc import Callable

import torch
import triton
import triton.language as tl

from ...host_features import HostFeatures

VECTORS = 4
"""Of each of two sums. All together keep two units busy whose results take four cycles."""

ROUNDS = 100_000


@triton.jit
def multiply_add(out, factor, term, rounds, LANES: tl.constexpr):
    lanes = tl.arange(0, LANES)
    first = lanes.to(tl.float32)
    second = first + LANES
    for _ in range(rounds):
        first = tl.fma(first, factor, term)
        second = tl.fma(second, factor, term)
    tl.store(out + tl.program_id(0) * LANES + lanes, first + second)


def in_registers(threads: int) -> tuple[Callable[[], object], int]:
    """A function in which each of some threads multiplies and adds fp32 numbers, and how many all of them do."""
    lanes = VECTORS * HostFeatures.current().vector_bits // 32
    out = torch.empty(threads * lanes)
    run = lambda: multiply_add[(threads,)](out, 0.5, 0.25, ROUNDS, LANES=lanes)  # noqa: E731
    return run, threads * 2 * lanes * ROUNDS
