"""One process that measures one backend: commands come as lines of JSON, answers go the same way.

The backend is chosen by TRITON_DEFAULT_BACKEND; `report` starts one worker a backend and lets them take turns.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
import time
from collections.abc import Callable, Generator
from statistics import median
from typing import Any

from ..target import BACKEND_NAME
from .names import GPU_BACKEND_NAME

OURS = (BACKEND_NAME, GPU_BACKEND_NAME)
"""The backends that know the functions of ``language/``."""

INTERIOR = "unmask-interior"
"""The optional pass that one group of the report is about."""

BATCHES, CALLS = 10, 100
"""Of calls, in one sample of the host's time."""


class Worker:
    """Keeps the data of one work between commands."""

    def __init__(self) -> None:
        from . import works

        self.works = works
        self.makers = {
            "kernel": works.kernel_works(),
            "interior": works.interior_works(),
            "small": works.small_works(),
            "launch": works.launch_works(),
        }
        self.kept: tuple[str, Callable[[], object]] = ("", lambda: None)

    @functools.cached_property
    def compilations(self) -> dict[str, tuple[Any, Callable[[], object]]]:
        return {name: (kernel, call) for name, kernel, call in self.works.compile_works()}

    def call_of(self, group: str, name: str) -> Callable[[], object]:
        """A work's call, after one of it. What the last work kept in memory goes."""
        if self.kept[0] != name:
            self.kept = ("", lambda: None)
            self.kept = (name, self.makers[group][name]())
            self.kept[1]()
        return self.kept[1]

    def about(self) -> dict[str, Any]:
        import torch
        import triton
        from triton.runtime import driver

        target = driver.active.get_current_target()
        return {
            "triton": triton.__version__,
            "torch": torch.__version__,
            "python": sys.version.split()[0],
            "target": f"{target.backend} {target.arch}",
            "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else "none",
            "works": {group: list(makers) for group, makers in self.makers.items()}
            | {"compile": list(self.compilations)},
        }

    def numerics(self) -> list[dict[str, Any]]:
        """Every example against NumPy. What needs functions of this package is left out, and says so, where the backend
        is neither of ours."""
        self.place_data()
        from ..examples import cases

        return [self.check(case) for case in cases.cases(small=False)]

    def functions(self) -> list[dict[str, Any]]:
        """This package's functions for kernels against NumPy."""
        self.place_data()
        from .function_cases import function_cases

        return [self.check(case) for case in function_cases()]

    def place_data(self) -> None:
        """On the GPU; on the reference device the data is in host memory."""
        if os.environ.get("TRITON_DEFAULT_BACKEND") != BACKEND_NAME:
            self.works.put_cases_on_gpu()

    def check(self, case: Any) -> dict[str, Any]:
        row: dict[str, Any] = {"kernel": case.kernel, "shape": case.shape, "dtype": case.dtype}
        if not case.portable and os.environ.get("TRITON_DEFAULT_BACKEND") not in OURS:
            return row | {"left_out": "functions of this package"}
        try:
            row |= {"error": self.works.error_of(case), "tolerance": case.tolerance}
        except Exception as error:
            row |= {"failed": f"{type(error).__name__}: {error}"[:500]}
        return row

    def pair(self, group: str, name: str, samples: int) -> dict[str, Any]:
        """Both GPU backends in this process, whose own is Triton's: see `pairs.compare`."""
        from . import pairs, passes

        call = self.call_of(group, name)
        if group != "interior":
            return pairs.compare(call, samples)
        passes.enable_pass(INTERIOR)
        try:
            return pairs.compare(call, samples)
        finally:
            passes.REGISTRY.unregister("ttir-text", INTERIOR)

    def time(self, group: str, name: str) -> float:
        """Host time of one call, launch or compilation, in milliseconds."""
        with on_one_core():
            return self.compile(name) if group == "compile" else self.wall(group, name)

    def wall(self, group: str, name: str) -> float:
        """Time from one call to the next: the host's where the GPU keeps up."""
        import torch

        call = self.call_of(group, name)
        for _ in range(CALLS):
            call()
        times: list[float] = []
        for _ in range(BATCHES):  # short enough for the GPU's queue, which would make the host wait
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(CALLS):
                call()
            if group == "small":
                torch.cuda.synchronize()  # the work is done when its result is there
            times.append(time.perf_counter() - start)
        return 1e3 * median(times) / CALLS

    def compile(self, name: str) -> float:
        """Time of compiling a kernel anew."""
        from triton import knobs

        kernel, call = self.compilations[name]
        knobs.compilation.always_compile = True
        try:
            kernel.device_caches.clear()
            start = time.perf_counter()
            call()
            return 1e3 * (time.perf_counter() - start)
        finally:
            knobs.compilation.always_compile = False


@contextlib.contextmanager
def on_one_core() -> Generator[None]:
    """Keep this thread on the last core, the same for every process: cores differ in what else they do."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what kernels and libraries print is no answer
    worker = Worker()
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = {"answer": getattr(worker, command["do"])(**command.get("with", {}))}
        except Exception as error:
            answer = {"failed": f"{type(error).__name__}: {error}"[:2000]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
