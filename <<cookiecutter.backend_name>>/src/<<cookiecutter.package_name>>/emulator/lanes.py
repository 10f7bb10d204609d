"""Constants, moves and what crosses lanes, as `dialects/isa/lanes.py` defines it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..assembler.program import Instruction
from .machine import Machine, Step, copying
from .steps import executes

UNDEFINED = 0xA5
"""The bytes of a lane that a shuffle leaves undefined."""


@executes("const")
def const(machine: Machine, instruction: Instruction) -> Step:
    (result,) = machine.views(instruction)
    (bits,) = instruction.immediates
    assert isinstance(bits, int)
    value = np.array(bits, f"u{result.itemsize}").view(result.dtype)
    return partial(np.copyto, result, np.full(result.shape, value))


@executes("lanes")
def lane_const(machine: Machine, instruction: Instruction) -> Step:
    (result,) = machine.views(instruction)
    (numbers,) = instruction.immediates
    assert isinstance(numbers, tuple)
    mask = (1 << 8 * result.itemsize) - 1
    values = np.array([number & mask for number in numbers], f"u{result.itemsize}").view(result.dtype)
    return partial(np.copyto, result, values)


@executes("lookup")
def lookup(machine: Machine, instruction: Instruction) -> Step:
    result, index = machine.views(instruction)
    (numbers,) = instruction.immediates
    assert isinstance(numbers, tuple)
    table = np.array(numbers, np.uint32).view(result.dtype)

    def step() -> None:
        result[...] = table[index & (len(table) - 1)]

    return step


@executes("splat", "move")
def splat(machine: Machine, instruction: Instruction) -> Step:
    result, source = machine.views(instruction)
    return copying(result, source)


@executes("extract")
def extract(machine: Machine, instruction: Instruction) -> Step:
    result, source = machine.views(instruction)
    (lane,) = instruction.immediates
    assert isinstance(lane, int)
    return copying(result, source[lane : lane + 1])


@executes("shuffle")
def shuffle(machine: Machine, instruction: Instruction) -> Step:
    result, lhs, rhs = machine.views(instruction)
    (picked,) = instruction.immediates
    assert isinstance(picked, tuple)
    lanes = np.array(picked)
    first = picked[0]
    if (
        len(picked) > 1
        and picked == tuple(range(first, first + len(picked)))
        and picked[-1] < len(lhs)
        and first >= 0
    ):
        return copying(result, lhs[first : first + len(picked)])
    undefined: Any = np.full(result.itemsize, UNDEFINED, np.uint8).view(result.dtype)
    some = bool((lanes < 0).any())

    def step() -> None:
        values = np.concatenate([lhs, rhs])[lanes]
        result[...] = np.where(lanes < 0, undefined, values) if some else values

    return step


@executes("any")
def any_true(machine: Machine, instruction: Instruction) -> Step:
    result, source = machine.views(instruction)

    def step() -> None:
        result[0] = source.any()

    return step
