"""Removes instructions whose results nothing uses."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.traits import Pure

from ..dialects.isa import INSTRUCTIONS, memory

PURE = tuple(
    instruction
    for instruction in INSTRUCTIONS
    if instruction.has_trait(Pure) or instruction in (memory.Load, memory.LoadMasked, memory.Gather)
)
"""Instructions without effects. (A load that nobody uses need not happen.)"""


def remove_unused(root: Operation) -> None:
    """Erases unused pure instructions inside of `root`, users before what they use."""
    for region in root.regions:
        for block in region.blocks:
            op = block.last_op
            while op is not None:
                before = op.prev_op
                remove_unused(op)
                if isinstance(op, PURE) and all(not result.uses.get_length() for result in op.results):
                    block.erase_op(op)
                op = before
