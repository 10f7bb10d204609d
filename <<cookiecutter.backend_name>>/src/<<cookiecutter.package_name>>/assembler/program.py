"""A linear program: blocks of instructions on registers, virtual ones before allocation and the machine's after it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Final, NamedTuple

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute

from ..dialects.isa.checks import BITS, element_name
from ..target import PREDICATE_REGISTERS, SCALAR_REGISTERS, VECTOR_LANES, VECTOR_REGISTERS

VECTOR_BITS: Final = 32 * VECTOR_LANES
PREDICATE_LANES: Final = 4 * VECTOR_LANES
"""A predicate register has a bit for each byte of a vector register."""


class Location(NamedTuple):
    """A place in the kernel's source; ``inside`` as in `dialects.locations.SourceLoc`."""

    file: str
    line: int
    column: int = 0
    inside: str = ""

    @property
    def place(self) -> str:
        """Without the column."""
        return str(self._replace(column=0))

    def __str__(self) -> str:
        column = f":{self.column}" if self.column else ""
        return f"{self.file}:{self.line}{column}" + (f" ({self.inside})" if self.inside else "")


class RegisterFile(Enum):
    """Letter of its registers in assembly, how many there are."""

    SCALAR = ("r", SCALAR_REGISTERS)
    VECTOR = ("v", VECTOR_REGISTERS)
    PREDICATE = ("p", PREDICATE_REGISTERS)

    def __init__(self, letter: str, size: int) -> None:
        self.letter = letter
        self.size = size


class Type(NamedTuple):
    """What a register (group) holds: ``element`` as MLIR names it, and the number of lanes."""

    element: str
    lanes: int = 1

    def __str__(self) -> str:
        return self.element if self.lanes == 1 else f"{self.lanes}x{self.element}"

    @property
    def bits(self) -> int:
        return BITS[self.element]

    @property
    def bytes(self) -> int:
        """Of the lanes in memory."""
        return self.lanes * self.bits // 8

    @property
    def file(self) -> RegisterFile:
        if self.element == "i1":
            return RegisterFile.PREDICATE
        return RegisterFile.SCALAR if self.lanes == 1 else RegisterFile.VECTOR

    @property
    def registers(self) -> int:
        """Consecutive registers that it takes, a power of two; the first is a multiple of it."""
        return _registers(self)


@lru_cache(maxsize=1024)
def _registers(ty: Type) -> int:
    if ty.element == "i1":
        return max(1, ty.lanes // PREDICATE_LANES)
    return 1 if ty.lanes == 1 else max(1, ty.lanes * ty.bits // VECTOR_BITS)


@lru_cache(maxsize=1024)
def type_of(ty: Attribute) -> Type:
    """The type of an SSA value."""
    return Type(element_name(ty), ty.get_shape()[0] if isinstance(ty, VectorType) else 1)


@lru_cache(maxsize=1024)
def parse_type(text: str) -> Type:
    """The inverse of ``str(type)``. Raises ValueError."""
    count, separator, element = text.partition("x")
    if not separator:
        count, element = "1", text
    if element not in BITS or not count.isdigit():
        raise ValueError(f"{text!r} is no type of a register")
    lanes = int(count)
    if lanes < 1 or lanes & (lanes - 1):
        raise ValueError(f"{text!r}: a register has a power of two of lanes")
    return Type(element, lanes)


class Register(NamedTuple):
    """A register, or the first of a group; `number` is the machine's after allocation."""

    number: int
    type: Type

    def __str__(self) -> str:
        return f"{self.type.file.letter}{self.number}"


Immediate = int | str | tuple[int, ...]


@dataclass(slots=True)
class Instruction:
    """One instruction; `name` is that of the dialect without its namespace, or of a machine instruction."""

    name: str
    results: tuple[Register, ...] = ()
    operands: tuple[Register, ...] = ()
    immediates: tuple[Immediate, ...] = ()
    target: str = ""
    """Where it jumps to: a label."""
    location: Location | None = None


@dataclass(slots=True)
class Block:
    """Instructions that run one after the other. Only the last one may jump; it goes on with the next block."""

    label: str
    code: list[Instruction] = field(default_factory=list)


@dataclass
class Program:
    """One kernel.

    ``scratch_bytes``: workspace of one program, ``spilled_bytes`` of them at its end for registers. ``traps``: as the
    kernel's ``[kind, message, file, line]``.
    """

    name: str
    parameters: tuple[Type, ...]
    scratch_bytes: int
    traps: tuple[tuple[str, str, str, int], ...]
    blocks: list[Block] = field(default_factory=list)
    spilled_bytes: int = 0

    def instructions(self) -> Iterator[Instruction]:
        for block in self.blocks:
            yield from block.code

    def successors(self) -> list[list[int]]:
        """For each block the numbers of those that may follow."""
        numbers = {block.label: number for number, block in enumerate(self.blocks)}
        result: list[list[int]] = []
        for number, block in enumerate(self.blocks):
            following = [numbers[i.target] for i in block.code if i.target]
            if falls_through(block) and number + 1 < len(self.blocks):
                following.append(number + 1)
            result.append(following)
        return result


JUMPS: Final = frozenset(("jump", "branch", "branch.unless", "return"))
"""What ends a block."""


def check_blocks(program: Program) -> None:
    """Raises ValueError where a block goes on after a jump, a label is missing, or the program does not end."""
    labels = {block.label for block in program.blocks}
    if len(labels) != len(program.blocks):
        raise ValueError("two blocks have the same label")
    for block in program.blocks:
        for instruction in block.code:
            if instruction.name in JUMPS and instruction is not block.code[-1]:
                raise ValueError(f"block {block.label} goes on after a {instruction.name}")
            if instruction.target and instruction.target not in labels:
                raise ValueError(f"there is no label {instruction.target!r}")
    if not program.blocks or falls_through(program.blocks[-1]):
        raise ValueError("the last block does not end with return or jump")


def falls_through(block: Block) -> bool:
    """Whether it may go on with the next one."""
    return not block.code or block.code[-1].name not in ("jump", "return")
