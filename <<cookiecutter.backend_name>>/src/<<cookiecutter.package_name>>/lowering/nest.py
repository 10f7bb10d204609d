"""Loop nests: strip-mined loops over the elements of a shape, whose body evaluates roots on vector registers.

One dimension carries the lanes. Where the masks of the nest bound it (``offset < n``), its loop is split in two: whole
vectors that are in bounds without any mask, then the rest with masks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType
from typing import Final, NamedTuple

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ..dialects.isa import alu
from ..dialects.locations import LOC, SourceLoc
from ..target import REGISTER_GROUP, VECTOR_LANES
from .builder import Builder
from .elementwise import LONG, byte_width
from .evaluate import Evaluator, Index, Lanes, depends_on
from .roots import Finish, Reduction, Root, Store
from .tiles import Affine, Buffer, DimMap, Elementwise, Loaded, Node, Shape, Stride, Tile, View
from .transposition import emit_turned, turned_copy

GROUPS: Final = ((12, REGISTER_GROUP), (30, min(2, REGISTER_GROUP)))
"""Nodes of a loop body -> vector registers that one instruction works on in it. Short bodies hide latencies with long
groups; long ones would run out of registers."""


@dataclass(slots=True)
class Plan:
    """How a nest runs over ``shape``, its extents, some of them merged.

    The loops' dimensions outermost first, the step of each dimension, and its lane offsets.
    """

    shape: Shape
    width: int
    vector_dim: int
    order: list[int]
    steps: list[int]
    lanes: list[Lanes]


class Bound(NamedTuple):
    """Where the part of a loop ends that needs no masks."""

    end: SSAValue
    """A multiple of the loop's step."""
    held: dict[int, list[tuple[int, int]]]
    """id of each mask that holds up to there -> pairs of a dimension along which it varies and that of the nest."""


@dataclass(slots=True)
class Contents:
    """What the tiles of a nest read, each with the map from its dimensions to the nest's."""

    nodes: int = 0
    """How many nodes are evaluated; one with a `LONG` formula counts for many."""
    widest: int = 4
    masks: list[tuple[Tile, DimMap]] = field(default_factory=list[tuple[Tile, DimMap]])
    contiguous: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """(dimension, weight) of every access with unit stride along it.

    What is read once for many elements, such as a row's maximum, weighs as many times less.
    """
    strides: list[tuple[Stride, ...]] = field(default_factory=list[tuple[Stride, ...]])
    """Per index tile or buffer the step along each dimension of the nest, 0 where it has none."""
    shape: Shape = ()
    seen: set[tuple[int, DimMap]] = field(default_factory=set[tuple[int, DimMap]])

    def visit(self, tile: Tile, dims: DimMap) -> None:
        if isinstance(tile, View):
            self.visit(tile.source, tuple(None if d is None else dims[d] for d in tile.dims))
            return
        if (id(tile), dims) in self.seen:
            return
        self.seen.add((id(tile), dims))
        if isinstance(tile, Node):
            self.nodes += LONG // 2 if isinstance(tile, Elementwise) and tile.cost >= LONG else 1
            self.widest = max(self.widest, byte_width(tile.element))
            if tile.buffer is not None:
                self.buffer(tile.buffer, dims)
                return
        match tile:
            case Buffer():
                self.buffer(tile, dims)
            case Affine():
                self.note_strides(tile.strides, dims)
                for term in tile.terms:
                    self.visit(term, dims)
            case Elementwise():
                for operand in tile.operands:
                    self.visit(operand, dims)
            case Loaded():
                self.access(tile.pointer, tile.mask, byte_width(tile.element), dims)
                if tile.other is not None:
                    self.visit(tile.other, dims)
            case _:
                pass

    def note_strides(self, strides: Sequence[Stride], dims: DimMap) -> None:
        steps: list[Stride] = [0] * len(self.shape)
        for stride, dim in zip(strides, dims, strict=True):
            if dim is not None:
                steps[dim] = stride
        self.strides.append(tuple(steps))

    def buffer(self, buffer: Buffer, dims: DimMap) -> None:
        self.note_strides(buffer.strides, dims)
        for stride, dim in zip(buffer.strides, dims, strict=True):
            if dim is not None and stride == 1:
                self.contiguous.append((dim, self.extent(dims)))

    def extent(self, dims: DimMap) -> int:
        """How many elements a tile has whose dimensions are those of the nest."""
        return prod(self.shape[dim] for dim in dims if dim is not None)

    def access(self, pointer: Tile, mask: Tile | None, size: int, dims: DimMap) -> None:
        self.visit(pointer, dims)
        if isinstance(pointer, Affine):
            for stride, dim in zip(pointer.strides, dims, strict=True):
                if dim is not None and isinstance(stride, int) and stride == size:
                    self.contiguous.append((dim, 2 * self.extent(dims)))
        if mask is not None:
            self.masks.append((mask, dims))
            self.visit(mask, dims)


