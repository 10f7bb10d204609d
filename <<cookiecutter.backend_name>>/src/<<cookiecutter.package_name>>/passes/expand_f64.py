"""Expands f64 for a vector unit without it (``VECTOR_TYPES``): its registers become ones of i64 with the bits.

Arithmetic, comparisons and conversions become the integer formulas of ``formulas/soft_f64.py``, whoever asked for them:
a kernel in fp64, or a formula for f32 that needs more digits. What only moves numbers stays the same instruction. A
call of the math library (`alu.MathCall`) stays a call, of the library's function that takes bits (`alu.BITS_CALL`).
What has no expansion is refused.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

from xdsl.dialects import cf, scf
from xdsl.dialects.builtin import FloatAttr, FunctionType, ModuleOp, f32, f64, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ..dialects.isa import alu, control, convert, lanes, memory
from ..dialects.isa.base import element_of, like
from ..dialects.locations import location_of
from ..errors import UnsupportedOperation
from ..formulas import soft_f64
from ..formulas.formula import Formula
from ..target import VECTOR_TYPES
from .expansion import Constants, InsertionPoint
from .registry import register_pass

Expansion = Callable[[Formula, Any, Attribute], SSAValue]
"""Takes an instruction whose f64 registers are i64 by now, and the element type that its result had."""

MOVES: Final = (
    lanes.Splat,
    lanes.Extract,
    lanes.Shuffle,
    alu.Select,
    memory.Load,
    memory.LoadMasked,
    memory.Gather,
    memory.Store,
    memory.StoreMasked,
    memory.StoreStreaming,
    memory.Scatter,
    memory.AtomicCas,
    memory.AtomicPoll,
    scf.ForOp,
    scf.IfOp,
    scf.WhileOp,
    scf.ConditionOp,
    scf.ExecuteRegionOp,
    scf.YieldOp,
    cf.BranchOp,
    cf.ConditionalBranchOp,
)
"""Operations that do with an i64 what they do with an f64."""


def _constant(f: Formula, op: lanes.Const, was: Attribute) -> SSAValue:
    assert isinstance(op.value, FloatAttr)
    (bits,) = struct.unpack("<q", struct.pack("<d", op.value.value.data))
    return f.const(bits, op.result.type)


def _compare(f: Formula, op: alu.CmpF, was: Attribute) -> SSAValue:
    return soft_f64.compare(f, op.predicate.data, op.lhs, op.rhs)


def _from_integer(f: Formula, op: convert.Conversion, was: Attribute) -> SSAValue:
    return soft_f64.from_integer(f, op.source, signed=isinstance(op, convert.SIToF))


def _to_integer(f: Formula, op: convert.Conversion, was: Attribute) -> SSAValue:
    signed = isinstance(op, convert.FToSI)
    return soft_f64.to_integer(f, op.source, element_of(op.result.type), signed=signed)


def _saturate(f: Formula, op: convert.Conversion, was: Attribute) -> SSAValue:
    nearest = soft_f64.RULES[alu.RoundEvenF](f, op.source)
    signed = isinstance(op, convert.SatS)
    return soft_f64.to_integer(f, nearest, element_of(op.result.type), signed=signed)


def _widen(f: Formula, op: convert.ExtF, was: Attribute) -> SSAValue:
    source = op.source
    if element_of(source.type) != f32:
        source = f.convert(convert.ExtF, source, f32)
    return soft_f64.from_f32(f, source)


def _narrow(f: Formula, op: convert.TruncF, was: Attribute) -> SSAValue:
    if was == f32:
        return soft_f64.to_f32(f, op.source, op.rounding.data)
    return f.narrow(soft_f64.to_f32(f, op.source, "odd"), was, op.rounding.data)


def _same_bits(f: Formula, op: convert.Bitcast, was: Attribute) -> SSAValue:
    return op.source


def _call(f: Formula, op: alu.MathCall, was: Attribute) -> SSAValue:
    return f.call(op.callee.data + alu.BITS_CALL, *op.args, element=i64)


def _computed(f: Formula, op: Operation, was: Attribute) -> SSAValue:
    return soft_f64.RULES[type(op)](f, *op.operands)


EXPANSIONS: Final[dict[type[Operation], Expansion]] = {
    **dict.fromkeys(soft_f64.RULES, _computed),
    alu.CmpF: _compare,
    alu.MathCall: _call,
    convert.Bitcast: _same_bits,
    convert.ExtF: _widen,
    convert.FToSI: _to_integer,
    convert.FToUI: _to_integer,
    convert.SatS: _saturate,
    convert.SatU: _saturate,
    convert.SIToF: _from_integer,
    convert.TruncF: _narrow,
    convert.UIToF: _from_integer,
    lanes.Const: _constant,
}


@register_pass(stage="isa", name="expand-f64", after="expand-special")
def expand_f64(module: ModuleOp, options: object = None) -> None:
    """Leaves no f64 to a vector unit without it.

    Raises:
        UnsupportedOperation: an instruction on f64 that has no expansion, such as an atomic addition.
    """
    if "f64" not in VECTOR_TYPES:
        expand(module)


def expand(module: ModuleOp) -> None:
    """`expand_f64`, whatever the target."""
    for kernel in module.ops:
        if isinstance(kernel, control.Kernel):
            _expand_kernel(kernel)


def _expand_kernel(kernel: control.Kernel) -> None:
    found: list[tuple[Operation, Attribute]] = []
    values: list[SSAValue] = [argument for block in kernel.body.blocks for argument in block.args]
    for op in kernel.body.walk():
        values.extend(argument for region in op.regions for block in region.blocks for argument in block.args)
        values.extend(op.results)
        if any(element_of(value.type) == f64 for value in (*op.operands, *op.results)):
            if type(op) in EXPANSIONS:
                found.append((op, element_of(op.results[0].type)))
            elif not _moves(op):
                raise UnsupportedOperation(
                    f"{op.name} of fp64: this machine does not compute in fp64 (VECTOR_TYPES in target.py), and while "
                    "arithmetic on it is expanded, this is not. Use fp32 there",
                    location=location_of(op),
                    add_support_in="passes/expand_f64.py",
                )
    for value in values:
        if element_of(value.type) == f64:
            Rewriter.replace_value_with_new_type(value, like(value.type, i64))
    types = [argument.type for argument in kernel.body.blocks[0].args]
    kernel.properties["function_type"] = FunctionType.from_lists(types, [])
    constants = Constants(kernel.body.blocks[0])
    for op, was in found:
        value = EXPANSIONS[type(op)](Formula(InsertionPoint(op, constants)), op, was)
        op.results[0].replace_all_uses_with(value)
        block = op.parent
        assert block is not None
        block.erase_op(op)


def _moves(op: Operation) -> bool:
    exchanges = isinstance(op, memory.AtomicRmw) and op.kind.data == "xchg"
    return exchanges or isinstance(op, MOVES)
