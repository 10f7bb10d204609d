"""Elementwise operations of Triton IR as ISA instructions, on scalars and vectors alike.

`ELEMENTWISE` maps an operation's name to a function that takes the operation and gives its `Recipe`: how to compute
one element (or one vector of them) and roughly how many instructions that takes. The machine computes in
f32 and f64; f16 and bf16 operands are widened, and the result is rounded once (for +, -, *, / and sqrt that is
the correctly rounded result, since f32 has more than twice their precision).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects import tt, ttarith
from ..dialects.isa import alu, convert
from ..dialects.isa.base import element_of, like
from ..dialects.locations import location_of
from ..dialects.tt_enums import CmpFPredicate, CmpIPredicate, PropagateNan, RoundingMode
from ..dialects.tt_types import PointerType
from ..errors import UnsupportedOperation
from .builder import Builder
from .extern_elementwise import instruction_of, lower_extern
from .half_fma import multiply_add_to_odd
from .math_ops import MATH_OPS

Values = Sequence[SSAValue]
Compute = Callable[[Builder, Values], SSAValue]
CHEAP, SLOW, LONG = 1, 12, 24
"""Rough counts of instructions. The constants of a `LONG` formula alone take most registers."""

LONG_FORMULAS: Final = frozenset({alu.Erf, alu.Tanh})


class Recipe(NamedTuple):
    """How to compute one element of an elementwise operation."""

    compute: Compute
    cost: int = CHEAP


def register_element(ty: Attribute) -> Attribute:
    """Element type, in registers, of a Triton value: pointers are i64 addresses."""
    element = ty.element_type if isinstance(ty, TensorType) else ty
    return i64 if isinstance(element, PointerType | IndexType) else element


def shape_of(ty: Attribute) -> tuple[int, ...] | None:
    """Shape of a tensor type; None for a scalar."""
    return tuple(ty.get_shape()) if isinstance(ty, TensorType) else None


def pointee_bytes(ty: Attribute) -> int:
    """Size in memory of what a pointer (or tensor of pointers) of type `ty` points to."""
    element = ty.element_type if isinstance(ty, TensorType) else ty
    assert isinstance(element, PointerType)
    return byte_width(register_element(element.pointee))


def byte_width(element: Attribute) -> int:
    """Bytes an element takes in memory; a boolean takes one."""
    if isinstance(element, IntegerType):
        return max(8, element.width.data) // 8
    if isinstance(element, Float64Type):
        return 8
    if isinstance(element, Float32Type):
        return 4
    return 2 if is_half(element) else 1


def is_half(element: Attribute) -> bool:
    return isinstance(element, Float16Type | BFloat16Type)


def is_float(element: Attribute) -> bool:
    return not isinstance(element, IntegerType)


def is_fp8(element: Attribute) -> bool:
    return is_float(element) and not isinstance(
        element, Float16Type | BFloat16Type | Float32Type | Float64Type
    )


# --- floating-point formats -------------------------------------------------------------------------------


def widen(b: Builder, value: SSAValue) -> SSAValue:
    """f16, bf16 and fp8 as f32; anything else unchanged."""
    element = element_of(value.type)
    if is_float(element) and not isinstance(element, Float32Type | Float64Type):
        return b.emit(convert.ExtF, [value], like(value.type, f32))
    return value


def round_to(b: Builder, value: SSAValue, element: Attribute, rounding: str = "rtne") -> SSAValue:
    """A float converted to the format `element`, which may be wider or narrower."""
    source = element_of(value.type)
    if source == element:
        return value
    if byte_width(element) > byte_width(source):
        value = widen(b, value)
        if element_of(value.type) == element:
            return value
        if is_half(element):
            return round_to(b, value, element, rounding)
        return b.emit(convert.ExtF, [value], like(value.type, element))
    if byte_width(source) < 4:
        value = widen(b, value)
    if is_fp8(element) and isinstance(source, Float64Type):
        value = to_odd_f32(b, value)
    return b.emit(
        convert.TruncF,
        [value],
        like(value.type, element),
        {"rounding": StringAttr(rounding)},
        key=(rounding,),
    )


def to_odd_f32(b: Builder, value: SSAValue) -> SSAValue:
    """An f64 as f32, rounded to odd: rounding that again to a narrower format is as rounding once (see `fused`)."""
    single, bits = like(value.type, f32), like(value.type, i32)
    towards_zero = b.emit(convert.TruncF, [value], single, {"rounding": StringAttr("rtz")}, key=("rtz",))
    exact = b.emit(convert.ExtF, [towards_zero], value.type)
    attr = {"predicate": alu.FLOAT_COMPARISONS[CmpFPredicate.ONE]}
    inexact = b.emit(alu.CmpF, [value, exact], like(value.type, i1), attr, key=(int(CmpFPredicate.ONE),))
    pattern = b.emit(convert.Bitcast, [towards_zero], bits)
    odd = b.emit(alu.Or, [pattern, b.emit(convert.ExtU, [inexact], bits)], bits)
    return b.emit(convert.Bitcast, [odd], single)


def in_float(b: Builder, args: Values, instruction: type[Operation]) -> SSAValue:
    """A floating-point instruction on operands of any format; the result has the operands' format."""
    element = element_of(args[0].type)
    wide = [widen(b, arg) for arg in args]
    return round_to(b, b.emit(instruction, wide, wide[0].type), element)


