"""Tiles that are read along one dimension and stored along another: squares of them are turned in registers.

One access of the two would otherwise take its lanes one by one: a scatter takes about a cycle an element, turning a
square a quarter of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ..target import VECTOR_LANES
from .builder import Builder
from .elementwise import byte_width
from .evaluate import Evaluator, Index
from .roots import BufferStore, Root
from .tiles import Shape

SIDE: Final = min(VECTOR_LANES, 16)
"""Rows and columns of a square: a register's lanes, as long as its rows fit the registers."""

WIDEST: Final = 4
"""Bytes of an element; of wider ones a square has twice the registers."""

MOST_NODES: Final = 6
"""What a tile may consist of: the nest has its code once for each row of a square."""


def turned_copy(
    roots: Sequence[Root], shape: Shape, vector_dim: int, nodes: int
) -> tuple[BufferStore, int] | None:
    """The only root of a nest and the dimension along which it is stored, if the nest's lanes run along another one."""
    (root, *others) = roots
    if others or not isinstance(root, BufferStore) or len(shape) != 2 or nodes > MOST_NODES:
        return None
    dim = 1 - vector_dim
    buffer = root.buffer
    if buffer.shape != shape or buffer.strides[dim] != 1 or byte_width(buffer.element) > WIDEST:
        return None
    return None if any(extent % SIDE for extent in shape) else (root, dim)


def emit_turned(b: Builder, root: BufferStore, dim: int) -> None:
    """The nest of `root`: reads lanes along the other dimension, writes them along `dim`."""
    e = Evaluator(b, SIDE, b.depth)
    shape, along = root.buffer.shape, tuple(range(SIDE))
    starts = [b.open_loop()[0] for _ in shape]

    def points(lane_dim: int) -> list[tuple[Index, ...]]:
        """Those of a square's rows, whose lanes run along `lane_dim`."""
        found: list[tuple[Index, ...]] = []
        for row in range(SIDE):
            point = [Index(b.addi(start, b.const(row, i64)) if row else start) for start in starts]
            point[lane_dim] = Index(starts[lane_dim], along)
            found.append(tuple(point))
        return found

    rows = [e.vector_value(root.tile, point) for point in points(1 - dim)]
    for point, column in zip(points(dim), turned(b, rows), strict=True):
        e.write(root.buffer, point, column)
    for extent in reversed(shape):
        b.close_loop(b.const(0, i64), b.const(extent, i64), b.const(SIDE, i64), [], [])


def turned(b: Builder, rows: list[SSAValue]) -> list[SSAValue]:
    """The columns of a square: its halves are merged lane by lane as often as its side is halved."""
    count = len(rows)
    half = count // 2
    merged = tuple(lane // 2 + lane % 2 * count for lane in range(count))
    low, high = merged, tuple(lane + half for lane in merged)
    for _ in range(count.bit_length() - 1):
        pairs = list(zip(rows[:half], rows[half:], strict=True))
        rows = [b.shuffle(upper, lower, lanes) for upper, lower in pairs for lanes in (low, high)]
    return rows
