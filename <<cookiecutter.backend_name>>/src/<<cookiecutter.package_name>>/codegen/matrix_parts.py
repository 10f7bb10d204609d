"""Products of f32 and f16 on tile registers that multiply bf16: each factor is taken as a sum of two or three numbers.

    a = a0 + a1 + a2, b = b0 + b1 + b2:  a b ~ a0 b0 + (a0 b1 + a1 b0 + a0 b2 + a1 b1 + a2 b0)

A bf16 has 8 bits, so three are all of an f32, and what is left out is about as small as its last digit's half. Two are
all of an f16, and nothing is left out: `WAYS` has what is multiplied. Products of the highest parts and those of the
lower ones are added up apart: their roundings differ by 2^8.

All sides are powers of two, so that everything is cut evenly: k into rounds, each of some steps that a register holds;
B into panels of up to two registers' columns; A into strips of a register's rows. A block is the product of a strip and
a panel. Its registers are busy for much longer than they take to load, and meanwhile vectors pack the next strip
(for the first panel) and the next panel, and add the block before to the accumulator. This other work lies between a
block's instructions, piece by piece: behind them, the host would not see it soon enough to do it beside them.

What a word holds together are elements of k that are 16 apart, not neighbours as in `matrix_amx`: the order does not
matter if it is the same in A and B, and two vectors become one of words without being permuted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Final

from ..host_features import HostFeatures
from .bf16_parts import F32, I32, parts_of, parts_of_half, words_of
from .emission import Emitter
from .matrix_amx import ROW_BYTES, ROWS, configuration
from .matrix_tiles import Tile, moved, offset, repeated
from .registers import spell

COLUMNS: Final = 16
"""Sums of a register's row; f32 of a vector, too."""

DEPTH: Final = 32
"""Elements of k in a register's row."""

REGISTER_BYTES: Final = ROWS * ROW_BYTES

MOST_ACROSS: Final = 2
"""Registers' columns of a panel: high and low sums of both are registers 0 to 3."""

FIRST_A: Final = 4
"""The register of A's highest part; the others follow."""

B: Final = 7

MOST_STEPS: Final = 4
"""Of a round. A panel's parts then take half of the first-level cache."""

MOST_STRIPS: Final = 16
"""That are packed at a time. Their parts take up to 192 KB of the stack, and a tenth of the second-level cache."""

PREFETCHED_AT_ONCE: Final = 3

FINITE: Final = 0x1F8
"""``llvm.is.fpclass``: numbers that are neither infinite nor NaN."""

Piece = Callable[[], None]
"""Emits a few instructions."""


@dataclass(frozen=True)
class Way:
    """How factors become parts, and which parts are multiplied."""

    parts: int
    split: Callable[[Emitter, str], list[str]]
    """Gives the parts of a vector, highest first."""
    products: tuple[tuple[int, int], ...]
    """Numbers of a part of A and one of B: by those of B, since one of its parts is in a register at a time."""
    fewest_uses: int
    """Of an element that is packed: vectors multiply a tile in which there are fewer sooner."""


def _largest_products(parts: int) -> tuple[tuple[int, int], ...]:
    """All of two parts whose numbers add up to less than there are parts."""
    return tuple((of_a, of_b) for of_b in range(parts) for of_a in range(parts - of_b))


WAYS: Final = {
    ("f32", 2): Way(2, partial(parts_of, count=2), _largest_products(2), 20),
    ("f32", 3): Way(3, partial(parts_of, count=3), _largest_products(3), 40),
    ("f16", 1): Way(2, parts_of_half, ((0, 0), (1, 0), (0, 1), (1, 1)), 12),
}
"""By the operands' type and `Tile.parts`. What is not here is not multiplied in parts."""


def suits(host: HostFeatures, tile: Tile) -> bool:
    """Whether `tile` may be multiplied in parts, and the host does so faster than otherwise."""
    way = WAYS.get((tile.operand.format, tile.parts))
    if way is None or not all(map(host.has, ("amx-tile", "amx-bf16", "avx512f", "avx512dq"))):
        return False
    sides = (tile.m, ROWS), (tile.n, COLUMNS), (tile.k, DEPTH)
    if not all(side >= least and side & (side - 1) == 0 for side, least in sides):
        return False
    return tile.m * tile.n >= way.fewest_uses * (tile.m + tile.n)


