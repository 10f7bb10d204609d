"""Conversions between register types. Narrow floats (f16, bf16, fp8) exist in registers only to be converted."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar, Final

from xdsl.dialects.builtin import StringAttr
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from .base import Instruction, Register, mnemonic
from .checks import (
    ALL_FLOATS,
    ANYTHING,
    FLOATS,
    INTEGERS,
    INTEGERS_AND_PREDICATES,
    NUMBERS,
    Elements,
    bits_of,
    expect,
    expect_elements,
    expect_lanes,
    expect_word,
)

ROUNDINGS: Final = ("rtne", "rtz")
"""To nearest, ties to even; towards zero."""


class Conversion(Instruction, ABC):
    """``result = convert(source)``, lane by lane; the types name the formats."""

    SOURCES: ClassVar[Elements] = ANYTHING
    RESULTS: ClassVar[Elements] = ANYTHING
    traits = traits_def(Pure())
    source = operand_def(Register)
    result = result_def(Register)
    ASSEMBLY: ClassVar[str] = "$source attr-dict `:` type($source) `->` type($result)"

    def check(self) -> None:
        expect_elements("the operand", self.source.type, self.SOURCES)
        expect_elements("the result", self.result.type, self.RESULTS)
        expect_lanes("the result", self.result.type, self.source.type)


class Widening(Conversion, ABC):
    def check(self) -> None:
        super().check()
        wider = bits_of(self.result.type) > bits_of(self.source.type)
        expect(wider, f"the result must be wider than {self.source.type}, which {self.result.type} is not")


class Narrowing(Conversion, ABC):
    def check(self) -> None:
        super().check()
        narrower = bits_of(self.result.type) < bits_of(self.source.type)
        expect(
            narrower, f"the result must be narrower than {self.source.type}, which {self.result.type} is not"
        )


@irdl_op_definition
class ExtS(Widening):
    """Sign extension (of a predicate: 0 or -1)."""

    name = mnemonic("exts")
    SOURCES: ClassVar[Elements] = INTEGERS_AND_PREDICATES
    RESULTS: ClassVar[Elements] = INTEGERS


@irdl_op_definition
class ExtU(Widening):
    """Zero extension (of a predicate: 0 or 1)."""

    name = mnemonic("extu")
    SOURCES: ClassVar[Elements] = INTEGERS_AND_PREDICATES
    RESULTS: ClassVar[Elements] = INTEGERS


@irdl_op_definition
class TruncI(Narrowing):
    """Low bits."""

    name = mnemonic("trunci")
    SOURCES: ClassVar[Elements] = INTEGERS
    RESULTS: ClassVar[Elements] = INTEGERS_AND_PREDICATES


@irdl_op_definition
class SIToF(Conversion):
    """Signed integer to f32 / f64, round to nearest even."""

    name = mnemonic("sitof")
    SOURCES: ClassVar[Elements] = INTEGERS_AND_PREDICATES
    RESULTS: ClassVar[Elements] = FLOATS


@irdl_op_definition
class UIToF(Conversion):
    """Unsigned integer to f32 / f64, round to nearest even."""

    name = mnemonic("uitof")
    SOURCES: ClassVar[Elements] = INTEGERS_AND_PREDICATES
    RESULTS: ClassVar[Elements] = FLOATS


@irdl_op_definition
class FToSI(Conversion):
    """f32 / f64 to signed integer, towards zero; saturates, NaN gives 0."""

    name = mnemonic("ftosi")
    SOURCES: ClassVar[Elements] = FLOATS
    RESULTS: ClassVar[Elements] = INTEGERS


@irdl_op_definition
class FToUI(Conversion):
    """f32 / f64 to unsigned integer, towards zero; saturates, NaN gives 0."""

    name = mnemonic("ftoui")
    SOURCES: ClassVar[Elements] = FLOATS
    RESULTS: ClassVar[Elements] = INTEGERS


@irdl_op_definition
class SatS(Conversion):
    """The signed integer nearest to a float (ties to even) or a signed integer; the nearer end where it does not fit.

    NaN gives 0.
    """

    name = mnemonic("sats")
    SOURCES: ClassVar[Elements] = NUMBERS
    RESULTS: ClassVar[Elements] = INTEGERS


@irdl_op_definition
class SatU(Conversion):
    """The unsigned integer nearest to a float (ties to even) or a *signed* integer; 0 or the largest where none fits.

    NaN gives 0.
    """

    name = mnemonic("satu")
    SOURCES: ClassVar[Elements] = NUMBERS
    RESULTS: ClassVar[Elements] = INTEGERS


@irdl_op_definition
class ExtF(Widening):
    """Any float as a wider f32 or f64, exactly. NaN stays NaN."""

    name = mnemonic("extf")
    SOURCES: ClassVar[Elements] = ALL_FLOATS
    RESULTS: ClassVar[Elements] = FLOATS


@irdl_op_definition
class TruncF(Narrowing):
    """To a narrower float. ``rounding`` is one of `ROUNDINGS`.

    From any format to any narrower one, rounded once. What is too large for f16 and bf16 becomes infinity, or with
    "rtz", unless it is infinite, the largest finite number. fp8 saturates as Triton's conversions do: the
    largest finite number, for infinities too. A NaN stays a NaN.
    """

    name = mnemonic("truncf")
    SOURCES: ClassVar[Elements] = ALL_FLOATS
    RESULTS: ClassVar[Elements] = ALL_FLOATS
    rounding = prop_def(StringAttr)
    ASSEMBLY: ClassVar[str] = "$rounding `,` $source attr-dict `:` type($source) `->` type($result)"

    def check(self) -> None:
        super().check()
        expect_word("the rounding", self.rounding.data, ROUNDINGS)


@irdl_op_definition
class Bitcast(Conversion):
    """The same bits as another type of the same width."""

    name = mnemonic("bitcast")

    def check(self) -> None:
        super().check()
        source, result = self.source.type, self.result.type
        expect(bits_of(source) == bits_of(result), f"{source} and {result} have elements of different widths")
