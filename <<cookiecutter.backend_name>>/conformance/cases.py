"""Test cases: which there are, which apply to this backend, and which are in a sample."""

from __future__ import annotations

import hashlib
import itertools
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Outcome = Literal["passed", "failed", "crashed", "timeout", "skipped"]
OUTCOMES: tuple[Outcome, ...] = ("passed", "failed", "crashed", "timeout", "skipped")
BAD: tuple[Outcome, ...] = ("failed", "crashed", "timeout")


def file_of(case: str) -> str:
    return case.partition("::")[0]


def function_of(case: str) -> str:
    """``file::Class::test[parameters]`` without the parameters."""
    file, separator, rest = case.partition("::")
    return file + separator + rest.partition("[")[0]


@dataclass(frozen=True)
class Result:
    """How one case (a pytest node id relative to python/test) ended, and why."""

    case: str
    outcome: Outcome
    seconds: float = 0.0
    message: str = ""


class Pattern:
    """Cases by name. ``*`` stands for anything, all else for itself. Without ``[``: a function, with all its cases."""

    def __init__(self, text: str) -> None:
        self.text = text
        expression = ".*".join(map(re.escape, text.split("*")))
        if "[" not in text:
            expression += r"(\[.*)?"
        self._matches = re.compile(expression, re.DOTALL).fullmatch

    def matches(self, case: str) -> bool:
        return self._matches(case) is not None


@dataclass(frozen=True)
class Scope:
    """What scope.toml says: where tests are, what their families are called, and which do not apply, and why."""

    folders: tuple[str, ...]
    families: tuple[tuple[Pattern, str], ...]
    exclusions: tuple[tuple[Pattern, str], ...]

    @classmethod
    def load(cls, path: Path) -> Scope:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        families = [(Pattern(test), one["name"]) for one in data["family"] for test in one["tests"]]
        exclusions = [
            (Pattern(test), one["reason"]) for one in data["not_applicable"] for test in one["tests"]
        ]
        return cls(tuple(data["folders"]), tuple(families), tuple(exclusions))

    def files(self, tests: Path) -> list[str]:
        """Test files, relative to ``tests``, but for those without a case that applies: some cannot be imported."""
        found = itertools.chain.from_iterable((tests / folder).rglob("test_*.py") for folder in self.folders)
        names = sorted(file.relative_to(tests).as_posix() for file in found)
        whole = {
            pattern.text.removesuffix("::*") for pattern, _ in self.exclusions if pattern.text.endswith("::*")
        }
        return [name for name in names if name not in whole]

    def family(self, case: str) -> str:
        return next((name for pattern, name in self.families if pattern.matches(case)), "other")

    def why_not(self, case: str) -> str:
        """Why a case does not apply; empty if it does."""
        return next((reason for pattern, reason in self.exclusions if pattern.matches(case)), "")


def sample(cases: Iterable[str], size: int, seed: str) -> list[str]:
    """``size`` of the cases, spread evenly over the test functions: half of all cases belong to a few functions.

    In an order given by the seed and each case's own name, one case of every function comes first, then a second
    of every function that has one, and so on. So the same seed gives the same sample whatever else there is,
    but for the end of the last round, and a larger one contains a smaller one.
    """

    def draw(case: str) -> str:
        return hashlib.sha256(f"{seed} {case}".encode()).hexdigest()

    rounds = []
    for _, group in itertools.groupby(sorted(cases, key=lambda case: (function_of(case), case)), function_of):
        rounds += [(turn, draw(case), case) for turn, case in enumerate(sorted(group, key=draw))]
    return [case for _, _, case in sorted(rounds)[:size]]