# --- recipes ------------------------------------------------------------------------------------------------


def integer(instruction: type[Operation], cost: int = CHEAP) -> Callable[[Operation], Recipe]:
    def compute(b: Builder, args: Values) -> SSAValue:
        if element_of(args[0].type) == i1:
            return ON_PREDICATES[instruction](b, args)
        return b.emit(instruction, args, args[0].type)

    return lambda op: Recipe(compute, cost)


def logical(instruction: type[Operation], *, inverts: bool = False) -> Compute:
    """A logical instruction on predicates; it `inverts` the second one first."""

    def compute(b: Builder, args: Values) -> SSAValue:
        left, right = args
        return b.emit(instruction, [left, invert(b, right) if inverts else right], left.type)

    return compute


def invert(b: Builder, predicate: SSAValue) -> SSAValue:
    return b.emit(alu.Xor, [predicate, b.const(1, predicate.type)], predicate.type)


ON_PREDICATES: dict[type[Operation], Compute] = {
    alu.And: logical(alu.And),
    alu.Or: logical(alu.Or),
    alu.Xor: logical(alu.Xor),
    alu.AddI: logical(alu.Xor),
    alu.SubI: logical(alu.Xor),
    alu.MulI: logical(alu.And),
    alu.MinU: logical(alu.And),
    alu.MaxU: logical(alu.Or),
    alu.MinS: logical(alu.Or),  # a true i1 is -1
    alu.MaxS: logical(alu.And),
    alu.DivU: logical(alu.Or, inverts=True),  # by 0: all ones
    alu.DivS: logical(alu.Or, inverts=True),
    alu.RemU: logical(alu.And, inverts=True),  # by 0: the dividend
    alu.RemS: logical(alu.And, inverts=True),
    alu.Shl: logical(alu.And, inverts=True),  # by 1 is by the width
    alu.ShrU: logical(alu.And, inverts=True),
    alu.ShrS: lambda b, args: args[0],
    alu.MulHU: lambda b, args: b.const(0, args[0].type),
}
"""Integer instructions on booleans, which are integers of one bit: as `dialects.isa.alu` says for any width."""


def compare_predicates(b: Builder, predicate: CmpIPredicate, left: SSAValue, right: SSAValue) -> SSAValue:
    """``arith.cmpi`` on booleans: unsigned, false < true; signed, true (-1) < false."""

    def less(low: SSAValue, high: SSAValue) -> SSAValue:
        return b.emit(alu.And, [invert(b, low), high], low.type)

    different = b.emit(alu.Xor, [left, right], left.type)
    match predicate:
        case CmpIPredicate.NE:
            return different
        case CmpIPredicate.EQ:
            return invert(b, different)
        case CmpIPredicate.ULT | CmpIPredicate.SGT:
            return less(left, right)
        case CmpIPredicate.UGT | CmpIPredicate.SLT:
            return less(right, left)
        case CmpIPredicate.ULE | CmpIPredicate.SGE:
            return invert(b, less(right, left))
        case CmpIPredicate.UGE | CmpIPredicate.SLE:
            return invert(b, less(left, right))


def floating(instruction: type[Operation], cost: int = CHEAP) -> Callable[[Operation], Recipe]:
    return lambda op: Recipe(lambda b, args: in_float(b, args, instruction), cost)


def cast(instruction: type[Operation]) -> Callable[[Operation], Recipe]:
    def recipe(op: Operation) -> Recipe:
        element = register_element(op.results[0].type)
        return Recipe(lambda b, args: b.emit(instruction, args, like(args[0].type, element)))

    return recipe


def int_to_float(instruction: type[Operation]) -> Callable[[Operation], Recipe]:
    def recipe(op: Operation) -> Recipe:
        element = register_element(op.results[0].type)
        wide = element if isinstance(element, Float32Type | Float64Type) else wide_enough(op)
        return Recipe(
            lambda b, args: round_to(b, b.emit(instruction, args, like(args[0].type, wide)), element), 2
        )

    return recipe


