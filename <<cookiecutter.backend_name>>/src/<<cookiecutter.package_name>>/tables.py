"""Tables that are made of several: what stands in two of them is a mistake, not a matter of their order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from .errors import DefinitionError

Value = TypeVar("Value")


def merged(what: str, *tables: Mapping[str, Value]) -> dict[str, Value]:
    """All entries of `tables`; `what` one is (``"a handler"``) is for the error. Raises DefinitionError for a name in
    two of them."""
    whole: dict[str, Value] = {}
    for table in tables:
        for name, value in table.items():
            if name in whole:
                raise DefinitionError(
                    f"{name!r} has {what} twice: {_place_of(whole[name])} and {_place_of(value)}"
                )
            whole[name] = value
    return whole


def _place_of(value: object) -> str:
    return f"{getattr(value, '__module__', '?')}.{getattr(value, '__qualname__', repr(value))}"
