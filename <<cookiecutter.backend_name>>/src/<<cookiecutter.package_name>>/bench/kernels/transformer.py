"""Memory-bound parts of a transformer: rotary position embedding, embedding look-up."""

import triton
import triton.language as tl

from ...examples.arrays import Array


@triton.jit
def rotary(x, cos, sin, out, length, HALF: tl.constexpr, POSITIONS: tl.constexpr):
    """Turns the pairs ``(x[i], x[i + HALF])`` of each head by the angle of its position."""
    position = tl.program_id(0) * POSITIONS + tl.arange(0, POSITIONS)[:, None]
    lanes = tl.arange(0, HALF)[None, :]
    inside = position < length
    first = (tl.program_id(1) * length + position) * 2 * HALF + lanes
    low = tl.load(x + first, mask=inside)
    high = tl.load(x + first + HALF, mask=inside)
    cosine = tl.load(cos + position * HALF + lanes, mask=inside)
    sine = tl.load(sin + position * HALF + lanes, mask=inside)
    tl.store(out + first, low * cosine - high * sine, mask=inside)
    tl.store(out + first + HALF, high * cosine + low * sine, mask=inside)


@triton.jit
def embedding(tokens, table, out, count, width, TOKENS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * TOKENS + tl.arange(0, TOKENS)
    lanes = tl.arange(0, BLOCK)
    token = tl.load(tokens + at, mask=at < count, other=0)
    inside = (at < count)[:, None] & (lanes < width)[None, :]
    row = tl.load(table + token[:, None] * width + lanes[None, :], mask=inside)
    tl.store(out + at[:, None] * width + lanes[None, :], row, mask=inside)


def run_rotary(x: Array, cos: Array, sin: Array, out: Array) -> Array:
    """``x``: heads x length x width, contiguous; ``cos``, ``sin``: length x width / 2."""
    heads, length, width = x.shape
    rotary[(triton.cdiv(length, 32), heads)](x, cos, sin, out, length, HALF=width // 2, POSITIONS=32)
    return out


def run_embedding(tokens: Array, table: Array, out: Array) -> Array:
    """Row ``tokens[i]`` of ``table`` for each i."""
    count, width = tokens.numel(), table.shape[1]
    block, rows = triton.next_power_of_2(width), 4  # a few, so that the first-level cache holds them
    embedding[(triton.cdiv(count, rows),)](tokens, table, out, count, width, TOKENS=rows, BLOCK=block)
    return out
