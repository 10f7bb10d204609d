"""Plans the scratchpad: a stack of regions, one per control-flow region of the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod

from xdsl.ir import Attribute, SSAValue

from .elementwise import byte_width
from .tiles import Buffer, Shape, row_major

ALIGNMENT = 64
"""Buffers start on a cache line, which is also the widest vector register of the reference device."""


class Scratch:
    """Hands out buffers. What a region allocates is given back at its end, for the next region to use."""

    def __init__(self) -> None:
        self._top = 0
        self.peak = 0

    def allocate(
        self,
        shape: Shape,
        element: Attribute,
        *,
        order: tuple[int, ...] | None = None,
        owner: SSAValue | None = None,
    ) -> Buffer:
        """A dense buffer; `order` lists the dimensions from slowest to fastest (default: row major)."""
        strides = row_major(shape)
        if order is not None:
            packed = row_major([shape[d] for d in order])
            strides = tuple(packed[order.index(d)] for d in range(len(shape)))
        offset = self._top
        size = byte_width(element) * prod(shape)
        self._top = (offset + size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
        self.peak = max(self.peak, self._top)
        return Buffer(shape, element, offset, strides, owner)

    @contextmanager
    def region(self) -> Iterator[None]:
        """Buffers allocated inside are free again after it."""
        top = self._top
        yield
        self._top = top
