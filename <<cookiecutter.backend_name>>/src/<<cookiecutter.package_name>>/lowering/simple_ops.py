"""Handlers of operations that only describe tiles: constants, indices, splats, views, elementwise arithmetic."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, i32, i64
from xdsl.ir import Operation, SSAValue

from ..dialects.isa import control, memory
from ..dialects.tt import constant_value
from ..dialects.tt.values import integers
from .elementwise import ELEMENTWISE, byte_width, register_element, shape_of
from .evaluate import to_memory
from .fold import elementwise_tile, scalar_of
from .kernel import Handler, KernelLowering
from .tiles import Buffer, Linear, Tile, Uniform, row_major, view


def elementwise(k: KernelLowering, op: Operation) -> None:
    result = op.results[0]
    shape = shape_of(result.type)
    if shape is None:
        k.set_scalar(result, scalar_of(op, [k.scalar(operand) for operand in op.operands], k.b))
        k.liveness.finish(op)
        return
    operands = [k.operand_tile(operand, shape) for operand in op.operands]
    k.set_tile(result, elementwise_tile(op, operands, k.b))


def constant(k: KernelLowering, op: Operation) -> None:
    result, attr = op.results[0], op.properties["value"]
    shape, element = shape_of(result.type), register_element(result.type)
    if shape is None:
        k.set_scalar(result, k.b.const_attr(attr, element))
    elif (number := constant_value(attr)) is not None:
        k.set_tile(result, Uniform(shape, element, k.b.const(number, element)))
    elif isinstance(attr, DenseIntOrFPElementsAttr):
        buffer = k.scratch.allocate(shape, element)
        for number, item in enumerate(attr.get_attrs()):
            address = k.b.scratch(buffer.offset + number * byte_width(element))
            k.b.effect(memory.Store, [to_memory(k.b, k.b.const_attr(item, element)), address])
        k.set_tile(result, buffer)
    else:
        raise k.unsupported(op, f"constant {attr}", "lowering/simple_ops.py")


def poison(k: KernelLowering, op: Operation) -> None:
    """An undefined value: zero, so that runs agree."""
    result = op.results[0]
    shape, element = shape_of(result.type), register_element(result.type)
    zero = k.b.const(0, element)
    if shape is None:
        k.set_scalar(result, zero)
    else:
        k.set_tile(result, Uniform(shape, element, zero))


def make_range(k: KernelLowering, op: Operation) -> None:
    result = op.results[0]
    shape = shape_of(result.type)
    start = op.properties["start"]
    assert shape is not None and isinstance(start, IntegerAttr)
    k.set_tile(result, Linear(shape, i32, k.b.const(start.value.data, i32), (1,)))


def splat(k: KernelLowering, op: Operation) -> None:
    result = op.results[0]
    shape = shape_of(result.type)
    assert shape is not None
    k.set_tile(result, Uniform(shape, register_element(result.type), k.scalar(op.operands[0])))


def unsplat(k: KernelLowering, op: Operation) -> None:
    tile = k.tile(op.operands[0])
    if isinstance(tile, Uniform):
        k.set_scalar(op.results[0], tile.value)
        k.liveness.finish(op)
        return
    buffer = k.scheduler.materialise(tile)
    k.set_buffer(op.results[0], Buffer((), tile.element, buffer.offset, ()))


def expand_dims(k: KernelLowering, op: Operation) -> None:
    result = op.results[0]
    shape = shape_of(result.type)
    axis = op.properties["axis"]
    assert shape is not None and isinstance(axis, IntegerAttr)
    at = axis.value.data
    rank = len(shape) - 1
    k.set_tile(
        result, view(k.tile(op.operands[0]), shape, tuple(d if d < at else d + 1 for d in range(rank)))
    )


def broadcast(k: KernelLowering, op: Operation) -> None:
    shape = shape_of(op.results[0].type)
    assert shape is not None
    tile = k.tile(op.operands[0])
    k.set_tile(op.results[0], view(tile, shape, tuple(range(len(shape)))))


def transpose(k: KernelLowering, op: Operation) -> None:
    shape = shape_of(op.results[0].type)
    assert shape is not None
    order = integers(op.properties["order"])
    dims = tuple(order.index(s) for s in range(len(shape)))
    k.set_tile(op.results[0], view(k.tile(op.operands[0]), shape, dims))


def reshape(k: KernelLowering, op: Operation) -> None:
    shape = shape_of(op.results[0].type)
    assert shape is not None
    k.set_tile(op.results[0], reshaped(k, op, k.tile(op.operands[0]), shape))


def reshaped(k: KernelLowering, op: Operation, tile: Tile, shape: tuple[int, ...]) -> Tile:
    """`tile` in row-major order as `shape`: free if only extents of 1 come or go, else through the scratchpad."""
    if isinstance(tile, Uniform):
        return Uniform(shape, tile.element, tile.value)
    long = [d for d, n in enumerate(tile.shape) if n > 1]
    new = [d for d, n in enumerate(shape) if n > 1]
    if [tile.shape[d] for d in long] == [shape[d] for d in new]:
        dims: list[int | None] = [None] * len(tile.shape)
        for old, at in zip(long, new, strict=True):
            dims[old] = at
        return view(tile, shape, tuple(dims))
    # Not consumed: the result lies in the operand's buffer.
    buffer = k.dense_tile(tile)
    return Buffer(shape, tile.element, buffer.offset, row_major(shape))


def join(k: KernelLowering, op: Operation) -> None:
    """``join(a, b)[..., 0] = a``, ``[..., 1] = b``."""
    result = op.results[0]
    shape = shape_of(result.type)
    assert shape is not None
    k.consume(op)
    buffer = k.allocate(result)
    tiles = [k.tile(operand) for operand in op.operands]
    k.scheduler.write((tile, part) for tile, part in zip(tiles, halves(buffer), strict=True))
    k.set_tile(result, buffer)


def split(k: KernelLowering, op: Operation) -> None:
    buffer = k.dense(op.operands[0])
    for result, part in zip(op.results, halves(buffer), strict=True):
        k.set_tile(result, part)


def halves(buffer: Buffer) -> list[Buffer]:
    """Index 0 and index 1 of a last dimension of extent 2."""
    step = buffer.strides[-1] * byte_width(buffer.element)
    shape, strides = buffer.shape[:-1], buffer.strides[:-1]
    return [Buffer(shape, buffer.element, buffer.offset + step * i, strides) for i in range(2)]


def cat(k: KernelLowering, op: Operation) -> None:
    """Concatenation along the first dimension."""
    result = op.results[0]
    k.consume(op)
    buffer = k.allocate(result)
    tiles = [k.tile(operand) for operand in op.operands]
    pairs: list[tuple[Tile, Buffer]] = []
    offset = buffer.offset
    for tile in tiles:
        pairs.append((tile, Buffer(tile.shape, tile.element, offset, row_major(tile.shape))))
        offset += prod(tile.shape) * byte_width(tile.element)
    for pair in pairs:
        k.scheduler.write([pair])
    k.set_tile(result, buffer)


def program_id(k: KernelLowering, op: Operation) -> None:
    k.set_scalar(op.results[0], grid_value(k, op, control.ProgramId))


def num_programs(k: KernelLowering, op: Operation) -> None:
    k.set_scalar(op.results[0], grid_value(k, op, control.NumPrograms))


def grid_value(k: KernelLowering, op: Operation, instruction: type[Operation]) -> SSAValue:
    axis = op.properties["axis"]
    assert isinstance(axis, IntegerAttr)
    number = axis.value.data
    return k.b.emit(instruction, [], i32, {"axis": IntegerAttr(number, i64)}, key=(number,))


def no_effect(k: KernelLowering, op: Operation) -> None:
    """A hint: nothing to do."""
    k.liveness.finish(op)


HANDLERS: dict[str, Handler] = {
    # Calls of functions are told apart in `block_functions`.
    **dict.fromkeys((name for name in ELEMENTWISE if name != "tt.extern_elementwise"), elementwise),
    "tt.addptr": elementwise,
    "arith.constant": constant,
    "ub.poison": poison,
    "tt.make_range": make_range,
    "tt.splat": splat,
    "tt.unsplat": unsplat,
    "tt.expand_dims": expand_dims,
    "tt.broadcast": broadcast,
    "tt.trans": transpose,
    "tt.reshape": reshape,
    "tt.join": join,
    "tt.split": split,
    "tt.cat": cat,
    "tt.get_program_id": program_id,
    "tt.get_num_programs": num_programs,
    "llvm.intr.assume": no_effect,
}
