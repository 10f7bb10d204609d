"""Handlers of structured control flow.

Scalars are carried in registers. A tensor is carried in the scratchpad, but for index tiles that a loop only moves by a
scalar (``pointers += step``): those are carried as that scalar.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from xdsl.dialects import scf
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, Region, SSAValue

from ..dialects.isa.addresses import counts_unsigned
from ..dialects.tt import constant_value
from .accumulate import RunningTotal, add_to_total, open_total, running_total
from .aliasing import disturbs, reads
from .elementwise import register_element
from .kernel import Handler, KernelLowering
from .op_order import op_list
from .tiles import Buffer, Linear, Tile, as_linear, is_integer


def is_tensor(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType)


def scalars_of(values: Iterable[SSAValue]) -> list[SSAValue]:
    return [value for value in values if not is_tensor(value)]


def homes_of(k: KernelLowering, values: Iterable[SSAValue]) -> dict[SSAValue, Buffer]:
    """A buffer for each tensor among `values`."""
    return {value: k.allocate(value) for value in values if is_tensor(value)}


# --- for --------------------------------------------------------------------------------------------------


def for_loop(k: KernelLowering, op: Operation) -> None:
    start, stop, step, *inits = op.operands
    body = op.regions[0].block
    induction, *arguments = body.args
    terminator = body.last_op
    assert terminator is not None
    enter_regions(k, op)
    bounds = [k.scalar(value) for value in (start, stop, step)]
    k.consume(op)
    shifted = [moves_by_scalar(new, arg) for new, arg in zip(terminator.operands, arguments, strict=True)]
    linear: dict[SSAValue, Linear] = {}
    registers: list[SSAValue] = []
    homes: dict[SSAValue, Buffer] = {}
    writes: list[tuple[Tile, Buffer]] = []
    totals: dict[SSAValue, tuple[RunningTotal, Buffer]] = {}
    for number, (init, argument, moves) in enumerate(zip(inits, arguments, shifted, strict=True)):
        total = running_total(op, number)
        if total is not None:
            totals[argument] = total, open_total(k, argument, total)
        elif not is_tensor(argument):
            registers.append(k.scalar(init))
        elif moves:
            linear[argument] = as_linear(k.tile(init), k.b)
            k.liveness.pin(buffer.owner for buffer, _ in reads(linear[argument]) if buffer is not None)
            k.scheduler.settle_terms(linear[argument])
            registers.append(linear[argument].base)
        else:
            homes[argument] = k.allocate(argument)
            writes.append((k.tile(init), homes[argument]))
    k.scheduler.write(writes)

    index, carried = k.b.open_loop([register.type for register in registers], index=bounds[0].type)
    k.set_scalar(induction, index)
    k.b.steps[index] = bounds[2]
    bind(k, [arg for arg in arguments if arg not in totals], carried, homes, linear)
    with k.scheduler.region():
        k.lower_ops(op_list(body))
        for total, home in totals.values():
            add_to_total(k, total, home)
        k.scheduler.flush()
        results = leave(k, terminator, arguments, homes, linear, totals)
    after = k.b.close_loop(bounds[0], bounds[1], bounds[2], registers, results, unsigned=counts_unsigned(op))
    renamed: dict[SSAValue, SSAValue] = dict(zip(arguments, op.results, strict=True))
    for carried_total, (_, home) in totals.items():
        result = renamed[carried_total]
        k.set_buffer(result, replace(home, owner=result))
    bind(
        k,
        [result for arg, result in renamed.items() if arg not in totals],
        after,
        {
            renamed[arg]: Buffer(h.shape, h.element, h.offset, h.strides, renamed[arg])
            for arg, h in homes.items()
        },
        {renamed[arg]: tile for arg, tile in linear.items()},
    )


def bind(
    k: KernelLowering,
    values: Sequence[SSAValue],
    registers: Sequence[SSAValue],
    homes: dict[SSAValue, Buffer],
    linear: dict[SSAValue, Linear],
) -> None:
    """Gives carried `values` their registers and buffers."""
    rest = iter(registers)
    for value in values:
        if value in homes:
            k.set_tile(value, homes[value])
        elif value in linear:
            tile = linear[value]
            k.set_tile(value, Linear(tile.shape, tile.element, next(rest), tile.strides, tile.terms))
        else:
            k.set_scalar(value, next(rest))


def leave(
    k: KernelLowering,
    terminator: Operation,
    arguments: Sequence[SSAValue],
    homes: dict[SSAValue, Buffer],
    linear: dict[SSAValue, Linear],
    elsewhere: Collection[SSAValue] = (),
) -> list[SSAValue]:
    """At the end of a body: writes tensors back to their homes; gives the registers to carry.

    Arguments that are ``elsewhere`` have what they need.
    """
    k.locate(terminator)
    registers: list[SSAValue] = []
    pairs: list[tuple[Tile, Buffer]] = []
    for value, argument in zip(terminator.operands, arguments, strict=True):
        if argument in elsewhere:
            continue
        if argument in homes:
            pairs.append((k.tile(value), homes[argument]))
        elif argument in linear:
            registers.append(as_linear(k.tile(value), k.b).base)
        else:
            registers.append(k.scalar(value))
    k.consume(terminator)
    write_back(k, pairs)
    return registers


def write_back(k: KernelLowering, pairs: Sequence[tuple[Tile, Buffer]]) -> None:
    """Writes each tile to its buffer as if all at once, although tiles may read the buffers' old contents."""
    moved = [(tile, home) for tile, home in pairs if not in_place(tile, home)]
    early: list[tuple[Tile, Buffer]] = []
    direct: list[tuple[Tile, Buffer]] = []
    late: list[tuple[Tile, Buffer]] = []
    for tile, home in moved:
        if any(disturbs(home, other) for other, _ in moved):
            copy = k.scratch.allocate(home.shape, home.element)
            early.append((tile, copy))
            late.append((copy, home))
        else:
            direct.append((tile, home))
    for group in (early, direct, late):
        if group:
            k.scheduler.write(group)


