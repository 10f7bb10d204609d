"""Who uses a value."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue


def only_user(value: SSAValue) -> Operation | None:
    """The operation that uses a value, once, if there is no other."""
    uses = list(value.uses)
    return uses[0].operation if len(uses) == 1 else None
