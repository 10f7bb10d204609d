"""Timing two functions against each other."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

FEWEST_CALLS, MOST_CALLS = 5, 400
LEAST_SAMPLE = 100e-6
"""Shorter calls are timed several at a time: the clock and a cold branch predictor cost up to a microsecond."""
SETTLING = 15e-3
"""Seconds. OpenMP's threads keep their cores for up to six milliseconds after their work is done."""


@dataclass(frozen=True)
class Timing:
    """Seconds a call."""

    median: float
    fastest: float


def interleaved(
    functions: list[Callable[[], object]], seconds: float, *, clock: Callable[[], float] = time.perf_counter
) -> list[Timing]:
    """Times each function for `seconds` in turns, so that all see the same machine.

    In each turn every function runs for `SETTLING` at least before it is timed: what another one left in the
    caches, or its threads still spinning, is not this one's doing.
    """
    for function in functions:
        function()
    once = [max(_sample(function, 1, clock), 1e-9) for function in functions]
    batches = [max(1, round(LEAST_SAMPLE / each)) for each in once]
    settling = [max(2, round(SETTLING / each)) for each in once]
    turn = sum(each * (batch + before) for each, batch, before in zip(once, batches, settling, strict=True))
    turns = min(MOST_CALLS, max(FEWEST_CALLS, int(seconds * len(functions) / turn)))
    samples: list[list[float]] = [[] for _ in functions]
    for _ in range(turns):
        for times, function, batch, before in zip(samples, functions, batches, settling, strict=True):
            for _ in range(before):
                function()
            times.append(_sample(function, batch, clock))
    return [Timing(median(times), min(times)) for times in samples]


def _sample(function: Callable[[], object], calls: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(calls):
        function()
    return (clock() - start) / calls
