"""Handlers of reductions, histograms and gathers along an axis; scans are in `scan.py`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute, SSAValue

from ..dialects import tt
from ..dialects.isa import alu, memory
from .builder import Builder
from .combine import Combine
from .elementwise import byte_width, register_element
from .evaluate import Evaluator, Index
from .exchange import exchange_of, lower_exchange
from .kernel import Handler, KernelLowering
from .roots import Reduction
from .scan import scan
from .tiles import Affine, Elementwise, Loaded, Tile, Uniform


def reduce(k: KernelLowering, op: tt.ReduceOp) -> None:
    exchange = exchange_of(op)
    if exchange is not None:
        lower_exchange(k, exchange)
        return
    tiles = [k.tile(source) for source in op.srcs]
    combine = Combine(op.combiner, k.scalar)
    results = [k.allocate(result) for result in op.results]
    for result, buffer in zip(op.results, results, strict=True):
        k.set_buffer(result, buffer)
    root = Reduction(tiles[0].shape, op, op.axis_index, tiles, combine, results)
    k.scheduler.add(root)


def gather(k: KernelLowering, op: tt.GatherOp) -> None:
    """``result[i] = source[.., indices[i], ..]``: a load from the scratchpad at computed addresses."""
    axis = op.axis_index
    indices = k.tile(op.indices)
    source = k.dense(op.src)
    size = byte_width(source.element)
    strides = tuple(0 if d == axis else step * size for d, step in enumerate(source.strides))
    pitch = source.strides[axis] * size

    def offset(b: Builder, args: Sequence[SSAValue]) -> SSAValue:
        wide = b.resize(args[0], i64)
        return b.emit(alu.MulI, [wide, b.const(pitch, wide.type)], wide.type)

    term = Elementwise(indices.shape, i64, "gather.offset", (indices,), offset, 2)
    pointer = Affine(indices.shape, i64, k.b.scratch(source.offset), strides, (term,))
    result = op.result
    k.set_tile(result, Loaded(indices.shape, source.element, pointer, None, None, op, value=result))


def histogram(k: KernelLowering, op: tt.HistogramOp) -> None:
    """Counts how often each of 0..bins-1 occurs; values outside are not counted."""
    result = op.result
    shape, element = result.type.get_shape(), register_element(result.type)
    k.consume(op)
    source = k.dense(op.src)
    mask = None if op.mask is None else k.dense(op.mask)
    counts = k.allocate(result)
    k.scheduler.write([(zeros(k, shape, element), counts)])
    b = k.b
    e = Evaluator(b, 1, b.depth)
    index, _ = b.open_loop()
    point = (Index(index),)
    value = b.resize(e.value(source, point), i64, signed=False)
    inside = b.cmpi(6, value, b.const(shape[0], i64))
    if mask is not None:
        inside = b.emit(alu.And, [inside, e.value(mask, point)], i1)
    slot = b.emit(alu.Select, [inside, value, b.const(0, i64)], i64)
    size = byte_width(element)
    address = b.addi(b.scratch(counts.offset), b.muli(slot, b.const(size, i64)))
    old = b.load(memory.Load, [address], element, not_above=b.depth)
    one = b.resize(inside, element, signed=False)
    b.effect(memory.Store, [b.addi(old, one), address])
    b.close_loop(b.const(0, i64), b.const(source.shape[0], i64), b.const(1, i64), [], [])
    k.set_buffer(result, counts)


def zeros(k: KernelLowering, shape: tuple[int, ...], element: Attribute) -> Tile:
    return Uniform(shape, element, k.b.const(0, element))


HANDLERS: dict[str, Handler] = {
    "tt.reduce": reduce,
    "tt.scan": scan,
    "tt.gather": gather,
    "tt.histogram": histogram,
}
