"""One process that measures one thing: ``python -m <package>.bench.worker REQUEST``, REQUEST being a `Request` as JSON.

The answer is the last line of its standard output, as JSON. Threads, the interpreter and the kernel cache are set by
environment variables, so `suite` chooses them; here they are only used.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from ..target import ENV_PREFIX
from .timing import interleaved

THREADS_VARIABLE = f"{ENV_PREFIX}_NUM_THREADS"

LONG = 5.0
"""Seconds of a call beside which what only the first call does is nothing."""


@dataclass(frozen=True)
class Request:
    """``what``: "pair" (a work against ``peer``), "compile" (a work's kernels), "launch", "first call" or "memory".

    ``peer``: "eager", "inductor" (torch.compile's C++ backend) or "interpreter" (Triton's: it runs our kernels alone).
    """

    what: str
    work: str = ""
    peer: str = "eager"
    small: bool = False
    seconds: float = 1.0


def answer(request: Request) -> dict[str, Any]:
    if request.what == "launch":
        from .launching import launch_times

        return launch_times(request.seconds)
    if request.what == "first call":
        from .first_call import first_call

        return first_call()
    if request.what == "memory":
        from .memory import kernel_memory

        return kernel_memory()
    import torch

    from .works import WORKS

    torch.set_num_threads(int(os.environ[THREADS_VARIABLE]))
    work = next(work for work in WORKS if work.name == request.work)
    if request.what == "compile":
        from .compiling import compile_times

        return {"kernels": compile_times(work)}
    return pair_times(work, request)


def pair_times(work: Any, request: Request) -> dict[str, Any]:
    from .works import Pair, error

    pair: Pair = work.pair(small=request.small)
    # One thread is this one: its CPU time leaves out what other programs on the machine took from it.
    clock = time.thread_time if os.environ[THREADS_VARIABLE] == "1" else time.perf_counter
    if request.peer == "interpreter":
        took = once(pair.ours, clock)
        return {"peer": asdict(once(pair.ours, clock) if took.median < LONG else took)}
    peer = pair.peer
    if request.peer == "inductor":
        import torch

        peer = torch.compile(pair.peer)
    worst = error(pair)
    functions = [pair.ours, peer, copier(pair.moved)]
    factor = 0.0
    if pair.multiply_adds:
        from .kernels.registers import in_registers

        function, count = in_registers(int(os.environ[THREADS_VARIABLE]))
        functions.append(function)
        factor = pair.multiply_adds / count
    ours, theirs, copy, *arithmetic = interleaved(functions, request.seconds, clock=clock)
    floor = max([copy.median, *(factor * timing.median for timing in arithmetic)])
    times = {"ours": asdict(ours), "peer": asdict(theirs), "floor": floor}
    return {"error": worst, "tolerance": pair.tolerance, **times}


def copier(moved: int) -> Callable[[], object]:
    """A copy by torch that reads and writes `moved` bytes together."""
    import torch

    source = torch.zeros(moved // 2, dtype=torch.uint8)
    target = torch.zeros_like(source)
    return lambda: target.copy_(source)


def once(function: Callable[[], object], clock: Callable[[], float]) -> Any:
    """For what takes minutes."""
    from .timing import Timing

    start = clock()
    function()
    took = clock() - start
    return Timing(took, took)


def main() -> int:
    request = Request(**json.loads(sys.argv[1]))
    print(json.dumps(answer(request)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
