"""Which buffers evaluating a tile reads, and whether they may be overwritten meanwhile."""

from __future__ import annotations

from ..dialects import tt
from .elementwise import byte_width
from .tiles import Buffer, DimMap, Loaded, Tile, View, buffer_of, inputs_of


def reads(tile: Tile) -> list[tuple[Buffer | None, DimMap]]:
    """The buffers that evaluating `tile` reads, with the maps from their dimensions to `tile`'s.

    None stands for any buffer, at any place: a ``tt.gather`` loads from the scratchpad.
    """
    found: list[tuple[Buffer | None, DimMap]] = []
    seen: set[tuple[int, DimMap]] = set()

    def visit(current: Tile, dims: DimMap) -> None:
        if isinstance(current, View):
            visit(current.source, tuple(None if d is None else dims[d] for d in current.dims))
            return
        if (id(current), dims) in seen:
            return
        seen.add((id(current), dims))
        buffer = buffer_of(current)
        if buffer is not None:
            found.append((buffer, dims))
            return
        if isinstance(current, Loaded) and isinstance(current.source, tt.GatherOp):
            found.append((None, dims))
        for part in inputs_of(current):
            visit(part, dims)

    visit(tile, tuple(range(len(tile.shape))))
    return found


def disturbs(written: Buffer, reader: Tile) -> bool:
    """Whether writing a buffer, in loops over its own elements, may overtake `reader`'s reading of its old contents."""
    identity: DimMap = tuple(range(len(reader.shape)))
    for buffer, dims in reads(reader):
        if buffer is None:
            return True
        if overlap(buffer, written):
            aligned = buffer.offset == written.offset and buffer.strides == written.strides
            if reader.shape != written.shape or dims != identity or not aligned:
                return True
    return False


def overlap(a: Buffer, c: Buffer) -> bool:
    """Whether two buffers may have memory in common."""
    (a_start, a_end), (c_start, c_end) = extent(a), extent(c)
    return a_start < c_end and c_start < a_end


def extent(buffer: Buffer) -> tuple[int, int]:
    """The offsets of a buffer's first byte and of the one past its last. Strides may be negative."""
    spans = [step * (n - 1) for step, n in zip(buffer.strides, buffer.shape, strict=True)]
    size = byte_width(buffer.element)
    first, last = (sum(choice(span, 0) for span in spans) for choice in (min, max))
    return buffer.offset + first * size, buffer.offset + (last + 1) * size
