"""What a tensor is while a kernel is lowered: a description of its elements, computed where they are needed.

A `Tile` has a shape and a register element type (pointers are i64 addresses, booleans are i1). Only a `Buffer` occupies
memory. Everything else is evaluated at a point of a loop nest (`evaluate.py`), so index arithmetic, splats, ranges,
broadcasts and masks never become memory, and elementwise chains fuse into the loop of whatever consumes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from .builder import Builder

Shape = tuple[int, ...]
Stride = SSAValue | int
"""Step of a `Affine` tile along a dimension: a number, or a scalar of the tile's element type."""
DimMap = tuple[int | None, ...]
"""For each dimension of a view's source the dimension of the view that indexes it; None is index 0."""


@dataclass(eq=False, slots=True)
class Tile:
    shape: Shape
    element: Attribute

    @property
    def size(self) -> int:
        return prod(self.shape)


@dataclass(eq=False, slots=True)
class Uniform(Tile):
    """One scalar in every element."""

    value: SSAValue


@dataclass(eq=False, slots=True)
class Affine(Tile):
    """Integers or addresses: ``base + sum(strides[d] * index[d]) + sum(terms)``, modulo 2^width.

    ``terms`` are opaque tiles of the same shape and element type.
    """

    base: SSAValue
    strides: tuple[Stride, ...]
    terms: tuple[Tile, ...] = ()


@dataclass(eq=False, slots=True)
class Node(Tile):
    """A tile that costs something to evaluate; it may be materialised: kept in the scratchpad.

    ``value`` is the SSA value of the Triton module that it stands for (None for one made in passing) and
    ``buffer`` the memory that holds it once it was materialised.
    """

    value: SSAValue | None = field(default=None, kw_only=True)
    buffer: Buffer | None = field(default=None, kw_only=True)


@dataclass(eq=False, slots=True)
class Elementwise(Node):
    """``compute`` applied to the elements of ``operands``, all of this tile's shape.

    ``cost`` is a rough count of instructions; ``name`` is the operation's, for dumps and rebuilding.
    ``compute(builder, scalars or vectors of one length) -> value``.
    """

    name: str
    operands: tuple[Tile, ...]
    compute: Callable[[Builder, Sequence[SSAValue]], SSAValue]
    cost: int = 1
    source: Operation | None = None


@dataclass(eq=False, slots=True)
class Wrapped(Elementwise):
    """``affine mod uniform``: where the scalar predicate ``guard`` holds, the whole tile equals ``unwrapped``."""

    guard: SSAValue = field(kw_only=True)
    unwrapped: Tile = field(kw_only=True)


@dataclass(eq=False, slots=True)
class Widened(Elementwise):
    """A sign-extended index tile: ``counted`` unless the narrow tile wraps around.

    An address is taken not to (`fold.py`). For other uses ``guard`` is the scalar predicate that says so (None: nobody
    can tell).
    """

    guard: SSAValue | None = field(kw_only=True)
    counted: Tile = field(kw_only=True)


@dataclass(eq=False, slots=True)
class Loaded(Node):
    """Elements loaded through ``pointer`` where ``mask`` is set (None: everywhere); ``other`` (None: 0) elsewhere."""

    pointer: Tile
    mask: Tile | None
    other: Tile | None
    source: Operation


@dataclass(eq=False, slots=True)
class View(Tile):
    """Another tile with dimensions dropped, added or permuted: dimension ``dims[s]`` indexes source dimension s."""

    source: Tile
    dims: DimMap


@dataclass(eq=False, slots=True)
class Buffer(Tile):
    """Elements in the scratchpad at byte ``offset``, ``strides`` in elements. Booleans take a byte each.

    ``owner``: the Triton value whose death frees the buffer for reuse in place.
    """

    offset: int
    strides: tuple[int, ...]
    owner: SSAValue | None = None


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides in elements of a dense row-major array."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def is_row_major(buffer: Buffer) -> bool:
    """Whether a buffer is dense and row major (the step of an extent of 1 does not matter)."""
    dense = row_major(buffer.shape)
    return all(n == 1 or s == t for n, s, t in zip(buffer.shape, buffer.strides, dense, strict=True))


def is_matrix(buffer: Buffer) -> bool:
    """Whether a buffer's rows are dense, in ascending order, equally far apart and without overlap."""
    if len(buffer.shape) < 2:
        return is_row_major(buffer)
    *outer, length = buffer.shape
    *steps, step = buffer.strides
    pitch = steps[-1] if outer[-1] > 1 else max(steps[-1], length)
    dense = row_major(outer)
    return (
        (length == 1 or step == 1)
        and pitch >= length
        and all(n == 1 or s == pitch * d for n, s, d in zip(outer, steps, dense, strict=True))
    )


def is_integer(element: Attribute) -> bool:
    """Whether `Affine` describes such elements: integers wider than a predicate, and addresses."""
    return isinstance(element, IntegerType) and element.width.data > 1


# --- affine tiles ---------------------------------------------------------------------------------------------


