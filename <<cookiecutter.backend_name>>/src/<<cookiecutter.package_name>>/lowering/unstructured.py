"""Regions of several blocks: early returns in kernels, in ``noinline`` functions, in functions mapped over elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import cf, scf
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from ..dialects import tt
from .control_flow import bind, buffers_of, enter_regions, is_tensor, leave, scalars_of, write_back
from .elementwise import register_element
from .evaluate import Evaluator, Index
from .kernel import Handler, KernelLowering
from .op_order import op_list
from .tiles import Buffer, row_major

Exit = Callable[[Operation], object]
"""Inserts what ends the lowered block, for a terminator that leaves the region."""


def lower_blocks(k: KernelLowering, source: Region, region: Region, leave_region: Exit) -> None:
    """Lowers the blocks of `source` into `region`, whose only block so far, the entry, is the builder's innermost.

    The entry stays open until the end, since what is hoisted goes there.
    """
    first, *rest = list(source.blocks)
    for block in rest:
        made = Block(arg_types=[register_element(a.type) for a in block.args if not is_tensor(a)])
        region.add_block(made)
        k.blocks[block] = made
        buffers = buffers_of(k, block.args)
        bind(k, block.args, made.args, buffers)
    lower_block(k, first, leave_region)
    for block in rest:
        k.b.push(k.blocks[block])
        lower_block(k, block, leave_region)
        k.b.pop()


def lower_block(k: KernelLowering, block: Block, leave_region: Exit) -> None:
    with k.scheduler.block(block):
        lower_block_inside(k, block, leave_region)


def lower_block_inside(k: KernelLowering, block: Block, leave_region: Exit) -> None:
    k.lower_ops(op_list(block))
    terminator = block.last_op
    assert terminator is not None
    settle_block(k, block)
    k.locate(terminator)
    match terminator:
        case cf.BranchOp():
            target = terminator.successor
            k.b.insert(cf.BranchOp(k.blocks[target], *passed(k, target, terminator.arguments)))
        case cf.ConditionalBranchOp():
            condition = k.scalar(terminator.cond)
            then, other = terminator.then_block, terminator.else_block
            sides = ((then, terminator.then_arguments), (other, terminator.else_arguments))
            if any(is_tensor(arg) for target in (then, other) for arg in target.args):
                branch_with_tensors(k, condition, sides)
            else:
                then_values, other_values = (passed(k, target, values) for target, values in sides)
                k.b.insert(
                    cf.ConditionalBranchOp(
                        condition, k.blocks[then], then_values, k.blocks[other], other_values
                    )
                )
        case _:
            leave_region(terminator)
    k.consume(terminator)


def branch_with_tensors(
    k: KernelLowering, condition: SSAValue, sides: Sequence[tuple[Block, Sequence[SSAValue]]]
) -> None:
    """A branch that passes tensors: each side writes them in a block of its own, on the edge."""
    region = k.b.innermost.parent
    assert region is not None
    edges = [Block(), Block()]
    for edge in edges:
        region.add_block(edge)
    k.b.insert(cf.ConditionalBranchOp(condition, edges[0], [], edges[1], []))
    for edge, (target, values) in zip(edges, sides, strict=True):
        k.b.push(edge)
        k.b.insert(cf.BranchOp(k.blocks[target], *passed(k, target, values)))
        k.b.pop()


def passed(k: KernelLowering, target: Block, operands: Sequence[SSAValue]) -> list[SSAValue]:
    """Registers to pass to `target`; tensors are written to the buffers of its arguments."""
    pairs: list[tuple[SSAValue, Buffer]] = []
    for value, argument in zip(operands, target.args, strict=True):
        if is_tensor(argument):
            buffer = k.tile(argument)
            assert isinstance(buffer, Buffer)
            pairs.append((value, buffer))
    write_back(k, [(k.tile(value), buffer) for value, buffer in pairs])
    return [k.scalar(value) for value in scalars_of(operands)]


def settle_block(k: KernelLowering, block: Block) -> None:
    """What later blocks use of this one and is not cheap is brought into the scratchpad."""
    k.scheduler.flush()
    made = [result for op in block.ops for result in op.results]
    outside = [value for value in made if any(use.operation.parent is not block for use in value.uses)]
    for value in outside:
        if not isinstance(value.type, TensorType):
            k.scalar(value)
    k.scheduler.settle((value for value in outside if is_tensor(value)), k.tiles)


# --- regions inside of a kernel -----------------------------------------------------------------------------


def execute_region(k: KernelLowering, op: scf.ExecuteRegionOp) -> None:
    """``scf.execute_region``: what `inline` makes of a call whose callee returns early."""
    enter_regions(k, op)
    k.consume(op)
    buffers = buffers_of(k, op.results)
    registers = region_values(k, op.region, op.results, buffers)
    bind(k, op.results, registers, buffers)


def region_values(
    k: KernelLowering, source: Region, results: Sequence[SSAValue], buffers: dict[SSAValue, Buffer]
) -> Sequence[SSAValue]:
    """Inserts an ``scf.execute_region`` that runs `source`; gives the registers of its scalar results."""
    entry = Block()
    region = Region(entry)
    k.b.push(entry)
    lower_blocks(
        k,
        source,
        region,
        lambda terminator: k.b.insert(scf.YieldOp(*leave(k, terminator, results, buffers))),
    )
    k.b.pop()
    types = [register_element(value.type) for value in scalars_of(results)]
    return k.b.insert(scf.ExecuteRegionOp.create(result_types=types, regions=[region])).results


def map_elementwise(k: KernelLowering, op: tt.MapElementwiseOp) -> None:
    """A scalar function of ``pack`` consecutive elements at a time, which may branch: a loop over the elements."""
    pack = op.pack_size
    k.consume(op)
    sources = [flat(k.dense(operand)) for operand in op.srcs]
    made = [k.allocate(result) for result in op.results]
    body = op.scalarOp
    arguments = body.blocks[0].args
    b = k.b
    start, _ = b.open_loop()
    e = Evaluator(b, 1, b.depth)
    points = [(Index(b.addi(start, b.const(offset, i64))),) for offset in range(pack)]
    inputs = [e.value(source, point) for source in sources for point in points]
    for argument, value in zip(arguments, inputs, strict=True):
        k.set_scalar(argument, value)
    if len(body.blocks) == 1:
        k.lower_ops(op_list(body.block))
        last = body.block.last_op
        assert last is not None
        outputs: Sequence[SSAValue] = [k.scalar(value) for value in last.operands]
    else:
        returned = next(
            block.last_op for block in body.blocks if block.last_op and not block.last_op.successors
        )
        outputs = region_values(k, body, returned.operands, {})
    for number, value in enumerate(outputs):
        e.write(flat(made[number // pack]), points[number % pack], value)
    b.close_loop(b.const(0, i64), b.const(sources[0].size, i64), b.const(pack, i64), [], [])
    for result, buffer in zip(op.results, made, strict=True):
        k.set_buffer(result, buffer)


def flat(buffer: Buffer) -> Buffer:
    """A dense buffer as a vector."""
    shape = (buffer.size,)
    return Buffer(shape, buffer.element, buffer.offset, row_major(shape))


HANDLERS: dict[str, Handler] = {"scf.execute_region": execute_region, "tt.map_elementwise": map_elementwise}
