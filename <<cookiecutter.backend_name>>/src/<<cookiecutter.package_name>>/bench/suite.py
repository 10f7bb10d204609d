"""Runs the benchmarks: one process a pair, one after the other, with the threads that it may use."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from ..errors import BackendError
from ..requirements_check import MODULES, installed_version
from ..runtime.pool import cpu_count
from ..target import BACKEND_NAME, DISTRIBUTION_NAME
from .results import Compilation, FirstCall, Launch, Measurement, Memory
from .worker import THREADS_VARIABLE, Request

PATIENCE = 600.0
"""Seconds after which a process is given up."""

PROCESSES = 7
"""Whose first calls are timed."""

INTERPRETER_GOAL = 100.0

KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(32 * 2**20), "MALLOC_TRIM_THRESHOLD_": str(4 * 2**30)}
"""The C library keeps what was freed, as in a process that has run for a while. Whether a result of 16 MB lands in
fresh pages, which the system has to clear first, is chance otherwise, and takes longer than some kernels."""


class Suite:
    """Starts workers that share a kernel cache, so that a kernel is compiled once in a run."""

    def __init__(self, cache: Path, *, seconds: float, small: bool) -> None:
        self.cache = cache
        self.seconds = seconds
        self.small = small

    def pair(self, work: Any, threads: int, peer: str, goal: float) -> Measurement:
        """Times `work` against `peer`. A worker that fails gives a measurement with a ``problem``."""
        request = Request("pair", work.name, peer, self.small, self.seconds)
        base = Measurement(work.name, work.shape(small=self.small), threads, peer, goal)
        try:
            found = self._ask(request, threads)
        except BackendError as error:
            return Measurement(**{**asdict(base), "problem": str(error)})
        nothing = {"median": 0.0, "fastest": 0.0}
        ours = found.get("ours", nothing)
        times = {
            "ours": ours["median"],
            "ours_fastest": ours["fastest"],
            "theirs": found["peer"]["median"],
            "theirs_fastest": found["peer"]["fastest"],
            "floor": found.get("floor", 0.0),
            "error": found.get("error", 0.0),
            "tolerance": found.get("tolerance", 0.0),
        }
        return Measurement(**{**asdict(base), **times})

    def interpreter(self, work: Any, threads: int, ours: Measurement) -> Measurement:
        """Triton's interpreter beside the time that `ours` found for this backend."""
        found = self.pair(work, threads, "interpreter", INTERPRETER_GOAL)
        if found.problem:
            return found
        mine = {"ours": ours.ours, "ours_fastest": ours.ours_fastest}
        return Measurement(**{**asdict(found), **mine})

    def compile_times(self, work: Any) -> list[Compilation]:
        """Raises BackendError if the worker fails."""
        kernels = self._ask(Request("compile", work.name), 1)["kernels"]
        return [
            Compilation(f"{entry.pop('name')} ({work.name})", entry.pop("total"), entry, work.compile_goal)
            for entry in kernels
        ]

    def launch(self) -> Launch:
        """Raises BackendError if the worker fails."""
        found = self._ask(Request("launch", seconds=self.seconds), 1)
        return Launch(found["ours"]["median"], found["peer"]["median"])

    def first_call(self) -> FirstCall:
        """The median of several processes. Raises BackendError if one fails."""
        request = Request("first call")
        self._ask(request, 1)  # compiles the kernel, and Python's byte code
        found = [self._ask(request, 1) for _ in range(PROCESSES)]
        return FirstCall(median(f["ours"] for f in found), median(f["total"] for f in found))

    def memory(self) -> Memory:
        """Raises BackendError if the worker fails."""
        return Memory(**self._ask(Request("memory"), 1))

    def _ask(self, request: Request, threads: int) -> dict[str, Any]:
        environment = {
            **os.environ,
            "TRITON_DEFAULT_BACKEND": BACKEND_NAME,
            "TRITON_CACHE_DIR": str(self.cache),
            THREADS_VARIABLE: str(threads),
            "OMP_NUM_THREADS": str(threads),
            "MKL_NUM_THREADS": str(threads),
            **KEEP_MEMORY,
        }
        if request.what == "first call":  # with byte code, as installed packages have it
            environment.pop("PYTHONDONTWRITEBYTECODE", None)
            environment["PYTHONPYCACHEPREFIX"] = str(self.cache / "bytecode")
        environment.pop("TRITON_INTERPRET", None)
        if request.peer == "interpreter":
            environment["TRITON_INTERPRET"] = "1"
        command = [sys.executable, "-m", f"{__package__}.worker", json.dumps(asdict(request))]
        what = f"{request.what} {request.work or 'times'} ({request.peer}, {threads} threads)"
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
            )
        except subprocess.TimeoutExpired:
            raise BackendError(f"{what}: no answer after {PATIENCE:.0f} s") from None
        if done.returncode:
            last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
            raise BackendError(f"{what}: exit status {done.returncode}: {last}")
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return answer


@contextmanager
def new_suite(*, seconds: float, small: bool) -> Generator[Suite]:
    with tempfile.TemporaryDirectory(prefix="triton-bench-") as folder:
        yield Suite(Path(folder), seconds=seconds, small=small)


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
    versions = {name: installed_version(name) for name in (DISTRIBUTION_NAME, *MODULES, "torch")}
    return {
        "processor": processor(),
        "architecture": platform.machine(),
        "cpus": cpu_count(),
        "load": os.getloadavg() if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
        "python": platform.python_version(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        **versions,
    }


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