def as_affine(tile: Tile, b: Builder) -> Affine:
    """Any integer tile as base, strides and opaque terms."""
    match tile:
        case Affine():
            return tile
        case Uniform():
            return Affine(tile.shape, tile.element, tile.value, (0,) * len(tile.shape))
        case _:
            return Affine(tile.shape, tile.element, b.const(0, tile.element), (0,) * len(tile.shape), (tile,))


def simplified(tile: Affine, b: Builder) -> Tile:
    """`tile`, as a `Uniform` or as its only term where it is no more than that."""
    if any(
        not (isinstance(s, int) and s == 0) for s, n in zip(tile.strides, tile.shape, strict=True) if n > 1
    ):
        return tile
    if not tile.terms:
        return Uniform(tile.shape, tile.element, tile.base)
    if len(tile.terms) == 1 and b.known(tile.base) == 0:
        return tile.terms[0]
    return tile


def stride_value(stride: Stride, element: Attribute, b: Builder) -> SSAValue:
    return b.const(stride, element) if isinstance(stride, int) else stride


def add_strides(a: Stride, c: Stride, element: Attribute, b: Builder, *, negate: bool) -> Stride:
    if isinstance(a, int) and isinstance(c, int):
        return a - c if negate else a + c
    if isinstance(c, int) and c == 0:
        return a
    va, vc = stride_value(a, element, b), stride_value(c, element, b)
    return b.subi(va, vc) if negate else b.addi(va, vc)


def scale_stride(stride: Stride, factor: SSAValue, b: Builder) -> Stride:
    known = b.known(factor)
    if isinstance(stride, int):
        if known is not None:
            return stride * known
        return 0 if stride == 0 else b.muli(b.const(stride, factor.type), factor)
    return b.muli(stride, factor)


# --- views ------------------------------------------------------------------------------------------------------


def view(tile: Tile, shape: Shape, dims: DimMap) -> Tile:
    """`tile` seen in `shape`; ``dims[s]`` is the dimension of the view that indexes source dimension s.

    A source dimension of extent 1 needs no index. Free for everything but a `Node`, which keeps its identity under
    the view.
    """
    dims = tuple(None if n == 1 else d for d, n in zip(dims, tile.shape, strict=True))
    match tile:
        case Uniform():
            return Uniform(shape, tile.element, tile.value)
        case Affine():
            strides: list[Stride] = [0] * len(shape)
            for stride, dim in zip(tile.strides, dims, strict=True):
                if dim is not None:
                    strides[dim] = stride
            terms = tuple(view(term, shape, dims) for term in tile.terms)
            return Affine(shape, tile.element, tile.base, tuple(strides), terms)
        case Buffer():
            steps = [0] * len(shape)
            for step, dim in zip(tile.strides, dims, strict=True):
                if dim is not None:
                    steps[dim] = step
            return Buffer(shape, tile.element, tile.offset, tuple(steps), tile.owner)
        case View():
            inner = tuple(None if d is None else dims[d] for d in tile.dims)
            return view(tile.source, shape, inner)
        case _:
            if shape == tile.shape and all(d is None or d == s for s, d in enumerate(dims)):
                return tile
            return View(shape, tile.element, tile, dims)


def buffer_of(tile: Tile) -> Buffer | None:
    """The memory that `tile` is, or that it was brought into; None where it has to be evaluated."""
    return tile.buffer if isinstance(tile, Node) else tile if isinstance(tile, Buffer) else None


def inputs_of(tile: Tile) -> Sequence[Tile]:
    match tile:
        case Affine():
            return tile.terms
        case Elementwise():
            return tile.operands
        case Loaded():
            return [t for t in (tile.pointer, tile.mask, tile.other) if t is not None]
        case View():
            return [tile.source]
        case _:
            return []


def parts(tile: Tile) -> Iterable[Tile]:
    """`tile` and everything that evaluating it evaluates or reads, buffers included."""
    seen: set[int] = set()
    todo = [tile]
    while todo:
        current = todo.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        if isinstance(current, Node) and current.buffer is not None:
            todo.append(current.buffer)
        else:
            todo.extend(inputs_of(current))


def walk(tile: Tile) -> Iterable[tuple[Node, DimMap]]:
    """The nodes that evaluating `tile` evaluates, consumers first, with the maps from their dimensions to `tile`'s."""
    seen: set[tuple[int, DimMap]] = set()
    order: list[tuple[Node, DimMap]] = []

    def visit(current: Tile, dims: DimMap) -> None:
        if isinstance(current, View):
            visit(current.source, tuple(None if d is None else dims[d] for d in current.dims))
            return
        key = (id(current), dims)
        if key in seen:
            return
        seen.add(key)
        if isinstance(current, Node) and current.buffer is not None:
            return
        for part in inputs_of(current):
            visit(part, dims)
        if isinstance(current, Node):
            order.append((current, dims))

    visit(tile, tuple(range(len(tile.shape))))
    return reversed(order)
