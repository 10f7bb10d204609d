"""What the address of a load or store is computed from: for those who ask where accesses go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, IntegerType, UnitAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from . import alu, control, convert, lanes, matrix, memory

SUMS = (alu.AddI, alu.SubI)
EXTENSIONS = (convert.ExtS, convert.ExtU)
TRANSPARENT = (*EXTENSIONS, lanes.Splat)
LINEAR = (*SUMS, *EXTENSIONS, alu.MulI, alu.Shl)
"""Instructions that give different results for different operands, wrap-around left aside."""

ACCESSES = tuple(
    op
    for family in (memory, matrix)
    for op in vars(family).values()
    if isinstance(op, type) and issubclass(op, Operation) and op.__module__ == family.__name__
)


@dataclass(frozen=True)
class Sum:
    """``constant`` plus each of ``terms`` times its factor, wrap-around left aside."""

    constant: int
    terms: Mapping[SSAValue, int]


def sum_of(value: SSAValue) -> Sum:
    """An integer as a sum, taken apart as far as additions and constant factors go. Scalars spread over lanes count as
    themselves."""
    constant = 0
    terms: dict[SSAValue, int] = {}
    todo = [(value, 1)]
    while todo:
        current, factor = todo.pop()
        op = current.owner
        number = known(current)
        if number is not None:
            constant += factor * number
        elif isinstance(op, SUMS):
            todo.append((op.operands[0], factor))
            todo.append((op.operands[1], -factor if isinstance(op, alu.SubI) else factor))
        elif isinstance(op, TRANSPARENT):
            todo.append((op.operands[0], factor))
        elif isinstance(op, alu.MulI) and (number := known(op.operands[1])) is not None:
            todo.append((op.operands[0], factor * number))
        else:
            terms[current] = terms.get(current, 0) + factor
    return Sum(constant, {term: factor for term, factor in terms.items() if factor})


def known(value: SSAValue) -> int | None:
    """The integer that a scalar register is known to hold."""
    op = value.owner
    if isinstance(op, lanes.Const) and isinstance(op.value, IntegerAttr) and value.type == op.value.type:
        return op.value.value.data
    return None


def carrier_of(value: BlockArgument) -> scf.ForOp | None:
    """The loop that carries `value` from one iteration to the next (its own counter is not carried)."""
    loop = value.block.parent_op() if value.index > 0 else None
    return loop if isinstance(loop, scf.ForOp) else None


def carried_value(loop: scf.ForOp, value: BlockArgument) -> tuple[SSAValue, SSAValue]:
    """What a register that `loop` carries holds in the first iteration, and what it will hold in the next."""
    last = value.block.last_op
    assert last is not None
    return loop.iter_args[value.index - 1], last.operands[value.index - 1]


def loop_counted_by(value: SSAValue) -> scf.ForOp | None:
    """The loop whose counter `value` is."""
    if isinstance(value, BlockArgument) and value.index == 0:
        loop = value.block.parent_op()
        return loop if isinstance(loop, scf.ForOp) else None
    return None


UNSIGNED: Final = "unsignedCmp"


def counts_unsigned(loop: Operation) -> bool:
    """Whether the bounds of an ``scf.for`` are unsigned numbers. (xDSL's class does not know the attribute.)"""
    return isinstance(loop.attributes.get(UNSIGNED, loop.properties.get(UNSIGNED)), UnitAttr)


def known_bound(loop: scf.ForOp, bound: SSAValue) -> int | None:
    """The number that one of a loop's operands is known to be, as the loop reads it."""
    number, ty = known(bound), bound.type
    if number is None or not counts_unsigned(loop) or not isinstance(ty, IntegerType):
        return number
    return number % (1 << ty.width.data)


def axis_of(value: SSAValue) -> int | None:
    """The axis of the launch in which `value` is the program's coordinate."""
    op = value.owner
    return op.axis.value.data if isinstance(op, control.ProgramId) else None


def distance(a: SSAValue, b: SSAValue) -> int | None:
    """``b - a``, if that is known while compiling."""
    first, second = sum_of(a), sum_of(b)
    return second.constant - first.constant if first.terms == second.terms else None


def accesses_through(address: Operation) -> list[Operation]:
    """The loads, stores and matrix instructions that use `address` or an address computed from it."""
    found: list[Operation] = []
    todo = [address]
    seen = {address}
    while todo:
        for result in todo.pop().results:
            for use in result.uses:
                op = use.operation
                if op in seen:
                    continue
                seen.add(op)
                if isinstance(op, ACCESSES):
                    found.append(op)
                else:
                    todo.append(op)
    return found
