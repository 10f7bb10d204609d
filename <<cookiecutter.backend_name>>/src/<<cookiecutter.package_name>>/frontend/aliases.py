"""What ``#name = ...`` and ``!name = ...`` stand for in a module, and which text means the same in every module."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from .cursor import Cursor, Unreadable

if TYPE_CHECKING:
    from typing import Self

_T = TypeVar("_T")

_ALIAS = re.compile(r"^([#!][\w$.-]+) = (.*)$", re.MULTILINE)

_CACHE_LIMIT = 20_000


def remember(cache: dict[str, _T], text: str, value: _T) -> _T:
    """Keep `value`; a cache that a long-lived process filled up starts anew."""
    if len(cache) >= _CACHE_LIMIT:
        cache.clear()
    cache[text] = value
    return value


class Aliases:
    """The aliases of one module; each is read once, when first asked for."""

    def __init__(self, text: str = "") -> None:
        self._definitions: dict[str, str] = dict(_ALIAS.findall(text)) if text else {}
        self._read: dict[str, Any] = {}
        self._reading: set[str] = set()

    def meaning(self, name: str, read: Callable[[str], _T], kind: str, position: int) -> _T:
        """What `read` makes of the text for which the alias `name` stands, in the course of whose definition it may not
        be used. Where it stands for nothing, that is an error at `position`, where `kind` was expected."""
        if name not in self._read:
            if name not in self._definitions or name in self._reading:
                raise Unreadable(f"{kind} (`{name}` is not defined)", position)
            self._reading.add(name)
            self._read[name] = read(self._definitions[name])
            self._reading.remove(name)
        value: _T = self._read[name]
        return value


_NO_ALIASES = Aliases()


class AliasReader(Cursor):
    """A cursor over `text`, which may use `aliases`."""

    def __init__(self, text: str, aliases: Aliases = _NO_ALIASES, position: int = 0) -> None:
        super().__init__(text, position)
        self.aliases = aliases
        self.reusable = True
        """False once something was read that depends on this module's aliases: not to be kept for other modules."""

    def aliased(self, name: str, read: Callable[[Self], _T], kind: str, position: int) -> _T:
        """What the alias `name` at `position` stands for."""
        self.reusable = False
        return self.aliases.meaning(name, lambda text: read(type(self)(text, self.aliases)), kind, position)
