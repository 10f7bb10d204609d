"""The table of what executes which instruction, and how to enter more into it."""

from __future__ import annotations

from collections.abc import Callable

from ..assembler.opcodes import CLASSES
from ..assembler.program import Instruction, Program
from ..dialects.isa.definitions import belongs_in
from ..dialects.locations import lines_between
from ..errors import BackendError, UnsupportedOperation
from ..extensions import note
from ..target import BACKEND_NAME
from .machine import EmulatorFault, Machine, Step

Maker = Callable[[Machine, Instruction], Step]

STEPS: dict[str, Maker] = {}
"""Instruction -> a function that makes its step: what is called each time when it is executed."""


def executes(*names: str) -> Callable[[Maker], Maker]:
    """Enters the decorated function into the table for the instructions `names` (without the dialect's namespace)."""

    def enter(function: Maker) -> Maker:
        for name in names:
            STEPS[name] = function
        note(function)
        return function

    return enter


def step_of(machine: Machine, instruction: Instruction) -> Step:
    """The step of one instruction of a program. Raises UnsupportedOperation."""
    maker = STEPS.get(instruction.name)
    if maker is None:
        raise _unknown(machine.program, instruction)
    try:
        return maker(machine, instruction)
    except BackendError:
        raise
    except Exception as error:
        raise failed(machine.program, instruction, error) from error


def failed(program: Program, instruction: Instruction, error: Exception) -> EmulatorFault:
    """The error for a mistake in the function that executes an instruction."""
    maker, place = STEPS[instruction.name], _place_in(program, instruction)
    return EmulatorFault(
        f"{BACKEND_NAME} emulator: {instruction.name}: {maker.__module__}.{maker.__qualname__}, which executes it, "
        f"failed: {type(error).__name__}: {error}" + (f"\n  at {place}" if place else "")
    )


def _unknown(program: Program, instruction: Instruction) -> UnsupportedOperation:
    """The error for an instruction that nothing in the table executes."""
    how = f'with a function under @executes("{instruction.name}")'
    cls = CLASSES.get(instruction.name)
    return UnsupportedOperation(
        f"the emulator does not know {BACKEND_NAME}.{instruction.name}: nothing executes it",
        location=_place_in(program, instruction),
        add_support_in=f"emulator/, {how}" if cls is None else belongs_in("emulator", cls, how),
    )


def _place_in(program: Program, instruction: Instruction) -> str:
    """The kernel's line; of an instruction without one the lines of those around it."""
    before: tuple[str, int] | None = None
    reached = False
    for other in program.instructions():
        reached = reached or other is instruction
        if other.location is not None:
            if reached:
                after = other.location
                return lines_between(after[:2] if other is instruction else before, after[:2])
            before = other.location[:2]
    return lines_between(before, None)
