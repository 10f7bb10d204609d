"""The matrix unit, as `dialects/isa/matrix.py` defines it. What may be multiplied in parts is multiplied exactly."""

from __future__ import annotations

import ctypes

import numpy as np

from ..assembler.program import Instruction, Type
from .alu import fused_multiply_add
from .convert import FORMATS, widened
from .machine import DTYPES, Machine, Step, View
from .steps import executes


@executes("mma")
def mma(machine: Machine, instruction: Instruction) -> Step:
    acc, a, b = (machine.view(register) for register in instruction.operands)
    m, n, k, lda, ldb, ldc = (value for value in instruction.immediates[:6] if isinstance(value, int))
    operand, total = (Type(str(value)) for value in instruction.immediates[6:8])
    memory, known = machine.memory, machine.is_known(instruction)

    def tile(address: View, rows: int, columns: int, pitch: int, ty: Type) -> View:
        """The memory of a tile: no copy."""
        start, count = int(address[0]), (rows - 1) * pitch + columns
        size = count * ty.bytes
        _, _, kind = memory.check(instruction, start, size, ty.bytes, known=known)
        memory.traffic[kind] += rows * columns * ty.bytes
        raw = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(start))
        flat = raw.view(DTYPES[ty.element])
        step = ty.bytes
        return np.lib.stride_tricks.as_strided(flat, (rows, columns), (pitch * step, step))

    def step() -> None:
        result = tile(acc, m, n, ldc, total)
        rows, columns = tile(a, m, k, lda, operand), tile(b, k, n, ldb, operand)
        if operand.element in FORMATS:
            rows, columns = (widened(x, operand.element).astype(result.dtype) for x in (rows, columns))
        if total.element.startswith("f"):
            sums = result.copy()
            for number in range(k):
                sums = fused_multiply_add(rows[:, number, None], columns[None, number], sums)
            result[...] = sums
        else:
            wide = result.dtype
            result[...] = result + rows.astype(wide) @ columns.astype(wide)

    return step
