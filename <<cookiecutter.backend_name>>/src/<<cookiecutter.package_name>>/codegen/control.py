"""Kernels and control flow: the loop over the programs of a launch, ``scf`` and ``cf``, traps, printing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import cf, scf
from xdsl.ir import Block, Operation, Region, SSAValue

from ..dialects.graph import reverse_postorder
from ..dialects.isa import control as isa
from ..dialects.isa.addresses import counts_unsigned
from ..dialects.isa.base import Instruction, Unit, lanes_of
from ..dialects.isa.memory import StoreStreaming
from ..dialects.locations import location_of
from ..dialects.walk import operations_in
from ..errors import CompileError
from .emission import Emitter, Phi, Program, emits
from .matrix import emit_tile_loops
from .registers import register_type

AXES = 3
SLOT_BYTES = 8
"""Distance of two kernel arguments in memory."""
RESULT = "{ i32, i64 }"
"""The code of a trap and the number of a program."""


def emit_kernel(e: Emitter, kernel: isa.Kernel) -> str:
    """The LLVM function of a kernel: runs the programs ``first <= id < last`` one after the other.

    Returns zeros, or the code of the trap that ended the launch and the id of the program that ran into it.
    """
    entry = kernel.body.blocks.first
    if entry is None:
        raise CompileError(f"kernel {kernel.sym_name.data} has no body (a bug of this backend)")
    ops = operations_in(kernel)
    e.vector_bits = e.host.streaming_bits if _mostly_moves(ops) else e.host.vector_bits
    e.streams = any(type(op) is StoreStreaming for op in ops)
    for slot, argument in enumerate(entry.args):
        e.bind(argument, _load_argument(e, argument, slot))
    extents = [_load_extent(e, axis) for axis in range(AXES)]
    scratch = e.let("ptrtoint ptr %scratch to i64")
    start = _coordinates(e, extents)
    program, following, done = "program", "next", "done"
    e.branch(e.let("icmp slt i64 %first, %last"), program, done)

    e.begin(program)
    number = e.phi("i64")
    number.add("%first", "entry")
    coordinates = [e.phi("i32") for _ in range(AXES)]
    for phi, value in zip(coordinates, start, strict=True):
        phi.add(value, "entry")
    e.program = Program(number.name, [phi.name for phi in coordinates], extents, scratch, following)
    _emit_blocks(e, kernel.body)

    e.begin(following)
    for phi, value in zip(coordinates, _advance(e, [phi.name for phi in coordinates], extents), strict=True):
        phi.add(value, following)
    next_number = e.let(f"add nsw i64 {number.name}, 1")
    number.add(next_number, following)
    e.branch(e.let(f"icmp slt i64 {next_number}, %last"), program, done)
    e.begin(done)
    e.drain()
    e.do(f"ret {RESULT} zeroinitializer")
    return e.function(
        f'define {RESULT} @"{kernel.sym_name.data}"(ptr noalias %args, ptr noalias %scratch, ptr noalias %launch, '
        f"i64 %first, i64 %last) {e.module.attributes(e.vector_bits)}"
    )


def _mostly_moves(ops: Iterable[Operation]) -> bool:
    """Whether there is no more arithmetic on vectors than loads and stores of them."""
    balance = 0
    for op in ops:
        if isinstance(op, Instruction) and any(lanes_of(value.type) > 1 for value in op.operands):
            if op.UNIT is Unit.MEMORY:
                balance += 1
            elif op.UNIT is not Unit.CONTROL:
                balance -= 1
    return balance >= 0


def _load_argument(e: Emitter, argument: SSAValue, slot: int) -> str:
    ty = register_type(argument.type)
    address = e.let(f"getelementptr i8, ptr %args, i64 {slot * SLOT_BYTES}")
    if ty.is_predicate:
        byte = e.let(f"load i8, ptr {address}, align 8")
        return e.let(f"icmp ne i8 {byte}, 0")
    return e.let(f"load {ty.text}, ptr {address}, align 8")


def _load_extent(e: Emitter, axis: int) -> str:
    address = e.let(f"getelementptr i32, ptr %launch, i64 {axis}")
    return e.let(f"load i32, ptr {address}, align 4")


def _coordinates(e: Emitter, extents: Sequence[str]) -> list[str]:
    """The grid coordinates of program ``%first``. The divisor is never 0, whatever the grid."""
    rest, coordinates = "%first", []
    for extent in extents[:-1]:
        positive = e.call("i32", "llvm.umax.i32", ("i32", extent), ("i32", "1"))
        divisor = e.let(f"zext i32 {positive} to i64")
        coordinates.append(e.let(f"trunc i64 {e.let(f'urem i64 {rest}, {divisor}')} to i32"))
        rest = e.let(f"udiv i64 {rest}, {divisor}")
    return [*coordinates, e.let(f"trunc i64 {rest} to i32")]


def _advance(e: Emitter, coordinates: Sequence[str], extents: Sequence[str]) -> list[str]:
    """The coordinates of the program after the one at `coordinates`."""
    carry, result = "1", []
    for coordinate, extent in zip(coordinates[:-1], extents[:-1], strict=True):
        more = e.let(f"add i32 {coordinate}, {carry}")
        wraps = e.let(f"icmp uge i32 {more}, {extent}")
        result.append(e.let(f"select i1 {wraps}, i32 0, i32 {more}"))
        carry = e.let(f"zext i1 {wraps} to i32")
    return [*result, e.let(f"add i32 {coordinates[-1]}, {carry}")]


def program_of(e: Emitter, op: Operation) -> Program:
    if e.program is None:
        raise CompileError(f"{op.name} outside of a kernel (a bug of this backend)", location=location_of(op))
    return e.program


@emits(isa.ProgramId)
def program_id(e: Emitter, op: isa.ProgramId) -> None:
    e.bind(op.result, program_of(e, op).coordinates[op.axis.value.data])


@emits(isa.NumPrograms)
def num_programs(e: Emitter, op: isa.NumPrograms) -> None:
    e.bind(op.result, program_of(e, op).extents[op.axis.value.data])


@emits(isa.Return)
def return_(e: Emitter, op: isa.Return) -> None:
    e.jump(program_of(e, op).end)


@emits(isa.Trap)
def trap(e: Emitter, op: isa.Trap) -> None:
    trapped, after = e.label("trap"), e.label("fine")
    e.branch(e.ref(op.condition), trapped, after)
    e.begin(trapped)
    number = program_of(e, op).number
    result = e.let(f"insertvalue {RESULT} {{ i32 {op.code.value.data}, i64 0 }}, i64 {number}, 1")
    e.do(f"ret {RESULT} {result}")
    e.begin(after)


@emits(isa.Fence)
def fence(e: Emitter, op: isa.Fence) -> None:
    e.drain()
    e.do("fence seq_cst")


def _as_printed(e: Emitter, argument: SSAValue) -> str:
    if e.type(argument).format == "f32":
        return f"double {e.let(f'fpext {e.typed(argument)} to double')}"
    return e.typed(argument)


@emits(isa.Print)
def print_(e: Emitter, op: isa.Print) -> None:
    text = e.module.constant(op.format.data.encode() + b"\0")
    arguments = "".join(f", {_as_printed(e, argument)}" for argument in op.args)
    e.module.declare("i32", "printf", "ptr, ...")
    e.do(f"call i32 (ptr, ...) @printf(ptr {text}{arguments})")
    e.call("i32", "fflush", ("ptr", "null"))


# --- unstructured control flow ----------------------------------------------------------------------------------


def _emit_blocks(e: Emitter, region: Region) -> None:
    """Emits the blocks of a kernel that can be reached, each after those that dominate it."""
    blocks = reverse_postorder(region.blocks[0])
    for block in blocks[1:]:
        e.labels[block] = e.label("block")
        e.edges[block] = [Phi(e.fresh(), register_type(a.type).text) for a in block.args]
    e.emit(blocks[0].ops)
    for block in blocks[1:]:
        e.begin(e.labels[block])
        for argument, phi in zip(block.args, e.edges[block], strict=True):
            e.lines.append(phi)
            e.bind(argument, phi.name)
        e.emit(block.ops)


def _leave(e: Emitter, target: Block, arguments: Sequence[SSAValue]) -> None:
    """Passes `arguments` to `target` on the edge from the current block."""
    for phi, argument in zip(e.edges[target], arguments, strict=True):
        phi.add(e.ref(argument), e.block)


@emits(cf.BranchOp)
def branch(e: Emitter, op: cf.BranchOp) -> None:
    _leave(e, op.successor, op.arguments)
    e.jump(e.labels[op.successor])


@emits(cf.ConditionalBranchOp)
def conditional_branch(e: Emitter, op: cf.ConditionalBranchOp) -> None:
    # Both edges get a block of their own: they may lead to the same target with different arguments.
    sides = [e.label("edge"), e.label("edge")]
    e.branch(e.ref(op.cond), *sides)
    for side, target, arguments in zip(
        sides, (op.then_block, op.else_block), (op.then_arguments, op.else_arguments), strict=True
    ):
        e.begin(side)
        _leave(e, target, arguments)
        e.jump(e.labels[target])


@emits(scf.ExecuteRegionOp)
def execute_region(e: Emitter, op: scf.ExecuteRegionOp) -> None:
    after = e.label("endregion")
    phis = [Phi(e.fresh(), register_type(result.type).text) for result in op.results]
    e.exits.append((after, phis))
    _emit_blocks(e, op.region)
    e.exits.pop()
    e.begin(after)
    for result, phi in zip(op.results, phis, strict=True):
        e.lines.append(phi)
        e.bind(result, phi.name)


@emits(scf.YieldOp)
def leave_region(e: Emitter, op: scf.YieldOp) -> None:
    """A yield of an ``scf.execute_region``; those of loops and conditions are emitted with them."""
    after, phis = e.exits[-1]
    for phi, value in zip(phis, op.operands, strict=True):
        phi.add(e.ref(value), e.block)
    e.jump(after)


# --- structured control flow ------------------------------------------------------------------------------------


def _body(e: Emitter, block: Block, terminator: type[Operation]) -> Sequence[SSAValue]:
    """Emits `block` but not its terminator; gives the terminator's operands."""
    last = block.last_op
    if not isinstance(last, terminator):
        raise CompileError(
            f"a region ends without {terminator.name} (a bug of this backend)",
            location=location_of(block.parent_op()),
        )
    e.emit(op for op in block.ops if op is not last)
    return last.operands