def in_place(tile: Tile, home: Buffer) -> bool:
    return isinstance(tile, Buffer) and tile.offset == home.offset and tile.strides == home.strides


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
        if op.name in ("tt.addptr", "arith.addi") and is_uniform(op.operands[1]):
            value = op.operands[0]
        elif op.name == "arith.addi" and is_uniform(op.operands[0]):
            value = op.operands[1]
        elif op.name == "arith.subi" and is_uniform(op.operands[1]):
            value = op.operands[0]
        elif op.name == "scf.for":
            number = op.results.index(value)  # pyright: ignore[reportArgumentType]
            inner = op.regions[0].block
            last = inner.last_op
            if last is None or not moves_by_scalar(last.operands[number], inner.args[number + 1]):
                return False
            value = op.operands[number + 3]
        else:
            return False
    return value is argument


def is_uniform(value: SSAValue) -> bool:
    """Whether a tensor is a splat, by its defining operations."""
    op = value.owner
    if not isinstance(op, Operation):
        return False
    if op.name == "tt.splat":
        return True
    if op.name == "arith.constant":
        return constant_value(op.properties["value"]) is not None
    if op.name.startswith("arith.") and len(op.results) == 1:
        return all(is_uniform(operand) for operand in op.operands)
    return False


# --- if, while ------------------------------------------------------------------------------------------------


def if_else(k: KernelLowering, op: Operation) -> None:
    enter_regions(k, op)
    condition = k.scalar(op.operands[0])
    k.consume(op)
    homes = homes_of(k, op.results)
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
                registers = leave(k, terminator, op.results, homes, {})
        block = k.b.pop()
        block.add_op(scf.YieldOp(*registers))
        regions.append(Region(block))
    result_types = [register_element(value.type) for value in carried]
    made = k.b.insert(scf.IfOp.create(operands=[condition], result_types=result_types, regions=regions))
    bind(k, op.results, made.results, homes, {})


def while_loop(k: KernelLowering, op: Operation) -> None:
    before, after = op.regions[0].block, op.regions[1].block
    condition, last = before.last_op, after.last_op
    assert condition is not None and last is not None
    enter_regions(k, op)
    registers = [k.scalar(init) for init in scalars_of(op.operands)]
    homes = homes_of(k, before.args)
    k.scheduler.write(
        (k.tile(init), homes[arg])
        for init, arg in zip(op.operands, before.args, strict=True)
        if is_tensor(arg)
    )
    forwarded = homes_of(k, after.args)
    k.consume(op)

    head = Block(arg_types=[register.type for register in registers])
    k.b.push(head)
    bind(k, before.args, head.args, homes, {})
    with k.scheduler.region():
        k.lower_ops(op_list(before))
        k.scheduler.flush()
        k.locate(condition)
        test = k.scalar(condition.operands[0])
        passed = [k.scalar(value) for value in scalars_of(condition.operands[1:])]
        pairs = [
            (k.tile(v), forwarded[a])
            for v, a in zip(condition.operands[1:], after.args, strict=True)
            if a in forwarded
        ]
        k.consume(condition)
        write_back(k, pairs)
    k.b.pop()
    head.add_op(scf.ConditionOp(test, *passed))

    tail = Block(arg_types=[value.type for value in passed])
    k.b.push(tail)
    bind(k, after.args, tail.args, forwarded, {})
    with k.scheduler.region():
        k.lower_ops(op_list(after))
        k.scheduler.flush()
        results = leave(k, last, before.args, homes, {})
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
    bind(k, op.results, made.results, {renamed[arg]: home for arg, home in forwarded.items()}, {})


def enter_regions(k: KernelLowering, op: Operation) -> None:
    """Before control flow: what its regions use and is not cheap is brought into the scratchpad."""
    k.scheduler.flush()
    inside = {id(block) for region in op.regions for block in all_blocks(region)}
    used: dict[SSAValue, None] = {}
    for region in op.regions:
        for inner in region.walk():
            for operand in inner.operands:
                owner = operand.owner
                home = owner if isinstance(owner, Block) else owner.parent
                if id(home) not in inside:
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
    "scf.for": for_loop,
    "scf.if": if_else,
    "scf.while": while_loop,
}
