"""Plans the scratchpad: buffers get addresses of their own while a kernel is lowered, and share them afterwards.

`Scratch.allocate` hands out ranges that never overlap. When the instructions are there, `share_memory` finds out from
when to when each buffer is accessed and lets buffers whose times do not overlap lie in the same place.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..dialects.isa import control, memory
from ..dialects.isa.addresses import accesses_through
from .aliasing import extent
from .elementwise import byte_width
from .tiles import Buffer, Shape, row_major

ALIGNMENT = 64
"""Buffers start on a cache line, which is also the widest vector register of the reference device."""

PAGE = 4096
SKEW = 5 * ALIGNMENT
"""Buffers as long as pages are set apart by this. Without it, the same element of each buffer, and of rows in device
memory that are as long, would be in the same set of a first-level cache of eight or twelve ways."""

LONG_ROW = 512
"""Bytes. Rows of a multiple of it are set apart: 16 of them would share eight or fewer of the usual 64 sets."""


class Scratch:
    """Hands out buffers, each at an offset of its own."""

    def __init__(self) -> None:
        self.offsets: list[int] = []
        """Where each buffer starts, ascending; the end of the last one is `top`."""
        self.top = 0

    def allocate(
        self,
        shape: Shape,
        element: Attribute,
        *,
        owner: SSAValue | None = None,
        matrix: bool = False,
    ) -> Buffer:
        """A dense row-major buffer.

        Of a `matrix`, which is accessed a few columns at a time, rows may be set apart.
        """
        strides = matrix_strides(shape, byte_width(element)) if matrix else row_major(shape)
        offset = self.top
        self.offsets.append(offset)
        buffer = Buffer(shape, element, offset, strides, owner)
        size = aligned(extent(buffer)[1] - offset)
        self.top += size + SKEW if size % PAGE == 0 else size
        return buffer

    def share_memory(self, kernel: control.Kernel) -> int:
        """Moves buffers that are never needed at the same time to the same addresses; gives the bytes needed in all."""
        lifetimes = Lifetimes(kernel)
        bounds = [*self.offsets, self.top]
        spans: dict[int, Span] = {}
        addresses: list[tuple[memory.ScratchAddress, int]] = []
        for address in lifetimes.addresses:
            number = bisect_right(self.offsets, address.offset.value.data) - 1
            addresses.append((address, number))
            lifetimes.extend(spans.setdefault(number, Span()), address)
        places: dict[int, int] = {}
        live: list[tuple[int, int, int]] = []  # offset, end of the range, last position
        needed = 0
        for number, span in sorted(spans.items(), key=lambda item: item[1].first):
            size = bounds[number + 1] - bounds[number]
            live = sorted(entry for entry in live if entry[2] >= span.first)
            place = 0
            for start, end, _ in live:
                if place + size <= start:
                    break
                place = max(place, end)
            live.append((place, place + size, span.last))
            places[number] = place
            needed = max(needed, place + size)
        for address, number in addresses:
            within = address.offset.value.data - self.offsets[number]
            address.properties["offset"] = memory.scratch_offset(places[number] + within)
        return needed


def matrix_strides(shape: Shape, size: int) -> tuple[int, ...]:
    """Strides in elements of `size` bytes of a row-major matrix, or of several, that the first-level cache takes well.

    Rows as long as a large power of two lie in few of its sets, and a column of 16 of them does not stay there.
    """
    if len(shape) < 2 or shape[-1] * size % LONG_ROW:
        return row_major(shape)
    pitch = shape[-1] + ALIGNMENT // size
    return (*(outer * pitch for outer in row_major(shape[:-1])), 1)


def aligned(size: int) -> int:
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


@dataclass(slots=True)
class Span:
    """From the first to the last position at which a buffer may be needed."""

    first: int = 1 << 62
    last: int = -1
    accesses: list[Operation] = field(default_factory=list[Operation])


class Lifetimes:
    """Numbers the operations of a kernel in order and finds what each scratchpad address is used by."""

    def __init__(self, kernel: control.Kernel) -> None:
        self.addresses: list[memory.ScratchAddress] = []
        self._position: dict[Operation, int] = {}
        self._end: dict[Operation, int] = {}
        """The position after everything inside an operation: that of the next one."""
        self._count = 0
        for block in kernel.body.blocks:
            self._number(block)

    def _number(self, block: Block) -> None:
        for op in block.ops:
            self._position[op] = self._count
            self._count += 1
            if isinstance(op, memory.ScratchAddress):
                self.addresses.append(op)
            for region in op.regions:
                for inner in region.blocks:
                    self._number(inner)
            self._end[op] = self._count

    def extend(self, span: Span, address: Operation) -> None:
        """Adds the accesses through `address` to `span`.

        A buffer that is accessed in a loop and before or after it is needed from the loop's start to its end: the next
        iteration may read what this one leaves, or must not overwrite it. The order in which the blocks of one region
        run is not known: there a buffer is needed from the region's first operation to its last.
        """
        span.accesses.extend(accesses_through(address))
        span.first = min([span.first, *(self._position[op] for op in span.accesses)])
        span.last = max([span.last, *(self._position[op] for op in span.accesses)])
        for op in span.accesses:
            block, parent = op.parent, op.parent_op()
            while parent is not None and block is not None:
                region = block.parent
                if region is not None and len(region.blocks) > 1:
                    span.first = min(span.first, self._position.get(parent, 0))
                    span.last = max(span.last, self._end.get(parent, self._count))
                block, parent = parent.parent, parent.parent_op()
        loops = {loop for op in span.accesses for loop in self._loops_around(op)}
        grown = True
        while grown:
            grown = False
            for loop in loops:
                start, end = self._position[loop], self._end[loop]
                inside = start <= span.first and span.last < end
                if not inside and (span.first > start or span.last < end):
                    span.first, span.last = min(span.first, start), max(span.last, end)
                    grown = True

    def _loops_around(self, op: Operation) -> Iterator[Operation]:
        parent = op.parent_op()
        while parent is not None and parent in self._position:
            if isinstance(parent, scf.ForOp | scf.WhileOp):
                yield parent
            parent = parent.parent_op()
