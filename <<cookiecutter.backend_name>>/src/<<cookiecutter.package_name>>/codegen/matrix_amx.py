"""Products on the tile registers of x86 (AMX): 16 rows of 64 bytes each, and an instruction that multiplies two.

A step takes 64 bytes of k. Of B it wants the 2 or 4 elements of k that fill 32 bits beside each other, so some columns
of B at a time are packed in that order into a buffer that the first-level cache holds; all rows of A pass over it. Sums
of up to four tiles stay in registers while a block streams through k.

What tile registers look like is set once a function, and given up at its end: nobody else finds them in use.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from ..host_features import HostFeatures
from .emission import Emitter
from .matrix_tiles import Tile, cuts, moved, offset, repeated
from .registers import spell

ROWS: Final = 16
"""Rows of a tile register."""

ROW_BYTES: Final = 64

WORD_BYTES: Final = 4
"""Elements of k that a word holds are multiplied in one go."""

PRODUCTS: Final = {
    "bf16": ("amx-bf16", "tdpbf16ps"),
    "f16": ("amx-fp16", "tdpfp16ps"),
    "i8": ("amx-int8", "tdpbssd"),
}
"""Type of the operands -> the host's feature, and the instruction."""

FIRST_A: Final = 4
FIRST_B: Final = 6
"""Registers before are for sums, the two from here on for A, the last two for B."""

LONGEST_BUFFER: Final = 16 * 1024
"""Bytes of packed B at a time. A third of the first-level cache, so that blocks of A and sums fit beside it."""

FEWEST_PRODUCTS: Final = 4096
"""Of a tile: setting up registers takes 60 ns, in which vectors multiply a smaller one."""

MOST_ACROSS: Final = 8
"""Registers' columns that are packed in one round of a loop, at most: code stays short where k is, too."""

STEPS_OF_SLICES: Final = 4
"""Steps of k, at most, for which slices are put together. With twice as many, wide tiles took up to 1.07 times as long:
fewer columns fit the buffer, so that A is read more often, and slices fill more of the second-level cache."""


