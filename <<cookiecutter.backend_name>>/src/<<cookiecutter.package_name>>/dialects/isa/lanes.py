"""Constants and cross-lane instructions."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import I64, DenseArrayBase, IntegerAttr, i1, i64
from xdsl.ir import Attribute
from xdsl.irdl import AnyAttr, VarConstraint, irdl_op_definition, operand_def, prop_def, result_def

from .base import Instruction, Register, mnemonic


@irdl_op_definition
class Const(Instruction):
    """A constant in every lane. ``value`` is an IntegerAttr or FloatAttr of the element type (fp8: an i8 IntegerAttr of its bits)."""

    name = mnemonic("const")
    value = prop_def(Attribute)
    result = result_def(Register)
    assembly_format = "$value attr-dict `:` type($result)"


@irdl_op_definition
class LaneConst(Instruction):
    """An integer vector given lane by lane, e.g. 0, 1, 2, ... (``values`` is an ``array<i64: ...>``)."""

    name = mnemonic("lanes")
    values = prop_def(DenseArrayBase.constr(i64))
    result = result_def(Register)
    assembly_format = "$values attr-dict `:` type($result)"


@irdl_op_definition
class Splat(Instruction):
    """A scalar copied to every lane."""

    name = mnemonic("splat")
    source = operand_def(Register)
    result = result_def(Register)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"


@irdl_op_definition
class Extract(Instruction):
    """One lane, as a scalar."""

    name = mnemonic("extract")
    lane = prop_def(IntegerAttr[I64])
    source = operand_def(Register)
    result = result_def(Register)
    assembly_format = "$source `[` $lane `]` attr-dict `:` type($source) `->` type($result)"


@irdl_op_definition
class Shuffle(Instruction):
    """Lanes of ``lhs ++ rhs`` picked by ``lanes, as many as the result has.

    -1 leaves a lane undefined. A one-lane result is a scalar.
    """

    name = mnemonic("shuffle")
    T: ClassVar = VarConstraint("T", AnyAttr())
    lanes = prop_def(DenseArrayBase.constr(i64))
    lhs = operand_def(T)
    rhs = operand_def(T)
    result = result_def(Register)
    assembly_format = "$lhs `,` $rhs `,` $lanes attr-dict `:` type($lhs) `->` type($result)"


@irdl_op_definition
class AnyTrue(Instruction):
    """Whether any lane of a predicate is set."""

    name = mnemonic("any")
    source = operand_def(Register)
    result = result_def(i1)
    assembly_format = "$source attr-dict `:` type($source)"
