"""Evaluates tiles at a point of a loop nest: the demand-driven half of the lowering.

A point gives, for each dimension of a tile, a scalar index and a constant offset for every lane. A tile that does not
vary over the lanes evaluates to a scalar, and the builder places that scalar in the outermost loop it depends on;
so row-wise values are computed once a row although nobody planned it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i1, i8, i64
from xdsl.ir import Attribute, SSAValue

from ..dialects.isa import alu, convert, memory
from ..dialects.isa.addresses import distance
from ..dialects.isa.base import element_of, lanes_of, vector
from ..dialects.locations import LOC, SourceLoc
from ..dialects.tt_enums import CmpIPredicate
from ..dialects.ttarith import CmpiOp
from .builder import Builder
from .elementwise import byte_width
from .lookahead import FARTHEST, Lookahead
from .tiles import (
    Affine,
    Buffer,
    Elementwise,
    Loaded,
    Node,
    Tile,
    Uniform,
    View,
    as_affine,
    parts,
    stride_value,
    view,
)

Lanes = tuple[int, ...] | None
"""Offset of each lane from the scalar index; None where all are 0."""


@dataclass(frozen=True, slots=True)
class Index:
    """Where a point lies along one dimension: ``scalar + lanes[i]`` for lane i."""

    scalar: SSAValue
    lanes: Lanes = None


Point = tuple[Index, ...]


@dataclass(slots=True)
class Address:
    """Byte addresses of the lanes: a scalar, plus constant or computed offsets."""

    scalar: SSAValue
    constant: Lanes
    computed: SSAValue | None

    def is_scalar(self) -> bool:
        return self.constant is None and self.computed is None

    def is_contiguous(self, step: int) -> bool:
        constant = self.constant
        if constant is None or self.computed is not None:
            return False
        return all(offset == lane * step for lane, offset in enumerate(constant))


class Evaluator:
    """Evaluates tiles for one loop nest of `width` lanes.

    `nest_level` is the builder's depth outside of the nest: no load moves above it.
    """

    def __init__(self, builder: Builder, width: int, nest_level: int) -> None:
        self.b = builder
        self.width = width
        self.nest_level = nest_level
        self.lookahead = Lookahead(builder, nest_level)
        self.reduces = False
        """Whether the nest only reduces: it waits for its sums and has time to ask for what comes next."""
        self.zero = Index(builder.const(0, i64))
        self._values: dict[tuple[object, ...], SSAValue] = {}
        self._conjuncts: dict[int, list[Tile]] = {}
        self._kept: list[Tile] = []
        self.assumed: dict[int, tuple[tuple[int, Index], ...]] = {}
        """id of each mask conjunct that holds in every lane of the loop under construction -> at which points: those
        that lie so along the dimensions named."""

    # --- values -----------------------------------------------------------------------------------------------

    def value(self, tile: Tile, point: Point) -> SSAValue:
        """The element of `tile` at `point`: a scalar, or a vector of `width` lanes."""
        match tile:
            case Uniform():
                return tile.value
            case Affine():
                return self._combined(self.address(tile, point))
            case View():
                return self.value(tile.source, self.through(tile, point))
            case _:
                pass
        place = self.assumed.get(id(tile))
        if place is not None and all(point[dim] == index for dim, index in place):
            return self.b.const(1, i1)
        key = (id(tile), point, len(self.assumed))
        known = self._values.get(key)
        if known is None:
            known = self._values[key] = self._evaluate(tile, point)
            self._kept.append(tile)  # an id must not be reused while it is a key
        return known

    def vector_value(self, tile: Tile, point: Point) -> SSAValue:
        """As `value`, spread over the lanes."""
        return self.b.splat(self.value(tile, point), self.width)

    def through(self, tile: View, point: Point) -> Point:
        """The point of a view's source that `point` of the view shows."""
        return tuple(self.zero if d is None else point[d] for d in tile.dims)

    def _evaluate(self, tile: Tile, point: Point) -> SSAValue:
        if isinstance(tile, Node) and tile.buffer is not None:
            return self._read(tile.buffer, point)
        match tile:
            case Buffer():
                return self._read(tile, point)
            case Loaded():
                # Loaded where it is needed, for whoever needs it first: an error still names the line of the load.
                needed_by = self.b.location
                location = tile.source.attributes.get(LOC)
                self.b.location = location if isinstance(location, SourceLoc) else None
                value = self._load(tile, point)
                self.b.location = needed_by
                return value
            case Elementwise():
                if tile.name == "arith.select" and self.b.known(self.value(tile.operands[0], point)):
                    return self.value(tile.operands[1], point)
                return self.apply(tile, [self.value(operand, point) for operand in tile.operands])
            case _:
                raise AssertionError(f"no evaluation for {type(tile).__name__}")

    def apply(self, tile: Elementwise, args: Sequence[SSAValue]) -> SSAValue:
        """An elementwise operation on scalars and vectors mixed."""
        count = max((lanes_of(arg.type) for arg in args), default=1)
        return self.b.computed(tile.source, tile.compute, [self.b.splat(arg, count) for arg in args])

    # --- addresses ----------------------------------------------------------------------------------------------

    def address(self, tile: Tile, point: Point) -> Address:
        """The lanes of an integer or address tile, taken apart."""
        b = self.b
        affine = as_affine(tile, b)
        element = affine.element
        scalars: list[SSAValue] = []
        constant = [0] * self.width
        varies = False
        computed: SSAValue | None = None
        for stride, index in zip(affine.strides, point, strict=True):
            if isinstance(stride, int) and stride == 0:
                continue
            step = stride_value(stride, element, b)
            scalars.append(b.muli(b.resize(index.scalar, element), step))
            if index.lanes is None:
                continue
            if isinstance(stride, int):
                varies = True
                constant = [have + stride * lane for have, lane in zip(constant, index.lanes, strict=True)]
            else:
                offsets = b.lane_const(index.lanes, element)
                part = b.emit(alu.MulI, [b.splat(step, self.width), offsets], offsets.type)
                computed = part if computed is None else b.emit(alu.AddI, [computed, part], part.type)
        for term in affine.terms:
            part = self.value(term, point)
            if lanes_of(part.type) == 1:
                scalars.append(part)
            else:
                computed = part if computed is None else b.emit(alu.AddI, [computed, part], part.type)
        total = affine.base
        for part in sorted(
            scalars, key=b.level_of
        ):  # outer loops first, so that partial sums leave the inner ones
            total = b.addi(total, part)
        return Address(total, tuple(constant) if varies and any(constant) else None, computed)

    def _combined(self, address: Address) -> SSAValue:
        b = self.b
        if address.is_scalar():
            return address.scalar
        total = b.splat(address.scalar, self.width)
        if address.constant is not None:
            offsets = b.lane_const(address.constant, address.scalar.type)
            total = (
                offsets if b.known(address.scalar) == 0 else b.emit(alu.AddI, [total, offsets], total.type)
            )
        if address.computed is not None:
            total = b.emit(alu.AddI, [total, address.computed], total.type)
        return total

    # --- the scratchpad -------------------------------------------------------------------------------------------

    def buffer_address(self, buffer: Buffer, point: Point) -> Address:
        size = byte_width(buffer.element)
        strides = tuple(step * size for step in buffer.strides)
        return self.address(Affine(buffer.shape, i64, self.b.scratch(buffer.offset), strides), point)

    def _read(self, buffer: Buffer, point: Point) -> SSAValue:
        stored = memory_element(buffer.element)
        where = self.buffer_address(buffer, point)
        raw = self._load_lanes(where, stored, None, None, self.nest_level)
        return from_memory(self.b, raw, buffer.element)

    def write(self, buffer: Buffer, point: Point, value: SSAValue) -> None:
        """Stores `value` (spread over the lanes where the buffer varies over them) at `point`."""
        where = self.buffer_address(buffer, point)
        self._store_lanes(where, to_memory(self.b, value), None)

    # --- global memory ----------------------------------------------------------------------------------------------

    def _load(self, tile: Loaded, point: Point) -> SSAValue:
        where = self.address(tile.pointer, point)
        stored = memory_element(tile.element)
        mask, relaxed = self.mask(tile.mask, point)
        other = None
        if mask is not None and tile.other is not None:
            other = to_memory(self.b, self.value(tile.other, point))
        inputs = [tile.pointer] if tile.mask is None else [tile.pointer, tile.mask]
        level = self.b.depth if relaxed or self._leans_on_bounds(inputs) else self.nest_level
        raw = self._load_lanes(where, stored, mask, other, level)
        self._prefetch("read", where, byte_width(stored), tile.size)
        return from_memory(self.b, raw, tile.element)

    def _leans_on_bounds(self, tiles: Sequence[Tile]) -> bool:
        """Whether `tiles` are computed from a mask that holds in this loop only: outside of it, which may not run at
        all, the address of a load may be none."""
        return bool(self.assumed) and any(id(part) in self.assumed for tile in tiles for part in parts(tile))

    def _prefetch(self, intent: str, where: Address, size: int, count: int) -> None:
        """Asks for what an access of this nest, to `count` elements, will want in the kernel's next iteration."""
        b = self.b
        if not where.is_contiguous(size) or count * size > FARTHEST or b.level_of(where.scalar) < b.depth:
            return
        later = self.lookahead.after(where.scalar)
        # The processor itself goes on reading where the tile ends, but pauses at the ends of pages. That costs
        # more than asking does only where a pass over a tile is followed by others.
        if later is not None and (self.reduces or distance(where.scalar, later) != count * size):
            properties = {"intent": StringAttr(intent), "size": IntegerAttr(self.width * size, i64)}
            b.effect(memory.Prefetch, [later], properties)

    def store(self, pointer: Tile, mask: Tile | None, value: Tile, point: Point) -> Callable[[], None]:
        """``tt.store`` at `point`: reads all that it is computed from, and gives the function that then writes."""
        stored = to_memory(self.b, self.value(value, point))
        where = self.address(pointer, point)
        predicate, _ = self.mask(mask, point)
        self._prefetch("write", where, byte_width(value_element(stored)), value.size)
        varying = predicate is not None and lanes_of(predicate.type) > 1
        if where.is_scalar() and (varying or lanes_of(stored.type) > 1):
            # Several lanes store to one address, in ascending order.
            where = Address(where.scalar, (0,) * self.width, None)
        return lambda: self._store_lanes(where, stored, predicate)

    def _load_lanes(
        self, where: Address, element: Attribute, mask: SSAValue | None, other: SSAValue | None, level: int
    ) -> SSAValue:
        b = self.b
        scalar_mask = mask is None or lanes_of(mask.type) == 1
        if where.is_scalar() and scalar_mask and (other is None or lanes_of(other.type) == 1):
            if mask is None:
                return b.load(memory.Load, [where.scalar], element, not_above=level)
            filler = other if other is not None else b.const(0, element)
            return b.load(memory.LoadMasked, [where.scalar, mask, filler], element, not_above=level)
        result = vector(self.width, element)
        size = byte_width(element)
        if where.is_contiguous(size):
            if mask is None:
                return b.load(memory.Load, [where.scalar], result, not_above=level)
            filler = b.splat(other, self.width) if other is not None else b.const(0, result)
            operands = [where.scalar, b.splat(mask, self.width), filler]
            return b.load(memory.LoadMasked, operands, result, not_above=level)
        if mask is None and where.computed is None and where.constant is not None:
            first, order = min(where.constant), where.constant
            span = len({*order})
            if span > 1 and {*order} == {*range(first, first + span * size, size)}:
                # One stretch of memory, in another order or several times.
                start = b.addi(where.scalar, b.const(first, i64))
                raw = b.load(memory.Load, [start], vector(span, element), not_above=level)
                return b.shuffle(raw, raw, [(offset - first) // size for offset in order])
        filler = b.splat(other, self.width) if other is not None else b.const(0, result)
        predicate = mask if mask is not None else b.const(1, i1)
        operands = [b.splat(self._combined(where), self.width), b.splat(predicate, self.width), filler]
        return b.load(memory.Gather, operands, result, not_above=level)

    def _store_lanes(self, where: Address, value: SSAValue, mask: SSAValue | None) -> None:
        b = self.b
        if where.is_scalar():
            if mask is None:
                b.effect(memory.Store, [b.extract(value, 0), where.scalar])
            else:
                b.effect(memory.StoreMasked, [value, where.scalar, mask])
            return
        spread = b.splat(value, self.width)
        if where.is_contiguous(byte_width(value_element(value))):
            if mask is None:
                b.effect(memory.Store, [spread, where.scalar])
            else:
                b.effect(memory.StoreMasked, [spread, where.scalar, b.splat(mask, self.width)])
            return
        predicate = b.splat(mask if mask is not None else b.const(1, i1), self.width)
        b.effect(memory.Scatter, [spread, b.splat(self._combined(where), self.width), predicate])

    # --- masks ----------------------------------------------------------------------------------------------------

    def conjuncts(self, mask: Tile) -> list[Tile]:
        """The tiles whose conjunction `mask` is."""
        known = self._conjuncts.get(id(mask))
        if known is None:
            known = self._conjuncts[id(mask)] = list(split_conjunction(mask))
            self._kept.append(mask)
        return known

    def mask(self, mask: Tile | None, point: Point) -> tuple[SSAValue | None, bool]:
        """The predicate at `point` (None: all lanes), and whether an assumption about this loop was used."""
        if mask is None:
            return None, False
        b = self.b
        relaxed = False
        total: SSAValue | None = None
        for conjunct in self.conjuncts(mask):
            if id(conjunct) in self.assumed:
                relaxed = True
                continue
            part = self.value(conjunct, point)
            if b.known(part) in (1, -1):
                continue
            if total is None:
                total = part
            else:
                count = max(lanes_of(total.type), lanes_of(part.type))
                total = b.emit(alu.And, [b.splat(total, count), b.splat(part, count)], vector(count, i1))
        return total, relaxed

    def lanes_in_bounds(self, conjunct: Tile, point: Point, dim: int, extent: int) -> SSAValue | None:
        """How many leading indices along `dim` satisfy `conjunct`, if it is a bound (maybe outside of 0..extent).

        `point` lies at index 0 of `dim` and has no lanes.
        """
        b = self.b
        if not depends_on(conjunct, dim):
            inside = self.value(conjunct, point)
            return b.emit(alu.Select, [inside, b.const(extent, i64), b.const(0, i64)], i64)
        match comparison_of(conjunct):
            case (CmpIPredicate.SLT | CmpIPredicate.SLE as predicate, low, high):
                pass
            case (CmpIPredicate.SGT | CmpIPredicate.SGE as predicate, high, low):
                pass
            case _:
                return None
        low, high = as_affine(low, b), as_affine(high, b)
        if low.strides[dim] != 1 or depends_on(high, dim) or any(depends_on(term, dim) for term in low.terms):
            return None
        start = b.resize(self.value(low, point), i64)
        stop = b.resize(self.value(high, point), i64)
        if predicate in (CmpIPredicate.SLE, CmpIPredicate.SGE):
            stop = b.addi(stop, b.const(1, i64))
        return b.subi(stop, start)


def split_conjunction(mask: Tile) -> list[Tile]:
    """The conjuncts of a mask, views pushed down to them."""
    source, dims = (mask.source, mask.dims) if isinstance(mask, View) else (mask, None)
    if isinstance(source, Elementwise) and source.name == "arith.andi" and source.buffer is None:
        operands = source.operands
        if dims is not None:
            operands = tuple(view(operand, mask.shape, dims) for operand in operands)
        return [part for operand in operands for part in split_conjunction(operand)]
    return [mask]


def comparison_of(tile: Tile) -> tuple[CmpIPredicate, Tile, Tile] | None:
    """Predicate and operands of a mask that is one integer comparison."""
    source, dims = (tile.source, tile.dims) if isinstance(tile, View) else (tile, None)
    if not isinstance(source, Elementwise) or not isinstance(source.source, CmpiOp):
        return None
    low, high = source.operands
    if dims is not None:
        low, high = view(low, tile.shape, dims), view(high, tile.shape, dims)
    return source.source.comparison, low, high


def depends_on(tile: Tile, dim: int) -> bool:
    """Whether the elements of `tile` vary along dimension `dim`, as far as its structure shows."""
    if tile.shape[dim] == 1:
        return False
    match tile:
        case Uniform():
            return False
        case Affine():
            stride = tile.strides[dim]
            return not (isinstance(stride, int) and stride == 0) or any(
                depends_on(t, dim) for t in tile.terms
            )
        case View():
            return any(d == dim and depends_on(tile.source, s) for s, d in enumerate(tile.dims))
        case Buffer():
            return tile.strides[dim] != 0
        case Elementwise():
            return any(depends_on(operand, dim) for operand in tile.operands)
        case _:
            return True


# --- representation in memory ---------------------------------------------------------------------------------


def memory_element(element: Attribute) -> Attribute:
    """What an element is in memory: a boolean is a byte."""
    return i8 if element == i1 else element


def to_memory(b: Builder, value: SSAValue) -> SSAValue:
    """A register as it is stored: booleans as bytes 0 and 1."""
    if value_element(value) != i1:
        return value
    return b.emit(convert.ExtU, [value], vector(lanes_of(value.type), i8))


def from_memory(b: Builder, value: SSAValue, element: Attribute) -> SSAValue:
    """A register as it is used: a stored boolean is true where its byte is not 0."""
    if element != i1:
        return value
    return b.cmpi(CmpIPredicate.NE, value, b.const(0, value.type))


def value_element(value: SSAValue) -> Attribute:
    return element_of(value.type)
