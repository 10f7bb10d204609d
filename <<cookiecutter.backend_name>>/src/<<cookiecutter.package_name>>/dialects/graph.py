"""The control flow graph of a region."""

from __future__ import annotations

from xdsl.ir import Block


def reverse_postorder(entry: Block) -> list[Block]:
    """The blocks that can be reached from `entry`, each after those that dominate it."""
    done: list[Block] = []
    seen = {entry}
    stack: list[tuple[Block, list[Block]]] = [(entry, successors(entry))]
    while stack:
        block, following = stack[-1]
        if not following:
            done.append(block)
            stack.pop()
            continue
        successor = following.pop()
        if successor not in seen:
            seen.add(successor)
            stack.append((successor, successors(successor)))
    return done[::-1]


def successors(block: Block) -> list[Block]:
    """The blocks that `block` may branch to."""
    terminator = block.last_op
    return list(terminator.successors) if terminator is not None else []
