"""The handler of ``scf.for``: what a counted loop carries, and how.

Besides scalars in registers and tensors in the scratchpad there are index tiles that the loop only moves by a scalar
(``pointers += step``), which are carried as that scalar, and running totals (`accumulate.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, Operation, SSAValue

from ..dialects import tt
from ..dialects.isa.addresses import counts_unsigned
from ..dialects.tt import constant_value
from .accumulate import RunningTotal, add_to_total, open_total, running_total
from .aliasing import reads
from .control_flow import bind, enter_regions, is_tensor, leave
from .elementwise import register_element
from .kernel import Handler, KernelLowering
from .op_order import op_list
from .tiles import Affine, Buffer, Tile, as_affine, is_integer


@dataclass
class Carried:
    """The arguments of a loop's body, by the way in which they are carried; those in no table are in registers."""

    arguments: Sequence[BlockArgument]
    buffers: dict[SSAValue, Buffer] = field(default_factory=dict)
    affine: dict[SSAValue, Affine] = field(default_factory=dict)
    totals: dict[SSAValue, tuple[RunningTotal, Buffer]] = field(default_factory=dict)
    registers: list[SSAValue] = field(default_factory=list)
    """What the loop starts with: of scalars, and of affine tiles the base, in the order of the arguments."""

    @property
    def bound(self) -> list[SSAValue]:
        """The arguments that are given registers or buffers in each iteration: nobody asks for a total before its
        end."""
        return [argument for argument in self.arguments if argument not in self.totals]


def for_loop(k: KernelLowering, op: scf.ForOp) -> None:
    body = op.body.block
    terminator = body.last_op
    assert terminator is not None
    enter_regions(k, op)
    lower, upper, step = (k.scalar(value) for value in (op.lb, op.ub, op.step))
    k.consume(op)
    carried = carry(k, op, terminator)
    index, registers = k.b.open_loop([register.type for register in carried.registers], index=lower.type)
    k.set_scalar(body.args[0], index)
    k.b.steps[index] = step
    bind(k, carried.bound, registers, carried.buffers, carried.affine)
    with k.scheduler.region():
        k.lower_ops(op_list(body))
        for total, buffer in carried.totals.values():
            add_to_total(k, total, buffer)
        k.scheduler.flush()
        results = leave(
            k, terminator, carried.arguments, carried.buffers, carried.affine, elsewhere=carried.totals
        )
    registers = k.b.close_loop(lower, upper, step, carried.registers, results, unsigned=counts_unsigned(op))
    bind_results(k, op, carried, registers)


def carry(k: KernelLowering, op: scf.ForOp, terminator: Operation) -> Carried:
    """Decides how each value is carried, and writes what tensors start as to their buffers."""
    carried = Carried(op.body.block.args[1:])
    moved = [
        moves_by_scalar(new, old) for new, old in zip(terminator.operands, carried.arguments, strict=True)
    ]
    writes: list[tuple[Tile, Buffer]] = []
    for number, (init, argument) in enumerate(zip(op.iter_args, carried.arguments, strict=True)):
        total = running_total(op, number)
        if total is not None:
            carried.totals[argument] = total, open_total(k, argument, total)
        elif not is_tensor(argument):
            carried.registers.append(k.scalar(init))
        elif moved[number]:
            tile = carried.affine[argument] = as_affine(k.tile(init), k.b)
            k.liveness.pin(buffer.owner for buffer, _ in reads(tile) if buffer is not None)
            k.scheduler.settle_terms(tile)
            carried.registers.append(tile.base)
        else:
            buffer = carried.buffers[argument] = k.allocate(argument)
            writes.append((k.tile(init), buffer))
    k.scheduler.write(writes)
    return carried


def bind_results(k: KernelLowering, op: scf.ForOp, carried: Carried, registers: Sequence[SSAValue]) -> None:
    """The results are what the arguments were at last. Buffers are theirs from here on."""
    result_of: dict[SSAValue, SSAValue] = dict(zip(carried.arguments, op.results, strict=True))
    for argument, (_, buffer) in carried.totals.items():
        result = result_of[argument]
        k.set_buffer(result, replace(buffer, owner=result))
    buffers = {
        result_of[argument]: replace(buffer, owner=result_of[argument])
        for argument, buffer in carried.buffers.items()
    }
    affine = {result_of[argument]: tile for argument, tile in carried.affine.items()}
    bind(k, [result_of[argument] for argument in carried.bound], registers, buffers, affine)


def moves_by_scalar(value: SSAValue, argument: SSAValue) -> bool:
    """Whether an index tensor is carried around a loop with nothing but scalars added to it."""
    if not is_tensor(argument) or not is_integer(register_element(argument.type)):
        return False
    seen = 0
    while value is not argument and seen < 1000:
        seen += 1
        op = value.owner
        if not isinstance(op, Operation):
            return False
        if isinstance(op, tt.AddPtrOp) and is_uniform(op.offset):
            value = op.ptr
        elif op.name == "arith.addi" and is_uniform(op.operands[1]):
            value = op.operands[0]
        elif op.name == "arith.addi" and is_uniform(op.operands[0]):
            value = op.operands[1]
        elif op.name == "arith.subi" and is_uniform(op.operands[1]):
            value = op.operands[0]
        elif isinstance(op, scf.ForOp):
            number = op.results.index(value)  # pyright: ignore[reportArgumentType]
            inner = op.body.block
            last = inner.last_op
            if last is None or not moves_by_scalar(last.operands[number], inner.args[number + 1]):
                return False
            value = op.iter_args[number]
        else:
            return False
    return value is argument


def is_uniform(value: SSAValue) -> bool:
    """Whether a tensor is a splat, by its defining operations."""
    op = value.owner
    if not isinstance(op, Operation):
        return False
    if isinstance(op, tt.SplatOp):
        return True
    if op.name == "arith.constant":
        return constant_value(op.properties["value"]) is not None
    if op.name.startswith("arith.") and len(op.results) == 1:
        return all(is_uniform(operand) for operand in op.operands)
    return False


HANDLERS: dict[str, Handler] = {"scf.for": for_loop}
