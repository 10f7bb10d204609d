"""What an address will be one iteration, or one program, later: for prefetching.

The processor's own prefetchers follow a stream as far as the end of a page. A kernel that takes a row or a tile at a
time starts a new stream each time, and waits for memory each time, unless the next one is asked for while it works on
this one.
"""

from __future__ import annotations

from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ..dialects.isa import alu, lanes
from ..dialects.isa.addresses import LINEAR, axis_of
from .builder import Builder

FARTHEST = 8 * 1024
"""Bytes of a tile beyond which the next one is not prefetched: it and its like would push out of the first-level cache
what this iteration works on, and streams of several pages keep the processor's own prefetchers busy."""


class Lookahead:
    """Addresses in the next iteration of the innermost of the kernel's loops that changes them, or in the next program.

    `nest_level`: the builder's depth outside of the loop nest; its own indices are the same in the next iteration.
    """

    def __init__(self, b: Builder, nest_level: int) -> None:
        self.b = b
        self.nest_level = nest_level
        self._known: dict[SSAValue, SSAValue | None] = {}

    def after(self, address: SSAValue) -> SSAValue | None:
        """Where `address` will be; None if it will be the same, or cannot be told (it was loaded from memory, say)."""
        if address not in self._known:
            self._known[address] = self._after(address)
        return self._known[address]

    def _after(self, address: SSAValue) -> SSAValue | None:
        b = self.b
        moving: dict[SSAValue, SSAValue] = {}
        opaque: list[SSAValue] = []
        for leaf in leaves(address):
            if b.level_of(leaf) > self.nest_level:
                if isinstance(leaf.owner, Operation):
                    return None
                continue
            step = b.steps.get(leaf)
            if step is None and axis_of(leaf) == 0:  # it grows from one program to the next
                step = b.const(1, leaf.type)
            if step is None:
                opaque.append(leaf)
            else:
                moving[leaf] = step
        if not moving:
            return None
        level = max(map(b.level_of, moving))
        for leaf in opaque:
            # The kernel's arguments are the same in all programs; anything else is made anew each time.
            if b.level_of(leaf) >= level and not (level == 0 and isinstance(leaf, BlockArgument)):
                return None
        moved = {
            leaf: b.emit(alu.AddI, [leaf, step], leaf.type)
            for leaf, step in moving.items()
            if b.level_of(leaf) == level
        }
        return self._rebuilt(address, moved)

    def _rebuilt(self, value: SSAValue, moved: dict[SSAValue, SSAValue]) -> SSAValue:
        """`value`, computed from `moved` in place of what it is computed from."""
        known = moved.get(value)
        if known is not None:
            return known
        op = value.owner
        if isinstance(op, LINEAR):
            operands = [self._rebuilt(operand, moved) for operand in op.operands]
            if any(new is not old for new, old in zip(operands, op.operands, strict=True)):
                key: tuple[Attribute, ...] = tuple(op.properties.values())
                value = self.b.emit(type(op), operands, op.results[0].type, op.properties, key=key)
        moved[op.results[0] if isinstance(op, Operation) else value] = value
        return value


def leaves(value: SSAValue) -> set[SSAValue]:
    """What a register is computed from, so that it moves on when they do; constants left out.

    A remainder does not count: what is addressed by one comes around again, and is in a cache already.
    """
    found: set[SSAValue] = set()
    seen: set[SSAValue] = set()
    todo = [value]
    while todo:
        current = todo.pop()
        if current in seen:
            continue
        seen.add(current)
        op = current.owner
        if isinstance(op, LINEAR):
            todo.extend(op.operands)
        elif not isinstance(op, lanes.Const):
            found.add(current)
    return found
