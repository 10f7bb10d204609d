"""Handlers of operations that only describe tiles: constants, indices, splats, views, elementwise arithmetic."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, i32, i64
from xdsl.ir import Operation, SSAValue

from ..dialects import tt
from ..dialects.isa import control, memory
from ..dialects.tt import constant_value
from .elementwise import ELEMENTWISE, byte_width, register_element, shape_of
from .evaluate import to_memory
from .fold import elementwise_tile, scalar_of
from .kernel import Handler, KernelLowering
from .tiles import Affine, Buffer, Tile, Uniform, row_major, view


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


def make_range(k: KernelLowering, op: tt.MakeRangeOp) -> None:
    start, _ = op.bounds
    k.set_tile(op.result, Affine(op.result.type.get_shape(), i32, k.b.const(start, i32), (1,)))


def splat(k: KernelLowering, op: tt.SplatOp) -> None:
    ty = op.result.type
    k.set_tile(op.result, Uniform(ty.get_shape(), register_element(ty), k.scalar(op.src)))


def unsplat(k: KernelLowering, op: tt.UnsplatOp) -> None:
    tile = k.tile(op.src)
    if isinstance(tile, Uniform):
        k.set_scalar(op.result, tile.value)
        k.liveness.finish(op)
        return
    buffer = k.scheduler.materialise(tile)
    k.set_buffer(op.result, Buffer((), tile.element, buffer.offset, ()))


def expand_dims(k: KernelLowering, op: tt.ExpandDimsOp) -> None:
    shape, axis = op.result.type.get_shape(), op.axis_index
    dims = tuple(d if d < axis else d + 1 for d in range(len(shape) - 1))
    k.set_tile(op.result, view(k.tile(op.src), shape, dims))


def broadcast(k: KernelLowering, op: tt.BroadcastOp) -> None:
    shape = op.result.type.get_shape()
    k.set_tile(op.result, view(k.tile(op.src), shape, tuple(range(len(shape)))))


def transpose(k: KernelLowering, op: tt.TransOp) -> None:
    shape, order = op.result.type.get_shape(), op.permutation
    dims = tuple(order.index(s) for s in range(len(shape)))
    k.set_tile(op.result, view(k.tile(op.src), shape, dims))


def reshape(k: KernelLowering, op: tt.ReshapeOp) -> None:
    k.set_tile(op.result, reshaped(k, k.tile(op.src), op.result.type.get_shape()))


def reshaped(k: KernelLowering, tile: Tile, shape: tuple[int, ...]) -> Tile:
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


def join(k: KernelLowering, op: tt.JoinOp) -> None:
    """``join(a, b)[..., 0] = a``, ``[..., 1] = b``."""
    k.consume(op)
    buffer = k.allocate(op.result)
    k.scheduler.write(zip([k.tile(op.lhs), k.tile(op.rhs)], halves(buffer), strict=True))
    k.set_tile(op.result, buffer)


def split(k: KernelLowering, op: tt.SplitOp) -> None:
    buffer = k.dense(op.src)
    for result, part in zip(op.results, halves(buffer), strict=True):
        k.set_tile(result, part)


def halves(buffer: Buffer) -> list[Buffer]:
    """Index 0 and index 1 of a last dimension of extent 2."""
    step = buffer.strides[-1] * byte_width(buffer.element)
    shape, strides = buffer.shape[:-1], buffer.strides[:-1]
    return [Buffer(shape, buffer.element, buffer.offset + step * i, strides) for i in range(2)]


def cat(k: KernelLowering, op: tt.CatOp) -> None:
    """Concatenation along the first dimension."""
    k.consume(op)
    buffer = k.allocate(op.result)
    offset = buffer.offset
    for tile in (k.tile(op.lhs), k.tile(op.rhs)):
        k.scheduler.write([(tile, Buffer(tile.shape, tile.element, offset, row_major(tile.shape)))])
        offset += tile.size * byte_width(tile.element)
    k.set_tile(op.result, buffer)


def program_id(k: KernelLowering, op: tt.GetProgramIdOp) -> None:
    k.set_scalar(op.result, grid_value(k, control.ProgramId, int(op.dimension)))


def num_programs(k: KernelLowering, op: tt.GetNumProgramsOp) -> None:
    k.set_scalar(op.result, grid_value(k, control.NumPrograms, int(op.dimension)))


def grid_value(k: KernelLowering, instruction: type[Operation], axis: int) -> SSAValue:
    return k.b.emit(instruction, [], i32, {"axis": IntegerAttr(axis, i64)}, key=(axis,))


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
