"""What makes a loop nest run: the consumers of tiles. Everything else is evaluated because a root asks for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i1, i64
from xdsl.ir import Operation, SSAValue

from ..dialects.isa import alu, control, lanes, memory
from ..dialects.isa.base import lanes_of, vector
from .combine import Combine
from .evaluate import Evaluator, Point
from .tiles import Buffer, Node, Shape, Tile

Finish = Callable[[], None]


@dataclass(eq=False, slots=True)
class Root(ABC):
    """A consumer of tiles of one shape. ``source`` is the Triton operation behind it."""

    shape: Shape
    source: Operation | None

    @abstractmethod
    def inputs(self) -> Sequence[Tile]:
        """The tiles it consumes, all of ``shape``."""

    def outputs(self) -> Sequence[Buffer]:
        """The buffers it writes."""
        return ()

    @abstractmethod
    def evaluate(self, e: Evaluator, point: Point) -> Finish:
        """Evaluates all inputs at `point`; gives the function that then writes. All reads of a point come first: a root
        before this one may write what this one reads."""


@dataclass(eq=False, slots=True)
class Store(Root):
    """``tt.store``."""

    pointer: Tile
    value: Tile
    mask: Tile | None

    def inputs(self) -> Sequence[Tile]:
        return [self.pointer, self.value] if self.mask is None else [self.pointer, self.value, self.mask]

    def evaluate(self, e: Evaluator, point: Point) -> Finish:
        return e.store(self.pointer, self.mask, self.value, point)


@dataclass(eq=False, slots=True)
class BufferStore(Root):
    """Writes a tile to the scratchpad. If that ``materialises`` it, it is read from there from now on."""

    tile: Tile
    buffer: Buffer
    materialises: bool = True

    def inputs(self) -> Sequence[Tile]:
        return [self.tile]

    def outputs(self) -> Sequence[Buffer]:
        return [self.buffer]

    def evaluate(self, e: Evaluator, point: Point) -> Finish:
        value = e.value(self.tile, point)
        return lambda: e.write(self.buffer, point, value)

    def done(self) -> None:
        """Called once the nest was emitted: from here on the tile is read from its buffer."""
        if isinstance(self.tile, Node):
            self.tile.buffer = self.buffer


@dataclass(eq=False, slots=True)
class Reduction(Root):
    """``tt.reduce`` along ``axis``; one buffer of the remaining shape per operand takes the results."""

    axis: int
    operands: list[Tile]
    combine: Combine
    results: list[Buffer]

    def inputs(self) -> Sequence[Tile]:
        return self.operands

    def outputs(self) -> Sequence[Buffer]:
        return self.results

    def evaluate(self, e: Evaluator, point: Point) -> Finish:
        raise AssertionError("a reduction is driven by the nest")

    def start(self, e: Evaluator, width: int) -> list[SSAValue] | None:
        """The totals of `width` lanes before the first element; None if that has to be the first one."""
        neutral = self.combine.identities()
        if neutral is None:
            return None
        return [
            e.b.const(value, vector(width, element))
            for value, element in zip(neutral, self.combine.elements, strict=True)
        ]

    def values(self, e: Evaluator, point: Point) -> list[SSAValue]:
        return [e.vector_value(operand, point) for operand in self.operands]

    def finish(self, e: Evaluator, point: Point, totals: list[SSAValue], *, across_lanes: bool) -> None:
        """Folds the lanes if they ran along the axis, and writes the totals at `point` (without the axis)."""
        if across_lanes:
            totals = self.combine.fold(e.b, totals)
        for buffer, total in zip(self.results, totals, strict=True):
            e.write(buffer, point, total)


@dataclass(eq=False, slots=True)
class AtomicUpdate(Root):
    """``tt.atomic_rmw`` and its like; `atomic` says which there are. ``old`` takes the result."""

    kind: str
    ordering: str
    pointer: Tile
    value: Tile
    mask: Tile | None
    expected: Tile | None
    old: Buffer | None
    deadline: SSAValue | None = None

    def inputs(self) -> Sequence[Tile]:
        return [t for t in (self.pointer, self.value, self.mask, self.expected) if t is not None]

    def outputs(self) -> Sequence[Buffer]:
        return () if self.old is None else [self.old]

    def evaluate(self, e: Evaluator, point: Point) -> Finish:
        addresses, value = e.vector_value(self.pointer, point), e.vector_value(self.value, point)
        mask, _ = e.mask(self.mask, point)
        expected = None if self.expected is None else e.vector_value(self.expected, point)

        def update() -> None:
            old = atomic(e, self.kind, self.ordering, addresses, value, mask, expected, self.deadline)
            if self.old is not None:
                e.write(self.old, point, old)

        return update


def atomic(
    e: Evaluator,
    kind: str,
    ordering: str,
    addresses: SSAValue,
    value: SSAValue,
    mask: SSAValue | None,
    expected: SSAValue | None,
    deadline: SSAValue | None = None,
) -> SSAValue:
    """Inserts one atomic instruction on scalars or vectors; gives the old values.

    `kind` is one of `memory.ATOMICS`; or "cas", with an `expected`; or, with a `deadline`, "load" (the value is
    of no account) or "poll" (for `value`; gives whether it came).
    """
    count = lanes_of(addresses.type)
    order = {"ordering": StringAttr(ordering)}
    if deadline is not None:
        predicate = e.b.splat(mask if mask is not None else e.b.const(1, i1), count)
        op: Operation = memory.AtomicPoll.create(
            operands=[addresses, value, predicate, deadline], result_types=[value.type], properties=order
        )
        found = e.b.insert(op).results[0]
        return e.b.cmpi(0, found, value) if kind == "poll" else found
    if expected is not None:
        op = memory.AtomicCas.create(
            operands=[addresses, expected, value], result_types=[value.type], properties=order
        )
    else:
        predicate = e.b.splat(mask if mask is not None else e.b.const(1, i1), count)
        op = memory.AtomicRmw.create(
            operands=[addresses, value, predicate],
            result_types=[value.type],
            properties={"kind": StringAttr(kind), **order},
        )
    return e.b.insert(op).results[0]


@dataclass(eq=False, slots=True)
class Assertion(Root):
    """``tt.assert``: traps with ``code`` where ``condition`` is false."""

    condition: Tile
    code: int

    def inputs(self) -> Sequence[Tile]:
        return [self.condition]

    def evaluate(self, e: Evaluator, point: Point) -> Finish:
        holds = e.value(self.condition, point)

        def trap() -> None:
            count = lanes_of(holds.type)
            failed = e.b.emit(alu.Xor, [holds, e.b.const(1, holds.type)], vector(count, i1))
            if count > 1:
                failed = e.b.emit(lanes.AnyTrue, [failed], i1)
            e.b.effect(control.Trap, [failed], {"code": IntegerAttr(self.code, i64)})

        return trap
