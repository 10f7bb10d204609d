"""The matrix unit, as a function per tile shape that keeps its accumulators in vector registers.

Loops over neighbouring tiles of a product are one function too. A tile is cut into strips of rows, and those into
register blocks of a few rows times one or two vectors. A block streams through ``k``: each step loads the vectors of
one row of B and multiplies them with the block's elements of one column of A, each spread over a vector. Where
the host multiplies pairs of bf16, a step takes two rows of B, interleaved, and pairs of A.

Hosts with tile registers have another way (`matrix_amx`). Those that multiply bf16 there do so with the parts of other
numbers, too (`matrix_parts`): f32 that need not be multiplied exactly, and f16 that the host does not multiply itself.
Elsewhere 16-bit floats that it does not multiply are widened first (`matrix_widened`). `METHODS` is the choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from typing import Final

from xdsl.dialects import scf
from xdsl.traits import Pure

from ..dialects.isa import matrix as isa
from ..dialects.locations import location_of
from ..errors import UnsupportedOperation
from ..host_features import HostFeatures
from . import matrix_amx, matrix_parts
from .emission import Emitter, Module, emits
from .matrix_tiles import VECTORS_PER_ROW, Piece, Tile, columns, moved, repeated
from .matrix_widened import emit_widened
from .registers import RegisterType, mangle, spell
from .tile_loops import Product, product_of, tile_of

UNROLL: Final = {"f32": 2, "f64": 2, "bf16": 4, "i8": 2, "i32": 2}
"""Steps of k in one round of the loop, by the operands' type; half as many in a block of more than `FEW_SUMS`."""

FEW_SUMS: Final = 16
"""Sums of a block whose step is short beside the instructions of the loop."""

LEAST_PAIRS: Final = 4
"""Sums in the shortest vector that takes pairs of bf16."""

ROWS_OF_ONE_VECTOR: Final = 16
"""Rows of a block that is one vector wide: enough sums in flight to hide the latency of an addition."""

STRIP: Final = 32
"""Rows that are multiplied with all of B before the next ones are: of A and the sums, no more than this many rows
compete with a block's columns of B for the first-level cache."""


@emits(isa.Mma)
def mma(e: Emitter, op: isa.Mma) -> None:
    multiply(e, Product((), op, tile_of(op)))


def multiply(e: Emitter, product: Product) -> None:
    """Calls the function for a product's tile, or for slices of it."""
    op, tile = product.op, product.tile
    if (tile.operand.format, tile.acc.format) not in isa.TYPES:
        raise UnsupportedOperation(
            f"the matrix unit does not multiply {tile.operand.format} into {tile.acc.format}",
            location=location_of(op),
            add_support_in="codegen/matrix.py",
        )
    arguments = f"i64 {e.ref(op.acc)}, i64 {e.ref(op.a)}, i64 {e.ref(op.b)}"
    if product.slices is None:
        name, make = tile.symbol, tile_function
    else:
        slices = matrix_amx.Slices(product.a_slice, product.b_slice)
        name, make = f"{tile.symbol}.{slices.symbol}", partial(slices_function, slices=slices)
        arguments += f", i64 {e.ref(product.slices.ub)}"
    if name not in e.module.functions:
        e.module.functions[name] = make(e.module, tile)
    e.do(f"call void @{name}({arguments})")


def emit_tile_loops(e: Emitter, loop: scf.ForOp) -> bool:
    """Emits loops over neighbouring tiles of one product as one tile; False, and nothing, if `loop` is none.

    The host's registers take other blocks than the machine's matrix unit does, and A and B are then read less often.
    """
    product = product_of(loop)
    if product is None or not (product.slices is None or matrix_amx.suits(e.host, product.tile)):
        return False
    for each in product.loops:
        e.bind(each.body.block.args[0], "0")
        pure = (inner for inner in each.body.block.ops if inner.has_trait(Pure))
        e.emit(inner for inner in pure if not isinstance(inner, scf.YieldOp))
    multiply(e, product)
    return True