def wide_enough(op: Operation) -> Attribute:
    """f64 where an integer wider than f32's mantissa must be rounded to a half only once; else f32."""
    source = register_element(op.operands[0].type)
    assert isinstance(source, IntegerType)
    return Float64Type() if source.width.data > 24 else f32


def float_to_int(instruction: type[Operation]) -> Callable[[Operation], Recipe]:
    def recipe(op: Operation) -> Recipe:
        element = register_element(op.results[0].type)
        return Recipe(
            lambda b, args: b.emit(instruction, [widen(b, args[0])], like(args[0].type, element)), 2
        )

    return recipe


def float_cast(op: tt.FpToFpOp) -> Recipe:
    element = register_element(op.result.type)
    rounding = "rtz" if op.rounding_mode is RoundingMode.RTZ else "rtne"
    return Recipe(lambda b, args: round_to(b, args[0], element, rounding), 2)


TO_NEAREST_EVEN: Final = 0
"""Of MLIR's ``arith::RoundingMode``."""


def arith_float_cast(op: Operation) -> Recipe:
    element = register_element(op.results[0].type)
    mode = op.properties.get("roundingmode")
    if isinstance(mode, IntegerAttr) and mode.value.data != TO_NEAREST_EVEN:
        raise UnsupportedOperation(
            f"'{op.name}' with roundingmode {mode.value.data}: this package rounds it to nearest, ties to even",
            location=location_of(op),
            add_support_in="lowering/elementwise.py, in arith_float_cast",
        )
    return Recipe(lambda b, args: round_to(b, args[0], element), 2)


def bitcast(op: Operation) -> Recipe:
    element = register_element(op.results[0].type)

    def compute(b: Builder, args: Values) -> SSAValue:
        if element_of(args[0].type) == element:
            return args[0]
        return b.emit(convert.Bitcast, args, like(args[0].type, element))

    return Recipe(compute)


def compare_int(op: ttarith.CmpiOp) -> Recipe:
    predicate = op.comparison

    def compute(b: Builder, args: Values) -> SSAValue:
        if element_of(args[0].type) == i1:
            return compare_predicates(b, predicate, args[0], args[1])
        return b.cmpi(predicate, args[0], args[1])

    return Recipe(compute)


def compare_float(op: ttarith.CmpfOp) -> Recipe:
    predicate = op.comparison

    def compute(b: Builder, args: Values) -> SSAValue:
        wide = [widen(b, arg) for arg in args]
        attr = {"predicate": alu.FLOAT_COMPARISONS[predicate]}
        return b.emit(alu.CmpF, wide, like(wide[0].type, i1), attr, key=(predicate,))

    return Recipe(compute)


def select(op: Operation) -> Recipe:
    return Recipe(lambda b, args: b.emit(alu.Select, args, args[1].type))


def clamp(op: tt.ClampFOp) -> Recipe:
    """min(max(x, low), high); a NaN in x stays where ``propagateNan`` says so, else low wins."""
    keeps_nan = op.propagate_nan is PropagateNan.ALL
    low, high = (alu.Maximum, alu.Minimum) if keeps_nan else (alu.MaxNum, alu.MinNum)

    def compute(b: Builder, args: Values) -> SSAValue:
        return in_float(b, [in_float(b, args[:2], low), args[2]], high)

    return Recipe(compute, 2)


def absolute(op: Operation) -> Recipe:
    def compute(b: Builder, args: Values) -> SSAValue:
        if element_of(args[0].type) == i1:
            return args[0]
        zero = b.const(0, args[0].type)
        return b.emit(alu.MaxS, [args[0], b.emit(alu.SubI, [zero, args[0]], args[0].type)], args[0].type)

    return Recipe(compute, 2)


def ceil_or_floor_div(*, up: bool) -> Callable[[Operation], Recipe]:
    """Signed division rounded up or down: the truncated quotient, moved by one where a remainder says so."""

    def compute(b: Builder, args: Values) -> SSAValue:
        ty = args[0].type
        if element_of(ty) == i1:
            return ON_PREDICATES[alu.DivS](b, args)
        quotient = b.emit(alu.DivS, args, ty)
        remainder = b.emit(alu.RemS, args, ty)
        zero = b.const(0, ty)
        inexact = b.cmpi(1, remainder, zero)
        opposite = b.cmpi(2, b.emit(alu.Xor, [args[0], args[1]], ty), zero)
        if up:
            opposite = b.emit(alu.Xor, [opposite, b.const(1, opposite.type)], opposite.type)
        moved = b.emit(alu.AddI, [quotient, b.const(1 if up else -1, ty)], ty)
        both = b.emit(alu.And, [inexact, opposite], inexact.type)
        return b.emit(alu.Select, [both, moved, quotient], ty)

    return lambda op: Recipe(compute, SLOW)


