"""Locations of generic MLIR text -> places in the kernel's source."""

from __future__ import annotations

import re

from ..dialects.locations import SourceLoc
from .aliases import AliasReader
from .cursor import DIALECT_NAME, WORD, Unreadable

_BITS_OF_LOCATION = re.compile(r":(\d+)(?::(\d+))?(?: to (?:\d+)?(?::\d+)?)?")

_COMMON_LOCATION = re.compile(r'loc\((?:"([^"\\]*)":(\d+):(\d+)|"[^"\\]*"\((#[\w$.-]+)\))\)')
"""``loc("file":line:column)`` and ``loc("name"(#alias))``."""


class LocationReader(AliasReader):
    def skip_location(self) -> None:
        """Step over ``loc(...)`` if it comes next."""
        if self.accept("loc"):
            self.expect("(")
            self.position -= 1
            self.balanced()

    def location(self) -> SourceLoc | None:
        """``loc(...)``: the place in the kernel, or None where it is unknown.

        Of a call site it is the place inside of the function called, if that is not Triton's own; of fused locations
        the first that is known.
        """
        if match := _COMMON_LOCATION.match(self.text, self.position):
            file, line, column, alias = match.groups()
            if alias is None:
                self.position = match.end()
                return SourceLoc.of(file, int(line), int(column))
            self.position = match.end()
            return self.location_named(alias, match.start())
        self.expect("loc")
        self.expect("(")
        location = self.location_body()
        self.expect(")")
        return location

    def location_named(self, name: str, position: int = 0) -> SourceLoc | None:
        """What the alias ``#...`` stands for."""
        return self.aliased(name, LocationReader.location, "a location", position)

    def location_body(self) -> SourceLoc | None:
        """What is in the parentheses of ``loc(...)``."""
        start = self.position
        if self.at('"'):
            name = self.string()
            match = _BITS_OF_LOCATION.match(self.text, self.position)
            if match is not None:
                self.position = match.end()
                return SourceLoc.of(name, int(match[1]), int(match[2] or 0))
            if self.accept("("):
                location = self.location_body()
                self.expect(")")
                return location
            return None
        if self.at("#"):
            name = self.match(DIALECT_NAME, "the name of a location")[1]
            if "." not in name and not self.text.startswith("<", self.position):
                return self.location_named("#" + name, start)
            if self.text.startswith("<", self.position):
                self.balanced()
            return None
        word = self.match(WORD, "a location")[0]
        if word == "unknown":
            return None
        if word == "callsite":
            self.expect("(")
            callee = self.location_body()
            self.expect("at")
            caller = self.location_body()
            self.expect(")")
            return caller if callee is None else callee.called_at(caller)
        if word == "fused":
            if self.at("<"):
                self.balanced()
            self.expect("[")
            return next((location for location in self.list_of(self.location_body, "]") if location), None)
        if word == "loc":
            self.position = start
            return self.location()
        raise Unreadable("a location", start)
