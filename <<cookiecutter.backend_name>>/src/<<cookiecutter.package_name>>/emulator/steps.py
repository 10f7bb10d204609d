"""The table of what executes which instruction, and how to enter more into it."""

from __future__ import annotations

from collections.abc import Callable

from ..assembler.program import Instruction
from ..errors import UnsupportedOperation
from ..extensions import note
from ..target import BACKEND_NAME
from .machine import Machine, Step

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
        raise UnsupportedOperation(
            f"the emulator does not know {BACKEND_NAME}.{instruction.name}", add_support_in="emulator/"
        )
    return maker(machine, instruction)