@emits(scf.ForOp)
def for_(e: Emitter, op: scf.ForOp) -> None:
    if emit_tile_loops(e, op):
        return
    block = op.body.block
    ty = e.type(op.lb).text
    lower, upper, step = e.ref(op.lb), e.ref(op.ub), e.ref(op.step)
    sign = "u" if counts_unsigned(op) else "s"
    before, body, after = e.block, e.label("for"), e.label("endfor")
    runs = _runs(e, op)
    if runs:
        e.jump(body)
    else:
        e.branch(e.let(f"icmp {sign}lt {ty} {lower}, {upper}"), body, after)

    e.begin(body)
    counter = e.phi(ty)
    counter.add(lower, before)
    e.bind(block.args[0], counter.name)
    carried = [e.phi(register_type(argument.type).text) for argument in block.args[1:]]
    for phi, argument, initial in zip(carried, block.args[1:], op.iter_args, strict=True):
        phi.add(e.ref(initial), before)
        e.bind(argument, phi.name)
    values = [e.ref(value) for value in _body(e, block, scf.YieldOp)]
    latch = e.block
    following = e.let(f"add {ty} {counter.name}, {step}")
    counter.add(following, latch)
    for phi, value in zip(carried, values, strict=True):
        phi.add(value, latch)
    e.branch(_goes_on(e, op, counter.name, following, ty, sign), body, after)

    e.begin(after)
    for result, initial, value in zip(op.res, op.iter_args, values, strict=True):
        if runs:
            e.bind(result, value)
            continue
        phi = e.phi(register_type(result.type).text)
        phi.add(e.ref(initial), before)
        phi.add(value, latch)
        e.bind(result, phi.name)


