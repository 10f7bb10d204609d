"""The matrix unit, as a function per tile shape that keeps its accumulators in vector registers.

A tile is cut into register blocks of a few rows times one or two vectors. A block streams through ``k``: each step
loads the vectors of one row of B and multiplies them with the block's elements of one column of A, each
spread over a vector.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from xdsl.ir import Attribute

from ..dialects.isa import matrix as isa
from ..errors import UnsupportedOperation
from ..frontend.locations import location_of
from .emission import Emitter, Module, emits
from .host import HostFeatures
from .lanes import broadcast
from .registers import mangle, register_type, spell

UNROLL: Final = 4
"""Steps of k in one round of the loop."""

VECTORS_PER_ROW: Final = 2
"""Vectors of a register block's row: with two, an element of A is loaded half as often."""

ROWS_OF_ONE_VECTOR: Final = 16
"""Rows of a block that is one vector wide: enough sums in flight to hide the latency of an addition."""

TYPES: Final = {("f32", "f32"), ("f64", "f64"), ("i8", "i32"), ("i32", "i32")}
"""Operand and accumulator types there are."""


@dataclass(frozen=True)
class Tile:
    """One shape of `Mma`; lengths and pitches in elements."""

    m: int
    n: int
    k: int
    lda: int
    ldb: int
    ldc: int
    operand: str
    acc: str

    @property
    def symbol(self) -> str:
        return (
            f"mma.{self.operand}.{self.acc}.{self.m}x{self.n}x{self.k}.pitch.{self.lda}.{self.ldb}.{self.ldc}"
        )


@dataclass(frozen=True)
class Piece:
    """``width`` columns from ``first`` on, as one vector."""

    first: int
    width: int


@emits(isa.Mma)
def mma(e: Emitter, op: isa.Mma) -> None:
    tile = Tile(
        *(attr.value.data for attr in (op.m, op.n, op.k, op.lda, op.ldb, op.ldc)),
        operand=_format(op.operand_type),
        acc=_format(op.acc_type),
    )
    if (tile.operand, tile.acc) not in TYPES:
        raise UnsupportedOperation(
            f"the matrix unit does not multiply {tile.operand} into {tile.acc}",
            location=location_of(op),
            add_support_in="codegen/matrix.py",
        )
    if tile.symbol not in e.module.functions:
        e.module.functions[tile.symbol] = _function(e.module, tile)
    e.do(f"call void @{tile.symbol}(i64 {e.ref(op.acc)}, i64 {e.ref(op.a)}, i64 {e.ref(op.b)})")


def _format(ty: Attribute) -> str:
    return register_type(ty).format


