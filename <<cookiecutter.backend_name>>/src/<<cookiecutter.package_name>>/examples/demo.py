"""The demo: every example on the device at hand, checked and timed against NumPy.

It needs neither torch nor a C compiler. If any result is wrong the table is printed all the same, and the exit
status is 1. On the emulator, which would take hours, the sizes are small, and cycles are counted instead of seconds.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from .. import activate
from ..errors import BackendError, InstallationError
from ..target import ARCH, BACKEND_NAME, ENV_PREFIX, VENDOR_NAME

if TYPE_CHECKING:  # it imports triton
    from .cases import Case

SECONDS_A_CASE = 0.4
BATCH = 5
FEWEST_BATCHES = 2
MOST_BATCHES = 20


@dataclass(frozen=True)
class Result:
    """One line of a table: whether a kernel's result was right."""

    HEADINGS: ClassVar[tuple[str, ...]] = ("kernel", "shape", "dtype", "max error", "ok")

    kernel: str
    shape: str
    dtype: str
    error: float
    tolerance: float

    @property
    def ok(self) -> bool:
        return self.error <= self.tolerance

    def cells(self) -> tuple[str, ...]:
        return (self.kernel, self.shape, self.dtype, f"{self.error:.1e}", "yes" if self.ok else "NO")


@dataclass(frozen=True)
class Row(Result):
    """With the fastest calls, in seconds."""

    HEADINGS: ClassVar[tuple[str, ...]] = (*Result.HEADINGS, "ours ms", "NumPy ms", "ratio")
    LEGEND: ClassVar[str] = (
        "Times: the fastest of many calls, launch included.\n"
        "NumPy: the peer, NumPy {numpy} doing the same work (fp16 and bf16 in fp32). ratio = NumPy / ours.\n"
        "Threads of each: {threads} (see --threads)."
    )

    ours: float
    peer: float

    @classmethod
    def of(cls, case: Case) -> Row:
        error = case.error()
        case.peer()
        times = fastest(case.run, case.peer)
        return cls(case.kernel, case.shape, case.dtype, error, case.tolerance, *times)

    def cells(self) -> tuple[str, ...]:
        times = f"{self.ours * 1e3:.3f}", f"{self.peer * 1e3:.3f}", f"{self.peer / self.ours:.2f}"
        return (*super().cells(), *times)


@dataclass(frozen=True)
class EmulatedRow(Result):
    """With what the emulator counted in one run."""

    HEADINGS: ClassVar[tuple[str, ...]] = (*Result.HEADINGS, "instructions", "cycles")
    LEGEND: ClassVar[str] = "Instructions and cycles: of one run, on one core."

    instructions: int
    cycles: int

    @classmethod
    def of(cls, case: Case) -> EmulatedRow:
        from ..emulator.profile import PROFILES

        PROFILES.clear()
        error = case.error()
        counted = list(PROFILES.values())
        return cls(
            case.kernel, case.shape, case.dtype, error, case.tolerance,
            sum(profile.total_instructions for profile in counted), sum(profile.cycles for profile in counted),
        )  # fmt: skip

    def cells(self) -> tuple[str, ...]:
        return (*super().cells(), f"{self.instructions:,}", f"{self.cycles:,}")


def table(rows: Sequence[Result]) -> str:
    """Plain text, aligned: the first three columns to the left, numbers to the right. All rows are of one class."""
    headings = rows[0].HEADINGS if rows else Result.HEADINGS
    cells = [headings, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, tuple("-" * width for width in widths))
    return "\n".join(
        "  ".join(
            cell.ljust(width) if index < 3 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    )


def seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def fastest(ours: Callable[[], object], peer: Callable[[], object]) -> tuple[float, float]:
    """The fastest call of each, over alternating batches, so that both sides see the same machine.

    Not medians: they tell of other programs on the machine, not of these two.
    """
    once = min(seconds(ours), seconds(ours)) + min(seconds(peer), seconds(peer))
    batches = min(MOST_BATCHES, max(FEWEST_BATCHES, int(SECONDS_A_CASE / once / BATCH)))
    mine: list[float] = []
    theirs: list[float] = []
    for _ in range(batches):
        mine += [seconds(ours) for _ in range(BATCH)]
        theirs += [seconds(peer) for _ in range(BATCH)]
    return min(mine), min(theirs)


def set_threads(count: int) -> None:
    """Let both sides use ``count`` threads. Their libraries read these variables when they are loaded.

    One is the default because NumPy uses more for matrix products only, and there its threads and ours stand in each
    other's way: on a busy machine such products have taken 30 times as long beside our kernels as alone.
    """
    for variable in (
        f"{ENV_PREFIX}_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "OMP_NUM_THREADS",
    ):
        os.environ[variable] = str(count)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernels", nargs="*", help="only those whose name contains one of these words")
    parser.add_argument("--threads", type=int, default=1, help="of each side: ours and NumPy's (default: 1)")


def run(arguments: argparse.Namespace) -> int:
    """Print progress, the table and what its columns mean. 0 if every result is right, else 1."""
    set_threads(arguments.threads)
    activate()
    import numpy as np

    from ..device_kinds import EMULATOR, REFERENCE, selected_kind
    from .cases import cases  # imports triton, and with it this backend

    start = time.perf_counter()
    kind = selected_kind()
    devices = {
        REFERENCE: f"its reference device, {os.cpu_count()} cores",
        EMULATOR: "its emulator, small sizes",
    }
    print(
        f"{BACKEND_NAME}: {VENDOR_NAME} {ARCH} on {devices.get(kind, f'device {kind!r}')}. Compiling and running:"
    )
    words: list[str] = arguments.kernels
    chosen = (
        case
        for case in cases(small=kind == EMULATOR)
        if not words or any(word in case.kernel for word in words)
    )
    row_class: type[Row | EmulatedRow] = EmulatedRow if kind == EMULATOR else Row
    rows, failures = measured(chosen, row_class)
    legend = row_class.LEGEND.format(numpy=np.__version__, threads=arguments.threads)
    print(f"\n{table(rows)}\n")
    print(f"max error: of one value, relative to max(1, |value|). {legend}\n")
    if not rows and not failures:
        print(f"no kernel's name contains {' or '.join(words)}")
        return 1
    wrong = [row for row in rows if not row.ok]
    failures += [
        f"{row.kernel} ({row.shape}, {row.dtype}): error {row.error:.1e} is above {row.tolerance:.1e}"
        for row in wrong
    ]
    for failure in failures:
        print(failure)
    count = len(rows) + len(failures) - len(wrong)
    print(f"{count - len(failures)} of {count} right, in {time.perf_counter() - start:.1f} s.")
    return 1 if failures else 0


def measured(chosen: Iterable[Case], row_class: type[Row | EmulatedRow]) -> tuple[list[Result], list[str]]:
    """A row for each case, with progress shown, and what went wrong with those that have none.

    Raises InstallationError: that is no kernel's fault, and the next ones would only repeat it.
    """
    rows: list[Result] = []
    failures: list[str] = []
    for case in chosen:
        title = f"{case.kernel} ({case.shape}, {case.dtype})"
        print(f"  {title:<60}", end="", flush=True)
        try:
            first = seconds(case.run)
            rows.append(row_class.of(case))
        except InstallationError:
            print(flush=True)
            raise
        except BackendError as problem:
            print("  failed", flush=True)
            failures.append(f"{title}: {problem}")
        else:
            print(f"  first launch {first:6.2f} s", flush=True)
    return rows, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    return run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
