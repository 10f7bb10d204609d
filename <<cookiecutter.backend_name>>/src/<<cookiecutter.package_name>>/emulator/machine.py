"""What an emulated core holds: register files, the workspace, and which memory a launch may touch.

A register is a NumPy view of its file's bytes, made once for each operand of each instruction. So a group is what it is
on the machine, several registers in a row, and an instruction on a scalar is the one on a vector of one lane.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..assembler.program import (
    PREDICATE_LANES,
    VECTOR_BITS,
    Instruction,
    Program,
    Register,
    RegisterFile,
)
from ..errors import BackendError
from ..target import BACKEND_NAME

View = NDArray[Any]
Step = Callable[[], object]

DTYPES: Final[dict[str, Any]] = {
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "f16": np.uint16,
    "bf16": np.uint16,
    "f8E5M2": np.uint8,
    "f8E4M3FN": np.uint8,
    "f32": np.float32,
    "f64": np.float64,
}
"""Element -> NumPy type of a lane. The narrow floats are their bits; integers are signed."""

REGISTER_BYTES: Final = {
    RegisterFile.SCALAR: 8,
    RegisterFile.VECTOR: VECTOR_BITS // 8,
    RegisterFile.PREDICATE: PREDICATE_LANES,
}
"""Of one register here: predicates have a byte for each lane."""

GARBAGE: Final = 0xA5
"""What is in every byte of the workspace when a program begins."""

WORKSPACE_ALIGNMENT: Final = 64

DEVICE, SCRATCHPAD = 0, 1

WORKSPACE: Final = "workspace"

NEARBY: Final = 4096
"""Bytes beside a buffer that a wrong index still reaches, in messages; of a longer buffer it is the buffer's length."""


INDEX_OF_BLOCK: Final = ": an index of tl.gather is not one of the block, which the workspace holds"


class EmulatorFault(BackendError, RuntimeError):
    """A program did what the machine does not define: the message says what, and on which line of the kernel."""


