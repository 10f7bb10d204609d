"""The time of one call on the GPU, under this backend and under Triton's own, in one process on the same data.

Both are captured as CUDA graphs of as many calls as make a millisecond, and the graphs are replayed by turns without a
pause. What differs between two processes (where data lies, the chip's clock and temperature) or between two launches
(gaps, the host) is then the same for both: the same machine code measures the same to within half a percent.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

import torch
from triton.runtime.jit import JITFunction

from ..target import PACKAGE_NAME
from . import activate, deactivate

Work = Callable[[], object]

GRAPH_MILLISECONDS: Final = 1.0
MOST_CALLS: Final = 200
"""Of a graph."""


CAPTURES: Final = 3
"""Of each backend: what a call allocates lies elsewhere each time."""


@dataclass(frozen=True)
class Captured:
    """A graph of ``calls`` calls, and every kernel in it: its code must stay loaded."""

    graph: Any
    calls: int
    kernels: list[Any]

    @property
    def code(self) -> list[str]:
        return [str(kernel.asm["ptx"]) for kernel in self.kernels]


def compare(call: Work, samples: int, kernels: Callable[[], Iterator[Any]] | None = None) -> dict[str, Any]:
    """Milliseconds a call, the median ratio of neighbouring samples, and whether the PTX is the same.

    Triton's own backend must be the active one. It chooses the configuration of autotuned kernels for both. ``kernels``
    gives the JIT functions that may run; those of the examples if it is not given.
    """
    kernels = kernels or example_kernels
    times: list[tuple[float, float]] = []
    calls, same = 0, True
    for _ in range(CAPTURES):
        stock = capture(call, kernels, calls)
        calls = stock.calls
        activate()
        try:
            ours = capture(call, kernels, calls)
        finally:
            deactivate()
        times += replay_in_turns(ours, stock, samples)
        same &= ours.code == stock.code
    forget(kernels)
    return {
        "ours": median(mine for mine, _ in times),
        "stock": median(theirs for _, theirs in times),
        "ratio": median(mine / theirs for mine, theirs in times),
        "same code": same,
    }


def example_kernels() -> Iterator[JITFunction[Any]]:
    """Every kernel of the examples, those inside of autotuners too."""
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{PACKAGE_NAME}.examples."):
            yield from jit_functions(module)


def jit_functions(module: Any) -> Iterator[JITFunction[Any]]:
    """The JIT functions that are values of a module."""
    for value in list(vars(module).values()):
        while not isinstance(value, JITFunction) and hasattr(value, "fn"):
            value = value.fn
        if isinstance(value, JITFunction):
            yield value


def forget(kernels: Callable[[], Iterator[Any]]) -> None:
    """Triton keeps compiled kernels by device number, whichever backend made them."""
    for kernel in kernels():
        kernel.device_caches.clear()


def capture(call: Work, kernels: Callable[[], Iterator[Any]], calls: int = 0) -> Captured:
    """The call as a graph, compiled and tuned; ``calls`` in a row, or as many as fill `GRAPH_MILLISECONDS`."""
    forget(kernels)
    call()
    torch.cuda.synchronize()
    if not calls:
        once = record(call, 1)
        time_of(once)
        longest = max(1e-3, median(time_of(once) for _ in range(5)))
        calls = max(1, min(MOST_CALLS, round(GRAPH_MILLISECONDS / longest)))
    caches = [cache for kernel in kernels() for cache, *_ in kernel.device_caches.values()]
    compiled = [one for cache in caches for one in cache.values()]
    return Captured(record(call, calls), calls, compiled)


def record(call: Work, calls: int) -> Any:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    graph.replay()
    torch.cuda.synchronize()
    return graph


def time_of(graph: Any) -> float:
    """Milliseconds of a replay."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    graph.replay()
    end.record()
    torch.cuda.synchronize()
    return float(begin.elapsed_time(end))


def replay_in_turns(ours: Captured, stock: Captured, samples: int) -> list[tuple[float, float]]:
    """Milliseconds a call of neighbouring replays; who goes first changes. The GPU's queue never runs empty."""
    graphs = (ours, stock)
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(4)] for _ in range(samples)]
    for _ in range(3):
        for one in graphs:
            one.graph.replay()
    for number, marks in enumerate(events):
        for which in (0, 1) if number % 2 else (1, 0):
            marks[2 * which].record()
            graphs[which].graph.replay()
            marks[2 * which + 1].record()
    torch.cuda.synchronize()
    return [
        (marks[0].elapsed_time(marks[1]) / ours.calls, marks[2].elapsed_time(marks[3]) / stock.calls)
        for marks in events
    ]
