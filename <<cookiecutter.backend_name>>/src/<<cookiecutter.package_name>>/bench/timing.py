"""Timing two functions against each other."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

FEWEST_CALLS, MOST_CALLS = 5, 400
LEAST_SAMPLE = 100e-6
"""Shorter calls are timed several at a time: the clock and a cold branch predictor cost up to a microsecond."""


@dataclass(frozen=True)
class Timing:
    """Seconds a call."""

    median: float
    fastest: float


def interleaved(
    functions: list[Callable[[], object]], seconds: float, *, clock: Callable[[], float] = time.perf_counter
) -> list[Timing]:
    """Times each function for `seconds` in turns, so that all see the same machine.

    In each turn every function runs three times and the last is timed: what another one left in the
    caches, or its threads still spinning, is not this one's doing.
    """
    for function in functions:
        function()
    once = [max(_sample(function, 1, clock), 1e-9) for function in functions]
    batches = [max(1, round(LEAST_SAMPLE / each)) for each in once]
    turn = 3 * sum(each * batch for each, batch in zip(once, batches, strict=True))
    turns = min(MOST_CALLS, max(FEWEST_CALLS, int(seconds * len(functions) / turn)))
    samples: list[list[float]] = [[] for _ in functions]
    for _ in range(turns):
        for times, function, batch in zip(samples, functions, batches, strict=True):
            function()
            function()
            times.append(_sample(function, batch, clock))
    return [Timing(median(times), min(times)) for times in samples]


def _sample(function: Callable[[], object], calls: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(calls):
        function()
    return (clock() - start) / calls
