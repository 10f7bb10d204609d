"""``bench``: measure the kernels against torch, how long they take to compile, and what a launch costs."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import BackendError
from ..requirements_check import installed_version
from ..target import BACKEND_NAME, DISTRIBUTION_NAME, PACKAGE_NAME

if TYPE_CHECKING:  # they import torch
    from ..bench.results import Measurement, Run
    from ..bench.suite import Suite
    from ..bench.works import Work

DEFAULT_JSON = "bench.json"
SECONDS, QUICK_SECONDS = 1.0, 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("works", nargs="*", help="only those whose name contains one of these words")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument(
        "--threads", default="1,all", help="numbers of threads for both sides, e.g. 1,4,all (default: 1,all)"
    )
    parser.add_argument("--inductor", action="store_true", help="also against torch.compile's C++ backend")
    parser.add_argument("--interpreter", action="store_true", help="also against Triton's interpreter (slow)")
    parser.add_argument(
        "--memory", action="store_true", help="also what 500 compiled kernels keep (half a minute)"
    )
    parser.add_argument(
        "--no-kernels", action="store_true", help="only compile times, the launch and the first call"
    )
    parser.add_argument(
        "--no-compile", action="store_true", help="no compile times, no launch, no first call"
    )
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SECONDS} s a side, not {SECONDS} s")
    parser.add_argument("--small", action="store_true", help="tiny sizes: does it all work?")
    parser.add_argument("--json", type=Path, default=Path(DEFAULT_JSON), help=f"default: {DEFAULT_JSON}")
    parser.add_argument("--plot", type=Path, help="an SVG picture (default: the JSON file's name with .svg)")
    parser.add_argument(
        "--compare", type=Path, metavar="OLD.json", help="exit with 1 if something got slower"
    )


def run(arguments: argparse.Namespace) -> int:
    """0: measured; 1: a result is wrong, a process failed, or ``--compare`` found a regression. Missed goals are shown,
    and are no failure: they hold for the machine that they were set on.
    """
    if installed_version("torch") is None:
        raise BackendError(
            "torch is what the kernels are measured against, and it is not installed: "
            f"pip install {DISTRIBUTION_NAME}[torch]"
        )
    os.environ["TRITON_DEFAULT_BACKEND"] = BACKEND_NAME  # before triton is imported
    from ..bench.results import Run
    from ..bench.works import chosen

    works = chosen(arguments.works)
    if not works:
        raise BackendError(f"no work's name contains {' or '.join(arguments.works)}: see --list")
    if arguments.list:
        print("\n".join(f"{work.name:<20}  {work.shape()}" for work in works))
        return 0
    old = Run.load(arguments.compare) if arguments.compare else None
    found, failures = measured(works, arguments)
    show(found, with_goals=not arguments.small)
    write(found, arguments)
    failures += problems(found.measurements)
    if old is not None:
        failures += regressions(old, found, str(arguments.compare))
    for failure in failures:
        print(failure)
    return 1 if failures else 0


def measured(works: Sequence[Work], arguments: argparse.Namespace) -> tuple[Run, list[str]]:
    """What was asked for, and what could not be measured."""
    from ..bench.results import Run
    from ..bench.suite import machine, new_suite

    found = Run(machine())
    with new_suite(seconds=QUICK_SECONDS if arguments.quick else SECONDS, small=arguments.small) as suite:
        if not arguments.no_kernels:
            for work in works:
                for threads in thread_counts(arguments.threads):
                    found.measurements += measurements(suite, work, threads, arguments)
        if not arguments.no_compile:
            try:
                measure_compiler(suite, works, found, with_memory=arguments.memory)
            except BackendError as error:
                return found, [str(error)]
    return found, []


def measurements(
    suite: Suite, work: Work, threads: int, arguments: argparse.Namespace
) -> Iterator[Measurement]:
    """One work against each of its peers."""
    goal = 0.0 if arguments.small else work.goal if threads == 1 else work.goal_all
    eager = suite.pair(work, threads, "eager", goal)
    yield eager
    if arguments.inductor:
        yield suite.pair(work, threads, "inductor", 0.0)
    if arguments.interpreter and not eager.problem:
        yield suite.interpreter(work, threads, eager)
    print(f"  {work.name}, {threads} thread(s): {eager.ratio:.2f}", flush=True)


def measure_compiler(suite: Suite, works: Sequence[Work], found: Run, *, with_memory: bool) -> None:
    """Compile times, a launch, the first call. Raises BackendError if a process fails; `found` has what came before."""
    for work in works:
        if work.kernels:
            found.compilations += suite.compile_times(work)
    found.launch = suite.launch()
    found.first_call = suite.first_call()
    if with_memory:
        found.memory = suite.memory()


def show(found: Run, *, with_goals: bool) -> None:
    from ..bench import report

    if found.measurements:
        print(f"\n{report.measurements_table(found.measurements)}\n")
        print(
            "Medians of interleaved calls, launch included; for one thread, of its CPU time. ratio = peer / ours.\n"
            "floor: torch copies as many bytes as the work reads and writes, or cores make the multiply-adds of an\n"
            "fp32 product in registers, whichever takes longer. Nobody is much faster than that."
        )
        if with_goals:
            print(missed_goals(found.measurements))
    if found.compilations:
        print(f"\n{report.compilations_table(found.compilations)}")
    if found.launch:
        print(f"\n{report.launch_line(found.launch)}")
    if found.first_call:
        print(report.first_call_line(found.first_call))
    if found.memory:
        print(report.memory_line(found.memory))


def missed_goals(found: Sequence[Measurement]) -> str:
    from ..bench.results import missed

    behind = [m for m in missed(found) if m.verdict == "no"]
    beyond = sum(not m.is_within_reach for m in behind)
    line = f"Below their goal: {len(behind)} of {len(found)}"
    return line + (f", {beyond} of them beyond the floor: they cannot be met here." if beyond else ".")


def write(found: Run, arguments: argparse.Namespace) -> None:
    from ..bench import plot

    found.save(arguments.json)
    picture = arguments.plot or arguments.json.with_suffix(".svg")
    picture.write_text(plot.svg(found.measurements, f"{PACKAGE_NAME} and torch"), encoding="utf-8")
    print(f"\nwritten: {arguments.json}, {picture}")


def regressions(old: Run, new: Run, name: str) -> list[str]:
    """Shows what has changed since the run of that name; gives what became slower."""
    from ..bench import report
    from ..bench.results import compare

    changes = compare(old, new)
    print(f"\nagainst {name}:\n{report.changes_table(changes)}")
    return [f"{c.what}: {c.factor:.2f} times as slow as before" for c in changes if c.is_regression]


def problems(found: Iterable[Measurement]) -> list[str]:
    """What is wrong beyond being slow."""
    from ..bench.results import label

    lines: list[str] = []
    for m in found:
        if m.problem:
            lines.append(m.problem)
        elif not m.is_right:
            lines.append(f"{label(m)}: error {m.error:.1e} is above {m.tolerance:.1e}")
    return lines


def thread_counts(text: str) -> list[int]:
    """``"1,all"`` -> [1, 8] on a machine with 8 CPUs. Raises BackendError for anything that is not a number."""
    from ..runtime.pool import cpu_count

    counts: list[int] = []
    for word in text.split(","):
        if word != "all" and not (word.isascii() and word.isdigit() and int(word)):
            raise BackendError(f"--threads {text!r}: give numbers of threads and 'all', separated by commas")
        count = cpu_count() if word == "all" else int(word)
        if count not in counts:
            counts.append(count)
    return counts
