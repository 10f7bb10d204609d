"""Calls of the functions of ``language/blocks.py``: those that move the elements of a block.

A shifted block lies in the scratchpad with a margin before or after it along the axis, which holds the fill. The
result of a shift is a part of that: a view of memory, which costs no instruction. Shifts of one value share the memory
where they have an axis, a fill and a block of the program in common (the taps of a stencil, say).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd, prod
from typing import NamedTuple

from xdsl.ir import Operation, SSAValue

from ..dialects import tt
from ..function_symbols import SHIFT
from .elementwise import byte_width, register_element, shape_of
from .kernel import Handler, KernelLowering
from .scratch import ALIGNMENT
from .simple_ops import elementwise
from .tiles import Buffer, Shape, Uniform


class Shift(NamedTuple):
    """One call: the block, the scalar fill, and the rest of the symbol."""

    source: SSAValue
    fill: SSAValue
    axis: int
    by: int


def shift_of(op: Operation) -> Shift | None:
    """The shift that `op` is; None if it is something else."""
    if not isinstance(op, tt.ExternElementwiseOp) or not op.symbol_name.startswith(SHIFT):
        return None
    axis, by = op.symbol_name.removeprefix(SHIFT).split(".")
    source, fill = op.srcs
    return Shift(source, fill, int(axis), int(by))


def extern(k: KernelLowering, op: tt.ExternElementwiseOp) -> None:
    shift = shift_of(op)
    if shift is None:
        elementwise(k, op)
    else:
        lower_shift(k, op, shift)


def lower_shift(k: KernelLowering, op: tt.ExternElementwiseOp, shift: Shift) -> None:
    result = op.result
    shape, element = shape_of(result.type), register_element(result.type)
    assert shape is not None
    if not any(result.uses):
        k.liveness.finish(op)
    elif abs(shift.by) >= shape[shift.axis]:
        k.set_tile(result, Uniform(shape, element, k.scalar(shift.fill)))
        k.liveness.finish(op)
    else:
        block = k.margins.get(op)
        if block is None:
            block = with_margins(k, op, shift, shape)
        k.set_tile(result, part(block, shape, shift.axis, -shift.by))


def with_margins(k: KernelLowering, op: tt.ExternElementwiseOp, shift: Shift, shape: Shape) -> Buffer:
    """Writes the block and the margins that its shifts need. Gives the block's place between them.

    Notes it for those shifts in `k.margins`.
    """
    axis = shift.axis
    shifts: dict[Operation, int] = {}
    for use in shift.source.uses:
        other = shift_of(use.operation)
        if (
            other is not None
            and use.operation.parent is op.parent
            and (other.source, other.fill, other.axis) == (shift.source, shift.fill, axis)
            and abs(other.by) < shape[axis]
        ):
            shifts[use.operation] = other.by
    before, behind = max(0, *shifts.values()), max(0, *(-by for by in shifts.values()))
    tile, fill = k.tile(shift.source), k.scalar(shift.fill)
    k.consume(op)
    for user in shifts:
        k.liveness.finish(user)
    extent, unit = shape[axis], steps_of_alignment(shape, axis, byte_width(tile.element))
    start = -(-before // unit) * unit
    padded = (*shape[:axis], start + extent + -(-behind // unit) * unit, *shape[axis + 1 :])
    whole = k.scratch.allocate(padded, tile.element)
    block = part(whole, shape, axis, start)
    k.scheduler.materialise_in(tile, block)
    for at, count in (*powers_of_two(start - before, before), *powers_of_two(start + extent, behind)):
        margin = (*shape[:axis], count, *shape[axis + 1 :])
        k.scheduler.write([(Uniform(margin, tile.element, fill), part(whole, margin, axis, at))])
    k.margins.update(dict.fromkeys(shifts, block))
    return block


def steps_of_alignment(shape: Shape, axis: int, width: int) -> int:
    """A number of steps along `axis` after which a vector is as well aligned as before; 1 for short axes."""
    step = prod(shape[axis + 1 :]) * width
    steps = ALIGNMENT // gcd(ALIGNMENT, step)
    return steps if shape[axis] >= 4 * steps else 1


def powers_of_two(start: int, count: int) -> Iterator[tuple[int, int]]:
    """The `count` indices from `start` on, cut into ranges such as loop nests have: start, extent."""
    for bit in range(count.bit_length()):
        if count >> bit & 1:
            yield start, 1 << bit
            start += 1 << bit


def part(buffer: Buffer, shape: Shape, axis: int, at: int) -> Buffer:
    """What begins `at` elements after the start of `buffer` along `axis`."""
    offset = buffer.offset + at * buffer.strides[axis] * byte_width(buffer.element)
    return Buffer(shape, buffer.element, offset, buffer.strides)


HANDLERS: dict[str, Handler] = {"tt.extern_elementwise": extern}
