"""The list of known failures: each with its reason, none that has been fixed, and so one that can only shrink."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cases import BAD, Pattern, Result

TABLE = "[[failure]]"


class KnownFailuresError(Exception):
    """The file cannot be read. The message says where and why."""


@dataclass(frozen=True)
class Entry:
    """One table of the file: the cases of a `Pattern`, on some releases of Triton ("3.8")."""

    test: str
    triton: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        # JSON's strings and lists of strings are TOML's too.
        fields = {"test": self.test, "triton": self.triton, "reason": self.reason}
        return "\n".join(
            [TABLE, *(f"{key} = {json.dumps(fields[key], ensure_ascii=False)}" for key in fields)]
        )


@dataclass(frozen=True)
class Verdict:
    """What is wrong with a run, given the list; all empty if nothing is."""

    unlisted: tuple[Result, ...]  # fail, and are not in the list
    passing: tuple[Result, ...]  # pass, and are in the list
    vanished: tuple[str, ...]  # are in the list, and no test has that name
    unexplained: tuple[str, ...]  # are in the list without a reason

    @property
    def is_good(self) -> bool:
        return not (self.unlisted or self.passing or self.vanished or self.unexplained)


class KnownFailures:
    """The entries of a file, as they concern one release of Triton."""

    def __init__(self, path: Path, release: str) -> None:
        self.path, self.release = path, release
        self._text = path.read_text(encoding="utf-8") if path.exists() else ""
        self.entries = self._parse()
        self._patterns = [(entry, Pattern(entry.test)) for entry in self.entries if release in entry.triton]

    def _parse(self) -> list[Entry]:
        try:
            tables = tomllib.loads(self._text).get("failure", [])
            return [Entry(table["test"], tuple(table["triton"]), table["reason"].strip()) for table in tables]
        except (tomllib.TOMLDecodeError, TypeError, AttributeError) as error:
            raise KnownFailuresError(f"{self.path}: {error}") from None
        except KeyError as error:
            raise KnownFailuresError(f"{self.path}: a failure without {error}") from None

    def entry_of(self, case: str) -> Entry | None:
        return next((entry for entry, pattern in self._patterns if pattern.matches(case)), None)

    def judge(self, results: Iterable[Result], collected: Sequence[str]) -> Verdict:
        """Compare the results of a run, which may be of some cases only, with the list.

        ``collected`` are the names of all cases and broken files that there are.
        """
        results = sorted(results, key=lambda result: result.case)
        return Verdict(
            tuple(one for one in results if one.outcome in BAD and self.entry_of(one.case) is None),
            tuple(one for one in results if one.outcome == "passed" and self.entry_of(one.case)),
            tuple(
                entry.test for entry, pattern in self._patterns if not any(map(pattern.matches, collected))
            ),
            tuple(entry.test for entry, _ in self._patterns if not entry.reason),
        )

    def update(self, results: Sequence[Result], verdict: Verdict) -> None:
        """Rewrite the file to fit the results. What is new gets an empty reason, which fails until someone fills it in.

        An entry of which some case passes is narrowed to the cases that were seen to fail. Comments survive
        above the first entry only.
        """
        passing = {self.entry_of(result.case) for result in verdict.passing}
        gone = {entry for entry, _ in self._patterns if entry in passing or entry.test in verdict.vanished}
        entries = []
        for entry in self.entries:
            if entry not in gone:
                entries.append(entry)
                continue
            others = tuple(release for release in entry.triton if release != self.release)
            if others:
                entries.append(replace(entry, triton=others))
            entries += [
                Entry(result.case, (self.release,), entry.reason)
                for result in results
                if result.outcome in BAD and self.entry_of(result.case) == entry
            ]
        entries += [Entry(result.case, (self.release,), "") for result in verdict.unlisted]
        head = self._text.partition(TABLE)[0].strip()
        tables = "\n\n".join(map(str, sorted(entries, key=lambda entry: (entry.test, entry.triton))))
        self.path.write_text("\n\n".join(filter(None, (head, tables))) + "\n", encoding="utf-8")
