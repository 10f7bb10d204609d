"""Builds ISA operations, each at the outermost loop level its operands allow.

The builder holds a stack of open blocks, outermost first: the kernel's body, the bodies of the kernel's own
loops, the loops of the nest under construction. A pure instruction goes to the end of the deepest block that
defines one of its operands, so loop invariants never enter a loop, and asking twice for the same instruction gives
the same value. All pure instructions are total (no operand makes them trap), so hoisting one is always
allowed. Loads take a lower bound for their level; everything with an effect goes to the innermost block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from xdsl.dialects import scf
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    UnitAttr,
    VectorType,
    f32,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..dialects.isa import alu, convert, lanes, memory
from ..dialects.isa.addresses import UNSIGNED
from ..dialects.isa.base import element_of, lanes_of, like, vector
from ..dialects.locations import LOC, SourceLoc

Key = tuple[object, ...]
Properties = Mapping[str, Attribute]


class Builder:
    """See the module's docstring. `location` is attached to operations with effects and to loads."""

    def __init__(self, body: Block) -> None:
        self._blocks: list[Block] = [body]
        self._level: dict[SSAValue, int] = {}
        self._memo: list[dict[Key, SSAValue]] = [{}]
        self._constants: dict[SSAValue, int] = {}
        self.steps: dict[SSAValue, SSAValue] = {}
        """By how much a register that a loop of the kernel carries grows from one iteration to the next, if known."""
        self.location: SourceLoc | None = None
        self._computed: SourceLoc | None = None

    # --- levels -------------------------------------------------------------------------------------------

    @property
    def depth(self) -> int:
        """Level of the innermost open block."""
        return len(self._blocks) - 1

    @property
    def innermost(self) -> Block:
        """The block that effects go to."""
        return self._blocks[-1]

    def push(self, block: Block) -> None:
        """Opens `block` as the new innermost level."""
        self._blocks.append(block)
        self._memo.append({})
        for argument in block.args:
            self._level[argument] = self.depth

    def pop(self) -> Block:
        """Closes the innermost block and returns it."""
        self._memo.pop()
        return self._blocks.pop()

    def level_of(self, value: SSAValue) -> int:
        return self._level.get(value, 0)

    # --- inserting ------------------------------------------------------------------------------------------

    def insert(self, op: Operation) -> Operation:
        """Appends `op` to the innermost block: for effects and control flow."""
        if self.location is not None:
            op.attributes[LOC] = self.location
        self._append(op, self.depth)
        return op

    def _append(self, op: Operation, level: int) -> None:
        block = self._blocks[level]
        last = block.last_op
        # The entry block of a kernel with several blocks is closed early, with a branch.
        if last is not None and level < self.depth and last.successors:
            block.insert_op_before(op, last)
        else:
            block.add_op(op)
        for result in op.results:
            self._level[result] = level

    def emit(
        self,
        cls: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        properties: Properties | None = None,
        *,
        key: Key = (),
    ) -> SSAValue:
        """The value of a pure instruction; `key` tells apart instructions that differ in `properties` only."""
        level = 0
        for operand in operands:
            level = max(level, self._level.get(operand, 0))
        memo = self._memo[level]
        full_key = (cls, *operands, result, *key)
        known = memo.get(full_key)
        if known is not None:
            return known
        op = cls.create(operands=operands, result_types=[result], properties=dict(properties or {}))
        if self._computed is not None:
            op.attributes[LOC] = self._computed
        self._append(op, level)
        memo[full_key] = op.results[0]
        return op.results[0]

    def computed(
        self,
        source: Operation | None,
        compute: Callable[[Builder, Sequence[SSAValue]], SSAValue],
        operands: Sequence[SSAValue],
    ) -> SSAValue:
        """What ``compute(self, operands)`` gives: its pure instructions, too, have the place of the operation `source`.

        (Others have none: addresses and masks are computed for whoever needs them first.)
        """
        location = None if source is None else source.attributes.get(LOC)
        around, self._computed = self._computed, location if isinstance(location, SourceLoc) else None
        try:
            return compute(self, operands)
        finally:
            self._computed = around

    def load(
        self,
        cls: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        *,
        not_above: int,
    ) -> SSAValue:
        """The value of a load, placed as far out as its operands and level `not_above` allow."""
        level = max([not_above, *(self._level.get(operand, 0) for operand in operands)])
        op = cls.create(operands=operands, result_types=[result])
        if self.location is not None:
            op.attributes[LOC] = self.location
        self._append(op, level)
        return op.results[0]

    def effect(
        self, cls: type[Operation], operands: Sequence[SSAValue], properties: Properties | None = None
    ) -> None:
        """An instruction without result, in the innermost block."""
        self.insert(cls.create(operands=operands, properties=dict(properties or {})))

    # --- constants --------------------------------------------------------------------------------------------

    def const(self, value: int | float, ty: Attribute) -> SSAValue:
        """A constant in every lane of `ty`. Integers are taken modulo 2^width."""
        element = element_of(ty)
        if isinstance(element, IntegerType):
            signed = wrapped(int(value), element)
            known = self._memo[0].get((lanes.Const, ty, signed))  # an attribute costs more than all the rest
            if known is not None:
                return known
            attr: Attribute = IntegerAttr(signed, element)
            result = self.emit(lanes.Const, [], ty, {"value": attr}, key=(signed,))
            if ty is element:
                self._constants[result] = signed
            return result
        number_f = float(value)
        if element.name.startswith("f8"):  # the instruction set has no fp8 constants: narrow an f32 one
            wide = self.const(number_f, like(ty, f32))
            rounding = {"rounding": StringAttr("rtne")}
            return self.emit(convert.TruncF, [wide], ty, rounding, key=("rtne",))
        assert isinstance(element, AnyFloat)
        attr = FloatAttr(number_f, element)
        return self.emit(lanes.Const, [], ty, {"value": attr}, key=(number_f.hex(), number_f))

    def const_attr(self, attr: Attribute, ty: Attribute) -> SSAValue:
        """A constant given as an attribute of the element type."""
        if isinstance(attr, IntegerAttr):
            return self.const(attr.value.data, ty)
        if isinstance(attr, FloatAttr) and element_of(ty).name.startswith("f8"):
            return self.const(attr.value.data, ty)
        return self.emit(lanes.Const, [], ty, {"value": attr}, key=(attr,))

    def lane_const(self, values: Sequence[int], element: Attribute) -> SSAValue:
        """A vector of the integers `values`, taken modulo 2^width."""
        values = [wrapped(number, element) for number in values]
        if len(set(values)) == 1:
            return self.const(values[0], vector(len(values), element))
        pattern = tuple(values)
        properties = {"values": lane_numbers(pattern)}
        return self.emit(lanes.LaneConst, [], VectorType(element, [len(values)]), properties, key=pattern)

    def known(self, value: SSAValue | int) -> int | None:
        """The integer that `value` is known to be, if it is a scalar constant."""
        return value if isinstance(value, int) else self._constants.get(value)

    # --- scalar integer arithmetic, folded ----------------------------------------------------------------------

    def addi(self, a: SSAValue, b: SSAValue) -> SSAValue:
        ka, kb = self.known(a), self.known(b)
        if ka == 0:
            return b
        if kb == 0:
            return a
        if ka is not None and kb is not None:
            return self.const(ka + kb, a.type)
        return self.emit(alu.AddI, [a, b], a.type)

    def subi(self, a: SSAValue, b: SSAValue) -> SSAValue:
        ka, kb = self.known(a), self.known(b)
        if kb == 0:
            return a
        if ka is not None and kb is not None:
            return self.const(ka - kb, a.type)
        return self.emit(alu.SubI, [a, b], a.type)

    def muli(self, a: SSAValue, b: SSAValue) -> SSAValue:
        ka, kb = self.known(a), self.known(b)
        if ka == 1 or kb == 0:
            return b
        if kb == 1 or ka == 0:
            return a
        if ka is not None and kb is not None:
            return self.const(ka * kb, a.type)
        return self.emit(alu.MulI, [a, b], a.type)

    def resize(self, a: SSAValue, element: Attribute, *, signed: bool = True) -> SSAValue:
        """An integer scalar or vector extended or truncated to `element`."""
        source = element_of(a.type)
        assert isinstance(source, IntegerType) and isinstance(element, IntegerType)
        have, want = source.width.data, element.width.data
        if have == want:
            return a
        number = self.known(a)
        if number is not None and signed:
            return self.const(number, element)
        if want < have:
            return self.emit(convert.TruncI, [a], like(a.type, element))
        return self.emit(convert.ExtS if signed else convert.ExtU, [a], like(a.type, element))

    def cmpi(self, predicate: int, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.emit(
            alu.CmpI,
            [a, b],
            like(a.type, i1),
            {"predicate": alu.INTEGER_COMPARISONS[predicate]},
            key=(int(predicate),),
        )

    # --- lanes --------------------------------------------------------------------------------------------------

    def splat(self, value: SSAValue, count: int) -> SSAValue:
        """`value` as a vector of `count` lanes; a vector stays as it is."""
        if count == 1 or lanes_of(value.type) == count:
            return value
        return self.emit(lanes.Splat, [value], VectorType(value.type, [count]))

    def extract(self, value: SSAValue, lane: int) -> SSAValue:
        if lanes_of(value.type) == 1:
            return value
        return self.emit(
            lanes.Extract, [value], element_of(value.type), {"lane": IntegerAttr(lane, i64)}, key=(lane,)
        )

    def shuffle(self, lhs: SSAValue, rhs: SSAValue, picked: Sequence[int]) -> SSAValue:
        """The lanes `picked` of ``lhs ++ rhs``."""
        result = vector(len(picked), element_of(lhs.type))
        pattern = tuple(picked)
        return self.emit(lanes.Shuffle, [lhs, rhs], result, {"lanes": lane_numbers(pattern)}, key=pattern)

    def scratch(self, offset: int) -> SSAValue:
        """Address of byte `offset` of the workspace."""
        return self.emit(
            memory.ScratchAddress, [], i64, {"offset": memory.scratch_offset(offset)}, key=(offset,)
        )

    # --- loops ----------------------------------------------------------------------------------------------------

    def open_loop(
        self, carried: Sequence[Attribute] = (), *, index: Attribute = i64
    ) -> tuple[SSAValue, list[SSAValue]]:
        """Opens the body of a counted loop; gives its induction variable and carried values."""
        block = Block(arg_types=[index, *carried])
        self.push(block)
        return block.args[0], list(block.args[1:])

    def close_loop(
        self,
        start: SSAValue,
        stop: SSAValue,
        step: SSAValue,
        inits: Sequence[SSAValue],
        yields: Sequence[SSAValue],
        *,
        unsigned: bool = False,
    ) -> list[SSAValue]:
        """Closes the body opened by `open_loop` and appends the loop; gives the carried values after it.

        Bounds are compared as signed numbers, or as `unsigned` ones.
        """
        body = self.pop()
        body.add_op(scf.YieldOp(*yields))
        op = scf.ForOp.create(
            operands=[start, stop, step, *inits],
            result_types=[value.type for value in inits],
            attributes={UNSIGNED: UnitAttr()} if unsigned else {},
            regions=[Region(body)],
        )
        self.insert(op)
        return list(op.results)


@lru_cache(maxsize=256)
def lane_numbers(values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    """As an attribute, which takes long to make: 64 lanes half a millisecond."""
    return DenseArrayBase.from_list(i64, values)


def wrapped(number: int, element: Attribute) -> int:
    """`number` modulo 2^width, signed as MLIR writes it (a true predicate is 1)."""
    assert isinstance(element, IntegerType)
    width = element.width.data
    number &= (1 << width) - 1
    return number - (1 << width) if width > 1 and number >> (width - 1) else number
