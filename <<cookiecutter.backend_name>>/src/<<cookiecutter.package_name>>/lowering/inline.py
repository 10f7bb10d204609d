"""Inlines the calls that Triton leaves: those of ``noinline`` functions. (Triton has no recursion.)"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ..errors import UnsupportedOperation
from ..frontend.locations import location_of


def inline_calls(function: Operation, functions: dict[str, Operation]) -> None:
    """Replaces each ``tt.call`` in `function` by the body of its callee, in place, until none is left."""
    pending = [op for op in function.walk() if op.name == "tt.call"]
    while pending:
        call = pending.pop()
        name: str = call.properties["callee"].root_reference.data  # pyright: ignore
        region = functions[name].regions[0]
        if len(region.blocks) != 1:
            raise UnsupportedOperation(
                f"call of '{name}', a noinline function that returns early",
                location=location_of(call),
                add_support_in="lowering/inline.py",
            )
        block = region.block
        assert call.parent is not None and block.last_op is not None
        values: dict[SSAValue, SSAValue] = dict(zip(block.args, call.operands))
        for op in block.ops:
            if op is block.last_op:
                break
            copy = op.clone(values)
            call.parent.insert_op_before(copy, call)
            pending.extend(inner for inner in copy.walk() if inner.name == "tt.call")
        for result, returned in zip(call.results, block.last_op.operands):
            result.replace_all_uses_with(values.get(returned, returned))
        call.detach()
        call.erase()