def tile_function(module: Module, tile: Tile) -> str:
    """The function that multiplies tiles of one shape: ``void SYMBOL(i64 acc, i64 a, i64 b)``."""
    emit = next(emit for suits, emit in METHODS if suits(module.host, tile))
    return _function(module, tile.symbol, emit, tile)


def slices_function(module: Module, tile: Tile, slices: matrix_amx.Slices) -> str:
    """The one that multiplies slices on tile registers: ``void SYMBOL(i64 acc, i64 a, i64 b, i64 count)``."""
    emit = partial(matrix_amx.emit_slices, slices=slices)
    return _function(module, f"{tile.symbol}.{slices.symbol}", emit, tile, ", i64 %count")


def _function(module: Module, symbol: str, emit: Callable[..., None], tile: Tile, more: str = "") -> str:
    e = Emitter(module)
    acc, a, b = (e.let(f"inttoptr i64 %{name} to ptr") for name in ("acc", "a", "b"))
    emit(e, tile, acc, a, b)
    e.do("ret void")
    return e.function(
        f"define internal void @{symbol}(i64 %acc, i64 %a, i64 %b{more}) noinline "
        f"{module.attributes(module.host.vector_bits)}"
    )


def emit_blocks(e: Emitter, tile: Tile, acc: str, a: str, b: str) -> None:
    """The product of operands of the accumulator's type, or of integers."""
    _emit_blocks(e, tile, acc, a, b, _RegisterBlock)


def emit_pairs(e: Emitter, tile: Tile, acc: str, a: str, b: str) -> None:
    """The product of bf16 where the host multiplies pairs of them."""
    _emit_blocks(e, tile, acc, a, b, _PairsBlock)