def _runs(e: Emitter, op: scf.ForOp) -> bool:
    """Whether a loop is known to run at least once; then it needs no way around it."""
    lower, upper = e.constant(op.lb), e.constant(op.ub)
    return lower is not None and upper is not None and 0 <= lower < upper


def _goes_on(e: Emitter, op: scf.ForOp, counter: str, following: str, ty: str, sign: str) -> str:
    """Whether a loop runs again. Sums past the end of the type never make it endless."""
    upper, step = e.constant(op.ub), e.constant(op.step)
    if step == 1 or (step is not None and upper is not None and upper + step < 2**31 and sign == "s"):
        return e.let(f"icmp {sign}lt {ty} {following}, {e.ref(op.ub)}")
    left = e.let(f"sub {ty} {e.ref(op.ub)}, {counter}")
    return e.let(f"icmp ugt {ty} {left}, {e.ref(op.step)}")


@emits(scf.IfOp)
def if_(e: Emitter, op: scf.IfOp) -> None:
    then, otherwise, after = e.label("then"), e.label("else"), e.label("endif")
    has_else = bool(op.false_region.blocks)
    e.branch(e.ref(op.cond), then, otherwise if has_else else after)
    incoming: list[tuple[list[str], str]] = []
    for label, region in ((then, op.true_region), (otherwise, op.false_region)):
        if not region.blocks:
            continue
        e.begin(label)
        values = [e.ref(value) for value in _body(e, region.block, scf.YieldOp)]
        incoming.append((values, e.block))
        e.jump(after)
    e.begin(after)
    for i, result in enumerate(op.output):
        phi = e.phi(register_type(result.type).text)
        for values, label in incoming:
            phi.add(values[i], label)
        e.bind(result, phi.name)


@emits(scf.WhileOp)
def while_(e: Emitter, op: scf.WhileOp) -> None:
    before, head, body, after = e.block, e.label("while"), e.label("do"), e.label("endwhile")
    e.jump(head)
    e.begin(head)
    first, second = op.before_region.block, op.after_region.block
    carried = [e.phi(register_type(argument.type).text) for argument in first.args]
    for phi, argument, initial in zip(carried, first.args, op.arguments, strict=True):
        phi.add(e.ref(initial), before)
        e.bind(argument, phi.name)
    condition, *passed = [e.ref(value) for value in _body(e, first, scf.ConditionOp)]
    e.branch(condition, body, after)
    e.begin(body)
    for argument, value in zip(second.args, passed, strict=True):
        e.bind(argument, value)
    for phi, following in zip(carried, _body(e, second, scf.YieldOp), strict=True):
        phi.add(e.ref(following), e.block)
    e.jump(head)
    e.begin(after)
    for result, value in zip(op.res, passed, strict=True):
        e.bind(result, value)
