"""Makes tiles of elementwise operations; integer arithmetic on affine tiles stays affine.

This is the axis analysis: ``splat``, ``make_range``, ``broadcast`` and the arithmetic on them become base, strides and
opaque terms, with which loads and stores see contiguity (`evaluate.py`) and loops carry a pointer tile as one scalar.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import IntegerType, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects import tt
from ..dialects.isa import alu
from ..dialects.tt_enums import CmpIPredicate
from .builder import Builder
from .elementwise import pointee_bytes, recipe_of, register_element, shape_of
from .tiles import (
    Affine,
    Elementwise,
    Loaded,
    Node,
    Tile,
    Uniform,
    View,
    Widened,
    Wrapped,
    add_strides,
    as_affine,
    is_integer,
    scale_stride,
    simplified,
    view,
)

SAME_REGISTER = ("tt.bitcast", "arith.bitcast", "tt.int_to_ptr", "tt.ptr_to_int")
"""Operations that change the type of a value, but not its register."""

MAX_TERMS = 3
"""Opaque terms an affine tile may have before it is treated as opaque itself."""

INDEX_RANGE = 1 << 31
"""Offsets of pointers are taken not to wrap while their constant strides stay inside of this range."""


def elementwise_tile(op: Operation, operands: Sequence[Tile], b: Builder) -> Tile:
    """The tile of elementwise operation `op` on tiles of one shape."""
    shape = shape_of(op.results[0].type)
    assert shape is not None
    element = register_element(op.results[0].type)
    if all(isinstance(operand, Uniform) for operand in operands):
        values = [operand.value for operand in operands if isinstance(operand, Uniform)]
        return Uniform(shape, element, scalar_of(op, values, b))
    if op.name in SAME_REGISTER and operands[0].element == element:
        return operands[0]
    if isinstance(op, tt.AddPtrOp):
        return folded("arith.addi", [operands[0], byte_offset(op, operands[1], b)], i64, b) or operands[0]
    tile = folded(op.name, operands, element, b)
    if tile is not None:
        return tile
    recipe = recipe_of(op)
    node = Elementwise(
        shape, element, op.name, tuple(operands), recipe.compute, recipe.cost, op, value=op.results[0]
    )
    return specialised(node, b)


def folded(name: str, operands: Sequence[Tile], element: Attribute, b: Builder) -> Tile | None:
    """The result of an integer operation as an affine tile, if it has that form."""
    rule = AFFINE_RULES.get(name)
    if (
        rule is None
        or not is_integer(element)
        or not all(is_integer(operand.element) for operand in operands)
    ):
        return None
    affine = rule(operands, element, b)
    return None if affine is None else simplified(affine, b)


def scalar_of(op: Operation, values: Sequence[SSAValue], b: Builder) -> SSAValue:
    """The value of elementwise operation `op` on scalars."""
    name = op.name
    if name == "arith.addi" and is_integer(values[0].type):
        return b.addi(values[0], values[1])
    if name == "arith.subi" and is_integer(values[0].type):
        return b.subi(values[0], values[1])
    if name == "arith.muli" and is_integer(values[0].type):
        return b.muli(values[0], values[1])
    if name == "arith.extsi" and is_integer(values[0].type):
        return b.resize(values[0], register_element(op.results[0].type))
    if isinstance(op, tt.AddPtrOp):
        size = b.const(pointee_bytes(op.ptr.type), i64)
        return b.addi(values[0], b.muli(b.resize(values[1], i64), size))
    return b.computed(op, recipe_of(op).compute, values)


# --- affine arithmetic --------------------------------------------------------------------------------------


def add(a: Affine, c: Affine, b: Builder, *, negate: bool = False) -> Affine:
    """``a + c``, or ``a - c``; the terms of a subtracted tile must be gone."""
    base = b.subi(a.base, c.base) if negate else b.addi(a.base, c.base)
    strides = tuple(
        add_strides(s, t, a.element, b, negate=negate) for s, t in zip(a.strides, c.strides, strict=True)
    )
    return Affine(a.shape, a.element, base, strides, (*a.terms, *c.terms))


def fold_add(operands: Sequence[Tile], element: Attribute, b: Builder) -> Affine | None:
    total = add(as_affine(operands[0], b), as_affine(operands[1], b), b)
    return total if len(total.terms) <= MAX_TERMS and worth_it(total) else None


def fold_sub(operands: Sequence[Tile], element: Attribute, b: Builder) -> Affine | None:
    right = as_affine(operands[1], b)
    if right.terms:
        return None
    total = add(as_affine(operands[0], b), right, b, negate=True)
    return total if worth_it(total) else None


def worth_it(tile: Affine) -> bool:
    """Whether a tile has an affine part at all: a sum of opaque data is better left as one operation."""
    return (
        len(tile.terms) < 2
        or is_address(tile)
        or any(not (isinstance(s, int) and s == 0) for s in tile.strides)
    )


def is_address(tile: Tile) -> bool:
    return tile.element == i64


def fold_mul(operands: Sequence[Tile], element: Attribute, b: Builder) -> Affine | None:
    left, right = operands
    if isinstance(left, Uniform):
        left, right = right, left
    if not isinstance(right, Uniform) or not isinstance(left, Affine):
        return None
    strides = tuple(scale_stride(stride, right.value, b) for stride in left.strides)
    terms = tuple(multiply(term, right, b) for term in left.terms)
    return Affine(left.shape, left.element, b.muli(left.base, right.value), strides, terms)


def multiply(tile: Tile, factor: Uniform, b: Builder) -> Tile:
    """An opaque term times a scalar."""
    if b.known(factor.value) == 1:
        return tile
    if isinstance(tile, View):  # below the view there is less to compute
        return view(
            multiply(tile.source, Uniform(tile.source.shape, factor.element, factor.value), b),
            tile.shape,
            tile.dims,
        )
    return Elementwise(tile.shape, tile.element, "arith.muli", (tile, factor), _multiplied, 1)


def _multiplied(b: Builder, args: Sequence[SSAValue]) -> SSAValue:
    return b.emit(alu.MulI, args, args[0].type)


def fold_shift(operands: Sequence[Tile], element: Attribute, b: Builder) -> Affine | None:
    left, right = operands
    amount = b.known(right.value) if isinstance(right, Uniform) else None
    width = element.width.data if isinstance(element, IntegerType) else 0
    if amount is None or not 0 <= amount < width - 1:
        return None
    return fold_mul([left, Uniform(left.shape, element, b.const(1 << amount, element))], element, b)


def fold_extend(operands: Sequence[Tile], element: Attribute, b: Builder) -> Affine | None:
    """A sign extension, of a tile that certainly does not wrap around."""
    tile = operands[0]
    base = b.known(tile.base) if isinstance(tile, Affine) else None
    spans = constant_spans(tile) if isinstance(tile, Affine) and not tile.terms else None
    if not isinstance(tile, Affine) or base is None or spans is None:
        return None
    limit = 1 << (width_of(tile) - 1)
    low, high = base + sum(min(span, 0) for span in spans), base + sum(max(span, 0) for span in spans)
    return counted(tile, element, b) if -limit <= low and high < limit else None


def width_of(tile: Tile) -> int:
    assert isinstance(tile.element, IntegerType)
    return tile.element.width.data


def constant_spans(tile: Affine) -> list[int] | None:
    """How far the tile goes along each dimension, if all strides are constants."""
    spans = [s * (n - 1) for s, n in zip(tile.strides, tile.shape, strict=True) if isinstance(s, int)]
    return spans if len(spans) == len(tile.shape) else None


def counted(tile: Affine, element: Attribute, b: Builder) -> Affine:
    """A narrow affine tile as a wide one, if the narrow one does not wrap."""
    strides = tuple(s if isinstance(s, int) else b.resize(s, element) for s in tile.strides)
    terms = tuple(extended(term, element) for term in tile.terms)
    return Affine(tile.shape, element, b.resize(tile.base, element), strides, terms)


def extended(tile: Tile, element: Attribute) -> Tile:
    """An opaque term sign-extended (or truncated) to `element`."""
    if tile.element == element:
        return tile
    if isinstance(tile, View):
        return view(extended(tile.source, element), tile.shape, tile.dims)

    def compute(b: Builder, args: Sequence[SSAValue]) -> SSAValue:
        return b.resize(args[0], element)

    return Elementwise(tile.shape, element, "arith.extsi", (tile,), compute, 1)


def widened(node: Elementwise, b: Builder) -> Widened | None:
    """The sign extension of an affine tile that may wrap around."""
    tile = node.operands[0]
    if not isinstance(tile, Affine) or node.element != i64 or not index_like(tile):
        return None
    guard = None if tile.terms else stays_inside(tile, b)
    return Widened(
        node.shape, node.element, node.name, node.operands, node.compute, node.cost, node.source,
        value=node.value, guard=guard, counted=counted(tile, i64, b),
    )  # fmt: skip


def stays_inside(tile: Affine, b: Builder) -> SSAValue:
    """Whether a narrow affine tile without terms does not wrap around: its first and last elements, in i64."""
    zero = b.const(0, i64)
    low = high = b.resize(tile.base, i64)
    for stride, extent in zip(tile.strides, tile.shape, strict=True):
        if isinstance(stride, int):
            span = b.const(stride * (extent - 1), i64)
        else:
            span = b.muli(b.resize(stride, i64), b.const(extent - 1, i64))
        low = b.addi(low, b.emit(alu.MinS, [span, zero], i64))
        high = b.addi(high, b.emit(alu.MaxS, [span, zero], i64))
    limit = 1 << (width_of(tile) - 1)
    above = b.cmpi(CmpIPredicate.SGE, low, b.const(-limit, i64))
    below = b.cmpi(CmpIPredicate.SLT, high, b.const(limit, i64))
    return b.emit(alu.And, [above, below], above.type)


def index_like(tile: Affine) -> bool:
    """Whether a 32-bit tile's constant strides say that it counts elements, and is not a hash that means to wrap.

    A tile without strides is data, which costs no more as it is.
    """
    if width_of(tile) < 32 or all(isinstance(s, int) and s == 0 for s in tile.strides):
        return False
    spans = [s * (n - 1) for s, n in zip(tile.strides, tile.shape, strict=True) if isinstance(s, int)]
    return sum(abs(span) for span in spans) < INDEX_RANGE


def byte_offset(op: tt.AddPtrOp, offset: Tile, b: Builder) -> Tile:
    """The offset operand of ``tt.addptr`` in bytes, as i64; 32-bit offsets are taken not to wrap."""
    if offset.element == i64:
        wide = as_affine(Counting(b)(offset), b)
    elif isinstance(offset, Uniform):
        wide = as_affine(Uniform(offset.shape, i64, b.resize(offset.value, i64)), b)
    elif isinstance(offset, Affine) and index_like(offset):
        wide = counted(offset, i64, b)
    else:
        wide = as_affine(extended(offset, i64), b)
    size = Uniform(offset.shape, i64, b.const(pointee_bytes(op.ptr.type), i64))
    return fold_mul([wide, size], i64, b) or wide


AFFINE_RULES: dict[str, Callable[[Sequence[Tile], Attribute, Builder], Affine | None]] = {
    "arith.addi": fold_add,
    "arith.subi": fold_sub,
    "arith.muli": fold_mul,
    "arith.shli": fold_shift,
    "arith.extsi": fold_extend,
}


# --- remainders -------------------------------------------------------------------------------------------------


def specialised(node: Elementwise, b: Builder) -> Elementwise:
    """`node`, as one that is affine under a condition if there is one."""
    match node.name:
        case "arith.remsi":
            return wrapped(node, b) or node
        case "arith.extsi":
            return widened(node, b) or node
        case _:
            return node


def wrapped(node: Elementwise, b: Builder) -> Wrapped | None:
    """``affine % uniform``, which is affine unless the tile wraps.

    Kernels write ``offsets % M`` to keep the rows of a tile inside of a matrix.
    """
    left, right = node.operands
    if not isinstance(left, Affine) or left.terms or not isinstance(right, Uniform):
        return None
    spans = constant_spans(left)
    limit = 1 << (width_of(left) - 1)
    if spans is None or any(span < 0 for span in spans) or sum(spans) >= limit:
        return None
    start = b.emit(alu.RemS, [left.base, right.value], left.base.type)
    span, zero = b.const(sum(spans), start.type), b.const(0, start.type)
    # None of these differences overflows where the conditions before it hold.
    conditions = [
        b.cmpi(CmpIPredicate.SGT, right.value, zero),
        b.cmpi(CmpIPredicate.SGE, left.base, zero),
        b.cmpi(CmpIPredicate.SLE, left.base, b.const(limit - 1 - sum(spans), start.type)),
        b.cmpi(CmpIPredicate.SLT, span, b.subi(right.value, start)),
    ]
    guard = conditions[0]
    for condition in conditions[1:]:
        guard = b.emit(alu.And, [guard, condition], guard.type)
    unwrapped = Affine(left.shape, left.element, start, left.strides)
    return Wrapped(
        node.shape, node.element, node.name, node.operands, node.compute, node.cost, node.source,
        value=node.value, guard=guard, unwrapped=unwrapped,
    )  # fmt: skip


class Unwrapping:
    """Rebuilds tiles under the assumption that no `Wrapped` or `Widened` part wraps, and collects the guards."""

    def __init__(self, b: Builder) -> None:
        self.b = b
        self.guards: list[SSAValue] = []
        self._done: dict[int, Tile] = {}

    def __call__(self, tile: Tile) -> Tile:
        known = self._done.get(id(tile))
        if known is None:
            # What is kept stays kept, except index tiles, which are better affine than stored.
            kept = isinstance(tile, Node) and tile.buffer is not None
            if kept and (isinstance(tile, Loaded) or not is_integer(tile.element)):
                known = tile
            else:
                known = self._rebuilt(tile)
                # A term may be a load whose memory has changed since.
                if kept and not (
                    isinstance(known, Uniform) or (isinstance(known, Affine) and not known.terms)
                ):
                    known = tile
            self._done[id(tile)] = known
        return known

    def _rebuilt(self, tile: Tile) -> Tile:
        b = self.b
        match tile:
            case Wrapped():
                self._require(tile.guard)
                return tile.unwrapped
            case Widened() if tile.guard is not None:
                self._require(tile.guard)
                return tile.counted
            case View():
                source = self(tile.source)
                return tile if source is tile.source else view(source, tile.shape, tile.dims)
            case Affine() if tile.terms:
                terms = [self(term) for term in tile.terms]
                if all(new is old for new, old in zip(terms, tile.terms, strict=True)):
                    return tile
                total = Affine(tile.shape, tile.element, tile.base, tile.strides)
                for term in terms:
                    total = add(total, as_affine(term, b), b)
                return simplified(total, b)
            case Elementwise():
                operands = [self(operand) for operand in tile.operands]
                if all(new is old for new, old in zip(operands, tile.operands, strict=True)):
                    return tile
                return self._again(tile, operands)
            case Loaded():
                pointer = self(tile.pointer)
                mask = None if tile.mask is None else self(tile.mask)
                if pointer is tile.pointer and mask is tile.mask:
                    return tile
                return Loaded(tile.shape, tile.element, pointer, mask, tile.other, tile.source)
            case _:
                return tile

    def _again(self, tile: Elementwise, operands: list[Tile]) -> Tile:
        affine = folded(tile.name, operands, tile.element, self.b)
        if affine is not None:
            return affine
        again = Elementwise(
            tile.shape, tile.element, tile.name, tuple(operands), tile.compute, tile.cost, tile.source
        )
        wide = widened(again, self.b) if tile.name == "arith.extsi" else None
        if wide is not None and wide.guard is not None:
            self._require(wide.guard)
            return wide.counted
        return again

    def _require(self, guard: SSAValue) -> None:
        if guard not in self.guards:
            self.guards.append(guard)


class Counting:
    """Rebuilds offsets of pointers, with `Widened` parts that are taken not to wrap around.

    What is no index tile stays as it is: a load must keep its place in the program.
    """

    def __init__(self, b: Builder) -> None:
        self.b = b
        self._done: dict[int, Tile] = {}

    def __call__(self, tile: Tile) -> Tile:
        known = self._done.get(id(tile))
        if known is None:
            known = self._done[id(tile)] = self._rebuilt(tile)
        return known

    def _rebuilt(self, tile: Tile) -> Tile:
        match tile:
            case Widened():
                return tile.counted
            case View():
                source = self(tile.source)
                return tile if source is tile.source else view(source, tile.shape, tile.dims)
            case Affine() if tile.terms:
                total = Affine(tile.shape, tile.element, tile.base, tile.strides)
                for term in tile.terms:
                    total = add(total, as_affine(self(term), self.b), self.b)
                return simplified(total, self.b)
            case Elementwise() if tile.name in AFFINE_RULES and tile.buffer is None:
                operands = [self(operand) for operand in tile.operands]
                affine = folded(tile.name, operands, tile.element, self.b)
                plain = isinstance(affine, Uniform) or (isinstance(affine, Affine) and not affine.terms)
                return affine if plain and affine is not None else tile
            case _:
                return tile
