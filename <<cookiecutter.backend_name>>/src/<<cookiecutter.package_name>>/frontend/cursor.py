"""A cursor over a piece of MLIR text: tokens, lists and bracketed groups."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

_T = TypeVar("_T")

WORD = re.compile(r"[A-Za-z_][\w$.]*")
INTEGER = re.compile(r"-?\d+")
DIALECT_NAME = re.compile(r"[!#]([A-Za-z_][\w$]*(?:\.[\w$.-]+)?)")
"""Of a dialect's type or attribute, or, without a dot, an alias."""

_SPACE = re.compile(r"\s*")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2}|.)")
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|->|[<>(){}\[\]]')
_CLOSING = {"<": ">", "(": ")", "{": "}", "[": "]"}
_BYTE_ESCAPES = {b"n": b"\n", b"t": b"\t", b'"': b'"', b"\\": b"\\"}


class Unreadable(Exception):
    """Text that does not follow the grammar: what was expected at which position."""

    def __init__(self, expected: str, position: int) -> None:
        super().__init__(expected)
        self.expected = expected
        self.position = position


def unescape(body: str) -> str:
    """The text of an MLIR string literal (without its quotes): ``\\22`` is a byte in hex, bytes are UTF-8."""
    if "\\" not in body:
        return body

    def byte(match: re.Match[bytes]) -> bytes:
        code = match[1]
        return _BYTE_ESCAPES[code] if code in _BYTE_ESCAPES else bytes([int(code, 16)])

    return _ESCAPE.sub(byte, body.encode()).decode(errors="replace")


class Cursor:
    """Reads `text` from `position` on. Methods raise `Unreadable` where the text is not what they expect."""

    def __init__(self, text: str, position: int = 0) -> None:
        self.text = text
        self.position = position

    def skip_space(self) -> None:
        match = _SPACE.match(self.text, self.position)
        assert match is not None
        self.position = match.end()

    def at(self, token: str) -> bool:
        """Whether `token` comes next, after white space."""
        if self.text.startswith(token, self.position):
            return True
        self.skip_space()
        return self.text.startswith(token, self.position)

    def accept(self, token: str) -> bool:
        """Step over `token` if it comes next."""
        if self.at(token):
            self.position += len(token)
            return True
        return False

    def expect(self, token: str, expected: str = "") -> None:
        if not self.accept(token):
            raise Unreadable(expected or f"`{token}`", self.position)

    def match(self, pattern: re.Pattern[str], expected: str) -> re.Match[str]:
        """Step over what `pattern` matches next, after white space."""
        self.skip_space()
        match = pattern.match(self.text, self.position)
        if match is None:
            raise Unreadable(expected, self.position)
        self.position = match.end()
        return match

    def at_end(self) -> bool:
        self.skip_space()
        return self.position >= len(self.text)

    def list_of(self, item: Callable[[], _T], closing: str) -> list[_T]:
        """Items with commas between them, up to and with `closing`."""
        items: list[_T] = []
        if self.accept(closing):
            return items
        while True:
            items.append(item())
            if self.accept(closing):
                return items
            self.expect(",", f"`,` or `{closing}`")

    def balanced(self) -> str:
        """The text of a bracketed group that starts here, brackets included."""
        start = self.position
        open_brackets: list[str] = []
        while match := _BRACKET.search(self.text, self.position):
            self.position = match.end()
            token = match[0]
            if token in _CLOSING:
                open_brackets.append(_CLOSING[token])
            elif token[0] in '"-':
                continue
            elif not open_brackets or token != open_brackets.pop():
                break
            elif not open_brackets:
                return self.text[start : self.position]
        raise Unreadable("balanced brackets", start)

    def string(self) -> str:
        return unescape(self.match(_STRING, "a string")[1])
