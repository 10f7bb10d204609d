"""Constants and cross-lane instructions."""

from __future__ import annotations

from typing import ClassVar, Final

from xdsl.dialects.builtin import I64, DenseArrayBase, FloatAttr, IntegerAttr, i1, i8, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from .base import Instruction, Register, element_of, lanes_of, mnemonic
from .checks import (
    INTEGERS,
    PREDICATES,
    Elements,
    bits_of,
    element_name,
    expect,
    expect_elements,
    expect_lanes,
    expect_number,
    expect_same_elements,
    expect_scalar,
)

TABLE_LENGTHS: Final = (2, 4, 8, 16, 32)
"""Elements of a `Lookup`'s table."""

INDICES: Final = Elements("i32", frozenset({"i32"}))
LOOKED_UP: Final = Elements("f32 or i32", frozenset({"f32", "i32"}))


@irdl_op_definition
class Const(Instruction):
    """A constant in every lane.

    ``value`` is an IntegerAttr or FloatAttr of the element type (fp8: an i8 IntegerAttr of its bits).
    """

    name = mnemonic("const")
    traits = traits_def(Pure())
    value = prop_def(Attribute)
    result = result_def(Register)
    ASSEMBLY: ClassVar[str] = "$value attr-dict `:` type($result)"

    def check(self) -> None:
        element = element_of(self.result.type)
        expect(
            isinstance(self.value, IntegerAttr | FloatAttr),
            f"the value must be a number, not {self.value}",
        )
        assert isinstance(self.value, IntegerAttr | FloatAttr)
        wanted = i8 if element_name(element).startswith("f8") else element
        expect(
            self.value.type == wanted,
            f"the value of a register of {self.result.type} must be of type {wanted}, not {self.value.type}",
        )


@irdl_op_definition
class LaneConst(Instruction):
    """An integer vector given lane by lane, e.g. 0, 1, 2, ... (``values`` is an ``array<i64: ...>``)."""

    name = mnemonic("lanes")
    traits = traits_def(Pure())
    values = prop_def(DenseArrayBase.constr(i64))
    result = result_def(Register)
    ASSEMBLY: ClassVar[str] = "$values attr-dict `:` type($result)"

    def check(self) -> None:
        expect_elements("the result", self.result.type, INTEGERS)
        values = self.values.get_values()
        expect(
            len(values) == lanes_of(self.result.type),
            f"as many values as lanes of {self.result.type} are needed, not {len(values)}",
        )
        width = bits_of(self.result.type)
        for value in values:
            expect(-(1 << (width - 1)) <= value < 1 << width, f"{value} does not fit {width} bits")


@irdl_op_definition
class Lookup(Instruction):
    """``values[index mod len(values)]``, lane by lane.

    ``values`` is an ``array<i64: ...>`` of the bits of as many elements of the result as `TABLE_LENGTHS` allows.
    """

    name = mnemonic("lookup")
    traits = traits_def(Pure())
    values = prop_def(DenseArrayBase.constr(i64))
    index = operand_def(Register)
    result = result_def(Register)
    ASSEMBLY: ClassVar[str] = "$index `,` $values attr-dict `:` type($index) `->` type($result)"

    def check(self) -> None:
        expect_elements("the index", self.index.type, INDICES)
        expect_elements("the result", self.result.type, LOOKED_UP)
        expect_lanes("the result", self.result.type, self.index.type)
        values = self.values.get_values()
        expect(
            len(values) in TABLE_LENGTHS,
            f"a table has {', '.join(map(str, TABLE_LENGTHS))} elements, not {len(values)}",
        )
        for value in values:
            expect(0 <= value < 1 << 32, f"{value} are not the bits of an element of {self.result.type}")


@irdl_op_definition
class Splat(Instruction):
    """A scalar copied to every lane."""

    name = mnemonic("splat")
    traits = traits_def(Pure())
    source = operand_def(Register)
    result = result_def(Register)
    ASSEMBLY: ClassVar[str] = "$source attr-dict `:` type($source) `->` type($result)"

    def check(self) -> None:
        expect_scalar("the operand", self.source.type)
        expect_same_elements("the result", self.result.type, self.source.type)


@irdl_op_definition
class Extract(Instruction):
    """One lane, as a scalar."""

    name = mnemonic("extract")
    traits = traits_def(Pure())
    lane = prop_def(IntegerAttr[I64])
    source = operand_def(Register)
    result = result_def(Register)
    ASSEMBLY: ClassVar[str] = "$source `[` $lane `]` attr-dict `:` type($source) `->` type($result)"

    def check(self) -> None:
        expect_number("the lane", self.lane, 0, lanes_of(self.source.type) - 1)
        expect_scalar("the result", self.result.type)
        expect_same_elements("the result", self.result.type, self.source.type)


@irdl_op_definition
class Shuffle(Instruction):
    """Lanes of ``lhs ++ rhs`` picked by ``lanes``, as many as the result has.

    -1 leaves a lane undefined. A one-lane result is a scalar.
    """

    name = mnemonic("shuffle")
    traits = traits_def(Pure())
    T: ClassVar = VarConstraint("T", AnyAttr())
    lanes = prop_def(DenseArrayBase.constr(i64))
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(Register)
    ASSEMBLY: ClassVar[str] = "$lhs `,` $rhs `,` $lanes attr-dict `:` type($lhs) `->` type($result)"

    def check(self) -> None:
        picked = self.lanes.get_values()
        expect_same_elements("the result", self.result.type, self.lhs.type)
        expect(
            len(picked) == lanes_of(self.result.type),
            f"as many lanes as {self.result.type} has must be picked, not {len(picked)}",
        )
        count = 2 * lanes_of(self.lhs.type)
        for lane in picked:
            expect(-1 <= lane < count, f"lane {lane} is picked, but the operands have lanes 0 to {count - 1}")


@irdl_op_definition
class AnyTrue(Instruction):
    """Whether any lane of a predicate is set."""

    name = mnemonic("any")
    traits = traits_def(Pure())
    source = operand_def(Register)
    result = result_def(i1)
    ASSEMBLY: ClassVar[str] = "$source attr-dict `:` type($source)"

    def check(self) -> None:
        expect_elements("the operand", self.source.type, PREDICATES)


def constant_of(value: SSAValue) -> int | float | None:
    """The number in every lane of `value` where a `Const`, spread or not, made it; else None."""
    maker = value.owner
    if isinstance(maker, Splat):
        maker = maker.source.owner
    if isinstance(maker, Const) and isinstance(maker.value, IntegerAttr | FloatAttr):
        return maker.value.value.data
    return None
