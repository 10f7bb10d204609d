"""Arithmetic and logic: one class per instruction, on scalars and vectors alike.

Results are defined for every operand, as the comments say where LLVM's are not.
"""

from __future__ import annotations

from abc import ABC
from typing import ClassVar, Final

from xdsl.dialects.builtin import StringAttr, i32
from xdsl.ir import Data, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import (
    AnyAttr,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import Pure

from .base import Instruction, Register, Unit, lanes_of, like, mnemonic
from .checks import (
    ANYTHING,
    FLOATS,
    INTEGERS,
    INTEGERS_AND_PREDICATES,
    PREDICATES,
    WORDS,
    Elements,
    expect,
    expect_elements,
    expect_lanes,
    expect_mask,
    expect_word,
)


class Unary(Instruction, ABC):
    """``result = op(source)``; both of one type, with `ELEMENTS`."""

    ELEMENTS: ClassVar[Elements] = ANYTHING
    traits = traits_def(Pure())
    T: ClassVar = VarConstraint("T", AnyAttr())
    source = operand_def(T)
    result = result_def(T)
    ASSEMBLY: ClassVar[str] = "$source attr-dict `:` type($result)"

    def check(self) -> None:
        expect_elements("the operand", self.source.type, self.ELEMENTS)


class IntegerUnary(Unary, ABC):
    ELEMENTS: ClassVar[Elements] = INTEGERS


class FloatUnary(Unary, ABC):
    ELEMENTS: ClassVar[Elements] = FLOATS
    FLOPS: ClassVar[int] = 1


class Special(FloatUnary, ABC):
    """A unary function of the special-function unit; f32 and f64."""

    UNIT: ClassVar[Unit] = Unit.SPECIAL


class Binary(Instruction, ABC):
    """``result = lhs op rhs``; all of one type, with `ELEMENTS`."""

    ELEMENTS: ClassVar[Elements] = ANYTHING
    traits = traits_def(Pure())
    T: ClassVar = VarConstraint("T", AnyAttr())
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(T)
    ASSEMBLY: ClassVar[str] = "$lhs `,` $rhs attr-dict `:` type($result)"

    def check(self) -> None:
        expect_elements("the operands", self.lhs.type, self.ELEMENTS)


class IntegerBinary(Binary, ABC):
    ELEMENTS: ClassVar[Elements] = INTEGERS


class LogicalBinary(Binary, ABC):
    ELEMENTS: ClassVar[Elements] = INTEGERS_AND_PREDICATES


class FloatBinary(Binary, ABC):
    ELEMENTS: ClassVar[Elements] = FLOATS
    FLOPS: ClassVar[int] = 1


# --- integers ---------------------------------------------------------------------------------------------


@irdl_op_definition
class AddI(IntegerBinary):
    """Sum modulo 2^width."""

    name = mnemonic("addi")


@irdl_op_definition
class SubI(IntegerBinary):
    """Difference modulo 2^width."""

    name = mnemonic("subi")


@irdl_op_definition
class MulI(IntegerBinary):
    """Low half of the product."""

    name = mnemonic("muli")


@irdl_op_definition
class MulHS(IntegerBinary):
    """High half of the signed product."""

    name = mnemonic("mulhs")


@irdl_op_definition
class MulHU(IntegerBinary):
    """High half of the unsigned product."""

    name = mnemonic("mulhu")


@irdl_op_definition
class DivS(IntegerBinary):
    """Signed quotient, rounded to zero. x / 0 = -1; MIN / -1 = MIN (RISC-V's results)."""

    name = mnemonic("divs")


@irdl_op_definition
class DivU(IntegerBinary):
    """Unsigned quotient. x / 0 = all ones."""

    name = mnemonic("divu")


@irdl_op_definition
class RemS(IntegerBinary):
    """Signed remainder with the sign of the dividend. x rem 0 = x; MIN rem -1 = 0."""

    name = mnemonic("rems")


@irdl_op_definition
class RemU(IntegerBinary):
    """Unsigned remainder. x rem 0 = x."""

    name = mnemonic("remu")


@irdl_op_definition
class And(LogicalBinary):
    """Bitwise and; also of predicates."""

    name = mnemonic("and")


@irdl_op_definition
class Or(LogicalBinary):
    """Bitwise or; also of predicates."""

    name = mnemonic("or")


@irdl_op_definition
class Xor(LogicalBinary):
    """Bitwise exclusive or; also of predicates."""

    name = mnemonic("xor")


@irdl_op_definition
class Shl(IntegerBinary):
    """Shift left; 0 where the (unsigned) amount reaches the width."""

    name = mnemonic("shl")


@irdl_op_definition
class ShrS(IntegerBinary):
    """Arithmetic shift right; the sign everywhere where the (unsigned) amount reaches the width."""

    name = mnemonic("shrs")


@irdl_op_definition
class ShrU(IntegerBinary):
    """Logical shift right; 0 where the (unsigned) amount reaches the width."""

    name = mnemonic("shru")


@irdl_op_definition
class MinS(IntegerBinary):
    """Signed minimum."""

    name = mnemonic("mins")


@irdl_op_definition
class MaxS(IntegerBinary):
    """Signed maximum."""

    name = mnemonic("maxs")


@irdl_op_definition
class MinU(IntegerBinary):
    """Unsigned minimum."""

    name = mnemonic("minu")


@irdl_op_definition
class MaxU(IntegerBinary):
    """Unsigned maximum."""

    name = mnemonic("maxu")


@irdl_op_definition
class CountOnes(IntegerUnary):
    """Number of bits set."""

    name = mnemonic("popc")


@irdl_op_definition
class CountLeadingZeros(IntegerUnary):
    """Number of leading zero bits; the width for 0."""

    name = mnemonic("clz")


# --- floating point (f32 and f64; narrower formats are converted first) --------------------------------------


@irdl_op_definition
class AddF(FloatBinary):
    """Sum, round to nearest even."""

    name = mnemonic("addf")


@irdl_op_definition
class SubF(FloatBinary):
    """Difference, round to nearest even."""

    name = mnemonic("subf")


@irdl_op_definition
class MulF(FloatBinary):
    """Product, round to nearest even."""

    name = mnemonic("mulf")


@irdl_op_definition
class DivF(FloatBinary):
    """Quotient, correctly rounded."""

    name = mnemonic("divf")


@irdl_op_definition
class RemF(FloatBinary):
    """C's fmod: remainder with the sign of the dividend."""

    name = mnemonic("remf")


@irdl_op_definition
class MinNum(FloatBinary):
    """Minimum that prefers a number to a NaN (IEEE 754-2008 minNum); -0 < +0."""

    name = mnemonic("minnum")


@irdl_op_definition
class MaxNum(FloatBinary):
    """Maximum that prefers a number to a NaN (IEEE 754-2008 maxNum); -0 < +0."""

    name = mnemonic("maxnum")


@irdl_op_definition
class Minimum(FloatBinary):
    """Minimum that propagates NaN (IEEE 754-2019 minimum); -0 < +0."""

    name = mnemonic("minimum")


@irdl_op_definition
class Maximum(FloatBinary):
    """Maximum that propagates NaN (IEEE 754-2019 maximum); -0 < +0."""

    name = mnemonic("maximum")


@irdl_op_definition
class CopySign(FloatBinary):
    """Magnitude of `lhs`, sign of `rhs`."""

    name = mnemonic("copysign")


@irdl_op_definition
class Ldexp(FloatBinary):
    """`lhs` times 2^n, rounded once; n is the float `rhs` rounded down.

    A finite `lhs` times 2^-inf is 0. Any other `rhs` that is infinite, or NaN, gives any value.
    """

    name = mnemonic("ldexp")


@irdl_op_definition
class NegF(FloatUnary):
    """Sign flipped, NaN included."""

    name = mnemonic("negf")


@irdl_op_definition
class AbsF(FloatUnary):
    """Sign cleared, NaN included."""

    name = mnemonic("absf")


@irdl_op_definition
class Sqrt(FloatUnary):
    """Square root, correctly rounded."""

    name = mnemonic("sqrt")


@irdl_op_definition
class Floor(FloatUnary):
    """Largest integral value not above."""

    name = mnemonic("floor")


@irdl_op_definition
class Ceil(FloatUnary):
    """Smallest integral value not below."""

    name = mnemonic("ceil")


@irdl_op_definition
class TruncIntF(FloatUnary):
    """Nearest integral value towards zero."""

    name = mnemonic("truncf.int")


@irdl_op_definition
class RoundEvenF(FloatUnary):
    """Nearest integral value, ties to even."""

    name = mnemonic("roundeven")


@irdl_op_definition
class Fma(Instruction):
    """``a * b + c`` with one rounding."""

    name = mnemonic("fma")
    FLOPS: ClassVar[int] = 2
    traits = traits_def(Pure())
    T: ClassVar = VarConstraint("T", AnyAttr())
    a = operand_def(T)
    b = operand_def(T)
    c = operand_def(T)
    result = result_def(T)
    ASSEMBLY: ClassVar[str] = "$a `,` $b `,` $c attr-dict `:` type($result)"

    def check(self) -> None:
        expect_elements("the operands", self.a.type, FLOATS)


@irdl_op_definition
class Rsqrt(Special):
    """1 / sqrt(x), both correctly rounded."""

    name = mnemonic("rsqrt")


@irdl_op_definition
class Exp(Special):
    """e^x."""

    name = mnemonic("exp")


@irdl_op_definition
class Exp2(Special):
    """2^x."""

    name = mnemonic("exp2")


@irdl_op_definition
class Log(Special):
    """Natural logarithm."""

    name = mnemonic("log")


@irdl_op_definition
class Log2(Special):
    """Logarithm to base 2."""

    name = mnemonic("log2")


@irdl_op_definition
class Sin(Special):
    """Sine of an angle in radians, the full range reduced exactly."""

    name = mnemonic("sin")


@irdl_op_definition
class Cos(Special):
    """Cosine of an angle in radians, the full range reduced exactly."""

    name = mnemonic("cos")


@irdl_op_definition
class Tanh(Special):
    """Hyperbolic tangent."""

    name = mnemonic("tanh")


@irdl_op_definition
class Erf(Special):
    """Error function."""

    name = mnemonic("erf")


BITS_CALL: Final = ".f64"
"""At the end of a callee's name: the function takes and gives f64 numbers as their bits in i64 registers."""


ACTIVATIONS: Final = (
    "linear",
    "relu",
    "relu6",
    "leaky_relu",
    "sigmoid",
    "silu",
    "gelu",
    "gelu_tanh",
    "tanh",
)
"""Kinds of `Act`. What each computes is in ``passes/expand_act.py``."""


@irdl_op_definition
class Act(Instruction):
    """``kind(source * scale + bias)``, an activation; ``kind`` is one of `ACTIVATIONS`.

    The argument t of the activation is rounded once, as `Fma` does. A NaN gives a NaN, whatever the kind; an infinite
    t gives the activation's limit.
    """

    name = mnemonic("act")
    UNIT: ClassVar[Unit] = Unit.SPECIAL
    traits = traits_def(Pure())
    T: ClassVar = VarConstraint("T", AnyAttr())
    kind = prop_def(StringAttr)
    source = operand_def(T)
    scale = operand_def(T)
    bias = operand_def(T)
    result = result_def(T)
    ASSEMBLY: ClassVar[str] = "$kind `,` $source `,` $scale `,` $bias attr-dict `:` type($result)"

    def check(self) -> None:
        expect_word("the kind", self.kind.data, ACTIVATIONS)
        expect_elements("the operands", self.source.type, FLOATS)


@irdl_op_definition
class MathCall(Instruction):
    """A function of the target's math library, lane by lane: ``callee`` is its name in ``language/libdevice.py``.

    On a machine without f64 the library's functions of f64 take and give bits, as they do where floating point is
    software: such a callee has `BITS_CALL` at its end.
    """

    name = mnemonic("math")
    UNIT: ClassVar[Unit] = Unit.SPECIAL
    traits = traits_def(Pure())
    callee = prop_def(StringAttr)
    args = var_operand_def(Register)
    result = result_def(Register)
    ASSEMBLY: ClassVar[str] = "$callee `(` $args `)` attr-dict `:` `(` type($args) `)` `->` type($result)"

    def check(self) -> None:
        bits = self.callee.data.endswith(BITS_CALL)
        expect_elements("the result", self.result.type, WORDS if bits else FLOATS)
        expect(bool(self.args), "a function has at least one argument")
        for argument in self.args:
            expect(
                argument.type in (self.result.type, like(self.result.type, i32)),
                f"an argument must be {self.result.type} or {like(self.result.type, i32)}, not {argument.type}",
            )


# --- comparison ---------------------------------------------------------------------------------------------

INTEGER_PREDICATES: Final = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""What `CmpI` asks, in the order of ``arith.cmpi``'s numbers: s... of signed, u... of unsigned numbers."""

FLOAT_PREDICATES: Final = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord",
    "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip
"""What `CmpF` asks, in the order of ``arith.cmpf``'s numbers: o... is false where an operand is NaN, u... is true."""


@irdl_attr_definition
class Predicate(Data[str], SpacedOpaqueSyntaxAttribute):
    """What a comparison asks: one word of `INTEGER_PREDICATES` or `FLOAT_PREDICATES`."""

    name = mnemonic("predicate")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        return parser.parse_identifier()

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.data)


