"""What can be said of a program before it runs: which registers may be read unwritten, where addresses come from.

A forward data-flow analysis over cells: every machine register, and every slot that registers are spilled to. Sets of
cells are the bits of Python integers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
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


@dataclass(frozen=True)
class _State:
    """The cells that are certainly written, and those that may be derived from a pointer, at a place of a program."""

    written: int = 0
    pointers: int = 0

    def joined(self, other: _State) -> _State:
        return _State(self.written & other.written, self.pointers | other.pointers)


UNREACHABLE: Final = _State(written=-1)
"""Where nothing arrives, everything may be taken as written."""


def analyse(program: Program, pointers: Collection[int]) -> Analysis:
    """``pointers``: the parameters that point to memory whose extent is known."""
    effects = _Effects(pointers)
    states = _states_before(program, effects)
    result = Analysis()
    for block, state in zip(program.blocks, states, strict=True):
        for instruction in block.code:
            if effects.cells_read(instruction) & ~state.written:
                result.unwritten.add(id(instruction))
            at = ADDRESS_OPERAND.get(instruction.name)
            if at is not None and not cells_of(instruction.operands[at]) & state.pointers:
                result.unknown.add(id(instruction))
            state = effects.after(instruction, state)
    return result


def _states_before(program: Program, effects: _Effects) -> list[_State]:
    """The state before each block: of all that may arrive there, joined until nothing changes."""
    successors = program.successors()
    before: dict[int, _State] = {0: _State()}
    waiting = [0]
    while waiting:
        number = waiting.pop()
        state = before[number]
        for instruction in program.blocks[number].code:
            state = effects.after(instruction, state)
        for successor in successors[number]:
            known = before.get(successor)
            joined = state if known is None else known.joined(state)
            if joined != known:
                before[successor] = joined
                waiting.append(successor)
    return [before.get(number, UNREACHABLE) for number in range(len(program.blocks))]


class _Effects:
    """What instructions read and write, spill slots included, and what is derived from pointers."""

    def __init__(self, pointers: Collection[int]) -> None:
        self.pointers = pointers
        self._slots: dict[int, int] = {}
        """Offset of a spill slot -> its number."""

    def after(self, instruction: Instruction, state: _State) -> _State:
        written = self.cells_written(instruction)
        name = instruction.name
        derived = (
            name == "scratch"
            or (name == "argument" and _integer(instruction) in self.pointers)
            or (name not in FROM_MEMORY and self.cells_read(instruction) & state.pointers != 0)
        )
        pointers = state.pointers | written if derived else state.pointers & ~written
        return _State(state.written | written, pointers)

    def cells_read(self, instruction: Instruction) -> int:
        cells = _cells(instruction.operands)
        return cells | self._slot(instruction) if instruction.name == "reload" else cells

    def cells_written(self, instruction: Instruction) -> int:
        cells = _cells(instruction.results)
        return cells | self._slot(instruction) if instruction.name == "spill" else cells

    def _slot(self, instruction: Instruction) -> int:
        return 1 << (_SLOTS + self._slots.setdefault(_integer(instruction), len(self._slots)))


def _cells(registers: Iterable[Register]) -> int:
    cells = 0
    for register in registers:
        cells |= cells_of(register)
    return cells


def _integer(instruction: Instruction) -> int:
    (number,) = instruction.immediates
    assert isinstance(number, int)
    return number
