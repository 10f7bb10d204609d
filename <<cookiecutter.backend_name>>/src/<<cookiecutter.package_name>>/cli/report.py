"""What the doctor says: findings, and the two forms in which they are printed. Readable by Python 3.10."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from ..target import BACKEND_NAME, DISTRIBUTION_NAME

Status = Literal["OK", "WARN", "FAIL"]


@dataclass(frozen=True)
class Finding:
    """One thing the doctor looked at.

    ``check`` is a stable name for machines (``area.detail``). ``do`` is a sentence and ``command`` the exact
    shell command that carries it out; both are there whenever the status is not OK, and may be there as
    advice when it is.
    """

    status: Status
    check: str
    what: str
    do: str = ""
    command: str = ""

    def __post_init__(self) -> None:
        if self.status != "OK" and not (self.do and self.command):
            raise ValueError(f"{self.check}: a {self.status} finding has to say what to do")


def ok(check: str, what: str, do: str = "", command: str = "") -> Finding:
    return Finding("OK", check, what, do, command)


def warn(check: str, what: str, do: str, command: str) -> Finding:
    return Finding("WARN", check, what, do, command)


def fail(check: str, what: str, do: str, command: str) -> Finding:
    return Finding("FAIL", check, what, do, command)


def is_healthy(findings: Sequence[Finding]) -> bool:
    return all(finding.status != "FAIL" for finding in findings)


def as_json(findings: Sequence[Finding], version: str) -> str:
    report = {
        "distribution": DISTRIBUTION_NAME,
        "backend": BACKEND_NAME,
        "version": version,
        "healthy": is_healthy(findings),
        "findings": [asdict(finding) for finding in findings],
    }
    return json.dumps(report, indent=2)


def as_table(findings: Sequence[Finding], width: int = 0, *, imported: bool = True) -> str:
    """Three columns (status, check, text); commands stand alone on unwrapped lines, to be copied."""
    width = width or max(60, min(shutil.get_terminal_size((110, 24)).columns, 120))
    name_width = max(len(finding.check) for finding in findings)
    margin = " " * (6 + name_width + 2)
    lines: list[str] = []
    for finding in findings:
        head = f"{finding.status:<6}{finding.check:<{name_width}}  "
        lines += _wrap(finding.what, head, margin, width)
        if finding.do:
            lines += _wrap(finding.do, margin + "-> ", margin + "   ", width)
        if finding.command:
            lines += [f"{margin}   $ {line}" for line in finding.command.splitlines()]
    return "\n".join([*lines, "", summary(findings, imported=imported)])


def summary(findings: Sequence[Finding], *, imported: bool) -> str:
    """The last line. It promises what was tried only: ``imported`` says that imports were."""
    failures = sum(finding.status == "FAIL" for finding in findings)
    warnings = sum(finding.status == "WARN" for finding in findings)
    counts = f"{_count(failures, 'failure')}, {_count(warnings, 'warning')}"
    if failures:
        return f"{counts}: {BACKEND_NAME} will not work here until the failures are dealt with."
    if not imported:
        return f"{counts} in what files show; whether {BACKEND_NAME} can be imported was not tried."
    return f"{counts}: {BACKEND_NAME} can be used here."


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def _wrap(text: str, first: str, rest: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
