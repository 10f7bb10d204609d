"""A causal convolution along time, channel by channel, as state-space and audio models have: `shift` makes the taps.

``y[t, c] = activation(bias[c] + sum over i of weight[i, c] * x[t - i, c])``, with x = 0 before the start. A program
reads its block of x once; the ``TAPS - 1`` rows before it come along, and what they give is not stored.
"""

import numpy as np
import triton
import triton.language as tl

from ..language.blocks import shift
from ..language.elementwise import activation
from .arrays import Array, empty_like


@triton.jit
def causal_conv(
    x, weight, bias, y, length, channels,
    TAPS: tl.constexpr, BLOCK_T: tl.constexpr, BLOCK_C: tl.constexpr, KIND: tl.constexpr,
):  # fmt: skip
    HALO: tl.constexpr = TAPS - 1
    row = tl.arange(0, BLOCK_T)
    time = tl.program_id(0) * (BLOCK_T - HALO) - HALO + row
    channel = tl.program_id(1) * BLOCK_C + tl.arange(0, BLOCK_C)
    channel_inside = channel < channels
    inside = (time[:, None] >= 0) & (time[:, None] < length) & channel_inside[None, :]
    at = time[:, None] * channels + channel[None, :]
    block = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
    total = tl.zeros((BLOCK_T, BLOCK_C), dtype=tl.float32)
    for tap in tl.static_range(TAPS):
        factor = tl.load(weight + tap * channels + channel, mask=channel_inside, other=0.0).to(tl.float32)
        total += factor[None, :] * shift(block, tap, axis=0)
    biases = tl.load(bias + channel, mask=channel_inside, other=0.0)
    result = activation(total, KIND, 1.0, biases[None, :])
    tl.store(y + at, result.to(y.dtype.element_ty), mask=inside & (row >= HALO)[:, None])


def run(x: Array, weight: Array, bias: Array, y: Array | None = None, *, kind: str = "silu") -> Array:
    """`x` (length, channels), `weight` (taps, channels), `bias` (channels,), all contiguous and of one float type."""
    (length, channels), (taps, channels_of_weight) = x.shape, weight.shape
    if channels != channels_of_weight:
        raise ValueError(f"x has {channels} channels, but weight has {channels_of_weight}")
    y = empty_like(x) if y is None else y
    rows = max(64, 4 * triton.next_power_of_2(taps))
    grid = (triton.cdiv(length, rows - taps + 1), triton.cdiv(channels, 64))
    causal_conv[grid](x, weight, bias, y, length, channels, TAPS=taps, BLOCK_T=rows, BLOCK_C=64, KIND=kind)
    return y


def reference(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """With kind "silu"."""
    total = np.zeros_like(x) + bias
    for tap, factor in enumerate(weight):
        total[tap:] += factor * x[: len(x) - tap]
    return total / (1 + np.exp(-total))
