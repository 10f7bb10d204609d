"""Conversions between register types. Narrow floats (f16, bf16, fp8) exist in registers only to be converted."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import StringAttr
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from .base import Instruction, Register, mnemonic


class Conversion(Instruction, ABC):
    """``result = convert(source)``, lane by lane; the types name the formats."""

    source = operand_def(Register)
    result = result_def(Register)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"


@irdl_op_definition
class ExtS(Conversion):
    """Sign extension (of a predicate: 0 or -1)."""

    name = mnemonic("exts")


@irdl_op_definition
class ExtU(Conversion):
    """Zero extension (of a predicate: 0 or 1)."""

    name = mnemonic("extu")


@irdl_op_definition
class TruncI(Conversion):
    """Low bits."""

    name = mnemonic("trunci")


@irdl_op_definition
class SIToF(Conversion):
    """Signed integer to f32 / f64, round to nearest even."""

    name = mnemonic("sitof")


@irdl_op_definition
class UIToF(Conversion):
    """Unsigned integer to f32 / f64, round to nearest even."""

    name = mnemonic("uitof")


@irdl_op_definition
class FToSI(Conversion):
    """f32 / f64 to signed integer, towards zero; saturates, NaN gives 0."""

    name = mnemonic("ftosi")


@irdl_op_definition
class FToUI(Conversion):
    """f32 / f64 to unsigned integer, towards zero; saturates, NaN gives 0."""

    name = mnemonic("ftoui")


@irdl_op_definition
class ExtF(Conversion):
    """To a wider float, exactly. From f16, bf16, fp8 the result is f32; from f32 it is f64. NaN stays NaN."""

    name = mnemonic("extf")


@irdl_op_definition
class TruncF(Conversion):
    """To a narrower float. ``rounding`` is "rtne" (nearest even) or "rtz" (towards zero).

    From f64 and f32 to any narrower one, rounded once. What is too large for f16 and bf16 becomes infinity, or with
    "rtz", unless it is infinite, the largest finite number. fp8 saturates as Triton's conversions do: the
    largest finite number, for infinities too. A NaN stays a NaN.
    """

    name = mnemonic("truncf")
    rounding = prop_def(StringAttr)
    assembly_format = "$rounding `,` $source attr-dict `:` type($source) `->` type($result)"


@irdl_op_definition
class Bitcast(Conversion):
    """The same bits as another type of the same width."""

    name = mnemonic("bitcast")
