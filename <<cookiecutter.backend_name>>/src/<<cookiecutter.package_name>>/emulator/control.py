"""Parameters, program ids, traps and printing, as `dialects/isa/control.py` defines them."""

from __future__ import annotations

import ctypes
from functools import partial

import numpy as np

from ..assembler.program import Instruction
from .machine import Machine, ProgramTrap, Step
from .steps import executes

C_TYPES = {"i32": ctypes.c_int32, "i64": ctypes.c_int64, "f32": ctypes.c_double, "f64": ctypes.c_double}
"""What is printed -> how C takes it."""


@executes("argument")
def argument(machine: Machine, instruction: Instruction) -> Step:
    (result,) = machine.views(instruction)
    (slot,) = instruction.immediates
    assert isinstance(slot, int)
    data = machine.arguments[8 * slot : 8 * slot + result.itemsize]
    value = data != 0 if result.dtype == bool else data.view(result.dtype).copy()
    return partial(np.copyto, result, value)


@executes("program_id", "num_programs")
def coordinate(machine: Machine, instruction: Instruction) -> Step:
    (result,) = machine.views(instruction)
    (axis,) = instruction.immediates
    assert isinstance(axis, int)
    source = machine.coordinates if instruction.name == "program_id" else machine.grid
    return partial(np.copyto, result, source[axis : axis + 1])


@executes("trap")
def trap(machine: Machine, instruction: Instruction) -> Step:
    (condition,) = machine.views(instruction)
    (code,) = instruction.immediates
    assert isinstance(code, int)

    def step() -> None:
        if condition[0]:
            raise ProgramTrap(code)

    return step


@executes("print")
def print_(machine: Machine, instruction: Instruction) -> Step:
    operands = machine.views(instruction)
    libc = ctypes.CDLL(None)
    format = str(instruction.immediates[0]).encode()
    types = [C_TYPES[register.type.element] for register in instruction.operands]

    def step() -> None:
        libc.printf(format, *(ty(lanes[0].item()) for ty, lanes in zip(types, operands, strict=True)))
        libc.fflush(None)

    return step
