"""What the files that multiply tiles share: a tile's shape, how columns become vectors, loops over blocks of a tile."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from .emission import Emitter
from .registers import RegisterType

VECTORS_PER_ROW: Final = 2
"""Vectors of a register block's row: with two, an element of A is loaded half as often."""


@dataclass(frozen=True)
class Tile:
    """One shape of `Mma`; lengths and pitches in elements, types those of one element."""

    m: int
    n: int
    k: int
    lda: int
    ldb: int
    ldc: int
    operand: RegisterType
    acc: RegisterType
    parts: int = 1
    """Numbers of bf16 that each element of the operands may be taken as; 1: itself."""

    @property
    def symbol(self) -> str:
        shape = f"{self.m}x{self.n}x{self.k}.pitch.{self.lda}.{self.ldb}.{self.ldc}"
        parts = f".parts.{self.parts}" if self.parts > 1 else ""
        return f"mma.{self.operand.format}.{self.acc.format}.{shape}{parts}"


@dataclass(frozen=True)
class Piece:
    """``width`` columns from ``first`` on, as one vector."""

    first: int
    width: int


def columns(n: int, lanes: int) -> list[Piece]:
    """`n` columns as vectors of `lanes`, and the rest as vectors of smaller powers of two."""
    pieces: list[Piece] = []
    first = 0
    while first < n:
        width = min(lanes, 1 << ((n - first).bit_length() - 1))
        pieces.append(Piece(first, width))
        first += width
    return pieces


@contextmanager
def repeated(e: Emitter, count: int, step: int) -> Generator[str | None]:
    """A loop that counts in steps, if it is more than one; gives the counter."""
    if count == 1:
        yield None
    else:
        with e.loop(count * step, step) as counter:
            yield counter


def moved(e: Emitter, pointer: str, element: RegisterType, steps: str | None, pitch: int = 1) -> str:
    """A pointer moved by `steps` times `pitch` elements."""
    if steps is None:
        return pointer
    count = steps if pitch == 1 else e.let(f"mul i64 {steps}, {pitch}")
    return e.let(f"getelementptr {element.element}, ptr {pointer}, i64 {count}")


def offset(e: Emitter, pointer: str, elements: int, element: RegisterType) -> str:
    """A pointer moved by a number of elements that is known."""
    return e.let(f"getelementptr {element.element}, ptr {pointer}, i64 {elements}") if elements else pointer


def cuts(length: int, part: int) -> list[tuple[int, int, int]]:
    """`length` in parts: the first, the number and the length of those that are alike."""
    count, rest = divmod(length, part)
    return [(0, count, part)] * (count > 0) + [(count * part, 1, rest)] * (rest > 0)
