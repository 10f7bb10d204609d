"""Prefetches go where there is time for them.

The lowering asks for the next row or tile beside the load of this one, in a loop that does little else: the
requests come faster than memory answers, and fill the queue that this loop's own loads need. Most kernels then
compute for a while on what they have loaded. A prefetch moves to the loop with the most arithmetic of those that
follow over the same range, where a request now and then costs nothing: softmax of 4096 x 1024 takes 0.7 times as long.
"""

from __future__ import annotations

import sys
from typing import Final

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import Pure

from ..dialects.isa import control, memory
from ..dialects.isa.addresses import known, sum_of
from ..dialects.isa.base import Instruction, Unit, lanes_of
from ..dialects.walk import operations_in
from .registry import register_pass

WORTH_A_LOAD: Final = 4
"""Arithmetic instructions on vectors that give memory the time for a load of one."""


@register_pass(stage="isa", name="spread-prefetches", after=("expand-special", "streaming-stores"))
def spread_prefetches(module: ModuleOp, options: object = None) -> None:
    """Moves prefetches to the later loop of the same block and range that computes most."""
    for kernel in module.ops:
        if isinstance(kernel, control.Kernel):
            homes = {op.parent_op(): None for op in operations_in(kernel) if isinstance(op, memory.Prefetch)}
            for loop in homes:
                if isinstance(loop, scf.ForOp) and known(loop.lb) is not None:
                    target = busiest_after(loop)
                    if target is not None:
                        move_prefetches(loop, target)


def busiest_after(loop: scf.ForOp) -> scf.ForOp | None:
    """The loop to move to; None where no later one has more time than `loop`."""
    best, most = None, slack_of(loop) + WORTH_A_LOAD
    other = loop.next_op
    while other is not None:
        if isinstance(other, scf.ForOp) and covers(other, loop) and (slack := slack_of(other)) >= most:
            best, most = other, slack
        other = other.next_op
    return best


def covers(other: scf.ForOp, loop: scf.ForOp) -> bool:
    """Whether a loop takes the same steps, as far as `loop` goes or to an end that is known."""
    same_start = other.lb is loop.lb and other.step is loop.step
    return same_start and (other.ub is loop.ub or known(other.ub) is not None)


def slack_of(loop: scf.ForOp) -> int:
    """Arithmetic instructions on vectors in one round, less what its loads from device memory are worth.

    A loop around others has none.
    """
    slack = 0
    for op in loop.body.block.ops:
        if op.regions:
            return -sys.maxsize
        if isinstance(op, memory.Load | memory.LoadMasked | memory.Gather):
            slack -= 0 if is_scratch(op.operands[0]) else WORTH_A_LOAD
        else:
            slack += computes_vector(op)
    return slack


def computes_vector(op: Operation) -> bool:
    """Whether an operation is arithmetic on vectors."""
    if not isinstance(op, Instruction) or op.UNIT not in (Unit.VECTOR, Unit.SPECIAL):
        return False
    return any(lanes_of(value.type) > 1 for value in op.operands)


def is_scratch(address: SSAValue) -> bool:
    """Whether an address is one of the scratchpad."""
    return any(isinstance(term.owner, memory.ScratchAddress) for term in sum_of(address).terms)


def move_prefetches(loop: scf.ForOp, target: scf.ForOp) -> None:
    source, body = loop.body.block, target.body.block
    first = body.first_op
    assert first is not None
    moved: dict[SSAValue, SSAValue] = {source.args[0]: body.args[0]}
    for op in [op for op in source.ops if isinstance(op, memory.Prefetch)]:
        address = copied(op.address, source, moved, first)
        if address is not None:
            body.insert_op_before(op.clone({op.address: address}), first)
            source.erase_op(op)


def copied(
    value: SSAValue, source: Block, moved: dict[SSAValue, SSAValue], place: Operation
) -> SSAValue | None:
    """`value` of `source`, computed again in front of `place`. None if something other than arithmetic makes it."""
    if value in moved:
        return moved[value]
    op = value.owner
    if op is source:
        return None
    if not isinstance(op, Operation) or op.parent is not source:
        return value
    if not op.has_trait(Pure):
        return None
    operands = [copied(operand, source, moved, place) for operand in op.operands]
    if any(operand is None for operand in operands):
        return None
    new = op.clone({old: operand for old, operand in zip(op.operands, operands, strict=True) if operand})
    block = place.parent
    assert block is not None
    block.insert_op_before(new, place)
    moved[value] = new.results[0]
    return moved[value]
