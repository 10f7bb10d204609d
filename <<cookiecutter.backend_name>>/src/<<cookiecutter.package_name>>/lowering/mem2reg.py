"""Buffers that a register holds become registers.

The lowering keeps tensors that loops carry, results of reductions and the like in the scratchpad, however small. One
that is always loaded and stored as a whole is a variable: loads become the value that was stored last, loops and
conditions carry it. This is LLVM's pass of the same name, for structured control flow, and runs while every buffer
still has memory of its own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.dialects.builtin import AnyFloat, FloatAttr, IntegerAttr, IntegerType, i8
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..dialects.isa import control, lanes, memory
from ..dialects.isa.base import element_of
from ..dialects.walk import operations_in

Variable = int
"""The number of a buffer."""

STRUCTURED = (scf.ForOp, scf.IfOp, scf.WhileOp)


def promote_buffers(kernel: control.Kernel, offsets: Sequence[int]) -> None:
    """Replaces the buffers of a kernel that are variables; ``offsets``: where each starts, ascending."""
    accesses: dict[Variable, list[Operation]] = {}
    refused: set[Variable] = set()
    for address in operations_in(kernel):
        if isinstance(address, memory.ScratchAddress):
            offset = address.offset.value.data
            variable = bisect_right(offsets, offset) - 1
            found = [use.operation for use in address.result.uses]
            accesses.setdefault(variable, []).extend(found)
            if offset != offsets[variable] or not all(is_whole(op, address.result) for op in found):
                refused.add(variable)
    variables = {
        op: variable
        for variable, found in accesses.items()
        if variable not in refused and len({register_of(op).type for op in found}) == 1
        for op in found
    }
    unstructured = {variable for op, variable in variables.items() if not is_structured(op, kernel)}
    variables = {op: variable for op, variable in variables.items() if variable not in unstructured}
    if variables:
        _Promotion(kernel, variables).run()


def is_whole(op: Operation, address: SSAValue) -> bool:
    """Whether an operation loads or stores a register at `address`."""
    return isinstance(op, memory.Load) or (isinstance(op, memory.Store) and op.value is not address)


def register_of(op: Operation) -> SSAValue:
    """What a load gives, or a store takes."""
    assert isinstance(op, memory.Load | memory.Store)
    return op.result if isinstance(op, memory.Load) else op.value


def is_structured(op: Operation, kernel: control.Kernel) -> bool:
    """Whether only loops and conditions are between an operation and the kernel, whose blocks run in one order."""
    while op is not kernel:
        block, parent = op.parent, op.parent_op()
        if block is None or parent is None or block.next_block is not None or block.prev_block is not None:
            return False
        if parent is not kernel and not isinstance(parent, STRUCTURED):
            return False
        op = parent
    return True


@dataclass
class _Effects:
    """Which variables some operations load before they have stored them, store at all, and store in any case."""

    exposed: set[Variable]
    stored: set[Variable]
    certain: set[Variable]


class _Promotion:
    def __init__(self, kernel: control.Kernel, variables: dict[Operation, Variable]) -> None:
        self.kernel = kernel
        self.variables = variables
        self.types = {variable: register_of(op).type for op, variable in variables.items()}
        self.events: dict[Block, list[Operation]] = {}
        """Of each block the accesses, and the operations in which there are some, in order."""
        self.effects: dict[Operation | Block, _Effects] = {}
        """Of each operation with regions in which there are accesses, and of the regions' blocks."""
        inside = set(variables)
        for op in variables:
            parent = op.parent_op()
            while parent is not None and parent is not kernel and parent not in inside:
                inside.add(parent)
                parent = parent.parent_op()
        for op in operations_in(kernel):
            if op in inside and op.parent is not None:
                self.events.setdefault(op.parent, []).append(op)

    def run(self) -> None:
        block = self.kernel.body.block
        self._effects_of(block)
        self._rewrite(block, {}, set())

    # --- which variables live -------------------------------------------------------------------------------------

    def _effects_of(self, block: Block) -> _Effects:
        total = _Effects(set(), set(), set())
        for op in self.events.get(block, ()):
            if isinstance(op, memory.Load):
                one = _Effects({self.variables[op]}, set(), set())
            elif isinstance(op, memory.Store):
                one = _Effects(set(), {self.variables[op]}, {self.variables[op]})
            else:
                one = self.effects[op] = self._effects_of_regions(op)
            total.exposed |= one.exposed - total.certain
            total.stored |= one.stored
            total.certain |= one.certain
        self.effects[block] = total
        return total

    def _effects_of_regions(self, op: Operation) -> _Effects:
        parts = [self._effects_of(region.block) for region in op.regions if region.blocks]
        exposed, stored = (
            set[Variable]().union(*sets) for sets in zip(*((p.exposed, p.stored) for p in parts), strict=True)
        )
        if isinstance(op, scf.WhileOp):
            before, after = parts
            return _Effects(before.exposed | (after.exposed - before.certain), stored, before.certain)
        both = isinstance(op, scf.IfOp) and len(parts) == 2
        return _Effects(exposed, stored, parts[0].certain & parts[1].certain if both else set())

    def _live_before(self, op: Operation, live: set[Variable]) -> set[Variable]:
        """Given those that are `live` after an event."""
        if isinstance(op, memory.Load):
            return live | {self.variables[op]}
        if isinstance(op, memory.Store):
            return live - {self.variables[op]}
        effects = self.effects[op]
        return (live - effects.certain) | effects.exposed

    # --- rewriting --------------------------------------------------------------------------------------------------

    def _rewrite(self, block: Block, values: dict[Variable, SSAValue], live: set[Variable]) -> None:
        """Replaces the accesses of a block. `values`: what variables hold before, and afterwards what they hold then.
        `live`: those that are loaded after it."""
        events = self.events.get(block, [])
        live_after: list[set[Variable]] = []
        for op in reversed(events):
            live_after.append(live)
            live = self._live_before(op, live)
        for op, after in zip(events, reversed(live_after), strict=True):
            if isinstance(op, memory.Load):
                op.result.replace_all_uses_with(self._value(self.variables[op], values, op))
                block.erase_op(op)
            elif isinstance(op, memory.Store):
                values[self.variables[op]] = op.value
                block.erase_op(op)
            elif isinstance(op, scf.IfOp):
                self._condition(op, values, after)
            elif isinstance(op, scf.ForOp):
                self._loop(op, values, after)
            else:
                assert isinstance(op, scf.WhileOp)
                self._while(op, values, after)

    def _value(self, variable: Variable, values: dict[Variable, SSAValue], before: Operation) -> SSAValue:
        """What a variable holds. Zero in one that holds nothing yet, as whoever comes from elsewhere may find it."""
        if variable not in values:
            ty = self.types[variable]
            zero = lanes.Const.create(properties={"value": zero_of(element_of(ty))}, result_types=[ty])
            self.kernel.body.block.insert_ops_before([zero], first_of(self.kernel.body.block))
            values[variable] = zero.result
        return values[variable]

    def _loop(self, op: scf.ForOp, values: dict[Variable, SSAValue], live: set[Variable]) -> None:
        live = live | self.effects[op].exposed  # by the next iteration
        carried = sorted(self.effects[op].stored & live)
        operands = [*op.operands, *(self._value(variable, values, op) for variable in carried)]
        inside = {**values, **self._arguments(op.body.block, carried)}
        self._rewrite(op.body.block, inside, live)
        extend_terminator(op.body.block, [inside[variable] for variable in carried])
        self._replace(op, operands, carried, values)

    def _condition(self, op: scf.IfOp, values: dict[Variable, SSAValue], live: set[Variable]) -> None:
        results = sorted(self.effects[op].stored & live)
        for variable in results:
            self._value(variable, values, op)
        if results and not op.false_region.blocks:
            op.false_region.add_block(Block([scf.YieldOp()]))
        for region in op.regions:
            if region.blocks:
                inside = dict(values)
                self._rewrite(region.block, inside, live)
                extend_terminator(region.block, [inside[variable] for variable in results])
        self._replace(op, op.operands, results, values)

    def _while(self, op: scf.WhileOp, values: dict[Variable, SSAValue], live: set[Variable]) -> None:
        first, second = op.before_region.block, op.after_region.block
        # What the first region leaves, the second sees only if it is handed over.
        live = live | self.effects[op].exposed | self.effects[second].exposed
        carried = sorted(self.effects[op].stored & live)
        operands = [*op.operands, *(self._value(variable, values, op) for variable in carried)]
        for block in (first, second):
            inside = {**values, **self._arguments(block, carried)}
            self._rewrite(block, inside, live)
            extend_terminator(block, [inside[variable] for variable in carried])
        self._replace(op, operands, carried, values)

    def _arguments(self, block: Block, variables: Iterable[Variable]) -> dict[Variable, SSAValue]:
        """New arguments of a block, that hold variables."""
        return {v: block.insert_arg(self.types[v], len(block.args)) for v in variables}

    def _replace(
        self,
        op: Operation,
        operands: Sequence[SSAValue],
        variables: Sequence[Variable],
        values: dict[Variable, SSAValue],
    ) -> None:
        """Gives an operation more operands, and results that hold variables from then on."""
        if not variables:
            return
        types: list[Attribute] = [result.type for result in op.results]
        new = type(op).create(
            operands=operands,
            result_types=[*types, *(self.types[variable] for variable in variables)],
            properties=op.properties,
            attributes=op.attributes,
            regions=[op.detach_region(region) for region in list[Region](op.regions)],
        )
        block = op.parent
        assert block is not None
        block.insert_op_before(new, op)
        for old, result in zip(op.results, new.results, strict=False):
            old.replace_all_uses_with(result)
        block.erase_op(op)
        values.update(zip(variables, new.results[len(types) :], strict=True))


def extend_terminator(block: Block, values: Sequence[SSAValue]) -> None:
    """Gives the terminator of a block more operands."""
    last = block.last_op
    assert last is not None
    if values:
        last.operands = [*last.operands, *values]


def first_of(block: Block) -> Operation:
    first = block.first_op
    assert first is not None
    return first


def zero_of(element: Attribute) -> Attribute:
    """The value of a `Const` of zeros."""
    if isinstance(element, IntegerType):
        return IntegerAttr(0, element)
    assert isinstance(element, AnyFloat)
    return IntegerAttr(0, i8) if element.name.startswith("f8") else FloatAttr(0.0, element)
