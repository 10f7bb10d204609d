"""On a machine with a GPU: are the numbers right, and is it at least as fast as Triton's own backend?

    python -m PACKAGE.gpu_reference.report --out FOLDER

Runs every example against NumPy on this backend, on Triton's ``nvidia`` and on the reference device. Measures kernels
under the two GPU backends in one process (`pairs.py`), and small calls, launches and compilations in a process each, in
turns. Writes ``gpu-report.md`` and ``gpu-report.json``. The exit status is 1 if a result is wrong or something failed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterable
from functools import partial
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any, Final, NamedTuple

from ..target import BACKEND_NAME
from .names import GPU_BACKEND_NAME

STOCK: Final = "nvidia"


class Group(NamedTuple):
    """What belongs together in the report; the ratios ours / stock that are aimed at, their mean and the largest.

    An optional pass may lose somewhere: that is why it is optional."""

    title: str
    mean: float
    largest: float


GROUPS: Final = {
    "kernel": Group("kernels, time on the GPU", 1.0, 1.03),
    "interior": Group("kernels on odd lengths, with the optional pass unmask-interior", 1.0, math.inf),
    "small": Group("small calls, wall time with their launches", 1.0, 1.03),
    "launch": Group("launches", 0.9, 0.9),
    "compile": Group("compilation", 1.05, 1.05),
}


PROCESSES: Final = 3
"""Pairs of processes in which the host's times are measured: where a process's memory lies matters, too."""


class WorkerFailed(RuntimeError):
    """A worker could not do what it was told."""


class Process:
    """A worker with a backend and a kernel cache of its own."""

    def __init__(self, backend: str, cache: Path) -> None:
        self.backend = backend
        self.environment = {
            **os.environ,
            "TRITON_DEFAULT_BACKEND": backend,
            "TRITON_CACHE_DIR": str(cache / backend),
        }
        self.process = self._start()

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", f"{__package__}.worker"]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=self.environment, stdin=pipe, stdout=pipe, encoding="utf-8")

    def ask(self, do: str, **arguments: Any) -> Any:
        """Raises WorkerFailed with the worker's own words. One that has died is started again."""
        if self.process.poll() is not None:
            self.process = self._start()
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps({"do": do, "with": arguments}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            raise WorkerFailed(
                f"{self.backend}: {do} {arguments or ''}: the worker ended with status {status}"
            )
        answer = json.loads(line)
        if "failed" in answer:
            raise WorkerFailed(f"{self.backend}: {do} {arguments or ''}: {answer['failed']}")
        return answer["answer"]

    def end(self) -> None:
        """Wait until it has ended."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()


@contextlib.contextmanager
def worker(backend: str, cache: Path) -> Generator[Process]:
    process = Process(backend, cache)
    try:
        yield process
    finally:
        process.end()


def in_turns(ours: Callable[[], float], stock: Callable[[], float], rounds: int) -> list[tuple[float, float]]:
    """Milliseconds of both, ours first; who is measured first changes."""
    times: list[tuple[float, float]] = []
    for turn in range(rounds):
        if turn % 2:
            mine = ours()
            times.append((mine, stock()))
        else:
            theirs = stock()
            times.append((ours(), theirs))
    return times


class Pairs:
    """All results by group and name; a pair that fails is noted and left out."""

    def __init__(self, failures: list[str]) -> None:
        self.rows: list[dict[str, Any]] = []
        self.failures = failures

    @contextlib.contextmanager
    def noted(self) -> Generator[None]:
        try:
            yield
        except WorkerFailed as failure:
            self.failures.append(str(failure))
            print(f"  {failure}", flush=True)

    def add(self, group: str, name: str, row: dict[str, Any]) -> None:
        self.rows.append({"group": group, "name": name, **row})
        print(f"  {name:<46} {row['ours']:9.4f} {row['stock']:9.4f} {row['ratio']:6.3f}", flush=True)


def measure(
    cache: Path, works: dict[str, list[str]], rounds: int, failures: list[str]
) -> list[dict[str, Any]]:
    """Kernels in one process, then what the host does in a process each, started anew several times."""
    pairs = Pairs(failures)
    with worker(STOCK, cache) as both:
        for group in ("kernel", "interior"):
            for name in works[group]:
                with pairs.noted():
                    pairs.add(group, name, both.ask("pair", group=group, name=name, samples=20 * rounds))
    times: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for _ in range(PROCESSES):
        with worker(GPU_BACKEND_NAME, cache) as ours, worker(STOCK, cache) as stock:
            for group in ("small", "launch", "compile"):
                for name in works[group]:
                    question: dict[str, Any] = {"do": "time", "group": group, "name": name}
                    with pairs.noted():
                        times.setdefault((group, name), []).extend(
                            in_turns(
                                partial(ours.ask, **question), partial(stock.ask, **question), 2 * rounds
                            )
                        )
    for (group, name), samples in times.items():
        row = {
            "ours": median(mine for mine, _ in samples),
            "stock": median(theirs for _, theirs in samples),
            "ratio": median(mine / theirs for mine, theirs in samples),
            "samples": samples,
        }
        pairs.add(group, name, row)
    return pairs.rows


def table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """In Markdown."""
    lines = [list(headings), *(list(row) for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def outcome(row: dict[str, Any]) -> str:
    """What became of one example on one backend."""
    if "error" in row:
        return f"{row['error']:.1e}"
    return f"left out: {row['left_out']}" if "left_out" in row else f"FAILED {row['failed'][:60]}"


def errors_table(numerics: dict[str, list[dict[str, Any]]]) -> str:
    """A row a case, a column a backend."""
    rows: list[list[str]] = []
    for group in zip(*numerics.values(), strict=True):
        first = group[0]
        errors = [outcome(row) for row in group]
        limit = next((f"{row['tolerance']:.1e}" for row in group if "tolerance" in row), "")
        rows.append([first["kernel"], first["shape"], first["dtype"], *errors, limit])
    return table(["kernel", "shape", "dtype", *numerics, "tolerance"], rows)


def describe(report: dict[str, Any]) -> str:
    """The report in Markdown."""
    about = report["about"]
    parts = [
        f"# {GPU_BACKEND_NAME} on {about['gpu']}",
        f"Triton {about['triton']}, torch {about['torch']}, Python {about['python']}; {report['date']}.",
        "## Numerics\n\nLargest error of a value, relative to max(1, |value|), against NumPy.",
        errors_table(report["numerics"]),
        f"Functions for kernels that {STOCK} does not have:",
        errors_table(report["functions"]),
    ]
    if report["pairs"]:
        parts.append(
            "## Times\n\nratio = ours / stock, below 1 is faster; milliseconds are medians. Kernels: both in one "
            "process, replayed by turns. All else: a process each, by turns."
        )
        summary = [
            [
                GROUPS[name].title,
                f"{group['mean']:.3f} (at most {GROUPS[name].mean:.2f})",
                f"{group['largest']:.3f}"
                + (f" (at most {GROUPS[name].largest:.2f})" if GROUPS[name].largest < math.inf else ""),
                "yes" if group["met"] else "NO",
            ]
            for name, group in report["groups"].items()
        ]
        parts.append(table(["group", "geometric mean of ratios", "largest", "met"], summary))
        for name, group in GROUPS.items():
            rows = [
                [p["name"], f"{p['ours']:.4f}", f"{p['stock']:.4f}", f"{p['ratio']:.3f}", code_of(p)]
                for p in report["pairs"]
                if p["group"] == name
            ]
            if rows:
                parts.append(f"### {group.title[0].upper()}{group.title[1:]}")
                parts.append(table(["what", GPU_BACKEND_NAME, STOCK, "ratio", "PTX"], rows))
    if report["failures"]:
        parts.append("## Failures\n\n" + "\n".join(f"- {failure}" for failure in report["failures"]))
    return "\n\n".join(parts) + "\n"


def code_of(pair: dict[str, Any]) -> str:
    return {True: "the same", False: "ours", None: ""}[pair.get("same code")]


def check_numerics(what: str, backend: str, cache: Path, failures: list[str]) -> list[dict[str, Any]]:
    """Runs the examples (``"numerics"``) or the package's functions in a process of their own; notes what is wrong."""
    with worker(backend, cache) as process:
        try:
            rows: list[dict[str, Any]] = process.ask(what)
        except WorkerFailed as failure:
            failures.append(str(failure))
            return []
    for row in rows:
        name = f"{backend}: {row['kernel']} ({row['shape']}, {row['dtype']})"
        if "failed" in row:
            failures.append(f"{name}: {row['failed']}")
        elif "error" in row and not row["error"] <= row["tolerance"]:
            failures.append(f"{name}: error {row['error']:.1e} is above {row['tolerance']:.1e}")
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path(), help="where the report goes (default: here)")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of samples of each kernel (default: 5)")
    parser.add_argument("--no-reference-device", action="store_true", help="GPU only")
    parser.add_argument("--numerics-only", action="store_true", help="measure no times")
    arguments = parser.parse_args()
    failures: list[str] = []
    report: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "numerics": {},
        "functions": {},
        "pairs": [],
        "groups": {},
    }
    with tempfile.TemporaryDirectory(prefix="gpu-report-") as folder:
        cache = Path(folder)
        with worker(GPU_BACKEND_NAME, cache) as ours:
            report["about"] = ours.ask("about")
        print(f"{GPU_BACKEND_NAME} on {report['about']['gpu']}; milliseconds: ours, stock, ratio", flush=True)
        if not arguments.numerics_only:
            report["pairs"] = measure(cache, report["about"]["works"], arguments.rounds, failures)
        reference = [] if arguments.no_reference_device else [BACKEND_NAME]
        for what, backends in (
            ("numerics", [GPU_BACKEND_NAME, STOCK, *reference]),
            ("functions", [GPU_BACKEND_NAME, *reference]),
        ):
            for backend in backends:
                print(f"{what} on {backend}", flush=True)
                rows = check_numerics(what, backend, cache, failures)
                if rows:
                    report[what][backend] = rows
    for name, group in GROUPS.items():
        ratios = [pair["ratio"] for pair in report["pairs"] if pair["group"] == name]
        if ratios:
            mean, largest = round(geometric_mean(ratios), 3), round(max(ratios), 3)
            met = mean <= group.mean and largest <= group.largest
            report["groups"][name] = {"mean": mean, "largest": largest, "met": met}
    report["failures"] = failures
    text = describe(report)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "gpu-report.md").write_text(text, encoding="utf-8")
    (arguments.out / "gpu-report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(text)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
