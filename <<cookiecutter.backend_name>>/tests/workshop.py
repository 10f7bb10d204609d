"""What the pages of the documentation ask for, done in a copy of this package: `test_docs.py` looks at the outcome.

It holds where the owner of the package has followed a page already: what is there is left as it is. A page that has
been deleted skips the test that needs it.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import <<cookiecutter.package_name>>
from <<cookiecutter.package_name>>.target import DISTRIBUTION_NAME, PACKAGE_NAME

TESTS = Path(__file__).parent
DOCS = TESTS.parent / "docs"
BLOCK = re.compile(r"^```(python|toml|diff|mlir)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PLACE = re.compile(r"(?:#|//) (\S+\.(?:py|mlir))(, at the end)?\n")
NUMBER = re.compile(r'(?<=": )\d+(?=,)')

PROGRAMS = {DISTRIBUTION_NAME: f"{PACKAGE_NAME}.cli.main", "xdsl-opt": "xdsl.tools.xdsl_opt"}
"""Commands that pages give -> the module that is the program."""


def text_of(page: str) -> str:
    if not (DOCS / page).is_file():
        pytest.skip(f"docs/{page} is not there")
    return (DOCS / page).read_text(encoding="utf-8")


def blocks(page: str, *languages: str) -> list[str]:
    return [text for language, text in BLOCK.findall(text_of(page)) if language in languages]


def placed(page: str) -> list[tuple[str, str]]:
    """Where each piece of code of a page goes, and the code."""
    found: list[tuple[str, str]] = []
    for text in blocks(page, "python", "mlir"):
        place = PLACE.match(text)
        assert place is not None, f"{page}: the first line must say where this goes:\n{text}"
        found.append((place[1], text[place.end() :]))
    return found


def edits(page: str) -> Iterator[tuple[str, list[str], str, list[str]]]:
    """The lines that a page adds inside of a file: the file, lines before, the new ones, lines after."""
    for text in blocks(page, "diff"):
        place = PLACE.match(text)
        assert place is not None, f"{page}: the first line must say which file this changes:\n{text}"
        lines = text[place.end() :].splitlines(keepends=True)
        marks = "".join(line[0] for line in lines)
        assert re.fullmatch(r" *\++ *", marks), (
            f"{page}: lines are added, in one place, and none removed:\n{text}"
        )
        first, last = marks.index("+"), marks.rindex("+") + 1
        plain = [line[1:] for line in lines]
        yield place[1], plain[:first], "".join(plain[first:last]), plain[last:]


def commands(page: str) -> list[str]:
    """The command lines of a page that run one of `PROGRAMS` with arguments."""
    lines = re.findall(r"^    (.+)$", text_of(page), re.MULTILINE)
    return [line for line in lines if line.split()[0] in PROGRAMS and len(line.split()) > 2]


def defined(text: str) -> set[str]:
    """Names that Python code defines at its top level, imports aside."""
    names: set[str] = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def is_there(file: Path, text: str) -> bool:
    """Whether a file has a piece of a page already, or a version of its own of everything in it."""
    if not file.exists():
        return False
    content = file.read_text(encoding="utf-8")
    if file.suffix != ".py" or not defined(text):
        return text.strip() in content
    return defined(text) <= defined(content)


class Workshop:
    """A copy of this package, and what is needed to run tests in it, for code to be put into.

    `whole`: with all tests and pages.
    """

    def __init__(self, root: Path, *, whole: bool = False) -> None:
        self.root = root
        package = Path(<<cookiecutter.package_name>>.__file__).parent
        ignore = shutil.ignore_patterns("__pycache__", ".*")
        shutil.copytree(package, root / "src" / PACKAGE_NAME, ignore=ignore)
        if whole:
            for folder in (TESTS, DOCS):
                shutil.copytree(folder, root / folder.name, ignore=ignore)
            for name in ("README.md", "pyproject.toml"):
                shutil.copy(DOCS.parent / name, root)
        else:
            (root / "tests").mkdir()
            for name in ("conftest.py", "harness.py"):
                shutil.copy(TESTS / name, root / "tests")
        self._programs = root / "bin"
        self._programs.mkdir()
        for name, module in PROGRAMS.items():
            program = self._programs / name
            program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
            program.chmod(0o755)

    def follow(self, page: str, folder: str = "", names: Mapping[str, str] | None = None) -> int:
        """Does what a page says below `folder`; gives the lines of its code. `names`: others than those in the page."""

        def renamed(text: str) -> str:
            for old, new in (names or {}).items():
                text = text.replace(old, new)
            return text

        for place, before, added, after in edits(page):
            if place.startswith(folder):
                self._add(page, self.root / place, before, renamed(added), after)
        count = 0
        for place, text in placed(page):
            if place.startswith(folder):
                self._put(self.root / renamed(place), renamed(text))
                count += len(text.splitlines())
        return count

    def take_tests(self) -> None:
        """Puts all tests of this package beside those of the pages."""
        for file in TESTS.glob("*.py"):
            if not (self.root / "tests" / file.name).exists():
                shutil.copy(file, self.root / "tests")
        shutil.copytree(TESTS / "filecheck", self.root / "tests" / "filecheck", dirs_exist_ok=True)

    def _put(self, file: Path, text: str) -> None:
        if not is_there(file, text):
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("a", encoding="utf-8") as stream:
                stream.write(text)

    def _add(self, page: str, file: Path, before: list[str], added: str, after: list[str]) -> None:
        """Lines go behind the one that stands before them in the page, or else before the one behind them."""
        if file.parent == self.root / "tests" and not file.exists():
            shutil.copy(TESTS / file.name, file)
        text = file.read_text(encoding="utf-8")
        if added.strip().partition(":")[0] + ":" in text:
            return
        taken = {int(number) for number in NUMBER.findall(text)}
        if taken & {int(number) for number in NUMBER.findall(added)}:  # by an instruction of the owner's
            added = NUMBER.sub(str(max(taken) + 1), added)
        if before and text.count(before[-1]) == 1:
            text = text.replace(before[-1], before[-1] + added)
        else:
            assert after and text.count(after[0]) == 1, (
                f"{page}: {file} does not have these lines once:\n{before}{after}"
            )
            text = text.replace(after[0], added + after[0])
        file.write_text(text, encoding="utf-8")

    def run(self, *words: str, **variables: str) -> str:
        """Runs Python with the copy, and what lies beside it, before everything installed."""
        return self._output([sys.executable, *words], variables)

    def shell(self, line: str) -> str:
        """Runs a command line as it is printed in a page."""
        return self._output(["sh", "-c", line], {})

    def _output(self, words: list[str], variables: Mapping[str, str]) -> str:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(self.root / "src"), str(self.root)]),
            "PATH": os.pathsep.join([str(self._programs), os.environ["PATH"]]),
            **variables,
        }
        done = subprocess.run(words, cwd=self.root, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
