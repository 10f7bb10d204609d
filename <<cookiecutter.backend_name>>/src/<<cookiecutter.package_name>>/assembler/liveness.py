"""Which registers hold values that are still wanted; sets of registers are the bits of Python integers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

from xdsl.traits import Pure

from .opcodes import CLASSES
from .program import Instruction, Program, Register


def bits(registers: Iterable[Register]) -> int:
    result = 0
    for register in registers:
        result |= 1 << register.number
    return result


def members(bits: int) -> Iterator[int]:
    """The numbers of the bits that are set."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def live_out(program: Program) -> list[int]:
    """For each block the virtual registers whose values are wanted after it."""
    used: list[int] = []
    written: list[int] = []
    for block in program.blocks:
        use = define = 0
        for instruction in block.code:
            use |= bits(instruction.operands) & ~define
            define |= bits(instruction.results)
        used.append(use)
        written.append(define)
    successors = program.successors()
    live_in = [0] * len(used)
    out = [0] * len(used)
    changed = True
    while changed:
        changed = False
        for number in range(len(used) - 1, -1, -1):
            after = 0
            for successor in successors[number]:
                after |= live_in[successor]
            before = used[number] | (after & ~written[number])
            if after != out[number] or before != live_in[number]:
                out[number], live_in[number] = after, before
                changed = True
    return out


@cache
def is_pure(name: str) -> bool:
    """Whether an instruction does nothing but compute its results."""
    if name in ("move", "argument", "reload"):
        return True
    cls = CLASSES.get(name)
    return cls is not None and cls.has_trait(Pure)


def drop_dead_code(program: Program) -> None:
    """Removes pure instructions whose results nobody reads."""
    while True:
        dropped = False
        for block, out in zip(program.blocks, live_out(program), strict=True):
            live = out
            kept: list[Instruction] = []
            for instruction in reversed(block.code):
                if is_pure(instruction.name) and not live & bits(instruction.results):
                    dropped = True
                    continue
                live = live & ~bits(instruction.results) | bits(instruction.operands)
                kept.append(instruction)
            block.code = kept[::-1]
        if not dropped:
            return


def loop_depths(program: Program) -> list[int]:
    """For each block how many loops it is in: a loop reaches from a block to the last jump back to it."""
    depths = [0] * len(program.blocks)
    for last, successors in enumerate(program.successors()):
        for first in successors:
            for number in range(first, last + 1) if first <= last else ():
                depths[number] += 1
    return depths
