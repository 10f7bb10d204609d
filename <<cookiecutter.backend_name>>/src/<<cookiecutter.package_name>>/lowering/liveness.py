"""Which values of the Triton module are still needed, as the lowering walks through it.

A pure operation needs its operands only while something needs its results and it has not been evaluated for good; any
other operation needs them until it was lowered.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation, SSAValue

TRANSPARENT_DIALECTS = ("arith", "math")
TRANSPARENT = frozenset(
    f"tt.{name}"
    for name in (
        "addptr bitcast broadcast clampf expand_dims extern_elementwise fp_to_fp int_to_ptr ptr_to_int load make_range "
        "mulhiui precise_divf precise_sqrt reshape splat split trans unsplat"
    ).split()
)
"""Operations whose results are views of their operands, or cost nothing until they are used."""


class Liveness:
    def __init__(self) -> None:
        self._done: set[Operation] = set()
        self._dead: set[SSAValue] = set()
        """Values found to be dead. They stay so, unless something is reopened or pinned."""
        self._pinned: set[SSAValue] = set()

    def finish(self, op: Operation | None) -> None:
        """`op` was lowered: it needs its operands no more."""
        if op is not None:
            self._done.add(op)

    def finish_value(self, value: SSAValue | None) -> None:
        """`value` is in memory now: what computed it is not needed any more."""
        if value is not None and isinstance(value.owner, Operation):
            self._done.add(value.owner)

    def reopen(self, value: SSAValue | None) -> None:
        """`value` is not in memory any more: what computes it is needed again."""
        if value is not None and isinstance(value.owner, Operation):
            self._done.discard(value.owner)
            self._dead.clear()

    def pin(self, values: Iterable[SSAValue | None]) -> None:
        """`values` are needed from now on, whatever uses them: what a loop carries reads them."""
        self._pinned.update(value for value in values if value is not None)
        self._dead.clear()

    def is_live(self, value: SSAValue | None) -> bool:
        """Whether an operation that was not lowered yet needs `value`."""
        if value is None or value in self._dead:
            return False
        seen: set[SSAValue] = set()
        todo = [value]
        while todo:
            current = todo.pop()
            if current in seen:
                continue
            seen.add(current)
            if current in self._pinned:
                return True
            for use in current.uses:
                op = use.operation
                if op in self._done:
                    continue
                if not is_transparent(op):
                    return True
                todo.extend(result for result in op.results if result not in self._dead)
        self._dead |= seen
        return False


def is_transparent(op: Operation) -> bool:
    name = op.name
    return name in TRANSPARENT or name.partition(".")[0] in TRANSPARENT_DIALECTS
