"""The matrix unit."""

from __future__ import annotations

from typing import ClassVar, Final

from xdsl.dialects.builtin import I64, IntegerAttr, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from ...target import MATRIX_TILE, VECTOR_LANES, VECTOR_TYPES
from .base import Instruction, Unit, mnemonic
from .checks import expect, expect_number
from .memory import expect_inside_scratchpad

TYPES: Final = (
    ("f32", "f32"),
    ("f64", "f64"),
    ("f16", "f32"),
    ("bf16", "f32"),
    ("i8", "i32"),
    ("i32", "i32"),
)
"""Types of operands and accumulator."""

VECTOR_TILE: Final = (4, 2 * VECTOR_LANES, 1)
"""M, N, K of what ``passes/expand_matrix.py`` makes vector multiply-adds of: the sums of a tile stay in registers."""


def has_unit_for(acc_type: str) -> bool:
    """Whether the machine has a matrix unit, and one that accumulates in this type."""
    return MATRIX_TILE is not None and acc_type in VECTOR_TYPES


def tile_of(acc_type: str) -> tuple[int, int, int]:
    """M, N, K of one `Mma` that accumulates in this type, at most."""
    if MATRIX_TILE is not None and has_unit_for(acc_type):
        return MATRIX_TILE
    # Without f64, a multiply-add is 174 instructions: one register of them at a time.
    return VECTOR_TILE if acc_type in VECTOR_TYPES else (1, max(VECTOR_LANES // 2, 1), 1)


@irdl_op_definition
class Mma(Instruction):
    """``acc[m, n] += a[m, k] * b[k, n]`` on scratchpad tiles: the outer-product unit streams ``k`` steps.

    Each tile is row major with a row pitch in elements (``lda``, ``ldb``, ``ldc``). ``m`` and ``n`` are at most the
    target's ``MATRIX_TILE`` (without a matrix unit, of `VECTOR_TILE`); ``k`` is any positive number. Types are those
    of `TYPES`. Products of floats are fused into the sum, in ascending order of k; those of f16 and bf16 may be added
    in another order, and denormal bf16 operands and denormal sums be taken as zero there. i8 operands are signed,
    sums of integers are modulo 2^32.
    """

    name = mnemonic("mma")
    UNIT: ClassVar[Unit] = Unit.MATRIX
    m = prop_def(IntegerAttr[I64])
    n = prop_def(IntegerAttr[I64])
    k = prop_def(IntegerAttr[I64])
    lda = prop_def(IntegerAttr[I64])
    ldb = prop_def(IntegerAttr[I64])
    ldc = prop_def(IntegerAttr[I64])
    operand_type = prop_def(Attribute)
    acc_type = prop_def(Attribute)
    acc = operand_def(i64)
    a = operand_def(i64)
    b = operand_def(i64)
    ASSEMBLY: ClassVar[str] = (
        "$acc `,` $a `,` $b `tile` `(` $m `,` $n `,` $k `)` `pitch` `(` $lda `,` $ldb `,` $ldc `)` attr-dict "
        "`:` $operand_type `->` $acc_type"
    )

    def check(self) -> None:
        most_rows, most_columns, _ = tile_of(str(self.acc_type))
        expect_number("m", self.m, 1, most_rows)
        expect_number("n", self.n, 1, most_columns)
        expect_number("k", self.k, 1)
        expect_number("the pitch of a", self.lda, self.k.value.data)
        expect_number("the pitch of b", self.ldb, self.n.value.data)
        expect_number("the pitch of the accumulator", self.ldc, self.n.value.data)
        types = (str(self.operand_type), str(self.acc_type))
        known = ", ".join(f"{operand} -> {acc}" for operand, acc in TYPES)
        expect(types in TYPES, f"the types must be one of {known}, not {types[0]} -> {types[1]}")
        rows, columns, depth = self.m.value.data, self.n.value.data, self.k.value.data
        for address, count, pitch, width, ty in (
            (self.acc, rows, self.ldc, columns, self.acc_type),
            (self.a, rows, self.lda, depth, self.operand_type),
            (self.b, depth, self.ldb, columns, self.operand_type),
        ):
            expect_inside_scratchpad(address, ty, (count - 1) * pitch.value.data + width)
