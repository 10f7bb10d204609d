"""Stores of large outputs go past the caches.

A store to a line that is not in a cache first reads the line from memory. Where a launch writes more than the caches
hold, nobody finds its output there afterwards, so that reading it in, and what it displaces, is lost: vector
addition of 16 million elements takes 1.3 times as long. How much a launch writes is known when it runs: this
pass has the kernel compute it, as far as it is the product of the trip counts of loops and the extents of the grid.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32, i64
from xdsl.ir import BlockArgument, Operation, SSAValue

from ..dialects.isa import alu, control, convert, lanes, memory
from ..dialects.isa.addresses import (
    LINEAR,
    axis_of,
    carried_value,
    carrier_of,
    counts_unsigned,
    known_bound,
    loop_counted_by,
    sum_of,
)
from ..dialects.isa.base import element_of, lanes_of
from ..dialects.isa.checks import bits_of
from ..dialects.walk import operations_in
from ..formulas.formula import Formula
from ..machine import Machine, machine_of
from .expansion import Constants, InsertionPoint
from .registry import register_pass

PART: Final = 4
"""Of the largest cache an output may fill a part, so that it stays there beside the inputs: one in so many."""

FEWEST, MOST = 8 * 2**20, 32 * 2**20
"""Bytes of that part. Caches of hundreds of megabytes serve dozens of cores, and one program never has all of theirs:
in one of 504 MiB, outputs past the caches were slower up to 24 MiB and faster from 32 MiB on."""

LEAST: Final = 64
"""Bytes of a store worth it: a line of the cache."""

READING: Final = (memory.Load, memory.LoadMasked, memory.Gather)


@register_pass(stage="isa", name="streaming-stores", after="expand-f64")
def streaming_stores(module: ModuleOp, options: object = None) -> None:
    """Replaces `Store` by `StoreStreaming` where the kernel goes through an output once and does not read it."""
    least = large(machine_of(options))
    for kernel in module.ops:
        if isinstance(kernel, control.Kernel) and len(kernel.body.blocks) == 1:
            stores: list[memory.Store] = []
            loads: list[Operation] = []
            for op in operations_in(kernel):
                if isinstance(op, memory.Store) and size_of(op.value) >= LEAST:
                    stores.append(op)
                elif isinstance(op, READING):
                    loads.append(op)
            candidates = {store: path for store in stores if (path := path_of(store)) is not None}
            if candidates:
                read = {base for load in loads for base in bases_of(load.operands[0])}
                written = _Written(Constants(kernel.body.blocks[0]), least)
                for store, path in candidates.items():
                    if read.isdisjoint(bases_of(store.address)):
                        written.replace(store, path)


def large(machine: Machine) -> int:
    """Bytes of output that do not stay in its caches."""
    return min(max(machine.cache_bytes // PART, FEWEST), MOST)


def size_of(value: SSAValue) -> int:
    """Bytes of a register."""
    return lanes_of(value.type) * bits_of(element_of(value.type)) // 8


def bases_of(address: SSAValue) -> Iterator[SSAValue]:
    """The kernel's arguments to which something is added to make an address, or the addresses of the lanes."""
    for source in sum_of(address).terms:
        if isinstance(source, BlockArgument):
            carrier = carrier_of(source)
            if carrier is not None:
                yield from bases_of(carried_value(carrier, source)[0])
            elif source.type == i64 and isinstance(source.block.parent_op(), control.Kernel):
                yield source


def path_of(store: memory.Store) -> tuple[list[scf.ForOp], set[int]] | None:
    """The loops around a store, outermost first, and the axes of the launch, if each step of each writes elsewhere."""
    moving = moved_by(store.address)
    if moving is None:
        return None
    by_loops, axes = moving
    loops: list[scf.ForOp] = []
    parent = store.parent_op()
    while not isinstance(parent, control.Kernel):
        if isinstance(parent, scf.ForOp):
            if parent not in by_loops:
                return None
            loops.append(parent)
        elif not isinstance(parent, scf.IfOp):
            return None
        assert parent is not None
        parent = parent.parent_op()
    return loops[::-1], axes


