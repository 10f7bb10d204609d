"""Combine regions of ``tt.reduce`` and ``tt.scan``, applied to scalars or vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, nan

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..dialects import tt
from ..dialects.isa.base import lanes_of
from ..dialects.locations import location_of
from ..errors import UnsupportedOperation
from .builder import Builder
from .elementwise import ELEMENTWISE, is_float, recipe_of, register_element


class Combine:
    """The region ``(accumulated..., new...) -> accumulated...`` of a reduction or scan."""

    def __init__(self, block: Block, scalar: Callable[[SSAValue], SSAValue]) -> None:
        """`scalar` gives the register of a value from outside of the region (a constant, mostly)."""
        self.block = block
        self.scalar = scalar
        self.elements = [register_element(arg.type) for arg in block.args[: len(block.args) // 2]]

    def __call__(self, b: Builder, left: Sequence[SSAValue], right: Sequence[SSAValue]) -> list[SSAValue]:
        """Combines two tuples of values, `left` being the earlier one."""
        count = max(lanes_of(value.type) for value in (*left, *right))
        env: dict[SSAValue, SSAValue] = dict(zip(self.block.args, [*left, *right], strict=True))
        for op in self.block.ops:
            if isinstance(op, tt.ReduceReturnOp | tt.ScanReturnOp):
                return [b.splat(self._value(env, value), count) for value in op.operands]
            env[op.results[0]] = self._compute(b, env, op)
        raise AssertionError("a combine region ends with its return")

    def _value(self, env: dict[SSAValue, SSAValue], value: SSAValue) -> SSAValue:
        """What `value` is in this combination. Triton's passes hoist constants out of the region."""
        inside = env.get(value)
        return self.scalar(value) if inside is None else inside

    def _compute(self, b: Builder, env: dict[SSAValue, SSAValue], op: Operation) -> SSAValue:
        if op.name == "arith.constant":
            return b.const_attr(op.properties["value"], register_element(op.results[0].type))
        if op.name not in ELEMENTWISE:
            raise UnsupportedOperation(
                f"'{op.name}' in the combine function of a reduction or scan",
                location=location_of(op),
                add_support_in="lowering/combine.py",
            )
        args = [self._value(env, operand) for operand in op.operands]
        width = max((lanes_of(arg.type) for arg in args), default=1)
        return b.computed(op, recipe_of(op).compute, [b.splat(arg, width) for arg in args])

    def fold(self, b: Builder, values: Sequence[SSAValue]) -> list[SSAValue]:
        """Combines the lanes of vectors into scalars by halving them.

        The operation must be associative and commutative, as everywhere in Triton's reductions: lanes hold strided
        parts of the axis.
        """
        totals = list(values)
        count = lanes_of(totals[0].type)
        while count > 1:
            count //= 2
            low, high = range(count), range(count, 2 * count)
            left = [b.shuffle(total, total, low) for total in totals]
            right = [b.shuffle(total, total, high) for total in totals]
            totals = self(b, left, right)
        return totals

    def identities(self) -> list[int | float] | None:
        """The neutral element of each operand, where the region is one operation that has one."""
        ops = list(self.block.ops)
        if len(ops) != 2 or len(self.elements) != 1:
            return None
        op = ops[0]
        if {*op.operands} != {*self.block.args} or list(ops[1].operands) != list(op.results):
            return None
        neutral = neutral_element(op.name, self.elements[0])
        return None if neutral is None else [neutral]


def neutral_element(name: str, element: Attribute) -> int | float | None:
    """x such that ``name(x, y) == y`` for every y of type `element`."""
    if is_float(element):
        return {
            "arith.addf": -0.0,
            "arith.mulf": 1.0,
            "arith.maxnumf": nan,
            "arith.minnumf": nan,
            "arith.maximumf": -inf,
            "arith.minimumf": inf,
        }.get(name)
    assert isinstance(element, IntegerType)
    width = element.width.data
    return {
        "arith.addi": 0,
        "arith.ori": 0,
        "arith.xori": 0,
        "arith.muli": 1,
        "arith.andi": -1,
        "arith.maxsi": -(1 << (width - 1)),
        "arith.minsi": (1 << (width - 1)) - 1,
        "arith.maxui": 0,
        "arith.minui": -1,
    }.get(name)
