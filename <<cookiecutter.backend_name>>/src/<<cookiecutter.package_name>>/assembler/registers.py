"""Register allocation: virtual registers -> those of the target, by liveness; what does not fit is spilled.

Registers that are connected by moves and never hold different values at one time become one. The rest get machine
registers in the order of the program. One that finds none takes those whose values are the cheapest to have elsewhere:
recomputed where they are wanted (constants, addresses of the workspace, parameters), or kept in the workspace.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from ..target import SCRATCHPAD_BYTES, SCRATCHPAD_OVERFLOWS
from .errors import OutOfRegisters
from .liveness import bits, drop_dead_code, live_out, loop_depths, members
from .program import VECTOR_BITS, Block, Instruction, Program, Register, RegisterFile, Type

RECOMPUTED: Final = frozenset(("const", "lanes", "scratch", "program_id", "num_programs", "argument"))
"""Instructions without operands that cost no more than a reload."""

CHEAP: Final = 0.25
"""What recomputing costs, in reloads."""

WORKSPACE_ALIGNMENT: Final = 64

FILES: Final[Mapping[RegisterFile, int]] = {file: file.size for file in RegisterFile}


def allocate(program: Program, files: Mapping[RegisterFile, int] = FILES) -> Program:
    """`program` (which changes) with machine registers: at most ``files[file]`` of each file.

    Raises OutOfRegisters if an instruction alone needs more, or if there is no scratchpad left for the spilled ones and
    it does not overflow.
    """
    drop_dead_code(program)
    allocator = _Allocator(program, files)
    while not allocator.round():
        pass
    allocator.finish()
    return program


def spilled_size(ty: Type) -> int:
    """Bytes of a register (group) in the workspace; a predicate has a byte a lane."""
    if ty.file is RegisterFile.SCALAR:
        return 8
    if ty.file is RegisterFile.PREDICATE:
        return ty.lanes
    return ty.registers * VECTOR_BITS // 8


class _Allocator:
    def __init__(self, program: Program, files: Mapping[RegisterFile, int]) -> None:
        self.program = program
        self.files = files
        self.count = 1 + max(
            (r.number for i in program.instructions() for r in (*i.results, *i.operands)), default=0
        )
        self.spill_bytes = 0
        self.short: set[int] = set()
        """Registers that live from one instruction to the next: spilling them helps nobody."""
        self.places: dict[int, int] = {}
        self.web: list[int] = []

    def round(self) -> bool:
        """Finds a place for every register, or spills some and gives False."""
        self._collect()
        self._interferences()
        self._coalesce()
        spilled = self._place()
        if spilled:
            self._spill(spilled)
        return not spilled

    # --- what there is -------------------------------------------------------------------------------------------

    def _collect(self) -> None:
        self.types: dict[int, Type] = {}
        self.definitions: dict[int, list[Instruction]] = defaultdict(list)
        self.weights: dict[int, float] = defaultdict(float)
        self.order: list[int] = []
        self.moves: list[tuple[int, int, int]] = []
        for block, depth in zip(self.program.blocks, loop_depths(self.program), strict=True):
            worth = 10.0**depth
            for instruction in block.code:
                for register in (*instruction.results, *instruction.operands):
                    if register.number not in self.types:
                        self.types[register.number] = register.type
                        self.order.append(register.number)
                    self.weights[register.number] += worth
                for register in instruction.results:
                    self.definitions[register.number].append(instruction)
                if instruction.name == "move":
                    self.moves.append((depth, instruction.results[0].number, instruction.operands[0].number))
        for number in self.types:
            if number in self.short:
                self.weights[number] = math.inf
            elif self._recomputed(number):
                self.weights[number] *= CHEAP

    def _recomputed(self, number: int) -> Instruction | None:
        """The one instruction that defines a register, if it reads no register itself; else None."""
        definitions = self.definitions[number]
        return definitions[0] if len(definitions) == 1 and definitions[0].name in RECOMPUTED else None

    def _interferences(self) -> None:
        """Which registers must not be in one place: a result, and what is live after its instruction."""
        self.neighbours = [0] * self.count
        self.spans: dict[int, int] = defaultdict(int)
        neighbours, spans = self.neighbours, self.spans
        of_file: dict[RegisterFile, int] = defaultdict(int)
        for number, ty in self.types.items():
            of_file[ty.file] |= 1 << number
        for block, live in zip(self.program.blocks, live_out(self.program), strict=True):
            for number in members(live):
                spans[number] += len(block.code)
            for instruction in reversed(block.code):
                written = bits(instruction.results)
                beside = live | written
                if instruction.name == "move":
                    beside &= ~bits(instruction.operands)
                for result in instruction.results:
                    neighbours[result.number] |= beside & of_file[result.type.file] & ~(1 << result.number)
                    spans[result.number] += 1
                live = live & ~written | bits(instruction.operands)
        for number in self.types:
            for other in members(neighbours[number]):
                neighbours[other] |= 1 << number

    def _coalesce(self) -> None:
        """Joins the two sides of a move where they may be in one place; those in inner loops first."""
        web = self.web = list(range(self.count))
        for _, to, source in sorted(self.moves, reverse=True):
            if source in self.short or to in self.short or self._recomputed(source):
                continue
            to, source = self._find(to), self._find(source)
            if to == source or self.types[to] != self.types[source] or self.neighbours[to] >> source & 1:
                continue
            web[source] = to
            for other in members(self.neighbours[source]):
                self.neighbours[other] = self.neighbours[other] & ~(1 << source) | 1 << to
            self.neighbours[to] |= self.neighbours[source]
            self.neighbours[source] = 0
            self.weights[to] += self.weights[source]
            self.spans[to] += self.spans[source]

    def _find(self, number: int) -> int:
        while self.web[number] != number:
            number = self.web[number]
        return number

    # --- places ---------------------------------------------------------------------------------------------------

    def _place(self) -> set[int]:
        """Gives each web its first register; returns those that have to go elsewhere."""
        places = self.places = {}
        spilled: set[int] = set()
        for number in self.order:
            if self._find(number) != number or number in spilled:
                continue
            ty = self.types[number]
            size, available = ty.registers, self.files[ty.file]
            owners: list[set[int]] = [set() for _ in range(available)]
            for other in members(self.neighbours[number]):
                if other in places:
                    first = places[other]
                    for register in range(first, first + self.types[other].registers):
                        owners[register].add(other)
            best, best_cost, victims = -1, math.inf, set[int]()
            for first in range(0, available - size + 1, size):
                there = set[int]().union(*owners[first : first + size])
                cost = sum(map(self._cost, there))
                if cost < best_cost:
                    best, best_cost, victims = first, cost, there
                if not there:
                    break
            if best >= 0 and (not victims or best_cost < self._cost(number)):
                for victim in victims:
                    del places[victim]
                spilled |= victims
                places[number] = best
            elif number in self.short or size > available:
                self._give_up(number)
            else:
                spilled.add(number)
        return spilled

    def _cost(self, number: int) -> float:
        """Of a register's value being elsewhere: accesses, by the share of the program for which it would help."""
        return self.weights[number] / (1 + self.spans[number])

    def _give_up(self, number: int) -> None:
        ty = self.types[number]
        together = ty.registers + sum(
            self.types[other].registers for other in members(self.neighbours[number]) if other in self.short
        )
        users = (
            i for i in self.program.instructions() if number in {r.number for r in (*i.results, *i.operands)}
        )
        where = next((i.location for i in users if i.location), None)
        raise OutOfRegisters(
            together,
            self.files[ty.file],
            f"{ty.file.name.lower()} registers",
            where.place if where else "",
        )

    # --- spilling -------------------------------------------------------------------------------------------------

    def _spill(self, spilled: set[int]) -> None:
        base = -(-self.program.scratch_bytes // WORKSPACE_ALIGNMENT) * WORKSPACE_ALIGNMENT
        recomputed: dict[int, Instruction] = {}
        slots: dict[int, int] = {}
        alone = {
            number
            for number in spilled
            if not any(other != number and self._find(other) == number for other in self.types)
        }
        for number in sorted(spilled):
            maker = self._recomputed(number) if number in alone else None
            if maker is not None:
                recomputed[number] = maker
            else:
                slots[number] = base + self.spill_bytes
                self.spill_bytes += (
                    -(-spilled_size(self.types[number]) // WORKSPACE_ALIGNMENT) * WORKSPACE_ALIGNMENT
                )
        limit = SCRATCHPAD_BYTES
        if base + self.spill_bytes > limit and not SCRATCHPAD_OVERFLOWS:
            raise OutOfRegisters(
                base + self.spill_bytes, limit, "bytes of scratchpad, spilled registers included"
            )
        for block in self.program.blocks:
            self._rewrite(block, recomputed, slots)

    def _rewrite(self, block: Block, recomputed: Mapping[int, Instruction], slots: Mapping[int, int]) -> None:
        code: list[Instruction] = []
        for instruction in block.code:
            if len(instruction.results) == 1 and instruction.results[0].number in recomputed:
                continue
            if instruction.name == "move" and self._rewrite_move(instruction, slots, code):
                continue
            temporaries: dict[int, Register] = {}
            for operand in instruction.operands:
                root = self._find(operand.number)
                if operand.number in temporaries or (operand.number not in recomputed and root not in slots):
                    continue
                temporary = temporaries[operand.number] = self._temporary(operand.type)
                if operand.number in recomputed:
                    maker = recomputed[operand.number]
                    code.append(replace(maker, results=(temporary,), location=instruction.location))
                else:
                    code.append(
                        Instruction("reload", (temporary,), (), (slots[root],), "", instruction.location)
                    )
            after: list[Instruction] = []
            results: list[Register] = []
            for result in instruction.results:
                root = self._find(result.number)
                if root in slots:
                    temporary = self._temporary(result.type)
                    after.append(
                        Instruction("spill", (), (temporary,), (slots[root],), "", instruction.location)
                    )
                    results.append(temporary)
                else:
                    results.append(result)
            operands = tuple(temporaries.get(operand.number, operand) for operand in instruction.operands)
            code.append(replace(instruction, results=tuple(results), operands=operands))
            code.extend(after)
        block.code = code

    def _rewrite_move(self, move: Instruction, slots: Mapping[int, int], code: list[Instruction]) -> bool:
        """The instruction as a move from or to the workspace; None if it is not one."""
        (to,), (source,) = move.results, move.operands
        target, origin = (slots.get(self._find(register.number)) for register in (to, source))
        if target is not None and target == origin:
            return True
        if target is None and origin is not None:
            code.append(Instruction("reload", (to,), (), (origin,), "", move.location))
            return True
        return False

    def _temporary(self, ty: Type) -> Register:
        register = Register(self.count, ty)
        self.short.add(register.number)
        self.count += 1
        return register

    # --- the result -----------------------------------------------------------------------------------------------

    def finish(self) -> None:
        """Writes the machine's registers into the program."""
        program = self.program
        if self.spill_bytes:
            base = -(-program.scratch_bytes // WORKSPACE_ALIGNMENT) * WORKSPACE_ALIGNMENT
            program.scratch_bytes = base + self.spill_bytes
            program.spilled_bytes = self.spill_bytes
        known = {
            Register(number, ty): Register(self.places[self._find(number)], ty)
            for number, ty in self.types.items()
        }
        for block in program.blocks:
            code: list[Instruction] = []
            for instruction in block.code:
                results = tuple(known[register] for register in instruction.results)
                operands = tuple(known[register] for register in instruction.operands)
                if instruction.name != "move" or results != operands:
                    code.append(replace(instruction, results=results, operands=operands))
            block.code = code
        drop_needless_jumps(program)


def drop_needless_jumps(program: Program) -> None:
    """Removes jumps to the next block, and blocks that are empty."""
    size = -1
    while size != len(program.blocks):
        size = len(program.blocks)
        labels: dict[str, str] = {}
        label = ""
        for block in reversed(program.blocks):
            if block.code and block.code[-1].name == "jump" and block.code[-1].target == label:
                block.code.pop()
            label = block.label if block.code else label
            labels[block.label] = label
        program.blocks = [block for block in program.blocks if block.code]
        for instruction in program.instructions():
            instruction.target = labels.get(instruction.target, "")