def _function(module: Module, tile: Tile) -> str:
    e = Emitter(module)
    pieces = columns(tile.n, module.host.vector_bits // register_type_bits(tile.acc))
    for first in range(0, len(pieces), VECTORS_PER_ROW):
        block = pieces[first : first + VECTORS_PER_ROW]
        rows = rows_of_block(module.host, tile.m, len(block))
        for row in range(0, tile.m, rows):
            _block(e, tile, range(row, min(row + rows, tile.m)), block)
    e.do("ret void")
    return e.function(
        f"define internal void @{tile.symbol}(i64 %acc, i64 %a, i64 %b) noinline {module.attributes}"
    )


def register_type_bits(form: str) -> int:
    return int(form[1:])


def columns(n: int, lanes: int) -> list[Piece]:
    """`n` columns as vectors of `lanes`, and the rest as vectors of smaller powers of two."""
    pieces: list[Piece] = []
    first = 0
    while first < n:
        width = min(lanes, 1 << ((n - first).bit_length() - 1))
        pieces.append(Piece(first, width))
        first += width
    return pieces


def rows_of_block(host: HostFeatures, m: int, vectors: int) -> int:
    """Rows of a register block, so that sums, a row of B and a spread element of A fit the registers and blocks are even."""
    most = (host.vector_registers - vectors - 2) // vectors
    if vectors == 1:
        most = min(most, ROWS_OF_ONE_VECTOR)
    blocks = -(-m // most)
    return -(-m // blocks)


def _block(e: Emitter, tile: Tile, rows: range, pieces: list[Piece]) -> None:
    """One register block over all of k."""
    acc_type = "i32" if tile.acc == "i32" else {"f32": "float", "f64": "double"}[tile.acc]
    acc_bytes, operand_bytes = register_type_bits(tile.acc) // 8, register_type_bits(tile.operand) // 8

    def pointer(base: str, offset: int) -> str:
        return e.let(f"getelementptr i8, ptr {base}, i64 {offset}")

    acc, a, b = (e.let(f"inttoptr i64 %{name} to ptr") for name in ("acc", "a", "b"))
    a, b = pointer(a, rows.start * tile.lda * operand_bytes), pointer(b, pieces[0].first * operand_bytes)
    cells = [(row, piece) for row in rows for piece in pieces]
    places = [pointer(acc, (row * tile.ldc + piece.first) * acc_bytes) for row, piece in cells]
    types = [spell(acc_type, piece.width) for _, piece in cells]
    sums = [
        e.let(f"load {ty}, ptr {place}, align {acc_bytes}") for ty, place in zip(types, places, strict=True)
    ]
    step = _FLOAT_STEP if tile.acc[0] == "f" else _INTEGER_STEP

    def steps(a: str, b: str, count: int, sums: list[str]) -> list[str]:
        for k in range(count):
            row_of_b = {
                piece: step.load(
                    e, pointer(b, (k * tile.ldb + piece.first - pieces[0].first) * operand_bytes), tile, piece.width
                )
                for piece in pieces
            }
            following: list[str] = []
            for row in rows:
                element = step.load(e, pointer(a, ((row - rows.start) * tile.lda + k) * operand_bytes), tile, 1)
                for piece in pieces:
                    spread = broadcast(e, element, acc_type, piece.width)
                    total = sums[len(following)]
                    following.append(step.add(e, acc_type, piece.width, spread, row_of_b[piece], total))
            sums = following
        return sums

    rounds, rest = divmod(tile.k, UNROLL)
    if rounds:
        before, loop, after = e.block, e.label("k"), e.label("endk")
        e.jump(loop)
        e.begin(loop)
        counter, here_a, here_b = e.phi("i64"), e.phi("ptr"), e.phi("ptr")
        carried = [e.phi(ty) for ty in types]
        sums_in, sums = sums, steps(here_a.name, here_b.name, UNROLL, [phi.name for phi in carried])
        next_counter = e.let(f"add nuw nsw i64 {counter.name}, 1")
        next_a = pointer(here_a.name, UNROLL * operand_bytes)
        next_b = pointer(here_b.name, UNROLL * tile.ldb * operand_bytes)
        starts, ends = ["0", a, b, *sums_in], [next_counter, next_a, next_b, *sums]
        for phi, start, end in zip([counter, here_a, here_b, *carried], starts, ends, strict=True):
            phi.add(start, before)
            phi.add(end, loop)
        e.branch(e.let(f"icmp ult i64 {next_counter}, {rounds}"), loop, after)
        e.begin(after)
        a, b = next_a, next_b
    sums = steps(a, b, rest, sums)
    for ty, place, total in zip(types, places, sums, strict=True):
        e.do(f"store {ty} {total}, ptr {place}, align {acc_bytes}")


@dataclass(frozen=True)
class Step:
    """How operands are loaded (widened to the accumulator's type) and multiplied into a sum."""

    load: Callable[[Emitter, str, Tile, int], str]
    add: Callable[[Emitter, str, int, str, str, str], str]


def _load_float(e: Emitter, address: str, tile: Tile, lanes: int) -> str:
    element = "float" if tile.operand == "f32" else "double"
    return e.let(f"load {spell(element, lanes)}, ptr {address}, align {register_type_bits(tile.operand) // 8}")


def _add_float(e: Emitter, element: str, lanes: int, a: str, b: str, total: str) -> str:
    ty = spell(element, lanes)
    return e.call(ty, f"llvm.fma.{mangle(element, lanes)}", (ty, a), (ty, b), (ty, total))


def _load_integer(e: Emitter, address: str, tile: Tile, lanes: int) -> str:
    narrow = spell(tile.operand, lanes)
    value = e.let(f"load {narrow}, ptr {address}, align {register_type_bits(tile.operand) // 8}")
    return value if tile.operand == tile.acc else e.let(f"sext {narrow} {value} to {spell(tile.acc, lanes)}")


def _add_integer(e: Emitter, element: str, lanes: int, a: str, b: str, total: str) -> str:
    ty = spell(element, lanes)
    product = e.let(f"mul {ty} {a}, {b}")
    return e.let(f"add {ty} {total}, {product}")


_FLOAT_STEP: Final = Step(_load_float, _add_float)
_INTEGER_STEP: Final = Step(_load_integer, _add_integer)