@irdl_op_definition
class CmpI(Instruction):
    """Integer comparison giving a predicate; ``predicate`` is one of `INTEGER_PREDICATES`."""

    name = mnemonic("cmpi")
    traits = traits_def(Pure())
    T: ClassVar = VarConstraint("T", AnyAttr())
    predicate = prop_def(Predicate)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(Register)
    ASSEMBLY: ClassVar[str] = "$predicate `,` $lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)"

    def check(self) -> None:
        expect_elements("the operands", self.lhs.type, INTEGERS)
        expect_word("the predicate", self.predicate.data, INTEGER_PREDICATES)
        expect_mask("the result", self.result.type, self.lhs.type)


@irdl_op_definition
class CmpF(Instruction):
    """Floating-point comparison giving a predicate; ``predicate`` is one of `FLOAT_PREDICATES`."""

    name = mnemonic("cmpf")
    traits = traits_def(Pure())
    T: ClassVar = VarConstraint("T", AnyAttr())
    predicate = prop_def(Predicate)
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(Register)
    ASSEMBLY: ClassVar[str] = "$predicate `,` $lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)"

    def check(self) -> None:
        expect_elements("the operands", self.lhs.type, FLOATS)
        expect_word("the predicate", self.predicate.data, FLOAT_PREDICATES)
        expect_mask("the result", self.result.type, self.lhs.type)


@irdl_op_definition
class Select(Instruction):
    """``condition ? if_true : if_false``, lane by lane; a scalar condition selects the whole vector."""

    name = mnemonic("select")
    traits = traits_def(Pure())
    T: ClassVar = VarConstraint("T", AnyAttr())
    condition = operand_def(Register)
    if_true = operand_def(T)
    if_false = operand_def(T)
    result = result_def(T)
    ASSEMBLY: ClassVar[str] = (
        "$condition `,` $if_true `,` $if_false attr-dict `:` type($condition) `,` type($result)"
    )

    def check(self) -> None:
        condition = self.condition.type
        expect_elements("the condition", condition, PREDICATES)
        if lanes_of(condition) > 1:
            expect_lanes("the condition", condition, self.result.type)


INTEGER_COMPARISONS: Final = tuple(map(Predicate, INTEGER_PREDICATES))
FLOAT_COMPARISONS: Final = tuple(map(Predicate, FLOAT_PREDICATES))
"""The property values of `CmpI` and `CmpF`, by the numbers of ``arith.cmpi`` and ``arith.cmpf``."""
