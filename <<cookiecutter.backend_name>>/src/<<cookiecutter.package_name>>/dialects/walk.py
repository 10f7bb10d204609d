"""All operations inside of one, as a list: a quarter of what xDSL's generators take, and passes may edit meanwhile."""

from __future__ import annotations

from xdsl.ir import Operation


def operations_in(root: Operation) -> list[Operation]:
    """`root` and what is inside of it, in the order of the text."""
    found = [root]
    _enter(root, found)
    return found


def _enter(op: Operation, found: list[Operation]) -> None:
    for region in op.regions:
        block = region.first_block
        while block is not None:
            inner = block.first_op
            while inner is not None:
                found.append(inner)
                if inner.regions:
                    _enter(inner, found)
                inner = inner.next_op
            block = block.next_block
