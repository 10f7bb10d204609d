"""Products of 16-bit floats on hosts that multiply nothing narrower than f32.

A and B are widened once, some elements of k and some columns of B at a time, into buffers that the first-level cache
holds. Every element is used as often as the other operand has rows or columns: widening it anew each time would take
longer than the products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from .convert import NARROW, widen
from .emission import Emitter
from .matrix_tiles import VECTORS_PER_ROW, Tile, columns, cuts, moved, offset, repeated
from .registers import RegisterType, spell

DEEPEST: Final = 32
"""Elements of k that are widened at a time, at most: enough for the sums' way to registers and back to matter little.
With 64, A no longer stays in the first-level cache (128 x 128 tiles took 1.05 times as long on AVX2)."""

LONGEST_BUFFER: Final = 128 * 1024
"""Bytes of widened A, which are on the stack."""

UNROLL: Final = 4
"""Vectors that are widened in one round."""


def emit_widened(
    e: Emitter, tile: Tile, acc: str, a: str, b: str, multiply: Callable[[Emitter, Tile, str, str, str], None]
) -> None:
    """Widens parts of A and B and lets `multiply` emit their product, as a tile whose operands are f32."""
    depth = max(min(tile.k, DEEPEST, LONGEST_BUFFER // (tile.m * tile.acc.bytes)), 1)
    panel = min(tile.n, VECTORS_PER_ROW * e.host.vector_bits // tile.acc.bits)
    wide_a, wide_b = (
        e.stack(f"[{length * depth} x {tile.acc.element}]", f"wide.{name}")
        for name, length in (("a", tile.m), ("b", panel))
    )
    for first, rounds, part in cuts(tile.k, depth):
        with repeated(e, rounds, part) as k:
            a_here = moved(e, offset(e, a, first, tile.operand), tile.operand, k)
            b_here = moved(e, offset(e, b, first * tile.ldb, tile.operand), tile.operand, k, tile.ldb)
            _widen_all(e, tile, a_here, wide_a, tile.m, part, tile.lda)
            for left, panels, width in cuts(tile.n, panel):
                with repeated(e, panels, width) as column:
                    b_panel = moved(e, offset(e, b_here, left, tile.operand), tile.operand, column)
                    sums = moved(e, offset(e, acc, left, tile.acc), tile.acc, column)
                    _widen_all(e, tile, b_panel, wide_b, part, width, tile.ldb)
                    wide = replace(tile, n=width, k=part, lda=part, ldb=width, operand=tile.acc)
                    multiply(e, wide, sums, wide_a, wide_b)


def _widen_all(e: Emitter, tile: Tile, source: str, target: str, rows: int, width: int, pitch: int) -> None:
    """A matrix of `rows` x `width` elements, which becomes dense."""
    lanes = e.host.vector_bits // tile.acc.bits
    with repeated(e, rows, 1) as row:
        row_of_source = moved(e, source, tile.operand, row, pitch)
        row_of_target = moved(e, target, tile.acc, row, width)
        for first, count, part in cuts(width, UNROLL * lanes):
            with repeated(e, count, part) as column:
                here = moved(e, offset(e, row_of_source, first, tile.operand), tile.operand, column)
                there = moved(e, offset(e, row_of_target, first, tile.acc), tile.acc, column)
                for piece in columns(part, lanes):
                    narrow = offset(e, here, piece.first, tile.operand)
                    wide = offset(e, there, piece.first, tile.acc)
                    _widen_vector(e, tile.operand, narrow, wide, piece.width)


def _widen_vector(e: Emitter, operand: RegisterType, source: str, target: str, lanes: int) -> None:
    value = e.let(f"load {spell(operand.element, lanes)}, ptr {source}, align {operand.bytes}")
    wide = widen(e, value, lanes, NARROW[operand.format])
    e.do(f"store {spell('float', lanes)} {wide}, ptr {target}, align 4")