def moved_by(address: SSAValue) -> tuple[set[scf.ForOp], set[int]] | None:
    """The loops and the axes of the launch in whose steps an address moves; None if that cannot be told."""
    loops: set[scf.ForOp] = set()
    axes: set[int] = set()
    seen: set[SSAValue] = set()
    todo = [address]
    while todo:
        value = todo.pop()
        if value in seen:
            continue
        seen.add(value)
        op = value.owner
        counted, axis = loop_counted_by(value), axis_of(value)
        if counted is not None:
            loops.add(counted)
            todo.extend([counted.lb, counted.step])
        elif axis is not None:
            axes.add(axis)
        elif isinstance(value, BlockArgument) and (carrier := carrier_of(value)) is not None:
            initial, following = carried_value(carrier, value)
            if value not in sum_of(following).terms:
                return None
            loops.add(carrier)
            todo.append(initial)
        elif isinstance(op, LINEAR):
            todo.extend(op.operands)
        elif isinstance(op, memory.ScratchAddress) or (
            isinstance(op, Operation) and not isinstance(op, lanes.Const | control.NumPrograms)
        ):
            return None
    return loops, axes


class _Written:
    """How many bytes a launch writes by a store: computed step by step, on the way into the loops around it."""

    def __init__(self, constants: Constants, least: int) -> None:
        self._constants = constants
        self._least = least
        self._flags: dict[tuple[int, Operation, frozenset[int]], SSAValue] = {}

    def replace(self, store: memory.Store, path: tuple[list[scf.ForOp], set[int]]) -> None:
        bypass = self._is_large(store, *path)
        new = memory.StoreStreaming.create(
            operands=[store.value, store.address, bypass], attributes=dict(store.attributes)
        )
        block = store.parent
        assert block is not None
        block.insert_op_before(new, store)
        for op in list(block.ops):
            if isinstance(op, memory.Prefetch) and op.intent.data == "write":
                if set(bases_of(op.address)) == set(bases_of(new.address)):
                    block.erase_op(op)  # it would bring into the caches what goes past them
        block.erase_op(store)

    def _is_large(self, store: memory.Store, loops: list[scf.ForOp], axes: set[int]) -> SSAValue:
        """Whether it is at least `large`, in front of the innermost loop."""
        size = size_of(store.value)
        places: list[Operation] = [*loops] or [store]
        key = (size, places[-1], frozenset(axes))
        if key not in self._flags:
            sink = InsertionPoint(places[0], self._constants)
            count = sink.const(size, i64)
            for axis in sorted(axes):
                extent = sink.emit(control.NumPrograms, [], i32, {"axis": IntegerAttr(axis, i64)})
                count = Formula(sink)(alu.MulI, count, wide(Formula(sink), extent))
            for loop in loops:
                f = Formula(InsertionPoint(loop, self._constants))
                count = f(alu.MulI, count, trips(f, loop))
            f = Formula(InsertionPoint(places[-1], self._constants))
            self._flags[key] = f.compare("sge", count, self._least)
        return self._flags[key]


def wide(f: Formula, value: SSAValue, extension: type[Operation] = convert.ExtS) -> SSAValue:
    """An integer as an i64."""
    return value if value.type == i64 else f.convert(extension, value, i64)


def trips(f: Formula, loop: scf.ForOp) -> SSAValue:
    """How often a loop runs, rounded down."""
    first, last, step = (known_bound(loop, value) for value in (loop.lb, loop.ub, loop.step))
    if first is not None and last is not None and step is not None and step > 0:
        return f.const(max(0, (last - first) // step), i64)
    extension = convert.ExtU if counts_unsigned(loop) else convert.ExtS
    span = f(alu.SubI, wide(f, loop.ub, extension), wide(f, loop.lb, extension))
    if step is not None and step > 0 and step & (step - 1) == 0:
        return f(alu.ShrS, span, step.bit_length() - 1)
    return f(alu.DivS, span, wide(f, loop.step, extension))
