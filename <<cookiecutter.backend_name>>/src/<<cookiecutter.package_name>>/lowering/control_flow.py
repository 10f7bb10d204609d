"""Handlers of ``scf.if`` and ``scf.while``, and what all control flow has in common; counted loops are in `loops.py`.

Scalars are carried in registers, tensors in the scratchpad, from where `mem2reg.py` takes those that a register holds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, Region, SSAValue

from .aliasing import disturbs
from .elementwise import register_element
from .kernel import Handler, KernelLowering
from .op_order import op_list
from .tiles import Affine, Buffer, Tile, as_affine

NONE: Final[Mapping[SSAValue, Affine]] = MappingProxyType({})


def is_tensor(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType)


def scalars_of(values: Iterable[SSAValue]) -> list[SSAValue]:
    return [value for value in values if not is_tensor(value)]


def buffers_of(k: KernelLowering, values: Iterable[SSAValue]) -> dict[SSAValue, Buffer]:
    """A buffer for each tensor among `values`."""
    return {value: k.allocate(value) for value in values if is_tensor(value)}


def bind(
    k: KernelLowering,
    values: Sequence[SSAValue],
    registers: Sequence[SSAValue],
    buffers: Mapping[SSAValue, Buffer],
    affine: Mapping[SSAValue, Affine] = NONE,
) -> None:
    """Gives carried `values` their registers and buffers."""
    rest = iter(registers)
    for value in values:
        if value in buffers:
            k.set_tile(value, buffers[value])
        elif value in affine:
            tile = affine[value]
            k.set_tile(value, Affine(tile.shape, tile.element, next(rest), tile.strides, tile.terms))
        else:
            k.set_scalar(value, next(rest))


def leave(
    k: KernelLowering,
    terminator: Operation,
    arguments: Sequence[SSAValue],
    buffers: Mapping[SSAValue, Buffer],
    affine: Mapping[SSAValue, Affine] = NONE,
    elsewhere: Collection[SSAValue] = (),
) -> list[SSAValue]:
    """At the end of a body: writes tensors back to their buffers; gives the registers to carry.

    Arguments that are ``elsewhere`` have what they need.
    """
    k.locate(terminator)
    registers: list[SSAValue] = []
    pairs: list[tuple[Tile, Buffer]] = []
    for value, argument in zip(terminator.operands, arguments, strict=True):
        if argument in elsewhere:
            continue
        if argument in buffers:
            pairs.append((k.tile(value), buffers[argument]))
        elif argument in affine:
            registers.append(as_affine(k.tile(value), k.b).base)
        else:
            registers.append(k.scalar(value))
    k.consume(terminator)
    write_back(k, pairs)
    return registers


def write_back(k: KernelLowering, pairs: Sequence[tuple[Tile, Buffer]]) -> None:
    """Writes each tile to its buffer as if all at once, although tiles may read the buffers' old contents."""
    moved = [(tile, buffer) for tile, buffer in pairs if not in_place(tile, buffer)]
    early: list[tuple[Tile, Buffer]] = []
    direct: list[tuple[Tile, Buffer]] = []
    late: list[tuple[Tile, Buffer]] = []
    for tile, buffer in moved:
        if any(disturbs(buffer, other) for other, _ in moved):
            copy = k.scratch.allocate(buffer.shape, buffer.element)
            early.append((tile, copy))
            late.append((copy, buffer))
        else:
            direct.append((tile, buffer))
    for group in (early, direct, late):
        if group:
            k.scheduler.write(group)


def in_place(tile: Tile, buffer: Buffer) -> bool:
    return isinstance(tile, Buffer) and tile.offset == buffer.offset and tile.strides == buffer.strides


# --- if, while ------------------------------------------------------------------------------------------------


def if_else(k: KernelLowering, op: scf.IfOp) -> None:
    enter_regions(k, op)
    condition = k.scalar(op.cond)
    k.consume(op)
    buffers = buffers_of(k, op.results)
    carried = scalars_of(op.results)
    regions: list[Region] = []
    for region in op.regions:
        k.b.push(Block())
        registers: list[SSAValue] = []
        if region.blocks:
            with k.scheduler.region():
                k.lower_ops(op_list(region.block))
                k.scheduler.flush()
                terminator = region.block.last_op
                assert terminator is not None
                registers = leave(k, terminator, op.results, buffers)
        block = k.b.pop()
        block.add_op(scf.YieldOp(*registers))
        regions.append(Region(block))
    result_types = [register_element(value.type) for value in carried]
    made = k.b.insert(scf.IfOp.create(operands=[condition], result_types=result_types, regions=regions))
    bind(k, op.results, made.results, buffers)


def while_loop(k: KernelLowering, op: scf.WhileOp) -> None:
    before, after = op.before_region.block, op.after_region.block
    condition, last = before.last_op, after.last_op
    assert isinstance(condition, scf.ConditionOp) and last is not None
    enter_regions(k, op)
    registers = [k.scalar(init) for init in scalars_of(op.arguments)]
    buffers = buffers_of(k, before.args)
    k.scheduler.write(
        (k.tile(init), buffers[arg])
        for init, arg in zip(op.arguments, before.args, strict=True)
        if is_tensor(arg)
    )
    forwarded = buffers_of(k, after.args)
    k.consume(op)

    head = Block(arg_types=[register.type for register in registers])
    k.b.push(head)
    bind(k, before.args, head.args, buffers)
    with k.scheduler.region():
        k.lower_ops(op_list(before))
        k.scheduler.flush()
        k.locate(condition)
        test = k.scalar(condition.condition)
        passed = [k.scalar(value) for value in scalars_of(condition.args)]
        pairs = [
            (k.tile(v), forwarded[a])
            for v, a in zip(condition.args, after.args, strict=True)
            if a in forwarded
        ]
        k.consume(condition)
        write_back(k, pairs)
    k.b.pop()
    head.add_op(scf.ConditionOp(test, *passed))

    tail = Block(arg_types=[value.type for value in passed])
    k.b.push(tail)
    bind(k, after.args, tail.args, forwarded)
    with k.scheduler.region():
        k.lower_ops(op_list(after))
        k.scheduler.flush()
        results = leave(k, last, before.args, buffers)
    k.b.pop()
    tail.add_op(scf.YieldOp(*results))

    made = k.b.insert(
        scf.WhileOp.create(
            operands=registers,
            result_types=[value.type for value in passed],
            regions=[Region(head), Region(tail)],
        )
    )
    renamed: dict[SSAValue, SSAValue] = dict(zip(after.args, op.results, strict=True))
    bind(k, op.results, made.results, {renamed[arg]: buffer for arg, buffer in forwarded.items()})


def enter_regions(k: KernelLowering, op: Operation) -> None:
    """Before control flow: what its regions use and is not cheap is brought into the scratchpad."""
    k.scheduler.flush()
    inside = {id(block) for region in op.regions for block in all_blocks(region)}
    used: dict[SSAValue, None] = {}
    for region in op.regions:
        for inner in region.walk():
            for operand in inner.operands:
                owner = operand.owner
                block = owner if isinstance(owner, Block) else owner.parent
                if id(block) not in inside:
                    used[operand] = None
    for operand in scalars_of(used):
        k.scalar(operand)  # fetched before the region, where it dominates all of it
    k.scheduler.settle((value for value in used if is_tensor(value)), k.tiles)


def all_blocks(region: Region) -> Iterable[Block]:
    for block in region.blocks:
        yield block
        for op in block.ops:
            for inner in op.regions:
                yield from all_blocks(inner)


HANDLERS: dict[str, Handler] = {
    "scf.if": if_else,
    "scf.while": while_loop,
}