def contents_of(roots: Sequence[Root]) -> Contents:
    contents = Contents(shape=roots[0].shape)
    same = tuple(range(len(contents.shape)))
    for root in roots:
        for buffer in root.outputs():
            kept = tuple(d for d in same if not (isinstance(root, Reduction) and d == root.axis))
            contents.buffer(buffer, kept)
        if isinstance(root, Store):
            contents.access(root.pointer, root.mask, byte_width(root.value.element), same)
        for tile in root.inputs():
            contents.visit(tile, same)
    return contents


def coalesce(shape: Shape, contents: Contents, axis: int | None) -> Shape:
    """Merges neighbouring dimensions that every access steps through as one: the inner one gets the whole extent.

    Indices of the outer ones are then 0, and that of the inner one runs past its own extent; the addresses are the
    same. (``tl.sort`` works on tensors of shape 2 x 2 x 2 x ...)
    """
    extents = list(shape)
    inner: int | None = None
    for dim in reversed(range(len(shape))):
        if dim == axis:
            inner = None
        elif extents[dim] > 1:
            if inner is not None and all(
                follows(steps[dim], steps[inner], extents[inner]) for steps in contents.strides
            ):
                extents[inner] *= extents[dim]
                extents[dim] = 1
            else:
                inner = dim
    return tuple(extents)


def follows(outer: Stride, inner: Stride, extent: int) -> bool:
    """Whether a step of an outer dimension continues where `extent` steps of the inner one end."""
    return isinstance(outer, int) and isinstance(inner, int) and outer == inner * extent


