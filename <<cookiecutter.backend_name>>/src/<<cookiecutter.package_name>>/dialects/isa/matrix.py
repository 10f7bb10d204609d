"""The matrix unit."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import I64, IntegerAttr, i64
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, prop_def

from .base import Instruction, Unit, mnemonic


@irdl_op_definition
class Mma(Instruction):
    """``acc[m, n] += a[m, k] * b[k, n]`` on scratchpad tiles: the outer-product unit streams ``k`` steps.

    Each tile is row major with a row pitch in elements (``lda``, ``ldb``, ``ldc``). ``m`` and ``n`` are at most the target's
    ``MATRIX_TILE``; ``k`` is any positive number. Types: f32 x f32 -> f32, f64 x f64 -> f64 (products are fused into the sum, in
    ascending order of k), i8 x i8 -> i32 (``operand_type`` i8, signed, modulo 2^32), i32 x i32 -> i32.
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
    assembly_format = (
        "$acc `,` $a `,` $b `tile` `(` $m `,` $n `,` $k `)` `pitch` `(` $lda `,` $ldb `,` $ldc `)` attr-dict "
        "`:` $operand_type `->` $acc_type"
    )
