"""How long instructions take, by the numbers in ``target.py``.

One core issues one instruction a cycle, in order. An instruction waits for its operands and for its unit, which it
keeps busy for a while (see `occupancy`); its result can be used after the unit's latency. A block of a program begins
when all units are free again. So the time of a block is always the same and is computed once; what a launch takes is
the sum over the blocks that ran. On top of that, a launch is never faster than device memory moves its bytes.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cache
from math import ceil
from typing import Final

from ..assembler.opcodes import CLASSES
from ..assembler.program import Block, Instruction, Location, Register, RegisterFile
from ..dialects.isa.base import Instruction as DialectInstruction
from ..dialects.isa.base import Unit
from ..target import LATENCIES, MATRIX_TILE, VECTOR_LANES

_MACHINE: Final = {
    "jump": Unit.CONTROL,
    "branch": Unit.CONTROL,
    "branch.unless": Unit.CONTROL,
    "argument": Unit.SCALAR,
    "spill": Unit.MEMORY,
    "reload": Unit.MEMORY,
    "move": Unit.VECTOR,
}

BY_LANE: Final = frozenset(("gather", "scatter", "atomic.rmw", "atomic.cas", "atomic.poll"))


def peaks() -> dict[str, float]:
    """Arithmetic operations of a cycle, by unit: a multiply and an add for each lane, or each element of the tile."""
    found = {"vector unit": 2 * VECTOR_LANES / LATENCIES["vector"][1]}
    if MATRIX_TILE is not None:
        found["matrix unit"] = 2 * MATRIX_TILE[0] * MATRIX_TILE[1] / LATENCIES["matrix"][1]
    return found


PEAKS: Final = peaks()


@cache
def _unit(name: str) -> Unit:
    cls = CLASSES.get(name)
    if cls is not None and issubclass(cls, DialectInstruction):
        return cls.UNIT
    return _MACHINE.get(name, Unit.SCALAR)


def unit_of(instruction: Instruction) -> Unit:
    """The unit that an instruction runs on: vector instructions on scalars run on the scalar unit."""
    unit = _unit(instruction.name)
    if unit is Unit.VECTOR:
        registers = (*instruction.results, *instruction.operands)
        if all(register.type.lanes == 1 for register in registers):
            return Unit.SCALAR
    return unit


def occupancy(instruction: Instruction, unit: Unit) -> int:
    """Cycles for which the unit is busy: per vector register, per lane, or per step of k."""
    rate: float = LATENCIES[unit.value][1]
    registers = (*instruction.results, *instruction.operands)
    if instruction.name == "mma":
        steps = instruction.immediates[2]
        assert isinstance(steps, int)
        return max(ceil(rate * steps), 1)
    if instruction.name in BY_LANE:
        return ceil(rate * max(register.type.lanes for register in registers))
    vectors = (r.type.registers for r in registers if r.type.file is RegisterFile.VECTOR)
    return ceil(rate * max(vectors, default=1))


def _flops(name: str) -> int:
    cls = CLASSES.get(name)
    return cls.FLOPS if cls is not None and issubclass(cls, DialectInstruction) else 0


def operations(instruction: Instruction) -> int:
    """Arithmetic operations on floats (and in the matrix unit): a fused multiply-add is two."""
    if instruction.name == "mma":
        m, n, k = (value for value in instruction.immediates[:3] if isinstance(value, int))
        return 2 * m * n * k
    registers = (*instruction.results, *instruction.operands)
    return _flops(instruction.name) * max((register.type.lanes for register in registers), default=1)


@dataclass
class BlockCost:
    """Of one execution of a block. ``busy`` and ``instructions`` are by unit, ``lines`` are cycles by source line.

    ``waits``: cycles in which no instruction was issued, since the next one needs a result that is not there yet, by
    the unit that computes it.
    """

    cycles: int = 0
    busy: dict[Unit, int] = field(default_factory=lambda: defaultdict(int))
    instructions: dict[Unit, int] = field(default_factory=lambda: defaultdict(int))
    waits: dict[Unit, int] = field(default_factory=lambda: defaultdict(int))
    operations: int = 0
    lines: dict[Location | None, int] = field(default_factory=lambda: defaultdict(int))


def cost_of(block: Block) -> BlockCost:
    """The time of a block, and what it does."""
    cost = BlockCost()
    free: dict[Unit, int] = defaultdict(int)
    ready: dict[tuple[RegisterFile, int], tuple[int, Unit]] = {}
    issue, line = 0, None
    for instruction, line in zip(block.code, lines_of(block), strict=True):
        unit = unit_of(instruction)
        busy = occupancy(instruction, unit)
        start = possible = max(issue, free[unit])
        maker = unit
        for register in instruction.operands:
            for cell in _cells(register):
                when, by = ready.get(cell, (0, unit))
                if when > start:
                    start, maker = when, by
        if start > possible:
            cost.waits[maker] += start - possible
        free[unit] = start + busy
        for register in instruction.results:
            for cell in _cells(register):
                ready[cell] = (start + busy - 1 + LATENCIES[unit.value][0], unit)
        cost.busy[unit] += busy
        cost.instructions[unit] += 1
        cost.operations += operations(instruction)
        cost.lines[line] += start + 1 - issue
        issue = start + 1
    cost.cycles = max([issue, *free.values()])
    if block.code:
        cost.lines[line] += cost.cycles - issue
    return cost


def lines_of(block: Block) -> list[Location | None]:
    """The source line of each instruction, whatever the column.

    Addresses and masks have none: they count for the line of what comes after them, which they are mostly for.
    """
    places = [instruction.location for instruction in block.code]
    nearest = next((place for place in reversed(places) if place is not None), None)
    found: list[Location | None] = []
    for place in reversed(places):
        nearest = place or nearest
        found.append(nearest and nearest._replace(column=0))
    return found[::-1]


def _cells(register: Register) -> list[tuple[RegisterFile, int]]:
    ty = register.type
    return [(ty.file, number) for number in range(register.number, register.number + ty.registers)]
