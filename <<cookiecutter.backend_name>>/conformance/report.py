"""What a run says: lines while it goes on, tables and findings at its end, and JSON for machines."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from cases import BAD, OUTCOMES, Result, file_of, function_of
from known import KnownFailures, Verdict

SECONDS_BETWEEN_LINES = 10


class Progress:
    """Prints where the run is from time to time, and each failure that is not known at once."""

    def __init__(self, total: int, known: KnownFailures) -> None:
        self.results: list[Result] = []
        self._total, self._known = total, known
        self._start = self._last = time.monotonic()

    def record(self, result: Result) -> None:
        self.results.append(result)
        if result.outcome in BAD and self._known.entry_of(result.case) is None:
            print(f"  {result.outcome}: {result.case}\n      {first_line(result.message)}", flush=True)
        now = time.monotonic()
        if now - self._last > SECONDS_BETWEEN_LINES:
            self._last = now
            where = f"{len(self.results)} of {self._total}, {now - self._start:.0f} s"
            print(f"  {where}: {counts(self.results)}", flush=True)


def first_line(message: str) -> str:
    return next(iter(message.strip().splitlines()), "")[:200]


def counts(results: Iterable[Result]) -> str:
    """'12 passed, 3 failed'"""
    number = Counter(result.outcome for result in results)
    return ", ".join(f"{number[name]} {name}" for name in OUTCOMES if number[name]) or "nothing ran"


def table(title: str, results: Iterable[Result], row_of: Callable[[str], str]) -> str:
    """A row for each file or family, by ``row_of`` a case's name: numbers of cases, and seconds."""
    rows: dict[str, Counter[str]] = {}
    for result in results:
        row = rows.setdefault(row_of(result.case), Counter())
        row[result.outcome] += 1
        row["seconds"] += result.seconds  # type: ignore[assignment]
    columns = (*OUTCOMES, "seconds")
    width = max(map(len, [title, *rows]))
    lines = [f"{title:<{width}}" + "".join(f"{column:>9}" for column in columns)]
    for name in sorted(rows):
        lines.append(f"{name:<{width}}" + "".join(f"{rows[name][column]:>9.0f}" for column in columns))
    return "\n".join(lines)


def function_rate(results: Iterable[Result]) -> tuple[float, int, int]:
    """The mean over test functions of the share of cases that pass, how many functions pass wholly, of how many.

    Skipped cases do not count. Each function weighs the same here, whether it has 1 case or 2,000.
    """
    by_function: dict[str, list[bool]] = {}
    for result in results:
        if result.outcome != "skipped":
            by_function.setdefault(function_of(result.case), []).append(result.outcome == "passed")
    rates = [sum(passed) / len(passed) for passed in by_function.values()]
    return (sum(rates) / len(rates) if rates else 0.0), sum(rate == 1 for rate in rates), len(rates)


def findings(verdict: Verdict, known: KnownFailures) -> str:
    """What has to be done for the run to succeed; empty if nothing."""
    paragraphs: list[tuple[str, Sequence[str]]] = [
        (
            f"fail, and are not in {known.path}: fix them, or list them there with a reason",
            [f"{one.case}\n      {first_line(one.message)}" for one in verdict.unlisted],
        ),
        (f"pass, and are listed in {known.path}: remove them there", [one.case for one in verdict.passing]),
        (f"are listed in {known.path}, and there is no such test: remove them there", verdict.vanished),
        (f"are listed in {known.path} without a reason: write one", verdict.unexplained),
    ]
    lines = []
    for title, names in paragraphs:
        if names:
            lines += [f"{len(names)} {title}", *(f"  {name}" for name in names), ""]
    return "\n".join(lines)


def as_json(
    results: Iterable[Result], verdict: Verdict, known: KnownFailures, about: Mapping[str, Any]
) -> dict[str, Any]:
    results = sorted(results, key=lambda result: result.case)
    rate, whole, functions = function_rate(results)
    tests = []
    for result in results:
        entry = known.entry_of(result.case)
        test = {"id": result.case, "outcome": result.outcome, "seconds": round(result.seconds, 3)}
        tests.append(test | {"message": result.message, "known": entry.reason if entry else None})
    return {
        "format": 1,
        **about,
        "good": verdict.is_good,
        "counts": Counter(result.outcome for result in results),
        "files": {
            file: Counter(one.outcome for one in results if file_of(one.case) == file)
            for file in sorted({file_of(one.case) for one in results})
        },
        "mean_function_pass_rate": round(rate, 4),
        "functions_that_pass": whole,
        "functions": functions,
        "unlisted": [one.case for one in verdict.unlisted],
        "passing": [one.case for one in verdict.passing],
        "vanished": verdict.vanished,
        "unexplained": verdict.unexplained,
        "tests": tests,
    }