def extern(op: tt.ExternElementwiseOp) -> Recipe:
    symbol, element = op.symbol_name, register_element(op.result.type)

    def compute(b: Builder, args: Values) -> SSAValue:
        try:
            return lower_extern(symbol, list(args), like(args[0].type, element), b)
        except UnsupportedOperation as error:
            raise UnsupportedOperation(
                error.message, location=location_of(op), add_support_in=error.add_support_in
            ) from None

    return Recipe(compute, cost_of(instruction_of(symbol)))


def cost_of(instruction: type[Operation] | None) -> int:
    """The cost of a mathematical function: an instruction, or none."""
    return LONG if instruction in LONG_FORMULAS else SLOW


def multiply_add(op: Operation) -> Recipe:
    """Rounded once, in half precision too."""
    element = register_element(op.results[0].type)
    if not is_half(element):
        return floating(alu.Fma)(op)
    return Recipe(lambda b, args: round_to(b, multiply_add_to_odd(b, args), element), SLOW)


OWN_RECIPES: Final[dict[str, Callable[[Any], Recipe]]] = {
    "arith.addi": integer(alu.AddI),
    "arith.subi": integer(alu.SubI),
    "arith.muli": integer(alu.MulI),
    "arith.divsi": integer(alu.DivS, SLOW),
    "arith.divui": integer(alu.DivU, SLOW),
    "arith.remsi": integer(alu.RemS, SLOW),
    "arith.remui": integer(alu.RemU, SLOW),
    "arith.ceildivsi": ceil_or_floor_div(up=True),
    "arith.floordivsi": ceil_or_floor_div(up=False),
    "arith.andi": integer(alu.And),
    "arith.ori": integer(alu.Or),
    "arith.xori": integer(alu.Xor),
    "arith.shli": integer(alu.Shl),
    "arith.shrsi": integer(alu.ShrS),
    "arith.shrui": integer(alu.ShrU),
    "arith.minsi": integer(alu.MinS),
    "arith.maxsi": integer(alu.MaxS),
    "arith.minui": integer(alu.MinU),
    "arith.maxui": integer(alu.MaxU),
    "tt.mulhiui": integer(alu.MulHU, 2),
    "arith.addf": floating(alu.AddF),
    "arith.subf": floating(alu.SubF),
    "arith.mulf": floating(alu.MulF),
    "arith.divf": floating(alu.DivF, 4),
    "arith.remf": floating(alu.RemF, SLOW),
    "arith.negf": floating(alu.NegF),
    "arith.minnumf": floating(alu.MinNum),
    "arith.maxnumf": floating(alu.MaxNum),
    "arith.minimumf": floating(alu.Minimum),
    "arith.maximumf": floating(alu.Maximum),
    "tt.precise_divf": floating(alu.DivF, 4),
    "tt.precise_sqrt": floating(alu.Sqrt, 4),
    "tt.clampf": clamp,
    "math.absi": absolute,
    "arith.cmpi": compare_int,
    "arith.cmpf": compare_float,
    "arith.select": select,
    "arith.extsi": cast(convert.ExtS),
    "arith.extui": cast(convert.ExtU),
    "arith.trunci": cast(convert.TruncI),
    "arith.sitofp": int_to_float(convert.SIToF),
    "arith.uitofp": int_to_float(convert.UIToF),
    "arith.fptosi": float_to_int(convert.FToSI),
    "arith.fptoui": float_to_int(convert.FToUI),
    "arith.extf": arith_float_cast,
    "arith.truncf": arith_float_cast,
    "tt.fp_to_fp": float_cast,
    "arith.bitcast": bitcast,
    "tt.bitcast": bitcast,
    "tt.int_to_ptr": bitcast,
    "tt.ptr_to_int": bitcast,
    "tt.extern_elementwise": extern,
    "math.absf": floating(alu.AbsF),
    "math.fma": multiply_add,
}
"""Operations, each with a recipe. To support another one, add its line here."""

ELEMENTWISE: Final = OWN_RECIPES | {
    name: floating(instruction, cost_of(instruction))
    for name, instruction in MATH_OPS.items()
    if name not in OWN_RECIPES
}
"""Every elementwise operation of Triton IR."""


def recipe_of(op: Operation) -> Recipe:
    """The recipe of an elementwise operation; KeyError if `op` is not one."""
    return ELEMENTWISE[op.name](op)
