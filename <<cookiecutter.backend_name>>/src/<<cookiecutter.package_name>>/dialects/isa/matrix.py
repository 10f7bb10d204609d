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

MOST_PARTS: Final = 3
"""Numbers of bf16 that an f32 is the sum of: 8 bits each."""

VECTOR_TILE: Final = (4, 2 * VECTOR_LANES)
"""M, N of what ``passes/expand_matrix.py`` makes vector multiply-adds of: the sums of a tile stay in registers."""


def has_unit_for(acc_type: str) -> bool:
    """Whether the machine has a matrix unit, and one that accumulates in this type."""
    return MATRIX_TILE is not None and acc_type in VECTOR_TYPES


def tile_of(acc_type: str) -> tuple[int, int, int | None]:
    """M, N, K of one `Mma` that accumulates in this type, at most; K is None where any number will do."""
    if MATRIX_TILE is not None and has_unit_for(acc_type):
        return MATRIX_TILE
    # Without f64, a multiply-add is 174 instructions: one register of them at a time.
    rows, columns = VECTOR_TILE if acc_type in VECTOR_TYPES else (1, max(VECTOR_LANES // 2, 1))
    return rows, columns, None


@irdl_op_definition
class Mma(Instruction):
    """``acc[m, n] += a[m, k] * b[k, n]`` on scratchpad tiles: the outer-product unit streams ``k`` steps.

    Each tile is row major with a row pitch in elements (``lda``, ``ldb``, ``ldc``). ``m``, ``n`` and ``k`` are at most
    the target's ``MATRIX_TILE`` (without a matrix unit, ``m`` and ``n`` those of `VECTOR_TILE`, and ``k`` any number).
    Types are those of `TYPES`. Products of floats are fused into the sum, in ascending order of k; those of f16 and
    bf16 may be added in another order, also with those of other such instructions on the same sums, and denormal bf16
    operands and denormal sums be taken as zero there. i8 operands are signed, sums of integers are modulo 2^32.

    ``parts`` above 1 permits to multiply f32 less exactly: each factor as the sum of so many bf16 numbers, part 0 next
    to the factor, part 1 next to what is left and so on, and only the products of parts whose numbers add up to less
    than ``parts``. They may be added up in any order, and a part or a sum below 2^-126 be taken as zero: digits are
    lost below about 1e-33. What is infinite or NaN is so with one part, too, if no factor is denormal.
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
    parts = prop_def(IntegerAttr[I64], default_value=IntegerAttr(1, i64))
    acc = operand_def(i64)
    a = operand_def(i64)
    b = operand_def(i64)
    ASSEMBLY: ClassVar[str] = (
        "$acc `,` $a `,` $b `tile` `(` $m `,` $n `,` $k `)` `pitch` `(` $lda `,` $ldb `,` $ldc `)` "
        "(`parts` $parts^)? attr-dict `:` $operand_type `->` $acc_type"
    )

    def check(self) -> None:
        most_rows, most_columns, most_steps = tile_of(str(self.acc_type))
        expect_number("m", self.m, 1, most_rows)
        expect_number("n", self.n, 1, most_columns)
        expect_number("k", self.k, 1, most_steps)
        expect_number("the pitch of a", self.lda, self.k.value.data)
        expect_number("the pitch of b", self.ldb, self.n.value.data)
        expect_number("the pitch of the accumulator", self.ldc, self.n.value.data)
        types = (str(self.operand_type), str(self.acc_type))
        known = ", ".join(f"{operand} -> {acc}" for operand, acc in TYPES)
        expect(types in TYPES, f"the types must be one of {known}, not {types[0]} -> {types[1]}")
        expect_number("parts", self.parts, 1, MOST_PARTS)
        expect(
            self.parts.value.data == 1 or types == ("f32", "f32"),
            f"only f32 -> f32 is multiplied in parts, not {types[0]} -> {types[1]}",
        )
        rows, columns, depth = self.m.value.data, self.n.value.data, self.k.value.data
        for address, count, pitch, width, ty in (
            (self.acc, rows, self.ldc, columns, self.acc_type),
            (self.a, rows, self.lda, depth, self.operand_type),
            (self.b, depth, self.ldb, columns, self.operand_type),
        ):
            expect_inside_scratchpad(address, ty, (count - 1) * pitch.value.data + width)
