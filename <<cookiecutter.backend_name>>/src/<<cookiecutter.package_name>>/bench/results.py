"""What a run of the benchmarks found, as data and as JSON, and what changed from one run to the next."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..errors import BackendError

FORMAT = 2
"""Of the JSON file; another number means that its fields have changed."""

NOISE = 1.15
"""A slowdown by less than this factor is not told from noise."""

LAUNCH_LIMIT = 1.25
"""A launch may take this many times what it takes with a launcher that does nothing."""


@dataclass(frozen=True)
class Measurement:
    """One work against one peer. Times are medians and fastest calls, in seconds.

    ``goal`` is the ratio, peer over ours, that is asked for; 0 if none is. ``floor`` is what the work takes at least:
    a copy of as many bytes, or as many multiply-adds in registers; 0 if neither was measured. ``problem``: why there
    are no numbers.
    """

    work: str
    shape: str
    threads: int
    peer: str
    goal: float
    ours: float = 0.0
    theirs: float = 0.0
    ours_fastest: float = 0.0
    theirs_fastest: float = 0.0
    floor: float = 0.0
    error: float = 0.0
    tolerance: float = 0.0
    problem: str = ""

    @property
    def ratio(self) -> float:
        """How many times faster than the peer; higher is better."""
        return self.theirs / self.ours if self.ours else 0.0

    @property
    def is_within_reach(self) -> bool:
        """Whether a kernel that takes as long as the floor would meet the goal."""
        return self.theirs >= self.goal * self.floor

    @property
    def is_right(self) -> bool:
        return self.error <= self.tolerance

    @property
    def verdict(self) -> str:
        if self.problem:
            return "failed"
        if not self.is_right:
            return "WRONG"
        return "" if not self.goal else "yes" if self.ratio >= self.goal else "no"

    @property
    def key(self) -> tuple[str, str, int, str]:
        """Tells which measurements of two runs are the same."""
        return (self.work, self.shape, self.threads, self.peer)


FIRST_CALL_LIMIT = 5.0
"""Milliseconds that this package may take of the first call of a cached kernel."""

MEMORY_LIMIT = 200.0
"""MB by which 500 kernels may grow a process."""


@dataclass(frozen=True)
class Compilation:
    """CPU milliseconds to compile one kernel; ``stages`` by name, the rest is Triton's front end.

    ``goal`` is for the total; 0 if there is none.
    """

    kernel: str
    total: float
    stages: dict[str, float]
    goal: float = 0.0

    @property
    def verdict(self) -> str:
        return "" if not self.goal else "yes" if self.total <= self.goal else "no"


@dataclass(frozen=True)
class FirstCall:
    """CPU milliseconds of a kernel's first call in a new process, with the kernel in the cache: those that this package
    takes, and all."""

    ours: float
    total: float


@dataclass(frozen=True)
class Memory:
    """MB of a process after its ``first`` kernel, and their ``growth`` until it has compiled and keeps so many."""

    kernels: int
    first: float
    growth: float


@dataclass(frozen=True)
class Launch:
    """Seconds of a launch with four arguments: with our launcher, and with one that does nothing."""

    ours: float
    nothing: float

    @property
    def factor(self) -> float:
        return self.ours / self.nothing


@dataclass
class Run:
    machine: dict[str, Any]
    measurements: list[Measurement] = field(default_factory=list[Measurement])
    compilations: list[Compilation] = field(default_factory=list[Compilation])
    launch: Launch | None = None
    first_call: FirstCall | None = None
    memory: Memory | None = None

    def save(self, path: Path) -> None:
        path.write_text(json.dumps({"format": FORMAT, **asdict(self)}, indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def load(path: Path) -> Run:
        """Raises BackendError if `path` does not hold the results of a run."""
        try:
            data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            if data["format"] != FORMAT:
                raise BackendError(f"{path} has format {data['format']}, not {FORMAT}: measure again")
            launch, first, memory = data["launch"], data.get("first_call"), data.get("memory")
            return Run(
                data["machine"],
                [Measurement(**entry) for entry in data["measurements"]],
                [Compilation(**entry) for entry in data["compilations"]],
                Launch(**launch) if launch else None,
                FirstCall(**first) if first else None,
                Memory(**memory) if memory else None,
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BackendError(f"cannot read benchmark results from {path}: {error}") from error


@dataclass(frozen=True)
class Change:
    """One number in two runs; ``factor`` > 1: slower than before."""

    what: str
    before: float
    now: float
    unit: str

    @property
    def factor(self) -> float:
        return self.now / self.before

    @property
    def is_regression(self) -> bool:
        return self.factor > NOISE


def compare(old: Run, new: Run) -> list[Change]:
    """What both runs measured, worst change first.

    Kernels are compared by their time relative to the peer's, in the same run, unless peers differ: that of another
    machine, or of a busier one, would say nothing.
    """
    before = {m.key: m for m in old.measurements if m.ratio}
    changes = [
        Change(label(m), 1 / before[m.key].ratio, 1 / m.ratio, f"of {m.peer}'s time")
        for m in new.measurements
        if m.ratio and m.key in before
    ]
    compiled = {c.kernel: c.total for c in old.compilations}
    changes += [
        Change(f"compile {c.kernel}", compiled[c.kernel], c.total, "CPU ms")
        for c in new.compilations
        if c.kernel in compiled
    ]
    if old.launch and new.launch:
        changes.append(Change("launch", old.launch.factor, new.launch.factor, "of an empty one"))
    if old.first_call and new.first_call:
        changes.append(Change("first call, cached", old.first_call.ours, new.first_call.ours, "CPU ms"))
    if old.memory and new.memory:
        changes.append(Change("memory of kernels", old.memory.growth, new.memory.growth, "MB"))
    return sorted(changes, key=lambda change: -change.factor)


def label(measurement: Measurement) -> str:
    threads = f"{measurement.threads} thread" + ("s" if measurement.threads != 1 else "")
    return f"{measurement.work} ({measurement.shape}, {threads}) vs {measurement.peer}"


def missed(measurements: Sequence[Measurement]) -> list[Measurement]:
    return [m for m in measurements if m.verdict in ("no", "WRONG", "failed")]
