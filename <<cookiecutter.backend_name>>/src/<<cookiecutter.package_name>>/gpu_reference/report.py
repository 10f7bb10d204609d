"""On a machine with a GPU: are the numbers right, and is it at least as fast as Triton's own backend?

    python -m PACKAGE.gpu_reference.report --out FOLDER

Runs every example against NumPy on this backend, on Triton's ``nvidia`` and on the reference device; then measures
kernels, launches and compilations of the two GPU backends, a process each, in turns. Writes ``gpu-report.md`` and
``gpu-report.json``. The exit status is 1 if a result is wrong or something failed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any, Final

from ..target import BACKEND_NAME
from .names import GPU_BACKEND_NAME

STOCK: Final = "nvidia"
LIMITS: Final = {"kernel": 1.03, "launch": 0.9, "compile": 1.05}
"""Ratio ours / stock that is aimed at, by group."""


class WorkerFailed(RuntimeError):
    """A worker could not do what it was told."""


class Process:
    """A worker with a backend and a kernel cache of its own."""

    def __init__(self, backend: str, cache: Path) -> None:
        self.backend = backend
        command = [sys.executable, "-m", f"{__package__}.worker"]
        environment = {
            **os.environ,
            "TRITON_DEFAULT_BACKEND": backend,
            "TRITON_CACHE_DIR": str(cache / backend),
        }
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )

    def ask(self, do: str, **arguments: Any) -> Any:
        """Raises WorkerFailed with the worker's own words."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps({"do": do, "with": arguments}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise WorkerFailed(f"{self.backend}: the worker ended with status {self.process.wait()}")
        answer = json.loads(line)
        if "failed" in answer:
            raise WorkerFailed(f"{self.backend}: {do} {arguments or ''}: {answer['failed']}")
        return answer["answer"]

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()


def in_turns(ours: Callable[[], float], stock: Callable[[], float], rounds: int) -> dict[str, Any]:
    """Milliseconds of both, and the median of the ratios of neighbours; who goes first changes."""
    samples: dict[str, list[float]] = {"ours": [], "stock": []}
    for turn in range(rounds):
        order = [("ours", ours), ("stock", stock)]
        for name, measure in order if turn % 2 else reversed(order):
            samples[name].append(measure())
    ratio = median(a / b for a, b in zip(samples["ours"], samples["stock"], strict=True))
    return {
        "ours": median(samples["ours"]),
        "stock": median(samples["stock"]),
        "ratio": ratio,
        "samples": samples,
    }


def measure(ours: Process, stock: Process, rounds: int, failures: list[str]) -> list[dict[str, Any]]:
    """All pairs, in order of importance; a pair that fails is noted and left out."""
    about = ours.ask("about")
    results: list[dict[str, Any]] = []

    def add(group: str, name: str, pair: Callable[[], dict[str, Any]]) -> None:
        try:
            results.append({"group": group, "name": name, **pair()})
            row = results[-1]
            print(f"  {name:<46} {row['ours']:9.4f} {row['stock']:9.4f} {row['ratio']:6.3f}", flush=True)
        except WorkerFailed as failure:
            failures.append(str(failure))
            print(f"  {failure}", flush=True)

    for name in about["launches"]:
        add("launch", name, lambda name=name: in_turns(  # type: ignore[misc]
            lambda: ours.ask("launch", name=name), lambda: stock.ask("launch", name=name), 3 * rounds
        ))  # fmt: skip
    for name in about["kernels"]:
        add("kernel", name, lambda name=name: in_turns(  # type: ignore[misc]
            lambda: ours.ask("kernel", name=name), lambda: stock.ask("kernel", name=name), rounds
        ))  # fmt: skip
    add("compile", "compile three kernels", lambda: in_turns(
        lambda: sum(ours.ask("compile").values()), lambda: sum(stock.ask("compile").values()), rounds
    ))  # fmt: skip
    return results


