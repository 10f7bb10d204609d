"""Running totals: what a loop adds up lane by lane, only for the lanes to be added up after it.

    total = tl.zeros([BLOCK])
    for ...:
        total += f(...)
    tl.sum(total)

The loop need not keep ``BLOCK`` totals in the scratchpad, to be read and written in each iteration: as many as fit the
registers of one instruction are enough, in which each iteration folds its elements. Sums of floats are then added in
another order, as they may be in any reduction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ..dialects import tt
from ..dialects.tt import constant_value
from ..dialects.uses import only_user
from ..target import REGISTER_GROUP, VECTOR_LANES
from .combine import Combine, neutral_element
from .elementwise import register_element, shape_of
from .evaluate import Evaluator, Index, Point
from .kernel import KernelLowering
from .roots import Reduction
from .tiles import Buffer, Uniform

LANES: Final = VECTOR_LANES * REGISTER_GROUP
"""Of a running total: as many as the widest instruction has."""

IDEMPOTENT: Final = frozenset(
    f"arith.{name}" for name in ("maxnumf minnumf maximumf minimumf maxsi minsi maxui minui andi ori").split()
)
"""Operations for which it does not matter how often the initial value takes part."""


@dataclass(frozen=True)
class RunningTotal:
    """One that `for_loop` carries: the operation of the body that adds to it, and what it adds."""

    update: Operation
    added: SSAValue
    initial: int | float
    combine: Block


def running_total(loop: scf.ForOp, number: int) -> RunningTotal | None:
    """The carried value `number` of a loop as a running total; None if it is not one."""
    body = loop.body.block
    argument, result = body.args[number + 1], loop.results[number]
    shape = shape_of(argument.type)
    if shape is None or len(shape) != 1 or shape[0] <= LANES:
        return None
    update, reduction = only_user(argument), only_user(result)
    if update is None or not isinstance(reduction, tt.ReduceOp) or len(reduction.srcs) != 1:
        return None
    combine = reduction.combiner
    name = combine.first_op.name if combine.first_op is not None else ""
    terminator = body.last_op
    if update.name != name or only_user(update.results[0]) is not terminator or terminator is None:
        return None
    if Combine(combine, no_outside_values).identities() is None:
        return None
    initial = initial_value(loop.iter_args[number])
    if terminator.operands[number] is not update.results[0] or initial is None:
        return None
    if name not in IDEMPOTENT and initial != neutral_element(name, register_element(argument.type)):
        return None
    first, second = update.operands
    return RunningTotal(update, second if first is argument else first, initial, combine)


def no_outside_values(value: SSAValue) -> SSAValue:
    raise AssertionError("a region of one operation on its arguments uses nothing else")


def initial_value(value: SSAValue) -> int | float | None:
    """The constant in every lane of a tensor."""
    op = value.owner
    if not isinstance(op, Operation) or op.name != "arith.constant" or not isinstance(value.type, TensorType):
        return None
    return constant_value(op.properties["value"])


def open_total(k: KernelLowering, argument: BlockArgument, total: RunningTotal) -> Buffer:
    """Before the loop: the buffer of the total, with its initial value."""
    element, shape = register_element(argument.type), shape_of(argument.type)
    assert shape is not None
    buffer = k.scratch.allocate((LANES,), element, owner=argument)
    initial = k.b.const(total.initial, element)
    k.scheduler.write([(Uniform((LANES,), element, initial), buffer)])
    # What the update operation is made of: nobody evaluates it.
    k.set_tile(argument, Uniform(shape, element, initial))
    return buffer


def add_to_total(k: KernelLowering, total: RunningTotal, buffer: Buffer) -> None:
    """At the end of the body."""
    added = k.tile(total.added)
    k.locate(total.update)
    combine = Combine(total.combine, k.scalar)
    k.scheduler.add(Accumulation(added.shape, total.update, 0, [added], combine, [buffer]))


class Accumulation(Reduction):
    """A reduction that leaves its lanes as they are, combined with what its buffer holds.

    The elements of an iteration are folded first: the total itself is rounded once an iteration, as in the source.
    """

    def outputs(self) -> tuple[Buffer, ...]:
        """None that other roots of the loop read, nor one that has the loop's shape."""
        return ()

    def finish(self, e: Evaluator, point: Point, totals: list[SSAValue], *, across_lanes: bool) -> None:
        assert across_lanes, "there is one axis"
        lanes = (Index(e.zero.scalar, tuple(range(e.width))),)
        before = [e.value(buffer, lanes) for buffer in self.results]
        for buffer, total in zip(self.results, self.combine(e.b, before, totals), strict=True):
            e.write(buffer, lanes, total)
