"""Loads, stores, atomics and spills, as `dialects/isa/memory.py` defines them: every access is checked."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from ..assembler.program import Instruction, Register
from .convert import FORMATS, narrowed, widened
from .machine import DEVICE, Machine, Step, View
from .steps import executes

ADDRESS_MASK: Final = (1 << 64) - 1
NEVER: Final = (1 << 64) - 1


class _Access:
    """Checks the accesses of one instruction; remembers the buffer of the last one, for the next is often in it."""

    __slots__ = ("align", "high", "instruction", "kind", "known", "low", "many", "memory", "traffic")

    def __init__(self, machine: Machine, instruction: Instruction, register: Register) -> None:
        self.memory = machine.memory
        self.traffic = machine.memory.traffic
        self.instruction = instruction
        self.align = register.type.bits // 8
        self.many = register.type.lanes > 1
        self.known = machine.is_known(instruction)
        self.low = self.high = 0
        self.kind = DEVICE

    def at(self, address: int, size: int, lane: int = 0) -> int:
        """`address`, after `size` bytes from there on, of `lane` and those after it, were found to be there."""
        address &= ADDRESS_MASK
        if address < self.low or address + size > self.high or address % self.align:
            first = lane if self.many else None
            self.low, self.high, self.kind = self.memory.check(
                self.instruction, address, size, self.align, known=self.known, lane=first
            )
        self.traffic[self.kind] += size
        return address


@executes("load")
def load(machine: Machine, instruction: Instruction) -> Step:
    result, address = machine.views(instruction)
    access = _Access(machine, instruction, instruction.results[0])
    to, size, move, at = result.ctypes.data, result.nbytes, ctypes.memmove, access.at
    return lambda: move(to, at(int(address[0]), size), size)


@executes("store", "store.streaming")
def store(machine: Machine, instruction: Instruction) -> Step:
    value, address = machine.views(instruction)[:2]
    access = _Access(machine, instruction, instruction.operands[0])
    source, size, move, at = value.ctypes.data, value.nbytes, ctypes.memmove, access.at
    return lambda: move(at(int(address[0]), size), source, size)


def _runs(mask: View) -> list[tuple[int, int]]:
    """First lane and number of lanes of each run of set lanes."""
    edges = np.flatnonzero(np.diff(mask.astype(np.int8), prepend=0, append=0)).tolist()
    return [(first, end - first) for first, end in zip(edges[::2], edges[1::2], strict=True)]


@executes("load.masked")
def load_masked(machine: Machine, instruction: Instruction) -> Step:
    result, address, mask, other = machine.views(instruction)
    access = _Access(machine, instruction, instruction.results[0])
    step_bytes = result.itemsize

    def step() -> None:
        start = int(address[0])
        runs = _runs(mask)
        loaded = other.copy()
        to = loaded.ctypes.data
        for first, count in runs:
            size, offset = count * step_bytes, first * step_bytes
            ctypes.memmove(to + offset, access.at(start + offset, size, first), size)
        result[...] = loaded

    return step


@executes("store.masked")
def store_masked(machine: Machine, instruction: Instruction) -> Step:
    value, address, mask = machine.views(instruction)
    access = _Access(machine, instruction, instruction.operands[0])
    source, step_bytes = value.ctypes.data, value.itemsize

    def step() -> None:
        start = int(address[0])
        for first, count in _runs(mask):
            size, offset = count * step_bytes, first * step_bytes
            ctypes.memmove(access.at(start + offset, size, first), source + offset, size)

    return step


@executes("gather")
def gather(machine: Machine, instruction: Instruction) -> Step:
    result, addresses, mask, other = machine.views(instruction)
    access = _Access(machine, instruction, instruction.results[0])
    size = result.itemsize

    def step() -> None:
        loaded = other.copy()
        to = loaded.ctypes.data
        for lane in np.flatnonzero(mask).tolist():
            ctypes.memmove(to + lane * size, access.at(int(addresses[lane]), size, lane), size)
        result[...] = loaded

    return step


@executes("scatter")
def scatter(machine: Machine, instruction: Instruction) -> Step:
    value, addresses, mask = machine.views(instruction)
    access = _Access(machine, instruction, instruction.operands[0])
    source, size = value.ctypes.data, value.itemsize

    def step() -> None:
        for lane in np.flatnonzero(mask).tolist():
            ctypes.memmove(access.at(int(addresses[lane]), size, lane), source + lane * size, size)

    return step


@executes("prefetch", "fence")
def nothing(machine: Machine, instruction: Instruction) -> Step:
    """Hints and orderings: programs run one after the other here."""
    return lambda: None


@executes("scratch")
def scratch_address(machine: Machine, instruction: Instruction) -> Step:
    (result,) = machine.views(instruction)
    (offset,) = instruction.immediates
    assert isinstance(offset, int)
    return partial(np.copyto, result, np.array([machine.workspace_address + offset]))


@executes("spill", "reload")
def spill(machine: Machine, instruction: Instruction) -> Step:
    (register,) = (*instruction.results, *instruction.operands)
    lanes = machine.bytes_of(register)
    (offset,) = instruction.immediates
    assert isinstance(offset, int)
    slot = machine.workspace[offset : offset + len(lanes)]
    traffic, size = machine.memory.traffic, len(lanes)
    to, source = (slot, lanes) if instruction.name == "spill" else (lanes, slot)

    def step() -> None:
        to[...] = source
        traffic[1] += size

    return step


# --- atomics --------------------------------------------------------------------------------------------------------

UPDATES: Final[dict[str, Callable[[View, View], Any]]] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "add": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "umax": np.maximum,
    "umin": np.minimum,
    "xchg": lambda old, new: new,
}
"""Kind of update -> the new value of an old one and the operand."""


def _update(kind: str, element: str) -> Callable[[View, View], Any]:
    if kind != "fadd":
        return UPDATES[kind]
    if element not in FORMATS:
        return np.add

    def add(old: View, new: View) -> View:
        total = widened(old, element).astype(np.float32) + widened(new, element).astype(np.float32)
        return narrowed(total.astype(np.float64), element, "rtne")

    return add


@executes("atomic.rmw")
def atomic_rmw(machine: Machine, instruction: Instruction) -> Step:
    result, addresses, value, mask = machine.views(instruction)
    ty = instruction.results[0].type
    kind = str(instruction.immediates[0])
    update = _update(kind, ty.element)
    access = _Access(machine, instruction, instruction.results[0])
    cell = np.zeros(1, f"u{value.itemsize}" if kind in ("umax", "umin") else value.dtype)
    operands, place, size = value.view(cell.dtype), cell.ctypes.data, cell.itemsize

    def step() -> None:
        old = np.zeros_like(result)
        for lane in np.flatnonzero(mask).tolist():
            address = access.at(int(addresses[lane]), size, lane)
            ctypes.memmove(place, address, size)
            old[lane] = cell.view(result.dtype)[0]
            cell[:] = update(cell, operands[lane : lane + 1])
            ctypes.memmove(address, place, size)
            access.traffic[access.kind] += size
        result[...] = old

    return step


@executes("atomic.cas")
def atomic_cas(machine: Machine, instruction: Instruction) -> Step:
    result, addresses, expected, desired = machine.views(instruction)
    access = _Access(machine, instruction, instruction.results[0])
    cell = np.zeros(1, f"u{result.itemsize}")
    place, size = cell.ctypes.data, cell.itemsize
    wanted, new = expected.view(cell.dtype), desired.view(cell.dtype)

    def step() -> None:
        old = np.zeros_like(wanted)
        for lane, compare in enumerate(wanted.tolist()):
            address = access.at(int(addresses[lane]), size, lane)
            ctypes.memmove(place, address, size)
            old[lane] = cell[0]
            if cell[0] == compare:
                cell[0] = new[lane]
                ctypes.memmove(address, place, size)
                access.traffic[access.kind] += size
        result[...] = old.view(result.dtype)

    return step


@executes("deadline")
def deadline(machine: Machine, instruction: Instruction) -> Step:
    result, budget = machine.views(instruction)

    def step() -> None:
        result.view(np.uint64)[0] = min(time.monotonic_ns() + int(budget.view(np.uint64)[0]), NEVER)

    return step


@executes("atomic.poll")
def atomic_poll(machine: Machine, instruction: Instruction) -> Step:
    result, addresses, expected, mask, deadline = machine.views(instruction)
    access = _Access(machine, instruction, instruction.results[0])
    cell = np.zeros(1, f"u{result.itemsize}")
    place, size = cell.ctypes.data, cell.itemsize
    wanted, until = expected.view(cell.dtype), deadline.view(np.uint64)

    def step() -> None:
        found = np.zeros_like(wanted)
        for lane in np.flatnonzero(mask).tolist():
            while True:
                ctypes.memmove(place, access.at(int(addresses[lane]), size, lane), size)
                if cell[0] == wanted[lane] or time.monotonic_ns() >= int(until[0]):
                    break
                time.sleep(0)  # programs run one after the other: the value has to come from another thread
            found[lane] = cell[0]
        result[...] = found.view(result.dtype)

    return step
