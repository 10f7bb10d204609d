"""`CASES.md` names tests that exist, for every case; and what is true of no case's test file in particular (R33)."""

from __future__ import annotations

import importlib.metadata
import re
from pathlib import Path

import pytest

from <<cookiecutter.package_name>>.target import PACKAGE_NAME

TESTS = Path(__file__).parent
ROW = re.compile(r"^\| (R\d\d|–) \|", re.M)
NUMBERS = [1, 2, 4, 5, 7, 10, 12, 13, 14, 15, 17, 19, 21, 22, 23, 24, 26, 27, 28, 31, 33, 34, 40]


def rows() -> dict[str, list[tuple[str, str]]]:
    """(file, function) of each test, by case."""
    text = (TESTS / "CASES.md").read_text(encoding="utf-8")
    return {
        line.split("|")[1].strip(): re.findall(r"`(test_\w+\.py)::(test_\w+)`", line)
        for line in text.splitlines()
        if ROW.match(line)
    }


def test_every_case_has_its_row() -> None:
    assert sorted(rows()) == [*(f"R{number:02}" for number in NUMBERS), "–"]


@pytest.mark.parametrize("case", sorted(rows()))
def test_tests_that_are_named_exist(case: str) -> None:
    named = rows()[case]
    assert named
    for file, function in named:
        assert f"\ndef {function}(" in (TESTS / file).read_text(encoding="utf-8"), f"{file}::{function}"


def test_tests_of_cases_are_named() -> None:
    """The other way round: what is called ``test_rNN_...`` stands in the row of that case."""
    table = rows()
    for path in TESTS.glob("test_cases_*.py"):
        for function, number in re.findall(
            r"^def (test_r(\d\d)_\w+)\(", path.read_text(encoding="utf-8"), re.M
        ):
            assert (path.name, function) in table[f"R{number}"], function


def test_r33_no_hook_of_torch_is_registered() -> None:
    """``import torch`` loads what is registered in this group, and fails where that does: we stay out of it."""
    mine = [
        e for e in importlib.metadata.entry_points(group="torch.backends") if e.value.startswith(PACKAGE_NAME)
    ]
    assert mine == []
