"""Removes instructions whose results nothing uses."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.traits import Pure

from ..dialects.isa import memory

LOADS = (memory.Load, memory.LoadMasked, memory.Gather)
"""A load that nobody uses need not happen."""


_pure: dict[type[Operation], bool] = {}


def is_pure(instruction: type[Operation]) -> bool:
    """Whether an instruction, of this package or of another, has no effect beside its results."""
    known = _pure.get(instruction)
    if known is None:
        known = _pure[instruction] = issubclass(instruction, LOADS) or instruction.has_trait(Pure)
    return known


def remove_unused(root: Operation) -> None:
    """Erases unused pure instructions inside of `root`, users before what they use."""
    for region in root.regions:
        for block in region.blocks:
            op = block.last_op
            while op is not None:
                before = op.prev_op
                remove_unused(op)
                # (A terminator can be pure, too, but has no results.)
                if (
                    op.results
                    and is_pure(type(op))
                    and all(not result.uses.get_length() for result in op.results)
                ):
                    block.erase_op(op)
                op = before
