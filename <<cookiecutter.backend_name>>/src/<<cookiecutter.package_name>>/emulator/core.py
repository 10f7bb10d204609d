"""Runs a program over a grid, one program instance after the other, block by block."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from ..assembler.program import JUMPS, Block, Instruction, Program, RegisterFile
from ..dialects.isa import OWN_FAMILIES
from ..dialects.isa.definitions import import_companions
from ..errors import BackendError, program_text
from ..target import BACKEND_NAME
from . import __path__ as folder
from . import alu, control, convert, lanes, matrix, memory
from .analysis import Analysis, analyse, cells_of
from .machine import Buffer, EmulatorFault, Machine, ProgramTrap, Step, View, fault
from .steps import failed, step_of

FAMILIES = (alu, control, convert, lanes, matrix, memory)
"""Imported for the instructions they enter into the table of steps."""

import_companions(__package__ or "", folder, OWN_FAMILIES)

END = -1


class Core:
    """A program, ready to run on the memory of one launch.

    ``workspace_bytes``: memory of the scratchpad that it needs. ``counts``: how often each block ran.
    ``machine.memory.traffic``: bytes moved so far.
    """

    def __init__(
        self, program: Program, arguments: View, buffers: Sequence[Buffer], pointers: Sequence[int]
    ) -> None:
        """``arguments``: 8 bytes for each parameter. ``buffers``: memory that may be accessed; ``pointers``: the
        parameters that point to it (addresses that come from elsewhere are taken on trust).

        Raises UnsupportedOperation for an instruction that the emulator does not know.
        """
        self._program = program
        self.machine = Machine(program, arguments, buffers)
        self.workspace_bytes = program.scratch_bytes
        analysis = analyse(program, pointers)
        self.machine.unknown = analysis.unknown
        if len(pointers) == len(buffers):
            slots = dict(zip(pointers, buffers, strict=True))
            workspace = self.machine.memory.buffers[0]
            self.machine.memory.origins = partial(_origins, program, slots, workspace)
        self.counts = [0] * len(program.blocks)
        self._written = _Written() if analysis.unwritten else None
        numbers = {block.label: number for number, block in enumerate(program.blocks)}
        self._stepped: list[list[Instruction]] = []
        """The instructions of `_steps`."""
        self._steps = [self._compile(block, analysis) for block in program.blocks]
        self._exits = [self._exit(block, number, numbers) for number, block in enumerate(program.blocks)]

    def run(self, grid: Sequence[int], first: int = 0, last: int | None = None) -> int:
        """Programs ``first <= id < last``, by default all of the grid. Returns 0, or the code of the trap that ended
        it. Raises EmulatorFault for what the machine does not define. A KeyboardInterrupt, which is how one stops a
        kernel that does not end, carries a note that says where the kernel was.
        """
        x, y, z = grid
        self.machine.grid[:] = grid
        with np.errstate(all="ignore"):
            for number in range(first, x * y * z if last is None else last):
                self.machine.begin_program(number % x, number // x % y, number // (x * y))
                if self._written is not None:
                    self._written.cells = 0
                try:
                    self._run_program()
                except ProgramTrap as trap:
                    return trap.code
                except EmulatorFault as error:
                    error.args = (f"{error}\n  in {self.program_text}",)
                    raise
        return 0

    @property
    def program_text(self) -> str:
        """Which program of the grid runs, or ran last."""
        return program_text([*map(int, self.machine.coordinates)], [*map(int, self.machine.grid)])

    def _run_program(self) -> None:
        counts, steps, exits = self.counts, self._steps, self._exits
        number = 0
        step: Step = _nothing
        try:
            while number != END:
                counts[number] += 1
                for step in steps[number]:
                    step()
                number = exits[number]()
        except KeyboardInterrupt as interrupt:
            interrupt.add_note(self._interrupted_in(self._program.blocks[number]))
            raise
        except (ProgramTrap, BackendError, MemoryError):
            raise
        except Exception as error:
            at = steps[number].index(step)
            raise failed(self.machine.program, self._stepped[number][at], error) from error

    def _interrupted_in(self, block: Block) -> str:
        places = [str(instruction.location) for instruction in block.code if instruction.location is not None]
        where = f"\n  at {places[0]}" if places else ""
        return (
            f"{BACKEND_NAME} emulator: interrupted{where}\n  in {self.program_text}\n"
            "  programs run one after the other here: one that waits for a later one never ends. On the reference "
            "device they run at the same time in a launch with launch_cooperative_grid=True"
        )

    def _compile(self, block: Block, analysis: Analysis) -> list[Step]:
        steps: list[Step] = []
        stepped: list[Instruction] = []
        for instruction in block.code:
            is_jump = instruction.name in JUMPS
            step: Step = _nothing if is_jump else step_of(self.machine, instruction)
            if self._written is not None:
                checked = id(instruction) in analysis.unwritten
                step = self._written.checked(instruction, step, check=checked)
            if not is_jump or self._written is not None:
                steps.append(step)
                stepped.append(instruction)
        self._stepped.append(stepped)
        return steps

    def _exit(self, block: Block, number: int, numbers: dict[str, int]) -> Callable[[], int]:
        """What gives the block to go on with."""
        last = block.code[-1] if block.code else None
        following = number + 1
        if last is not None and last.name == "return":
            return lambda: END
        if last is not None and last.name == "jump":
            target = numbers[last.target]
            return lambda: target
        if last is None or last.name not in JUMPS:
            return lambda: following
        (condition,) = (self.machine.view(register) for register in last.operands)
        target = numbers[last.target]
        if last.name == "branch":
            return lambda: target if condition[0] else following
        return lambda: following if condition[0] else target


class _Written:
    """Which registers were written so far, for programs that may read one before."""

    def __init__(self) -> None:
        self.cells = 0

    def checked(self, instruction: Instruction, step: Step, *, check: bool) -> Step:
        read = written = 0
        for register in instruction.operands:
            read |= cells_of(register)
        for register in instruction.results:
            written |= cells_of(register)

        def checked_step() -> None:
            if check and read & ~self.cells:
                unwritten = next(r for r in instruction.operands if cells_of(r) & ~self.cells)
                raise fault(instruction, f"register {unwritten} is read before it was written")
            step()
            self.cells |= written

        return checked_step


def _nothing() -> None:
    """The step of a jump: where it leads is decided at the end of the block."""


def _origins(
    program: Program, buffers: Mapping[int, Buffer], workspace: Buffer, instruction: Instruction
) -> list[Buffer]:
    """The memory that the address of an instruction may come from; `buffers` by the parameter that points to them."""
    if id(instruction) not in analyse(program, ()).unknown:
        return [workspace]
    return [
        buffer for slot, buffer in buffers.items() if id(instruction) not in analyse(program, (slot,)).unknown
    ]


def register_use(program: Program) -> dict[RegisterFile, int]:
    """How many registers of each file a program touches."""
    used: dict[RegisterFile, int] = dict.fromkeys(RegisterFile, 0)
    for instruction in program.instructions():
        for register in (*instruction.results, *instruction.operands):
            file = register.type.file
            used[file] = max(used[file], register.number + register.type.registers)
    return used
