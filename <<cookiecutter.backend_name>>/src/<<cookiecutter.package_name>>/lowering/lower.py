"""Triton IR to the instruction set: the middle of the compiler.

    parse_ttir -> lower_module -> the ISA module -> codegen

`lower_module` walks the kernel in program order. Handlers (one table per file: `simple_ops`, `memory_ops`, `reduce_ops`,
`dot`, `control_flow`) turn values into tiles or scalar registers; roots go to the `Scheduler`, which emits loop nests.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from xdsl.dialects import cf
from xdsl.dialects.builtin import ArrayAttr, FunctionType, IntegerAttr, ModuleOp, StringAttr, TensorType, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from ..dialects.isa import control
from ..errors import UnsupportedOperation
from ..frontend.locations import location_of
from . import control_flow, dot, memory_ops, reduce_ops, simple_ops
from .cleanup import remove_unused
from .control_flow import bind, op_list
from .elementwise import register_element
from .inline import inline_calls
from .kernel import Handler, KernelLowering

HANDLERS: dict[str, Handler] = {
    **simple_ops.HANDLERS,
    **memory_ops.HANDLERS,
    **reduce_ops.HANDLERS,
    **dot.HANDLERS,
    **control_flow.HANDLERS,
}
"""Operation name -> handler. To support an operation, add it to the table of the file it belongs in."""


def lower_module(module: ModuleOp, options: object = None) -> ModuleOp:
    """The ISA module of a Triton module with one kernel.

    Raises `UnsupportedOperation` for an operation without a handler, naming it and its source line.
    """
    functions = {name_of(op): op for op in module.body.block.ops if op.name == "tt.func"}
    kernels = [op for op in functions.values() if is_public(op)]
    if len(kernels) != 1:
        raise UnsupportedOperation(
            f"a module with {len(kernels)} kernels", add_support_in="lowering/lower.py"
        )
    with deep_recursion():
        inline_calls(kernels[0], functions)
        lowered = lower_kernel(kernels[0])
        remove_unused(lowered)
    return ModuleOp([lowered])


def name_of(function: Operation) -> str:
    name = function.properties["sym_name"]
    assert isinstance(name, StringAttr)
    return name.data


def is_public(function: Operation) -> bool:
    visibility = function.properties.get("sym_visibility")
    return not isinstance(visibility, StringAttr) or visibility.data == "public"


def lower_kernel(function: Operation) -> control.Kernel:
    source = function.regions[0]
    entry = source.blocks[0]
    types = [register_element(arg.type) for arg in entry.args]
    for arg in entry.args:
        if isinstance(arg.type, TensorType):
            raise UnsupportedOperation(f"kernel argument of type {arg.type}", location=location_of(function))
    body = Block(arg_types=types)
    k = KernelLowering(body, HANDLERS)
    for arg, register in zip(entry.args, body.args):
        k.set_scalar(arg, register)
    region = Region(body)
    if len(source.blocks) == 1:
        k.lower_ops(op_list(entry))
        k.scheduler.flush()
        body.add_op(control.Return.create())
    else:
        lower_blocks(k, source, region)
    return control.Kernel.create(
        properties={
            "sym_name": StringAttr(name_of(function)),
            "function_type": FunctionType.from_lists(types, []),
            "scratch_bytes": IntegerAttr(k.scratch.peak, i64),
            "traps": ArrayAttr(k.traps),
        },
        regions=[region],
    )


# --- unstructured control flow (early returns) --------------------------------------------------------------


def lower_blocks(k: KernelLowering, source: Region, region: Region) -> None:
    """A function of several blocks. The entry block stays open as the outermost level, for what is hoisted."""
    first, *rest = list(source.blocks)
    for block in rest:
        made = Block(arg_types=[register_element(a.type) for a in block.args if not isinstance(a.type, TensorType)])
        region.add_block(made)
        k.blocks[block] = made
        homes = {arg: k.allocate(arg) for arg in block.args if isinstance(arg.type, TensorType)}
        bind(k, block.args, made.args, homes, {})
    lower_block(k, first)
    for block in rest:
        k.b.push(k.blocks[block])
        lower_block(k, block)
        k.b.pop()


def lower_block(k: KernelLowering, block: Block) -> None:
    k.lower_ops(op_list(block))
    terminator = block.last_op
    assert terminator is not None
    settle_block(k, block)
    k.locate(terminator)
    match terminator.name:
        case "tt.return":
            k.b.insert(control.Return.create())
        case "cf.br":
            target = terminator.successors[0]
            k.b.insert(cf.BranchOp(k.blocks[target], *passed(k, terminator, target, terminator.operands)))
        case "cf.cond_br":
            condition = k.scalar(terminator.operands[0])
            then, other = terminator.successors
            split = 1 + len(then.args)
            if any(isinstance(arg.type, TensorType) for target in (then, other) for arg in target.args):
                raise k.unsupported(terminator, "a tensor passed to one side of a branch", "lowering/lower.py")
            then_values = passed(k, terminator, then, terminator.operands[1:split])
            other_values = passed(k, terminator, other, terminator.operands[split:])
            k.b.insert(
                cf.ConditionalBranchOp(condition, k.blocks[then], then_values, k.blocks[other], other_values)
            )
        case name:
            raise k.unsupported(terminator, f"block that ends in '{name}'", "lowering/lower.py")
    k.liveness.finish(terminator)


def passed(k: KernelLowering, terminator: Operation, target: Block, operands: list[SSAValue] | tuple[SSAValue, ...]) -> list[SSAValue]:
    """Registers to pass to `target`; tensors are written to the homes of its arguments."""
    homes = {arg: k.tile(arg) for arg in target.args if isinstance(arg.type, TensorType)}
    pairs = [(k.tile(v), homes[a]) for v, a in zip(operands, target.args) if a in homes]
    control_flow.write_back(k, pairs)  # pyright: ignore[reportArgumentType]
    return [k.scalar(v) for v, a in zip(operands, target.args) if a not in homes]


def settle_block(k: KernelLowering, block: Block) -> None:
    """What later blocks use of this one and is not cheap is brought into the scratchpad."""
    k.scheduler.flush()
    made = [result for op in block.ops for result in op.results]
    outside = [v for v in made if any(use.operation.parent is not block for use in v.uses)]
    for value in outside:
        if not isinstance(value.type, TensorType):
            k.scalar(value)
    k.scheduler.settle((v for v in outside if isinstance(v.type, TensorType)), k.tiles)


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Tiles of unrolled kernels nest thousands deep; Python frames (no C frames) nest with them."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 200_000))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)