@dataclass(frozen=True)
class Cut:
    """What one register holds of a tile: ``rows`` x ``columns`` sums, ``depth`` elements of k, ``together`` a word."""

    rows: int
    columns: int
    depth: int
    together: int

    @staticmethod
    def of(tile: Tile) -> Cut:
        size = tile.operand.bytes
        return Cut(
            min(tile.m, ROWS),
            min(tile.n, ROW_BYTES // tile.acc.bytes),
            min(tile.k, ROW_BYTES // size),
            WORD_BYTES // size,
        )

    @property
    def words(self) -> int:
        return self.depth // self.together

    def configuration(self) -> bytes:
        sums, a, b = (self.rows, self.columns), (self.rows, self.words), (self.words, self.columns)
        return configuration([sums] * FIRST_A + [a] * (FIRST_B - FIRST_A) + [b] * 2)


def configuration(registers: Sequence[tuple[int, int]]) -> bytes:
    """The operand of ``ldtilecfg``: rows, and words of a row, of each register."""
    palette = b"\1".ljust(16, b"\0")
    widths = b"".join((words * WORD_BYTES).to_bytes(2, "little") for _, words in registers)
    return palette + widths.ljust(32, b"\0") + bytes(rows for rows, _ in registers).ljust(16, b"\0")


def suits(host: HostFeatures, tile: Tile) -> bool:
    """Whether the host multiplies `tile` on tile registers, and faster so.

    It must be cut evenly into them. That holds for all tiles of Triton's, whose sides are powers of two.
    """
    if tile.m * tile.n * tile.k < FEWEST_PRODUCTS:
        return False
    feature, _ = PRODUCTS.get(tile.operand.format, ("", ""))
    if not (host.has("amx-tile") and host.has(feature)):
        return False
    cut = Cut.of(tile)
    sides = (tile.m, cut.rows), (tile.n, cut.columns), (tile.k, cut.depth), (cut.depth, cut.together)
    return all(side % part == 0 for side, part in sides)


@dataclass(frozen=True)
class Slices:
    """How far apart the tiles of A and of B are in bytes whose products are added up: slices of a deeper product.

    Sums stay in registers from one slice to the next. To load and store them takes as long as four steps of k do.
    """

    a: int
    b: int

    @property
    def symbol(self) -> str:
        return f"slices.{self.a}.{self.b}"


def slices_at_once(tile: Tile) -> int:
    """Slices that a block streams through before it stores its sums."""
    cut = Cut.of(tile)
    steps = min(deepest(cut, block_of(tile.m // cut.rows, tile.n // cut.columns)[1]), STEPS_OF_SLICES)
    return max(steps * cut.depth // tile.k, 1)


def emit_product(e: Emitter, tile: Tile, acc: str, a: str, b: str) -> None:
    """Multiplies a tile; ``acc``, ``a`` and ``b``: LLVM names of pointers."""
    _Product(e, tile).emit(acc, a, b)


def emit_slices(e: Emitter, tile: Tile, acc: str, a: str, b: str, slices: Slices) -> None:
    """Multiplies ``%count`` slices, maybe none: as many at a time as the buffer holds."""
    most = slices_at_once(tile)
    rounds = e.let(f"udiv i64 {e.let(f'add i64 %count, {most - 1}')}, {most}")
    with e.when(e.let(f"icmp ne i64 {rounds}, 0")), e.loop(rounds) as number:
        first = e.let(f"mul i64 {number}, {most}")
        left = e.let(f"sub i64 %count, {first}")
        count = e.call("i64", "llvm.umin.i64", ("i64", left), ("i64", str(most)))
        a_here, b_here = (
            e.let(f"getelementptr i8, ptr {pointer}, i64 {e.let(f'mul i64 {first}, {distance}')}")
            for pointer, distance in ((a, slices.a), (b, slices.b))
        )
        _Product(e, tile, slices, count).emit(acc, a_here, b_here)


def deepest(cut: Cut, across: int) -> int:
    """Registers' depths of k that the buffer holds of `across` registers' columns of B."""
    return max(LONGEST_BUFFER // (cut.words * ROW_BYTES * across), 1)


def block_of(down: int, across: int) -> tuple[int, int]:
    """Rows and columns, in registers, of a block of so many: up to four sums, in a square if there is a choice."""
    if down == 1:
        return 1, min(across, 4)
    return (min(down, 4), 1) if across == 1 else (2, 2)


class _Product:
    """``down`` and ``across`` count registers, everything else elements or, where it says so, bytes.

    ``count``: LLVM's name of the number of slices, at least one and at most `slices_at_once`.
    """

    def __init__(
        self, e: Emitter, tile: Tile, slices: Slices | None = None, count: str | None = None
    ) -> None:
        self.e = e
        self.tile = tile
        self.slices = slices
        self.count = count
        self.cut = cut = Cut.of(tile)
        across = tile.n // cut.columns
        self.block = block_of(tile.m // cut.rows, across)
        most_slices = slices_at_once(tile) if slices else 1
        steps = min(tile.k // cut.depth, deepest(cut, self.block[1]))
        most = min(MOST_ACROSS, deepest(cut, steps * most_slices))
        self.depth = steps * cut.depth
        """Rows of B that are packed at a time, at most."""
        self.width = min(max(most - most % self.block[1], self.block[1]), across) * cut.columns
        """Columns of B that are packed at a time, at most."""
        size = self._column_bytes(self.depth) * self.width // cut.columns
        self.slice_bytes = size
        """Of the buffer."""
        self.buffer = e.stack(f"[{size * most_slices} x i8]", "packed")

    def emit(self, acc: str, a: str, b: str) -> None:
        e, tile = self.e, self.tile
        assert self.slices is None or slices_at_once(tile) == 1 or self.depth == tile.k
        shapes = e.module.constant(self.cut.configuration())
        e.call("void", "llvm.x86.ldtilecfg", ("ptr", shapes))
        for first, count, depth in cuts(tile.k, self.depth):
            with repeated(e, count, depth) as k:
                a_here = moved(e, offset(e, a, first, tile.operand), tile.operand, k)
                b_here = moved(e, offset(e, b, first * tile.ldb, tile.operand), tile.operand, k, tile.ldb)
                for left, panels, width in cuts(tile.n, self.width):
                    with repeated(e, panels, width) as column:
                        panel = moved(e, offset(e, b_here, left, tile.operand), tile.operand, column)
                        sums = moved(e, offset(e, acc, left, tile.acc), tile.acc, column)
                        with self._each_slice() as number:
                            slice_of_b = self._bytes_behind(
                                panel, number, self.slices.b if self.slices else 0
                            )
                            packed = self._bytes_behind(self.buffer, number, self.slice_bytes)
                            self._pack(slice_of_b, packed, depth, width)
                        self._multiply(sums, a_here, depth, width)
        e.call("void", "llvm.x86.tilerelease")

    def _column_bytes(self, depth: int) -> int:
        """Bytes in the buffer of `depth` rows of one register's columns."""
        return depth // self.cut.together * ROW_BYTES

    @contextmanager
    def _each_slice(self) -> Generator[str | None]:
        """A loop over the slices, if there are any; gives the number."""
        if self.count is None:
            yield None
        else:
            with self.e.loop(self.count) as number:
                yield number

    def _pack(self, b: str, packed: str, depth: int, width: int) -> None:
        """Packs rows and columns of B: one register's columns after the other."""
        e, tile, cut = self.e, self.tile, self.cut
        words = spell(tile.operand.element, cut.columns * cut.together)
        with repeated(e, depth // cut.together, 1) as word:
            rows = moved(e, b, tile.operand, word, cut.together * tile.ldb)
            place = self._bytes_behind(packed, word, ROW_BYTES)
            for across in range(width // cut.columns):
                row = offset(e, rows, across * cut.columns, tile.operand)
                mixed = self._interleaved(
                    [offset(e, row, i * tile.ldb, tile.operand) for i in range(cut.together)]
                )
                there = self._bytes_behind(place, "1", across * self._column_bytes(depth))
                e.do(f"store {words} {mixed}, ptr {there}, align {ROW_BYTES}")

    def _interleaved(self, rows: list[str]) -> str:
        """One register's columns of some rows of B: element 0 of each row, then element 1 of each, and so on."""
        e, element, count = self.e, self.tile.operand.element, self.cut.columns
        vectors = [
            e.let(f"load <{count} x {element}>, ptr {row}, align {self.tile.operand.bytes}") for row in rows
        ]
        distance = len(vectors) // 2
        # Of four rows first 0 with 2 and 1 with 3, then both results.
        while distance:
            pairs = zip(vectors[:distance], vectors[distance:], strict=True)
            order = ", ".join(f"i32 {lane}, i32 {count + lane}" for lane in range(count))
            ty = f"<{count} x {element}>"  # of one element, too
            vectors = [
                e.let(f"shufflevector {ty} {x}, {ty} {y}, <{2 * count} x i32> <{order}>") for x, y in pairs
            ]
            distance //= 2
            count *= 2
        return vectors[0]

    def _multiply(self, acc: str, a: str, depth: int, width: int) -> None:
        """Adds the product of all rows of A and the buffer."""
        e, tile, cut = self.e, self.tile, self.cut
        down, across = self.block
        for top, count, rows in cuts(tile.m, down * cut.rows):
            with repeated(e, count, rows) as row:
                a_rows = moved(e, offset(e, a, top * tile.lda, tile.operand), tile.operand, row, tile.lda)
                acc_rows = moved(e, offset(e, acc, top * tile.ldc, tile.acc), tile.acc, row, tile.ldc)
                for left, blocks, columns in cuts(width, across * cut.columns):
                    with repeated(e, blocks, columns) as column:
                        sums = moved(e, offset(e, acc_rows, left, tile.acc), tile.acc, column)
                        per_column = self._column_bytes(depth) // cut.columns
                        b = self._bytes_behind(self.buffer, "1", left * per_column)
                        b = self._bytes_behind(b, column, per_column)
                        self._block(sums, a_rows, b, depth, rows // cut.rows, columns // cut.columns)

    def _block(self, acc: str, a: str, b: str, depth: int, down: int, across: int) -> None:
        """Adds the product of `down` registers' rows and `across` registers' columns."""
        e, tile, cut = self.e, self.tile, self.cut
        places = [
            offset(e, acc, i * cut.rows * tile.ldc + j * cut.columns, tile.acc)
            for i in range(down)
            for j in range(across)
        ]
        acc_pitch = tile.ldc * tile.acc.bytes
        for register, place in enumerate(places):
            self._memory("tileloadd64", register, place, acc_pitch)
        with self._each_slice() as number:
            a_slice = self._bytes_behind(a, number, self.slices.a if self.slices else 0)
            b_slice = self._bytes_behind(b, number, self.slice_bytes)
            with repeated(e, depth // cut.depth, 1) as step:
                a_step = moved(e, a_slice, tile.operand, step, cut.depth)
                b_step = self._bytes_behind(b_slice, step, self._column_bytes(cut.depth))
                self._step(a_step, b_step, depth, down, across)
        for register, place in enumerate(places):
            self._memory("tilestored64", register, place, acc_pitch)

    def _step(self, a: str, b: str, depth: int, down: int, across: int) -> None:
        """Multiplies one register's depth of k."""
        tile, cut = self.tile, self.cut
        for i in range(down):
            a_register = FIRST_A + i % 2
            row = offset(self.e, a, i * cut.rows * tile.lda, tile.operand)
            self._memory("tileloadd64", a_register, row, tile.lda * tile.operand.bytes)
            for j in range(across):
                b_register = FIRST_B + j % 2
                if i == 0:
                    column = self._bytes_behind(b, "1", j * self._column_bytes(depth))
                    self._memory("tileloadd64", b_register, column, ROW_BYTES)
                self._product(i * across + j, a_register, b_register)

    def _product(self, *registers: int) -> None:
        _, instruction = PRODUCTS[self.tile.operand.format]
        self.e.call("void", f"llvm.x86.{instruction}", *(("i8", str(register)) for register in registers))

    def _memory(self, instruction: str, register: int, place: str, pitch: int) -> None:
        arguments = ("i8", str(register)), ("ptr", place), ("i64", str(pitch))
        self.e.call("void", f"llvm.x86.{instruction}", *arguments)

    def _bytes_behind(self, pointer: str, count: str | None, size: int) -> str:
        """A pointer moved by `count` times `size` bytes."""
        if count is None or size == 0:
            return pointer
        distance = str(size) if count == "1" else self.e.let(f"mul i64 {count}, {size}")
        return self.e.let(f"getelementptr i8, ptr {pointer}, i64 {distance}")