def _emit_blocks(e: Emitter, tile: Tile, acc: str, a: str, b: str, make: type[_RegisterBlock]) -> None:
    pieces = columns(tile.n, e.host.vector_bits // tile.acc.bits)
    blocks = [pieces[first : first + VECTORS_PER_ROW] for first in range(0, len(pieces), VECTORS_PER_ROW)]
    for strip, strip_row in _each(e, rows_alike(tile.m, STRIP)):
        acc_strip = moved(e, acc, tile.acc, strip_row, tile.ldc)
        a_strip = moved(e, a, tile.operand, strip_row, tile.lda)
        for _, alike in groupby(blocks, lambda block: [piece.width for piece in block]):
            block, *others = alike
            width = sum(piece.width for piece in block)
            with repeated(e, 1 + len(others), width) as column:
                here_b = moved(e, b, tile.operand, column)
                acc_column = moved(e, acc_strip, tile.acc, column)
                for rows, row in _each(e, rows_of_blocks(e.host, len(strip), len(block))):
                    here_acc = moved(e, acc_column, tile.acc, row, tile.ldc)
                    here_a = moved(e, a_strip, tile.operand, row, tile.lda)
                    within = range(strip.start + rows.start, strip.start + rows.stop)
                    make(e, tile, within, block).emit(here_acc, here_a, here_b)


def multiplies_pairs(host: HostFeatures, tile: Tile) -> bool:
    narrowest = columns(tile.n, host.vector_bits // tile.acc.bits)[-1]
    return tile.operand.format == "bf16" and host.multiplies_bf16 and narrowest.width >= LEAST_PAIRS


def is_half(host: HostFeatures, tile: Tile) -> bool:
    return tile.operand.format in ("f16", "bf16")


def is_any(host: HostFeatures, tile: Tile) -> bool:
    return True


def rows_of_blocks(host: HostFeatures, m: int, vectors: int) -> list[tuple[range, int]]:
    """The rows of register blocks, in groups as `rows_alike` gives them.

    A block's sums, a row of B and two spread elements of A fit the registers.
    """
    most = (host.vector_registers - vectors - 2) // vectors
    return rows_alike(m, min(most, ROWS_OF_ONE_VECTOR) if vectors == 1 else most)


def rows_alike(m: int, most: int) -> list[tuple[range, int]]:
    """`m` rows in the fewest groups of at most `most`: the rows of the first of some that are alike, and their count.

    Heights differ by one at most: a low group loads as much of B as a high one.
    """
    count = -(-m // most)
    height, higher = divmod(m, count)
    above = higher * (height + 1)
    groups = [(range(above, above + height), count - higher)]
    return [(range(height + 1), higher), *groups] if higher else groups


def _each(e: Emitter, groups: list[tuple[range, int]]) -> Iterator[tuple[range, str | None]]:
    """Gives groups of `rows_alike`, each inside of its loop, and the loop's counter."""
    for rows, count in groups:
        with repeated(e, count, len(rows)) as row:
            yield rows, row


class _RegisterBlock:
    """Emits the product of some rows of A with some columns of B."""

    def __init__(self, e: Emitter, tile: Tile, rows: range, pieces: list[Piece]) -> None:
        self.e = e
        self.tile = tile
        self.rows = rows
        self.pieces = pieces

    def emit(self, acc: str, a: str, b: str) -> None:
        """``acc``, ``a`` and ``b``: LLVM names of the tiles' pointers."""
        e, tile = self.e, self.tile
        a = self._pointer(a, tile.operand, self.rows.start * tile.lda)
        b = self._pointer(b, tile.operand, self.pieces[0].first)
        types = [spell(tile.acc.element, piece.width) for _ in self.rows for piece in self.pieces]
        places = [
            self._pointer(acc, tile.acc, row * tile.ldc + piece.first)
            for row in self.rows
            for piece in self.pieces
        ]
        cells = list(zip(types, places, strict=True))
        sums = [e.let(f"load {ty}, ptr {place}, align {tile.acc.bytes}") for ty, place in cells]
        rounds, rest = divmod(tile.k, self._unroll())
        if rounds:
            a, b, sums = self._loop(rounds, a, b, types, sums)
        sums = self._steps(a, b, rest, sums)
        for (ty, place), total in zip(cells, sums, strict=True):
            e.do(f"store {ty} {total}, ptr {place}, align {tile.acc.bytes}")

    def _unroll(self) -> int:
        steps = UNROLL[self.tile.operand.format]
        return steps // 2 if len(self.rows) * len(self.pieces) > FEW_SUMS else steps

    def _loop(
        self, rounds: int, a: str, b: str, types: list[str], sums: list[str]
    ) -> tuple[str, str, list[str]]:
        """`rounds` times `_unroll` steps; gives where A and B go on, and the sums."""
        e, operand = self.e, self.tile.operand
        unroll = self._unroll()
        before, loop, after = e.block, e.label("k"), e.label("endk")
        end_of_a = self._pointer(a, operand, unroll * rounds)  # it counts the rounds, too
        e.jump(loop)
        e.begin(loop)
        phis = [e.phi("ptr"), e.phi("ptr"), *(e.phi(ty) for ty in types)]
        here_a, here_b, *totals = (phi.name for phi in phis)
        totals = self._steps(here_a, here_b, unroll, totals)
        next_a = self._pointer(here_a, operand, unroll)
        next_b = self._pointer(here_b, operand, unroll * self.tile.ldb)
        starts, ends = (a, b, *sums), (next_a, next_b, *totals)
        for phi, start, end in zip(phis, starts, ends, strict=True):
            phi.add(start, before)
            phi.add(end, loop)
        e.branch(e.let(f"icmp ne ptr {next_a}, {end_of_a}"), loop, after)
        e.begin(after)
        return next_a, next_b, totals

    def _steps(self, a: str, b: str, count: int, sums: list[str]) -> list[str]:
        """`count` steps of k from the pointers `a` and `b` on, added to `sums` (by rows)."""
        tile, first = self.tile, self.pieces[0].first
        for k in range(count):
            row_of_b = [
                self._load(self._pointer(b, tile.operand, k * tile.ldb + piece.first - first), piece.width)
                for piece in self.pieces
            ]
            old, sums = iter(sums), []
            for row in range(len(self.rows)):
                element = self._load(self._pointer(a, tile.operand, row * tile.lda + k), 1)
                for piece, vector in zip(self.pieces, row_of_b, strict=True):
                    spread = self.e.broadcast(element, tile.acc.element, piece.width)
                    sums.append(self._multiply_add(piece.width, spread, vector, next(old)))
        return sums

    def _pointer(self, base: str, element: RegisterType, offset: int) -> str:
        return self.e.let(f"getelementptr {element.element}, ptr {base}, i64 {offset}")

    def _load(self, address: str, lanes: int) -> str:
        """Operands, widened to the accumulator's type."""
        operand, acc = self.tile.operand, self.tile.acc
        narrow = spell(operand.element, lanes)
        value = self.e.let(f"load {narrow}, ptr {address}, align {operand.bytes}")
        if operand == acc:
            return value
        return self.e.let(f"sext {narrow} {value} to {spell(acc.element, lanes)}")

    def _multiply_add(self, lanes: int, a: str, b: str, total: str) -> str:
        element = self.tile.acc.element
        ty = spell(element, lanes)
        if self.tile.acc.is_float:
            return self.e.call(ty, f"llvm.fma.{mangle(element, lanes)}", (ty, a), (ty, b), (ty, total))
        product = self.e.let(f"mul {ty} {a}, {b}")
        return self.e.let(f"add {ty} {total}, {product}")


class _PairsBlock(_RegisterBlock):
    """Multiplies bf16 in pairs: ``sum += a[k] * b[k] + a[k + 1] * b[k + 1]``. Denormal operands count as zero."""

    def _steps(self, a: str, b: str, count: int, sums: list[str]) -> list[str]:
        tile = self.tile
        for k in range(0, count, 2):
            is_pair = k + 1 < count
            rows_of_b = [self._interleaved(b, k, piece, is_pair=is_pair) for piece in self.pieces]
            old, sums = iter(sums), []
            for row in range(len(self.rows)):
                elements = self._elements(self._pointer(a, tile.operand, row * tile.lda + k), is_pair=is_pair)
                for piece, vector in zip(self.pieces, rows_of_b, strict=True):
                    sums.append(self._add_products(piece.width, elements, vector, next(old)))
        return sums

    def _interleaved(self, b: str, k: int, piece: Piece, *, is_pair: bool) -> str:
        """Rows `k` and ``k + 1`` of B (zeros where there is none), element by element."""
        e, tile = self.e, self.tile
        narrow = spell("bfloat", piece.width)
        offset = k * tile.ldb + piece.first - self.pieces[0].first
        address = self._pointer(b, tile.operand, offset)
        first, second = e.let(f"load {narrow}, ptr {address}, align {tile.operand.bytes}"), "zeroinitializer"
        if is_pair:
            address = self._pointer(b, tile.operand, offset + tile.ldb)
            second = e.let(f"load {narrow}, ptr {address}, align {tile.operand.bytes}")
        order = ", ".join(f"i32 {lane}, i32 {piece.width + lane}" for lane in range(piece.width))
        return e.let(
            f"shufflevector {narrow} {first}, {narrow} {second}, <{2 * piece.width} x i32> <{order}>"
        )

    def _elements(self, address: str, *, is_pair: bool) -> str:
        """Two elements of A as one i32; the second is zero where there is none."""
        bits = 32 if is_pair else 16
        value = self.e.let(f"load i{bits}, ptr {address}, align {self.tile.operand.bytes}")
        return value if is_pair else self.e.let(f"zext i16 {value} to i32")

    def _add_products(self, lanes: int, elements: str, vector: str, total: str) -> str:
        sums, pairs = spell("float", lanes), spell("bfloat", 2 * lanes)
        spread = self.e.broadcast(elements, "i32", lanes)
        spread = self.e.let(f"bitcast {spell('i32', lanes)} {spread} to {pairs}")
        name = f"llvm.x86.avx512bf16.dpbf16ps.{32 * lanes}"
        return self.e.call(sums, name, (sums, total), (pairs, spread), (pairs, vector))


METHODS: Final[tuple[tuple[Callable[[HostFeatures, Tile], bool], Callable[..., None]], ...]] = (
    (matrix_amx.suits, matrix_amx.emit_product),
    (matrix_parts.suits, matrix_parts.emit_product),
    (multiplies_pairs, emit_pairs),
    (is_half, partial(emit_widened, multiply=emit_blocks)),
    (is_any, emit_blocks),
)
"""Which tiles a host multiplies how; the first that suits."""