def table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """In Markdown."""
    lines = [list(headings), *(list(row) for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def describe(report: dict[str, Any]) -> str:
    """The report in Markdown."""
    about = report["about"]
    parts = [
        f"# {GPU_BACKEND_NAME} on {about['gpu']}",
        f"Triton {about['triton']}, torch {about['torch']}, Python {about['python']}; {report['date']}.",
        "## Numerics\n\nLargest error of a value, relative to max(1, |value|), against NumPy.",
    ]
    backends = list(report["numerics"])
    rows: list[list[str]] = []
    for group in zip(*report["numerics"].values(), strict=True):
        first = group[0]
        errors = [
            f"{row['error']:.1e}" if "error" in row else f"FAILED {row['failed'][:60]}" for row in group
        ]
        limit = next((f"{row['tolerance']:.1e}" for row in group if "tolerance" in row), "")
        rows.append([first["kernel"], first["shape"], first["dtype"], *errors, limit])
    parts.append(table(["kernel", "shape", "dtype", *backends, "tolerance"], rows))
    if report["pairs"]:
        parts.append(
            "## Times\n\nMilliseconds, medians; processes take turns. ratio = ours / stock, below 1 is faster."
        )
        parts.append(
            table(
                ["what", GPU_BACKEND_NAME, STOCK, "ratio"],
                (
                    [p["name"], f"{p['ours']:.4f}", f"{p['stock']:.4f}", f"{p['ratio']:.3f}"]
                    for p in report["pairs"]
                ),
            )
        )
        parts.append(
            table(
                ["group", "geometric mean of ratios", "largest", "aim"],
                (
                    [g, f"{s['mean']:.3f}", f"{s['largest']:.3f}", f"{LIMITS[g]:.2f}"]
                    for g, s in report["groups"].items()
                ),
            )
        )
    if report["failures"]:
        parts.append("## Failures\n\n" + "\n".join(f"- {failure}" for failure in report["failures"]))
    return "\n\n".join(parts) + "\n"


def check_numerics(backend: str, cache: Path, failures: list[str]) -> list[dict[str, Any]]:
    """Runs the examples in a process of their own; notes what is wrong."""
    process = Process(backend, cache)
    try:
        rows: list[dict[str, Any]] = process.ask("numerics")
    except WorkerFailed as failure:
        failures.append(str(failure))
        return []
    finally:
        process.end()
    for row in rows:
        name = f"{backend}: {row['kernel']} ({row['shape']}, {row['dtype']})"
        if "failed" in row:
            failures.append(f"{name}: {row['failed']}")
        elif not row["error"] <= row["tolerance"]:
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
    report: dict[str, Any] = {"date": time.strftime("%Y-%m-%d"), "numerics": {}, "pairs": [], "groups": {}}
    with tempfile.TemporaryDirectory(prefix="gpu-report-") as folder:
        cache = Path(folder)
        ours = Process(GPU_BACKEND_NAME, cache)
        stock = Process(STOCK, cache)
        try:
            report["about"] = ours.ask("about")
            print(
                f"{GPU_BACKEND_NAME} on {report['about']['gpu']}; milliseconds: ours, stock, ratio",
                flush=True,
            )
            if not arguments.numerics_only:
                report["pairs"] = measure(ours, stock, arguments.rounds, failures)
        finally:
            ours.end()
            stock.end()
        for backend in (GPU_BACKEND_NAME, STOCK, *(() if arguments.no_reference_device else (BACKEND_NAME,))):
            print(f"numerics on {backend}", flush=True)
            rows = check_numerics(backend, cache, failures)
            if rows:
                report["numerics"][backend] = rows
    for group in LIMITS:
        ratios = [pair["ratio"] for pair in report["pairs"] if pair["group"] == group]
        if ratios:
            report["groups"][group] = {"mean": geometric_mean(ratios), "largest": max(ratios)}
    report["failures"] = failures
    text = describe(report)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "gpu-report.md").write_text(text, encoding="utf-8")
    (arguments.out / "gpu-report.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(text)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
