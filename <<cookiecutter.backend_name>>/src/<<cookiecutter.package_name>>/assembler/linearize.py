"""From structured instructions on SSA values to blocks of instructions on virtual registers.

Values that arrive from several places (block arguments, what a loop carries, results of ``scf.if``) have one register
each, which every place moves its value into. The allocator (``registers.py``) removes most of the moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, Final, cast

from xdsl.dialects import cf, scf
from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir import Block as SsaBlock

from ..dialects.graph import reverse_postorder
from ..dialects.isa import lanes
from ..dialects.isa.addresses import counts_unsigned
from ..dialects.isa.alu import Predicate
from ..dialects.isa.control import Kernel
from ..dialects.locations import LOC, SourceLoc, place_of
from ..errors import CompileError, UnsupportedOperation
from ..rounding import bfloat16_bits
from ..target import BACKEND_NAME
from .opcodes import PREDICATE, Kind, form_of
from .program import Block, Immediate, Instruction, Location, Program, Register, Type, type_of

PREFIX: Final = f"{BACKEND_NAME}."


def linearize_module(module: ModuleOp) -> Program:
    """The linear program of a module with one kernel, on virtual registers. Raises CompileError."""
    kernels = [op for op in module.ops if isinstance(op, Kernel)]
    if len(kernels) != 1 or len(list(module.ops)) != 1:
        raise CompileError(f"a program is made of a module with one kernel, and this one has {len(kernels)}")
    return _Linearizer(kernels[0]).run()


def immediate_of(kind: Kind, value: Attribute, result: Type | None) -> Immediate:
    """The immediate that a property becomes; `result` is the type of what the instruction gives, if anything."""
    match kind, value:
        case Kind.INTEGER, IntegerAttr():
            return int(value.value.data)
        case Kind.LIST, DenseArrayBase():
            values: Sequence[Any] = cast(Any, value).get_values()
            return tuple(int(item) for item in values)
        case Kind.STRING, StringAttr():
            return value.data
        case Kind.WORD, Predicate():
            return value.data
        case Kind.ELEMENT, _:
            return str(value)
        case Kind.BITS, IntegerAttr() | FloatAttr() if result is not None:
            return number_bits(value.value.data, result)
        case _:
            raise UnsupportedOperation(
                f"no encoding for the property {value}", add_support_in="assembler/opcodes.py"
            )


def number_bits(value: int | float, ty: Type) -> int:
    """The bits of a number in a lane of `ty`, rounded to nearest; fp8 numbers are given by their bits."""
    import numpy as np

    if ty.element in ("f16", "f32", "f64"):
        with np.errstate(over="ignore"):
            stored = np.array(value, f"f{ty.bits // 8}")
        return int(stored.view(f"u{ty.bits // 8}"))
    if ty.element == "bf16":
        return bfloat16_bits(float(value))
    return int(value) & ((1 << ty.bits) - 1)


def parallel_moves(
    moves: Iterable[tuple[Register, Register]], fresh: Callable[[Type], Register]
) -> list[tuple[Register, Register]]:
    """``(to, from)`` pairs that all happen at once, as a sequence of single ones; `fresh` gives a spare register.

    A move can be done when nobody still wants what is in its target. When all targets are wanted they form cycles,
    and one value moves to a spare register.
    """
    waiting = {to: source for to, source in moves if to != source}
    ordered: list[tuple[Register, Register]] = []
    while waiting:
        wanted = set(waiting.values())
        free = [to for to in waiting if to not in wanted]
        for to in free:
            ordered.append((to, waiting.pop(to)))
        if not free:
            to = next(iter(waiting))
            spare = fresh(to.type)
            ordered.append((spare, to))
            waiting = {target: spare if source == to else source for target, source in waiting.items()}
    return ordered


@lru_cache(maxsize=4096)
def location_at(where: SourceLoc) -> Location:
    return Location(*where.place, where.inside.data)


class _Linearizer:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.values: dict[SSAValue, Register] = {}
        self.labels: dict[SsaBlock, str] = {}
        self.exits: list[tuple[str, list[Register]]] = []
        """Where each open ``scf.execute_region`` goes on, and the registers of its results."""
        self.registers = 0
        self.location: Location | None = None
        self.label_counts = 0
        self.program = Program(
            kernel.sym_name.data,
            tuple(type_of(ty) for ty in kernel.function_type.inputs),
            kernel.scratch_bytes.value.data,
            tuple(tuple(field.data for field in cast(Any, trap)) for trap in kernel.traps),
            [Block("entry")],
        )

    def run(self) -> Program:
        for slot, argument in enumerate(self.kernel.body.blocks[0].args):
            register = self.values[argument] = self.fresh(type_of(argument.type))
            self.put("argument", (register,), (), (slot,))
        self.region(self.kernel.body)
        return self.program

    # --- pieces -------------------------------------------------------------------------------------------------

    def fresh(self, ty: Type) -> Register:
        self.registers += 1
        return Register(self.registers, ty)

    def fresh_for(self, values: Sequence[SSAValue]) -> list[Register]:
        """New registers for `values`, which are these from now on."""
        registers = [self.fresh(type_of(value.type)) for value in values]
        self.values.update(zip(values, registers, strict=True))
        return registers

    def of(self, values: Iterable[SSAValue]) -> list[Register]:
        return [self.values[value] for value in values]

    def put(
        self,
        name: str,
        results: Sequence[Register] = (),
        operands: Sequence[Register] = (),
        immediates: Sequence[Immediate] = (),
        target: str = "",
    ) -> None:
        instruction = Instruction(
            name, tuple(results), tuple(operands), tuple(immediates), target, self.location
        )
        self.program.blocks[-1].code.append(instruction)

    def label(self, hint: str) -> str:
        self.label_counts += 1
        return f"{hint}.{self.label_counts}"

    def begin(self, label: str) -> None:
        self.program.blocks.append(Block(label))

    def move(self, to: Sequence[Register], source: Sequence[Register]) -> None:
        for target, value in parallel_moves(zip(to, source, strict=True), self.fresh):
            self.put("move", (target,), (value,))

    def compare(self, how: str, lhs: Register, rhs: Register) -> Register:
        result = self.fresh(PREDICATE)
        self.put("cmpi", (result,), (lhs, rhs), (how,))
        return result

    # --- operations ---------------------------------------------------------------------------------------------

    def ops(self, ops: Iterable[Operation]) -> None:
        outer = self.location
        for op in ops:
            where = op.attributes.get(LOC)
            self.location = location_at(where) if isinstance(where, SourceLoc) else outer
            structured = _STRUCTURED.get(type(op))
            if structured is not None:
                structured(self, op)
            else:
                self.instruction(op)
        self.location = outer

    def instruction(self, op: Operation) -> None:
        name = op.name.removeprefix(PREFIX)
        if name == op.name:
            raise UnsupportedOperation(
                f"{op.name} is not an instruction of this machine: the assembler has no code for it",
                location=place_of(op),
                add_support_in="assembler/linearize.py, in _STRUCTURED (or a pass in passes/ replaces it)",
            )
        try:
            form = form_of(name)
        except UnsupportedOperation as error:
            raise error.at(place_of(op)) from None
        operands = self.of(op.operands)
        results = self.fresh_for(op.results)
        result = results[0].type if results else None
        immediates = [immediate_of(kind, op.properties[role], result) for role, kind in form.immediates]
        self.put(name, results, operands, immediates)

    def body(self, block: SsaBlock) -> list[Register]:
        """The instructions of a block without its terminator, whose operands it gives."""
        last = block.last_op
        assert last is not None
        self.ops(op for op in block.ops if op is not last)
        return self.of(last.operands)

    def for_(self, op: scf.ForOp) -> None:
        block = op.body.block
        lower, upper, step = self.of((op.lb, op.ub, op.step))
        less = "ult" if counts_unsigned(op) else "slt"
        body, after = self.label("for"), self.label("endfor")
        counter, *carried = self.fresh_for(block.args)
        self.move([counter, *carried], [lower, *self.of(op.iter_args)])
        self.put("branch.unless", (), (self.compare(less, lower, upper),), (), after)
        self.begin(body)
        values = self.body(block)
        following = self.fresh(counter.type)
        self.put("addi", (following,), (counter, step))
        if lanes.constant_of(op.step) == 1:
            again = self.compare(less, following, upper)
        else:  # a sum past the end of the type must not make the loop endless
            left = self.fresh(counter.type)
            self.put("subi", (left,), (upper, counter))
            again = self.compare("ugt", left, step)
        self.move([counter, *carried], [following, *values])
        self.put("branch", (), (again,), (), body)
        self.begin(after)
        self.values.update(zip(op.results, carried, strict=True))

    def while_(self, op: scf.WhileOp) -> None:
        first, second = op.before_region.block, op.after_region.block
        head, body, after = self.label("while"), self.label("do"), self.label("endwhile")
        carried = self.fresh_for(first.args)
        self.move(carried, self.of(op.arguments))
        self.begin(head)
        condition, *passed = self.body(first)
        self.put("branch.unless", (), (condition,), (), after)
        self.begin(body)
        self.values.update(zip(second.args, passed, strict=True))
        self.move(carried, self.body(second))
        self.put("jump", target=head)
        self.begin(after)
        self.values.update(zip(op.results, passed, strict=True))

    def if_(self, op: scf.IfOp) -> None:
        otherwise, after = self.label("else"), self.label("endif")
        results = self.fresh_for(op.output)
        has_else = bool(op.false_region.blocks)
        self.put("branch.unless", (), (self.values[op.cond],), (), otherwise if has_else else after)
        self.begin(self.label("then"))
        self.move(results, self.body(op.true_region.block))
        if has_else:
            self.put("jump", target=after)
            self.begin(otherwise)
            self.move(results, self.body(op.false_region.block))
        self.begin(after)

    # --- control flow graphs ------------------------------------------------------------------------------------

    def region(self, region: Region) -> None:
        """Blocks that can be reached, the first of them right here."""
        blocks = reverse_postorder(region.blocks[0])
        for block in blocks[1:]:
            self.labels[block] = self.label("block")
            self.fresh_for(block.args)
        for number, block in enumerate(blocks):
            if number:
                self.begin(self.labels[block])
            self.ops(block.ops)

    def leave(self, target: SsaBlock, arguments: Sequence[SSAValue]) -> None:
        self.move(self.of(target.args), self.of(arguments))
        self.put("jump", target=self.labels[target])

    def branch(self, op: cf.BranchOp) -> None:
        self.leave(op.successor, op.arguments)

    def conditional_branch(self, op: cf.ConditionalBranchOp) -> None:
        # Each edge has a block of its own: both may lead to one target, with different arguments.
        otherwise = self.label("edge")
        self.put("branch.unless", (), (self.values[op.cond],), (), otherwise)
        self.begin(self.label("edge"))
        self.leave(op.then_block, op.then_arguments)
        self.begin(otherwise)
        self.leave(op.else_block, op.else_arguments)

    def execute_region(self, op: scf.ExecuteRegionOp) -> None:
        after = self.label("endregion")
        self.exits.append((after, self.fresh_for(op.results)))
        self.region(op.region)
        self.exits.pop()
        self.begin(after)

    def leave_region(self, op: scf.YieldOp) -> None:
        after, results = self.exits[-1]
        self.move(results, self.of(op.operands))
        self.put("jump", target=after)


_STRUCTURED: Final[dict[type[Operation], Callable[[_Linearizer, Any], None]]] = {
    scf.ForOp: _Linearizer.for_,
    scf.WhileOp: _Linearizer.while_,
    scf.IfOp: _Linearizer.if_,
    scf.ExecuteRegionOp: _Linearizer.execute_region,
    scf.YieldOp: _Linearizer.leave_region,
    cf.BranchOp: _Linearizer.branch,
    cf.ConditionalBranchOp: _Linearizer.conditional_branch,
}