def emit_product(e: Emitter, tile: Tile, acc: str, a: str, b: str) -> None:
    """Multiplies a tile; ``acc``, ``a`` and ``b``: LLVM names of pointers."""
    _Product(e, tile).emit(acc, a, b)


class _Product:
    """Packed A: strips, in each the steps, in each the parts; packed B: registers' columns, in each the same."""

    def __init__(self, e: Emitter, tile: Tile) -> None:
        self.e = e
        self.tile = tile
        self.way = WAYS[tile.operand.format, tile.parts]
        self.across = min(tile.n // COLUMNS, MOST_ACROSS)
        self.panels = tile.n // COLUMNS // self.across
        self.steps = min(tile.k // DEPTH, MOST_STEPS)
        self.strips = min(tile.m // ROWS, MOST_STRIPS)
        self.step_bytes = self.way.parts * REGISTER_BYTES
        self.strip_bytes = self.steps * self.step_bytes
        """Of A's packed rows, and of B's packed columns, of one register."""
        self.panel_bytes = self.across * self.strip_bytes
        self.block_bytes = 2 * self.across * REGISTER_BYTES
        """Of a block's sums."""
        self.packed_a = e.stack(f"[{self.strips * self.strip_bytes} x i8]", "parts.a")
        self.packed_b = e.stack(f"[{2 * self.panel_bytes} x i8]", "parts.b")
        self.sums = e.stack(f"[{2 * self.block_bytes} x i8]", "parts.sums")
        self.last = _Last(e, self.sums, 2 * self.block_bytes)

    def emit(self, acc: str, a: str, b: str) -> None:
        e, tile = self.e, self.tile
        e.call("void", "llvm.x86.ldtilecfg", ("ptr", e.module.constant(configuration([(ROWS, COLUMNS)] * 8))))
        # Before the first block, the block before is one of zeros.
        with e.loop(self.block_bytes, ROW_BYTES) as place:
            e.do(f"store {I32} zeroinitializer, ptr {self._at(self.sums, place)}, align {ROW_BYTES}")
        self.last.store(self.sums, acc)
        depth, height = self.steps * DEPTH, self.strips * ROWS
        with repeated(e, tile.k // depth, depth) as k, repeated(e, tile.m // height, height) as row:
            self._multiply(
                moved(e, acc, tile.acc, row, tile.ldc),
                moved(e, moved(e, a, tile.operand, row, tile.lda), tile.operand, k),
                moved(e, b, tile.operand, k, tile.ldb),
            )
        with repeated(e, ROWS, 1) as row:
            do(self._additions(row, 1))
        e.call("void", "llvm.x86.tilerelease")

    def _multiply(self, acc: str, a: str, b: str) -> None:
        """The product of some strips and all panels, of one round."""
        e = self.e
        with repeated(e, self.steps, 1) as step, repeated(e, ROWS, 1) as row:
            do(self._packing_b(b, self.packed_b, step, row, 1))
            do(self._packing_a(a, None, step, row, 1))
        self._panel(acc, a, b, None)
        if self.panels > 1:
            with e.loop(self.panels - 1) as number:
                self._panel(acc, a, b, e.let(f"add i64 {number}, 1"))

    def _panel(self, acc: str, a: str, b: str, panel: str | None) -> None:
        """The products of all strips and one panel, by default the first."""
        e, tile = self.e, self.tile
        packed, following, b_following = self.packed_b, self.packed_b, b
        if self.panels > 1:
            # Behind the last comes the last again, which nobody needs, but nobody waits for either.
            number = "1" if panel is None else e.let(f"add i64 {panel}, 1")
            number = e.call("i64", "llvm.umin.i64", ("i64", number), ("i64", str(self.panels - 1)))
            b_following = moved(e, b, tile.operand, number, self.across * COLUMNS)
            odd = "0" if panel is None else e.let(f"and i64 {panel}, 1")
            packed = self._at(packed, odd, self.panel_bytes)
            following = self._at(following, e.let(f"xor i64 {odd}, 1"), self.panel_bytes)
        acc = moved(e, acc, tile.acc, panel, self.across * COLUMNS)

        with repeated(e, self.strips, 1) as strip:
            a_here = self._at(self.packed_a, strip, self.strip_bytes)

            def beside(step: str | None) -> list[Piece]:
                pieces = self._additions(step, ROWS // self.steps)
                if self.panels > 1:
                    words = ROWS // self.strips
                    first = None if strip is None else e.let(f"mul i64 {strip}, {words}")
                    pieces += self._packing_b(b_following, following, step, first, words)
                if panel is not None:
                    return mixed(pieces, self._prefetches(self._at(a_here, step, self.step_bytes)))
                if strip is not None:
                    # Behind the last comes the first again, see above.
                    number = e.let(f"and i64 {e.let(f'add i64 {strip}, 1')}, {self.strips - 1}")
                    pieces += self._packing_a(a, number, step, None, ROWS)
                return pieces

            sums = self.last.other_sums()
            self._block(a_here, packed, sums, beside)
            self.last.store(sums, moved(e, acc, tile.acc, strip, ROWS * tile.ldc))

    # --- other work -----------------------------------------------------------------------------------------

    def _packing_a(
        self, a: str, strip: str | None, step: str | None, first: str | None, count: int
    ) -> list[Piece]:
        """Packs `count` rows of a step of a strip, from the one `first` on."""
        e, tile = self.e, self.tile
        source = moved(e, moved(e, a, tile.operand, strip, ROWS * tile.lda), tile.operand, step, DEPTH)
        source = moved(e, source, tile.operand, first, tile.lda)
        target = self._at(self._at(self.packed_a, strip, self.strip_bytes), step, self.step_bytes)
        target = self._at(target, first, ROW_BYTES)
        return [
            partial(self._pack, source, row * tile.lda, row * tile.lda + COLUMNS, target, row * ROW_BYTES)
            for row in range(count)
        ]

    def _packing_b(self, b: str, packed: str, step: str | None, first: str | None, count: int) -> list[Piece]:
        """Packs `count` rows of words of a step of a panel, from the one `first` on."""
        e, tile = self.e, self.tile
        source = moved(e, moved(e, b, tile.operand, step, DEPTH * tile.ldb), tile.operand, first, tile.ldb)
        target = self._at(self._at(packed, step, self.step_bytes), first, ROW_BYTES)
        pieces: list[Piece] = []
        for word in range(count):
            for column in range(self.across):
                low = word * tile.ldb + column * COLUMNS
                place = word * ROW_BYTES + column * self.strip_bytes
                pieces.append(partial(self._pack, source, low, low + ROWS * tile.ldb, target, place))
        return pieces

    def _pack(self, source: str, low: int, high: int, target: str, place: int) -> None:
        """The parts of two vectors as halves of words: in registers one after the other, at a place in each."""
        e, tile = self.e, self.tile
        loaded = spell(tile.operand.element, COLUMNS)
        vectors = [
            e.let(f"load {loaded}, ptr {offset(e, source, first, tile.operand)}, align {tile.operand.bytes}")
            for first in (low, high)
        ]
        both = zip(*(self.way.split(e, vector) for vector in vectors), strict=True)
        for number, (x, y) in enumerate(both):
            there = self._at(target, place + number * REGISTER_BYTES)
            e.do(f"store {I32} {words_of(e, x, y)}, ptr {there}, align {ROW_BYTES}")

    def _additions(self, step: str | None, rows: int) -> list[Piece]:
        """Adds rows of the block before to the accumulator: those of a step's turn."""
        e, tile = self.e, self.tile
        sums, acc = self.last.load()
        first = None if step is None else e.let(f"mul i64 {step}, {rows}")
        sums, acc = self._at(sums, first, ROW_BYTES), moved(e, acc, tile.acc, first, tile.ldc)
        return [
            partial(self._add, sums, acc, row, column) for row in range(rows) for column in range(self.across)
        ]

    def _add(self, sums: str, acc: str, row: int, column: int) -> None:
        """Where the high sum is infinite or NaN, the low one means nothing."""
        e, tile = self.e, self.tile
        high, low = (
            e.let(
                f"load {F32}, ptr {self._at(sums, row * ROW_BYTES + register * REGISTER_BYTES)}, align {ROW_BYTES}"
            )
            for register in (2 * column, 2 * column + 1)
        )
        both = e.let(f"fadd {F32} {high}, {low}")
        finite = e.call("<16 x i1>", "llvm.is.fpclass.v16f32", (F32, high), ("i32", str(FINITE)))
        total = e.let(f"select <16 x i1> {finite}, {F32} {both}, {F32} {high}")
        place = offset(e, acc, row * tile.ldc + column * COLUMNS, tile.acc)
        old = e.let(f"load {F32}, ptr {place}, align 4")
        e.do(f"store {F32} {e.let(f'fadd {F32} {old}, {total}')}, ptr {place}, align 4")

    def _prefetches(self, here: str) -> list[Piece]:
        """Asks for the next step of A: the strips are more than the first-level cache holds."""
        lines = range(self.step_bytes, 2 * self.step_bytes, ROW_BYTES)
        return [
            partial(self._prefetch, here, lines[first : first + PREFETCHED_AT_ONCE])
            for first in range(0, len(lines), PREFETCHED_AT_ONCE)
        ]

    def _prefetch(self, here: str, lines: Sequence[int]) -> None:
        for line in lines:
            how = (("i32", number) for number in "031")  # to read, into the first level, data
            self.e.call("void", "llvm.prefetch.p0", ("ptr", self._at(here, line)), *how)

    # --- products -------------------------------------------------------------------------------------------

    def _block(self, a: str, b: str, sums: str, beside: Callable[[str | None], list[Piece]]) -> None:
        """The product of a strip and a panel: high and low sums of each register's columns."""
        for register in range(2 * self.across):
            self.e.call("void", "llvm.x86.tilezero", ("i8", str(register)))
        with repeated(self.e, self.steps, 1) as step:
            pieces = beside(step)
            products = self._products(self._at(a, step, self.step_bytes), self._at(b, step, self.step_bytes))
            do(mixed(products, pieces))
        for register in range(2 * self.across):
            self._memory("tilestored64", register, sums, register * REGISTER_BYTES)

    def _products(self, a: str, b: str) -> list[Piece]:
        """Those of one step."""
        pieces: list[Piece] = [
            partial(self._memory, "tileloadd64", FIRST_A + part, a, part * REGISTER_BYTES)
            for part in range(self.way.parts)
        ]
        for column in range(self.across):
            for part_of_b, products in groupby(self.way.products, lambda product: product[1]):
                place = column * self.strip_bytes + part_of_b * REGISTER_BYTES
                pieces.append(partial(self._memory, "tileloadd64", B, b, place))
                for part_of_a, _ in products:
                    total = 2 * column + (part_of_a + part_of_b > 0)
                    pieces.append(partial(self._product, total, FIRST_A + part_of_a, B))
        return pieces

    def _product(self, *registers: int) -> None:
        self.e.call("void", "llvm.x86.tdpbf16ps", *(("i8", str(register)) for register in registers))

    def _memory(self, instruction: str, register: int, base: str, place: int) -> None:
        arguments = ("i8", str(register)), ("ptr", self._at(base, place)), ("i64", str(ROW_BYTES))
        self.e.call("void", f"llvm.x86.{instruction}", *arguments)

    def _at(self, base: str, count: int | str | None, size: int = 1) -> str:
        """The address `count` times `size` bytes behind `base`."""
        if count in (None, 0, "0"):
            return base
        distance = str(count) if size == 1 else self.e.let(f"mul i64 {count}, {size}")
        return self.e.let(f"getelementptr i8, ptr {base}, i64 {distance}")


class _Last:
    """The block that was multiplied last: where its sums are, in one of two buffers, and what they are added to."""

    def __init__(self, e: Emitter, buffers: str, size: int) -> None:
        self.e = e
        self.buffers = buffers
        self.size = size
        """Of both buffers."""
        self.slots = e.stack("ptr", "last.sums"), e.stack("ptr", "last.acc")

    def store(self, sums: str, acc: str) -> None:
        for slot, value in zip(self.slots, (sums, acc), strict=True):
            self.e.do(f"store ptr {value}, ptr {slot}")

    def load(self) -> tuple[str, str]:
        sums, acc = (self.e.let(f"load ptr, ptr {slot}") for slot in self.slots)
        return sums, acc

    def other_sums(self) -> str:
        """The buffer that the last block's sums are not in."""
        e = self.e
        sums, _ = self.load()
        is_first = e.let(f"icmp eq ptr {self.buffers}, {sums}")
        second = e.let(f"getelementptr i8, ptr {self.buffers}, i64 {self.size // 2}")
        return e.let(f"select i1 {is_first}, ptr {second}, ptr {self.buffers}")


def do(pieces: Sequence[Piece]) -> None:
    for piece in pieces:
        piece()


def mixed(pieces: Sequence[Piece], others: Sequence[Piece]) -> list[Piece]:
    """`pieces` with `others` spread evenly behind them."""
    result: list[Piece] = []
    for number, piece in enumerate(pieces):
        first, end = (n * len(others) // len(pieces) for n in (number, number + 1))
        result += [piece, *others[first:end]]
    return result
