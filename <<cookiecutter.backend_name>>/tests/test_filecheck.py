"""Runs the files below ``filecheck/``: each says in ``RUN:`` lines what to run and in ``CHECK`` lines what must come out.

A small part of LLVM's lit: a line is a pipe of this package's command, ``not`` before it, and ``filecheck``; ``%s`` is
the file, ``2>&1`` joins errors to the output. All of it happens in this process, which takes milliseconds a line.
Checks can use the numbers of the target as ``[[LANES]]``, ``[[TILE_M]]``, ``[[TILE_N]]``, ``[[TILE_K]]``, and
``[[PART_M]]`` and so on for the tile of a product of 64 by 64 by 64, which may be smaller than the unit's.
A line ``REQUIRES: no-exp, f64, matrix`` skips the file on a machine that has the special function exp, no f64, or no
matrix unit.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
from pathlib import Path

import pytest
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import parse_argv_options
from filecheck.parser import Parser, pattern_for_opts

from <<cookiecutter.package_name>>.cli import main as cli
from <<cookiecutter.package_name>>.dialects.isa import INSTRUCTIONS
from <<cookiecutter.package_name>>.dialects.isa.matrix import tile_of
from <<cookiecutter.package_name>>.target import DISTRIBUTION_NAME, MATRIX_TILE, SPECIAL_FUNCTIONS, VECTOR_LANES, VECTOR_TYPES
from <<cookiecutter.package_name>>.target_rules import EXPANDABLE

FOLDER = Path(__file__).parent / "filecheck"
FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.*"))
RUN = re.compile(r"// RUN: (.*)")
REQUIRES = re.compile(r"// REQUIRES: (.*)")
FEATURES = (
    VECTOR_TYPES
    | SPECIAL_FUNCTIONS
    | {f"no-{name}" for name in EXPANDABLE - SPECIAL_FUNCTIONS}
    | ({"matrix"} if MATRIX_TILE is not None else set[str]())
)
"""What the machine has and lacks of `target.py`; ``matrix`` is the matrix unit."""
NUMBERS = {"LANES": str(VECTOR_LANES)}
for letter, side in zip("MNK", tile_of("f32"), strict=True):
    NUMBERS[f"TILE_{letter}"], NUMBERS[f"PART_{letter}"] = str(side), str(min(side or 64, 64))


def run_command(words: list[str], text: str) -> str:
    """The output of this package's command on `text`; with ``not``, it must fail."""
    fails = words[0] == "not"
    joined = "2>&1" in words
    words = [word for word in words[fails:] if word != "2>&1"]
    assert words[0] == DISTRIBUTION_NAME, f"RUN lines run {DISTRIBUTION_NAME}, not {words[0]}"
    out, errors = io.StringIO(), io.StringIO()
    stdin = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode()))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out if joined else errors):
            status = cli.main(words[1:])
    finally:
        sys.stdin = stdin
    assert (status != 0) == fails, f"{shlex.join(words)} gave {status}\n{errors.getvalue()}"
    return out.getvalue()


def check(words: list[str], text: str) -> None:
    """What the filecheck command does with `text`."""
    options = parse_argv_options(words)
    options.variables.update(NUMBERS)
    content = Path(options.match_filename).read_text(encoding="utf-8")
    parser = Parser(options, io.StringIO(content), *pattern_for_opts(options))
    complaints = io.StringIO()
    matcher = Matcher(options, FInput("<output>", text), parser)
    matcher.stderr = complaints
    assert matcher.run() == 0, f"{complaints.getvalue()}\nThe output was:\n{text}"


@pytest.mark.parametrize("name", FILES)
def test_file(name: str) -> None:
    file = FOLDER / name
    text = file.read_text(encoding="utf-8")
    for feature in ", ".join(REQUIRES.findall(text)).split(", "):
        if feature and feature not in FEATURES:
            pytest.skip(f"this is for a machine with {feature}")
    lines = RUN.findall(text)
    assert lines, f"{name} has no RUN line"
    for line in lines:
        text = ""
        *commands, last = [shlex.split(part.replace("%s", shlex.quote(str(file)))) for part in line.split(" | ")]
        for words in commands:
            text = run_command(words, text)
        assert last[0] == "filecheck", f"{name}: nothing looks at the output of {line}"
        check(last, text)


@pytest.mark.parametrize("instruction", [instruction.name for instruction in INSTRUCTIONS])
def test_every_instruction_is_in_a_file(instruction: str) -> None:
    texts = [path.read_text(encoding="utf-8") for path in (FOLDER / "isa").glob("*.mlir")]
    assert any(re.search(rf"^// CHECK.*\b{re.escape(instruction)}(?![\w.])", text, re.M) for text in texts)