class ProgramTrap(Exception):
    """A trap instruction was taken; `code` is its number."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def fault(instruction: Instruction, what: str) -> EmulatorFault:
    where = ""
    if instruction.location is not None:
        where = f"\n  at {instruction.location}"
    return EmulatorFault(f"{BACKEND_NAME} emulator: {instruction.name}: {what}{where}")


@dataclass(frozen=True)
class Buffer:
    """Memory that a launch was given: bytes ``low`` to ``high`` (exclusive), by the name of the argument."""

    name: str
    low: int
    high: int


@dataclass
class Memory:
    """Which addresses there are, and how many bytes were moved.

    ``traffic``: bytes to and from device memory, and to and from the workspace. ``unknown``: accesses outside of the
    known buffers that were let through, because their addresses do not come from a known argument. ``origins``: the
    buffers that an instruction's address may come from, empty where that is not known; asked for messages.
    """

    buffers: Sequence[Buffer]
    traffic: list[int] = field(default_factory=lambda: [0, 0])
    origins: Callable[[Instruction], list[Buffer]] = lambda instruction: []

    def check(
        self,
        instruction: Instruction,
        address: int,
        size: int,
        align: int,
        *,
        known: bool,
        lane: int | None = None,
    ) -> tuple[int, int, int]:
        """The bounds of the buffer that an access lies in, and its kind of memory; (address, address + size) where it
        is unknown. Raises EmulatorFault for an access that is not allowed. ``lane``: the one that it begins with, if
        there are several."""
        if address % align:
            where = "" if lane is None else f" (lane {lane})"
            raise fault(
                instruction, f"address {address:#x}{where} is not aligned to the element's {align} bytes"
            )
        for number, buffer in enumerate(self.buffers):
            if buffer.low <= address and address + size <= buffer.high:
                return buffer.low, buffer.high, DEVICE if number else SCRATCHPAD
        if known or 0 <= address < 4096:
            raise fault(instruction, self._describe(instruction, address, size, align, lane))
        return address, address + size, DEVICE

    def _describe(
        self, instruction: Instruction, address: int, size: int, align: int, lane: int | None
    ) -> str:
        """An access out of bounds by the buffer that its pointer was made of. Where the program does not tell, by one
        that it misses closely, or else by all that there are."""

        def distance(buffer: Buffer) -> int:
            return max(buffer.low - address, address + size - buffer.high)

        origins = self.origins(instruction)
        buffers = origins or [buffer for buffer in self.buffers if buffer.high > buffer.low]
        near = min(buffers, key=distance, default=None)
        if near is not None and (len(origins) == 1 or distance(near) <= max(NEARBY, near.high - near.low)):
            if lane is not None and near.low <= address < near.high:
                lane += (near.high - address) // align  # the first one beyond
            return (
                f"access to {size} bytes at {near.name}{address - near.low:+d} "
                f"({near.name} has {near.high - near.low} bytes) is out of bounds"
                + ("" if lane is None else f" in lane {lane}")
                + (INDEX_OF_BLOCK if near.name == WORKSPACE and instruction.name == "gather" else "")
            )
        there = ", ".join(
            f"{buffer.name}{address - buffer.low:+d} ({buffer.name} has {buffer.high - buffer.low} bytes)"
            for buffer in buffers
            if buffer.name != WORKSPACE
        )
        where = "" if lane is None else f" (lane {lane})"
        return (
            f"access to {size} bytes at address {address:#x}{where}, far from every argument: "
            f"{there or 'there is none'} is out of bounds"
        )


class Machine:
    """One core, for one launch of one program."""

    def __init__(self, program: Program, arguments: View, buffers: Sequence[Buffer]) -> None:
        """``arguments``: 8 bytes for each parameter of the kernel. ``buffers``: the memory that they point to."""
        self.program = program
        self.arguments = arguments
        self.files = {file: np.zeros(file.size * size, np.uint8) for file, size in REGISTER_BYTES.items()}
        self.grid = np.ones(3, np.int32)
        self.coordinates = np.zeros(3, np.int32)
        storage = np.empty(program.scratch_bytes + WORKSPACE_ALIGNMENT, np.uint8)
        start = -storage.ctypes.data % WORKSPACE_ALIGNMENT
        self.workspace = storage[start : start + program.scratch_bytes]
        self.workspace_address: int = self.workspace.ctypes.data
        workspace = Buffer(WORKSPACE, self.workspace_address, self.workspace_address + program.scratch_bytes)
        self.memory = Memory([workspace, *buffers])
        self.unknown: set[int] = set()
        """``id`` of the memory instructions whose addresses come from nowhere that is known."""

    def bytes_of(self, register: Register) -> View:
        """The bytes of the lanes of a register (group); of a predicate the lanes."""
        ty = register.type
        size = REGISTER_BYTES[ty.file]
        start = register.number * size
        length = ty.lanes if ty.element == "i1" else ty.bytes
        return self.files[ty.file][start : start + length]

    def view(self, register: Register) -> View:
        """The lanes of a register (group)."""
        return self.bytes_of(register).view(DTYPES[register.type.element])

    def views(self, instruction: Instruction) -> tuple[View, ...]:
        """Of the results, then the operands."""
        return tuple(map(self.view, (*instruction.results, *instruction.operands)))

    def begin_program(self, x: int, y: int, z: int) -> None:
        self.coordinates[:] = x, y, z
        self.workspace.fill(GARBAGE)

    def is_known(self, instruction: Instruction) -> bool:
        return id(instruction) not in self.unknown


def copying(result: View, source: View) -> Step:
    """The step ``result = source``, converted to its type; the two may be partly in the same registers."""
    # NumPy does not look whether what it converts lies in what it writes.
    shared = np.may_share_memory(result, source)
    if shared and (result.itemsize != source.itemsize or result.ctypes.data != source.ctypes.data):
        return lambda: np.copyto(result, source.copy(), casting="unsafe")
    return partial(np.copyto, result, source, casting="unsafe")
