"""One process that measures one backend: commands come as lines of JSON, answers go the same way.

The backend is chosen by TRITON_DEFAULT_BACKEND; `report` starts one worker a backend and lets them take turns.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from ..target import BACKEND_NAME

LAUNCHES = 2000
"""In one sample of the launch overhead."""


class Worker:
    """Keeps kernels and data between commands."""

    def __init__(self) -> None:
        from . import works

        self.works = works
        self.makers = works.kernel_works()
        self.kernels: dict[str, Callable[[], object]] = {}
        self.launches: dict[str, Callable[[], object]] = {}

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
            "kernels": list(self.makers),
            "launches": ["launch, no arguments", "launch, 1 tensor, 1 int", "launch, 6 tensors, 6 ints"],
        }

    def numerics(self) -> list[dict[str, Any]]:
        """Every example against NumPy. On the reference device the data is in host memory."""
        from ..examples import cases

        if os.environ.get("TRITON_DEFAULT_BACKEND") != BACKEND_NAME:
            self.works.put_cases_on_gpu()
        results: list[dict[str, Any]] = []
        for case in cases.demo_cases():
            row: dict[str, Any] = {"kernel": case.kernel, "shape": case.shape, "dtype": case.dtype}
            try:
                row |= {"error": self.works.error_of(case), "tolerance": case.tolerance}
            except Exception as error:
                row |= {"failed": f"{type(error).__name__}: {error}"[:500]}
            results.append(row)
        return results

    def kernel(self, name: str) -> float:
        """Median time of one call on the GPU, in milliseconds, with cold caches."""
        from triton.testing import do_bench

        if name not in self.kernels:
            self.kernels.clear()  # and with them their memory
            self.kernels[name] = self.makers[name]()
            self.kernels[name]()
        (median,) = (do_bench(self.kernels[name], warmup=10, rep=60, quantiles=[0.5]),)
        return float(median[0] if isinstance(median, list | tuple) else median)

    def launch(self, name: str) -> float:
        """Host time of one launch, in milliseconds."""
        import torch

        self.launches = self.launches or self.works.launch_works()
        call = self.launches[name]
        for _ in range(50):
            call()
        total = 0.0
        for _ in range(LAUNCHES // 200):  # short enough for the GPU's queue, which would make the host wait
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(200):
                call()
            total += time.perf_counter() - start
        return 1e3 * total / LAUNCHES

    def compile(self) -> dict[str, float]:
        """Time of compiling a kernel anew, in milliseconds."""
        from triton import knobs

        knobs.compilation.always_compile = True
        times: dict[str, float] = {}
        for name, kernel, call in self.works.compile_works():
            kernel.device_caches.clear()
            start = time.perf_counter()
            call()
            times[name] = 1e3 * (time.perf_counter() - start)
        knobs.compilation.always_compile = False
        return times


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
