"""Inlines the calls that Triton leaves: those of ``noinline`` functions. (Triton has no recursion.)"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import SymbolRefAttr
from xdsl.ir import Operation, Region, SSAValue

from ..dialects.walk import operations_in


def inline_calls(function: Operation, functions: dict[str, Operation]) -> None:
    """Replaces each ``tt.call`` in `function` by the body of its callee, in place, until none is left."""
    pending = [op for op in operations_in(function) if op.name == "tt.call"]
    while pending:
        call = pending.pop()
        name = callee_of(call)
        region = functions[name].regions[0]
        if len(region.blocks) != 1:
            pending.extend(replace_by_region(call, region))
            continue
        block = region.block
        assert call.parent is not None and block.last_op is not None
        values: dict[SSAValue, SSAValue] = dict(zip(block.args, call.operands, strict=True))
        for op in block.ops:
            if op is block.last_op:
                break
            copy = op.clone(values)
            call.parent.insert_op_before(copy, call)
            pending.extend(inner for inner in copy.walk() if inner.name == "tt.call")
        for result, returned in zip(call.results, block.last_op.operands, strict=True):
            result.replace_all_uses_with(values.get(returned, returned))
        call.parent.erase_op(call)


def callee_of(call: Operation) -> str:
    callee = call.properties["callee"]
    assert isinstance(callee, SymbolRefAttr)
    return callee.root_reference.data


def replace_by_region(call: Operation, callee: Region) -> list[Operation]:
    """A callee that returns early runs in a region of its own. Gives the calls inside of it."""
    body = callee.clone()
    entry = body.blocks[0]
    for argument, operand in zip(list(entry.args), call.operands, strict=True):
        argument.replace_all_uses_with(operand)
    for argument in reversed(list(entry.args)):
        entry.erase_arg(argument)
    for block in body.blocks:
        last = block.last_op
        if last is not None and last.name == "tt.return":
            block.insert_op_before(scf.YieldOp(*last.operands), last)
            block.erase_op(last)
    made = scf.ExecuteRegionOp.create(
        result_types=[result.type for result in call.results],
        regions=[body],
        attributes=dict(call.attributes),
    )
    assert call.parent is not None
    call.parent.insert_op_before(made, call)
    for result, new in zip(call.results, made.results, strict=True):
        result.replace_all_uses_with(new)
    call.parent.erase_op(call)
    return [op for op in made.walk() if op.name == "tt.call"]
