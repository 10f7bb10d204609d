"""Inlines the calls that Triton leaves: those of ``noinline`` functions. (Triton has no recursion.)"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Operation, Region, SSAValue

from ..dialects import tt
from ..dialects.walk import operations_in


def inline_calls(function: tt.FuncOp, functions: dict[str, tt.FuncOp]) -> None:
    """Replaces each ``tt.call`` in `function` by the body of its callee, in place, until none is left."""
    pending = calls_in(function)
    while pending:
        call = pending.pop()
        region = functions[call.callee_name].body
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
            pending.extend(calls_in(copy))
        for result, returned in zip(call.results, block.last_op.operands, strict=True):
            result.replace_all_uses_with(values.get(returned, returned))
        call.parent.erase_op(call)


def calls_in(op: Operation) -> list[tt.CallOp]:
    """The calls that `op` is or has in it."""
    return [inner for inner in operations_in(op) if isinstance(inner, tt.CallOp)]


def replace_by_region(call: tt.CallOp, callee: Region) -> list[tt.CallOp]:
    """A callee that returns early runs in a region of its own. Gives the calls inside of it."""
    body = callee.clone()
    entry = body.blocks[0]
    for argument, operand in zip(list(entry.args), call.operands, strict=True):
        argument.replace_all_uses_with(operand)
    for argument in reversed(list(entry.args)):
        entry.erase_arg(argument)
    for block in body.blocks:
        last = block.last_op
        if isinstance(last, tt.ReturnOp):
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
    return calls_in(made)
