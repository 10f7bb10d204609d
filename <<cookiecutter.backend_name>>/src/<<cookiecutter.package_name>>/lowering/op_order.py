"""The order in which the operations of a block are lowered."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from ..dialects import tt
from .liveness import is_transparent


def op_list(block: Block) -> list[Operation]:
    """The operations of a block except its terminator, reductions that do not need each other side by side.

    ``mean = sum(x) / n`` asks for a sum before the kernel's next line asks for another one of the same rows, and then
    two loops run over them. So whatever is computed from a reduction waits until something that cannot wait needs
    it: an operation with effects, or a reduction that depends on it.
    """
    ordered: list[Operation] = []
    waiting: list[Operation] = []
    late: set[SSAValue] = set()
    """Results of reductions since something waited for, and of what waits."""
    for op in list(block.ops)[:-1]:
        depends = bool(late) and any(operand in late for operand in op.operands)
        if isinstance(op, tt.ReduceOp):
            if depends:
                ordered += waiting
                waiting, late = [], set()
            ordered.append(op)
            late.update(op.results)
        elif is_transparent(op):
            if depends:
                waiting.append(op)
                late.update(op.results)
            else:
                ordered.append(op)
        else:
            ordered += [*waiting, op]
            waiting, late = [], set()
    return ordered + waiting
