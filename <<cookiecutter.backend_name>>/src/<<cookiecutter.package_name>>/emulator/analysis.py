"""What can be said of a program before it runs: which registers may be read unwritten, where addresses come from.

A forward data-flow analysis over cells: every machine register, and every slot that registers are spilled to. Sets of
cells are the bits of Python integers.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from ..assembler.program import Instruction, Program, Register, RegisterFile

ADDRESS_OPERAND: Final = {
    "load": 0,
    "load.masked": 0,
    "gather": 0,
    "store": 1,
    "store.masked": 1,
    "store.streaming": 1,
    "scatter": 1,
    "atomic.rmw": 0,
    "atomic.cas": 0,
    "atomic.poll": 0,
    "mma": 0,
}
"""Instruction -> the operand that its address is in."""

FROM_MEMORY: Final = frozenset(("load", "load.masked", "gather", "atomic.rmw", "atomic.cas", "atomic.poll"))

_FIRST: Final = {
    RegisterFile.SCALAR: 0,
    RegisterFile.VECTOR: RegisterFile.SCALAR.size,
    RegisterFile.PREDICATE: RegisterFile.SCALAR.size + RegisterFile.VECTOR.size,
}
_SLOTS: Final = sum(file.size for file in RegisterFile)


def cells_of(register: Register) -> int:
    """The cells of a register (group)."""
    count = register.type.registers
    return ((1 << count) - 1) << (_FIRST[register.type.file] + register.number)


@dataclass
class Analysis:
    """``unwritten``: ``id`` of the instructions that may read a register before it is written. ``unknown``: ``id`` of
    those that access memory at an address that comes from no pointer of the launch, such as one read from memory."""

    unwritten: set[int] = field(default_factory=set)
    unknown: set[int] = field(default_factory=set)


@dataclass
class _State:
    written: int
    pointers: int


def analyse(program: Program, pointers: Collection[int]) -> Analysis:
    """``pointers``: the parameters that point to memory whose extent is known."""
    slots: dict[int, int] = {}

    def slot(offset: int) -> int:
        return 1 << (_SLOTS + slots.setdefault(offset, len(slots)))

    def run(instruction: Instruction, state: _State) -> tuple[bool, bool]:
        """Moves `state` past an instruction; whether all it reads is written, and its address is known."""
        read = written = 0
        for register in instruction.operands:
            read |= cells_of(register)
        for register in instruction.results:
            written |= cells_of(register)
        name = instruction.name
        if name == "spill":
            written |= slot(_integer(instruction))
        elif name == "reload":
            read |= slot(_integer(instruction))
        complete = read & ~state.written == 0
        at = ADDRESS_OPERAND.get(name)
        known = at is None or cells_of(instruction.operands[at]) & state.pointers != 0
        derived = (
            name == "scratch"
            or (name == "argument" and _integer(instruction) in pointers)
            or (name not in FROM_MEMORY and read & state.pointers != 0)
        )
        state.written |= written
        state.pointers = state.pointers | written if derived else state.pointers & ~written
        return complete, known

    successors = program.successors()
    before: list[_State | None] = [None] * len(program.blocks)
    before[0] = _State(0, 0)
    waiting = [0]
    while waiting:
        number = waiting.pop()
        start = before[number]
        assert start is not None
        state = _State(start.written, start.pointers)
        for instruction in program.blocks[number].code:
            run(instruction, state)
        for successor in successors[number]:
            known = before[successor]
            merged = (
                _State(state.written, state.pointers)
                if known is None
                else _State(known.written & state.written, known.pointers | state.pointers)
            )
            if merged != known:
                before[successor] = merged
                waiting.append(successor)
    result = Analysis()
    for start, block in zip(before, program.blocks, strict=True):
        state = _State(-1, 0) if start is None else _State(start.written, start.pointers)
        for instruction in block.code:
            complete, known_address = run(instruction, state)
            if not complete:
                result.unwritten.add(id(instruction))
            if not known_address:
                result.unknown.add(id(instruction))
    return result


def _integer(instruction: Instruction) -> int:
    (number,) = instruction.immediates
    assert isinstance(number, int)
    return number
