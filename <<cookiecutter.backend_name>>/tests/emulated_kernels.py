"""Kernels written in the instruction set, run by the emulator: the counterpart of `isa_kernels.IsaKernel`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from isa_kernels import TYPES, parse_kernel

from <<cookiecutter.package_name>>.assembler import assemble
from <<cookiecutter.package_name>>.assembler.encoding import decode, encode
from <<cookiecutter.package_name>>.assembler.program import Program
from <<cookiecutter.package_name>>.assembler.text import parse_program, print_program
from <<cookiecutter.package_name>>.emulator.core import Core
from <<cookiecutter.package_name>>.emulator.machine import Buffer


def through_all_forms(program: Program) -> Program:
    """The program after it was text and a binary."""
    return decode(encode(parse_program(print_program(program))))


class EmulatedKernel:
    """Call it with a value or an array per argument; with `strict`, only those arrays may be accessed."""

    def __init__(
        self,
        arguments: Mapping[str, str],
        body: str,
        host: Any = None,
        *,
        verify: bool = True,
        strict: bool = False,
    ) -> None:
        self.program = through_all_forms(assemble(parse_kernel(arguments, body, verify=verify)))
        self.arguments = arguments
        self.strict = strict
        self.core: Core | None = None

    def __call__(
        self, *values: Any, grid: Sequence[int] = (1, 1, 1), first: int = 0, last: int | None = None
    ) -> int:
        """Runs programs first to last (all of them by default); gives the trap code."""
        slots = np.zeros(8 * len(values) + 8, np.uint8)
        buffers: list[Buffer] = []
        pointers: list[int] = []
        for slot, (value, (name, ty)) in enumerate(zip(values, self.arguments.items(), strict=True)):
            if isinstance(value, np.ndarray):
                pointers.append(slot)
                buffers.append(Buffer(name, value.ctypes.data, value.ctypes.data + value.nbytes))
                value = value.ctypes.data
            data = np.array([value], np.bool_ if ty == "i1" else TYPES[ty]).view(np.uint8)
            slots[8 * slot : 8 * slot + data.size] = data
        self.core = Core(self.program, slots, buffers, pointers if self.strict else [])
        return self.core.run(grid, first, last)
