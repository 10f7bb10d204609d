"""What launches on the emulator did: counted by kernel, summed over launches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..assembler.program import Location
from ..dialects.isa.base import Unit
from ..target import DEVICE_BYTES_PER_CYCLE
from .core import Core
from .cycles import BlockCost
from .machine import DEVICE, SCRATCHPAD

BOUNDS = {
    "memory": (Unit.MEMORY,),
    "vector": (Unit.VECTOR, Unit.SPECIAL),
    "matrix": (Unit.MATRIX,),
    "scalar": (Unit.SCALAR, Unit.CONTROL),
}
"""What a kernel can be bound by -> the units that are busy then; device memory counts as memory too."""

LATENCY = "latency"
"""What bounds a kernel that waits for results."""
ISSUE = "issue"
"""What bounds a kernel whose instructions are too many, of whichever unit: one is issued a cycle."""

LEAST_SHARE = 0.5
"""Of the cycles: something that is busy for less bounds nothing, if there is something else for more."""


@dataclass
class Profile:
    """Of one kernel. ``busy``, ``instructions`` and ``waits`` (cycles in which the core waits for a unit's results)
    are by unit, ``lines`` are cycles by source line.

    ``device_bytes`` and ``scratchpad_bytes`` were moved; a program needs ``workspace_bytes`` of the scratchpad.
    """

    kernel: str
    launches: int = 0
    programs: int = 0
    cycles: int = 0
    device_bytes: int = 0
    scratchpad_bytes: int = 0
    workspace_bytes: int = 0
    operations: int = 0
    busy: dict[Unit, int] = field(default_factory=lambda: defaultdict(int))
    instructions: dict[Unit, int] = field(default_factory=lambda: defaultdict(int))
    waits: dict[Unit, int] = field(default_factory=lambda: defaultdict(int))
    lines: dict[Location | None, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, costs: Sequence[BlockCost], core: Core, programs: int) -> None:
        """Counts a launch that has run; ``costs`` are those of the program's blocks."""
        cycles = 0
        for cost, count in zip(costs, core.counts, strict=True):
            if not count:
                continue
            cycles += count * cost.cycles
            self.operations += count * cost.operations
            for unit, value in cost.busy.items():
                self.busy[unit] += count * value
            for unit, value in cost.instructions.items():
                self.instructions[unit] += count * value
            for unit, value in cost.waits.items():
                self.waits[unit] += count * value
            for line, value in cost.lines.items():
                self.lines[line] += count * value
        device_bytes = core.machine.memory.traffic[DEVICE]
        self.launches += 1
        self.programs += programs
        self.device_bytes += device_bytes
        self.scratchpad_bytes += core.machine.memory.traffic[SCRATCHPAD]
        self.workspace_bytes = max(self.workspace_bytes, core.workspace_bytes)
        self.cycles += max(cycles, transfer_cycles(device_bytes))

    @property
    def total_instructions(self) -> int:
        return sum(self.instructions.values())

    def busy_cycles(self, bound: str) -> int:
        """Cycles for which what `bound` stands for was busy."""
        if bound == LATENCY:
            return sum(self.waits.values())
        if bound == ISSUE:
            return self.total_instructions
        most = max(self.busy.get(unit, 0) for unit in BOUNDS[bound])
        return max(most, transfer_cycles(self.device_bytes)) if bound == "memory" else most

    @property
    def bound(self) -> str:
        """What was busy the longest: a key of `BOUNDS`, or where that was not busy for long, `LATENCY` or `ISSUE`."""
        busiest = max(BOUNDS, key=self.busy_cycles)
        if self.busy_cycles(busiest) >= LEAST_SHARE * self.cycles:
            return busiest
        return max((busiest, LATENCY, ISSUE), key=self.busy_cycles)

    @property
    def utilisation(self) -> float:
        """The share of the time for which that was busy."""
        return self.busy_cycles(self.bound) / self.cycles if self.cycles else 0.0


def transfer_cycles(size: int) -> int:
    """Cycles that device memory takes to move `size` bytes."""
    return -(-size // DEVICE_BYTES_PER_CYCLE)


PROFILES: dict[str, Profile] = {}
"""Kernel -> what its launches on the emulator did since the process began, or since this was cleared."""


def record(kernel: str, costs: Sequence[BlockCost], core: Core, programs: int) -> None:
    """Adds a launch that has run to `PROFILES`."""
    PROFILES.setdefault(kernel, Profile(kernel)).add(costs, core, programs)