def make_plan(shape: Shape, contents: Contents, axis: int | None) -> Plan:
    """Chooses the dimension of the lanes (the one most accesses are contiguous in) and how many there are."""
    rank = len(shape)
    score = [0] * rank
    for dim, weight in contents.contiguous:
        score[dim] += weight * min(shape[dim], VECTOR_LANES)
    # Ties go to the larger of the later dimensions.
    vector_dim = max(range(rank), key=lambda d: (score[d], min(shape[d], VECTOR_LANES), d), default=0)
    group = next((group for most, group in GROUPS if contents.nodes <= most), 1)
    wanted = max(1, VECTOR_LANES * group * 4 // contents.widest)
    lanes: list[Lanes] = [None] * rank
    steps = [1] * rank
    if axis is None and vector_dim == rank - 1 and shape[-1] < VECTOR_LANES:
        # The trailing dimensions together fill the register.
        width = min(wanted, prod(shape))
        step = 1
        inner = 1
        for dim in reversed(range(rank)):
            extent = shape[dim]
            covered = min(extent, width // inner)
            if covered > 1:
                lanes[dim] = tuple(lane // inner % covered for lane in range(width))
            steps[dim] = step = covered
            inner *= step
    else:
        width = min(wanted, shape[vector_dim]) if rank else 1
        if width > 1:
            lanes[vector_dim] = tuple(range(width))
            steps[vector_dim] = width
    outer = [d for d in range(rank) if d not in (vector_dim, axis)]
    order = [
        *outer,
        *([vector_dim] if rank and vector_dim != axis else []),
        *([] if axis is None else [axis]),
    ]
    return Plan(shape, width, vector_dim, order, steps, lanes)


class Nest:
    """Emits one loop nest for roots of one shape (and, if there are reductions among them, of one axis)."""

    def __init__(self, b: Builder, roots: Sequence[Root]) -> None:
        self.b = b
        self.roots = roots
        self.reductions = [root for root in roots if isinstance(root, Reduction)]
        self.axis = self.reductions[0].axis if self.reductions else None
        contents = contents_of(roots)
        self.masks = contents.masks
        self.nodes = contents.nodes
        self.shape = coalesce(roots[0].shape, contents, self.axis)
        self.plan = make_plan(self.shape, contents, self.axis)
        self.e = Evaluator(b, self.plan.width, b.depth)
        self.e.reduces = all(isinstance(root, Reduction) for root in roots)
        self.point: list[Index] = [self.e.zero] * len(self.shape)

    def emit(self) -> None:
        turned = turned_copy(self.roots, self.shape, self.plan.vector_dim, self.nodes)
        if turned is None:
            self._loops(0)
        else:
            self._locate(turned[0])
            emit_turned(self.b, *turned)

    def _loops(self, position: int) -> None:
        if position == len(self.plan.order):
            self._body([])
            return
        dim = self.plan.order[position]
        if dim == self.axis:
            self._reduce(dim)
            return

        def body(carried: list[SSAValue]) -> list[SSAValue]:
            self._loops(position + 1)
            return []

        self._count(dim, [], body)

    def _body(self, totals: list[SSAValue]) -> list[SSAValue]:
        """One point: reads, then writes; gives the reductions' new totals."""
        point = tuple(self.point)
        finishes: list[Finish] = []
        for root in self.roots:
            self._locate(root)
            if isinstance(root, Reduction):
                count = len(root.operands)
                totals = [*totals[count:], *root.combine(self.b, totals[:count], root.values(self.e, point))]
            else:
                finishes.append(root.evaluate(self.e, point))
        for root, finish in zip(
            [r for r in self.roots if not isinstance(r, Reduction)], finishes, strict=True
        ):
            self._locate(root)
            finish()
        return totals

    def _locate(self, root: Root) -> None:
        if root.source is not None:
            location = root.source.attributes.get(LOC)
            self.b.location = location if isinstance(location, SourceLoc) else None

    # --- loops ------------------------------------------------------------------------------------------------

    def _count(
        self,
        dim: int,
        carried: list[SSAValue],
        body: Callable[[list[SSAValue]], list[SSAValue]],
        start: int = 0,
    ) -> list[SSAValue]:
        """Runs `body` over the extent of `dim`, split where masks bound it; gives the values carried out."""
        b, extent, step, lanes = self.b, self.shape[dim], self.plan.steps[dim], self.plan.lanes[dim]
        self.point[dim] = Index(b.const(0, i64), lanes)
        if extent - start <= step:
            if start:
                self.point[dim] = Index(b.const(start, i64), lanes)
            return body(carried) if start < extent else carried
        first, last = b.const(start, i64), b.const(extent, i64)
        if dim == self.plan.vector_dim and start == 0 and not self.e.assumed:
            bound = self._bound(dim)
            if bound is not None:
                carried = self._loop(dim, carried, body, first, bound.end, bound.held)
                first = bound.end
        return self._loop(dim, carried, body, first, last)

    def _loop(
        self,
        dim: int,
        carried: list[SSAValue],
        body: Callable[[list[SSAValue]], list[SSAValue]],
        first: SSAValue,
        last: SSAValue,
        held: Mapping[int, Sequence[tuple[int, int]]] = MappingProxyType({}),
    ) -> list[SSAValue]:
        """One loop, in which the masks ``held`` (as in `Bound`) need not be evaluated."""
        b = self.b
        index, values = b.open_loop([value.type for value in carried])
        self.point[dim] = Index(index, self.plan.lanes[dim])
        outside = self.e.assumed
        if held:
            self.e.assumed = {
                mask: tuple((own, self.point[dim]) for own, dim in dims) for mask, dims in held.items()
            }
        results = body(values)
        self.e.assumed = outside
        self.point[dim] = Index(b.const(0, i64), self.plan.lanes[dim])
        return b.close_loop(first, last, b.const(self.plan.steps[dim], i64), carried, results)

    def _bound(self, dim: int) -> Bound | None:
        """Up to where along `dim` the masks that bound it hold; None if none does."""
        b = self.b
        extent, step = self.shape[dim], self.plan.steps[dim]
        limit: SSAValue | None = None
        held: dict[int, list[tuple[int, int]]] = {}
        for conjunct, dims in self._conjuncts():
            count = self._elements_inside(conjunct, dims, dim)
            if count is not None:
                held[id(conjunct)] = [
                    (s, d) for s, d in enumerate(dims) if d is not None and depends_on(conjunct, s)
                ]
                limit = count if limit is None else b.emit(alu.MinS, [limit, count], i64)
        if limit is None:
            return None
        limit = b.emit(alu.MinS, [b.emit(alu.MaxS, [limit, b.const(0, i64)], i64), b.const(extent, i64)], i64)
        return Bound(b.emit(alu.And, [limit, b.const(-step, i64)], i64), held)

    def _conjuncts(self) -> list[tuple[Tile, DimMap]]:
        """What the masks of the nest are conjunctions of, but for what is seen from several directions."""
        seen: dict[int, tuple[Tile, set[DimMap]]] = {}
        for mask, dims in self.masks:
            for conjunct in self.e.conjuncts(mask):
                seen.setdefault(id(conjunct), (conjunct, set()))[1].add(dims)
        return [(conjunct, dims) for conjunct, maps in seen.values() if len(maps) == 1 for dims in maps]

    def _elements_inside(self, conjunct: Tile, dims: DimMap, dim: int) -> SSAValue | None:
        """How many elements along `dim`, from the first on, a mask lets through; None if that is not known before its
        loop, or not the same for all lanes of another dimension."""
        b, e = self.b, self.e
        pending = self.plan.order[self.plan.order.index(dim) + 1 :]
        for own, d in enumerate(dims):
            varies_inside = d in pending or (d is not None and d != dim and bool(self.plan.lanes[d]))
            if varies_inside and depends_on(conjunct, own):
                return None
        point = tuple(e.zero if d is None or d == dim else Index(self.point[d].scalar) for d in dims)
        extent = self.shape[dim]
        if dim in dims:
            return e.lanes_in_bounds(conjunct, point, dims.index(dim), extent)
        inside = e.value(conjunct, point)
        return b.emit(alu.Select, [inside, b.const(extent, i64), b.const(0, i64)], i64)

    # --- reductions ---------------------------------------------------------------------------------------------

    def _reduce(self, axis: int) -> None:
        b, e = self.b, self.e
        starts = [root.start(e, self.plan.width) for root in self.reductions]
        across = axis == self.plan.vector_dim
        start, totals = 0, [total for root in starts if root is not None for total in root]
        if None in starts:
            # No neutral element: the first vector starts the total.
            start = self.plan.steps[axis]
            self.point[axis] = Index(b.const(0, i64), self.plan.lanes[axis])
            totals = [value for root in self.reductions for value in root.values(e, tuple(self.point))]
            others = [root for root in self.roots if not isinstance(root, Reduction)]
            assert not others, "only reductions over stored operands run without a neutral element"
        totals = self._count(axis, totals, self._body, start)
        point = tuple(index for dim, index in enumerate(self.point) if dim != axis)
        for root in self.reductions:
            self._locate(root)
            count = len(root.operands)
            root.finish(e, point, totals[:count], across_lanes=across)
            totals = totals[count:]
