"""Imports what a launch imports, piece by piece, and says what went wrong: the process that `check_import` starts.

    python -m <package>.cli.probe [imports] [drivers]

Whatever happens to a piece is caught, a `SystemExit` too. Before a piece its name is printed, so that one that hangs or
ends the process is known, and at the end a line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from ..target import PACKAGE_NAME
from .failure import in_words, place
from .optional_imports import is_optional

TRITON = "triton.backends"
"""Imports Triton, which imports the compiler and driver of every backend."""

EXTENSIONS = "the installed extensions"

DRIVERS = "what the drivers ask for"

LEFT_OUT = ("bench", "cli", "examples", "gpu_reference")
"""Folders of this package that a launch does not need (`gpu_reference` is a backend: Triton imports it)."""

STARTS, RESULT = "importing ", "result: "
"""What the lines before a piece begin with, and the one of JSON."""


def pieces() -> Iterator[str]:
    """Names of modules, in an order in which what others need comes early."""
    yield TRITON
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if parts[0] not in LEFT_OUT:
            yield ".".join([PACKAGE_NAME, *(part for part in parts if part != "__init__")])
    yield EXTENSIONS


def code_of(piece: str) -> str:
    """Python code that imports a piece, to try by hand, too."""
    if piece == EXTENSIONS:
        return f"from {PACKAGE_NAME}.extensions import load_extensions; load_extensions()"
    return f"import {TRITON if piece == DRIVERS else piece}"


def attempt(piece: str) -> dict[str, object] | None:
    """Imports a piece. What went wrong: the error in words, its file and line, and the files that it came through.

    Nothing is wrong with a module that misses something, if those that import it do without it then.
    """
    print(f"{STARTS}{piece}", flush=True)
    try:
        exec(code_of(piece), {})
    except BaseException as error:
        if isinstance(error, ImportError) and is_optional(piece, Path(__file__).parents[1]):
            return None
        file, line = place(error)
        words = _missing_method() if isinstance(error, RuntimeError) else ""
        through = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        return {
            "piece": piece,
            "error": words or in_words(error),
            "file": file,
            "line": line,
            "through": through,
        }
    return None


def _missing_method() -> str:
    """Triton says only that a module has no class that it can use, not what the class lacks."""
    for name, module in sorted(sys.modules.items()):
        if name.endswith((".compiler", ".driver")) and not name.startswith("triton."):
            for item in list(vars(module).values()):
                lacks = getattr(item, "__abstractmethods__", None)
                if lacks and item.__module__ == name:
                    return f"{name}.{item.__name__} does not define {', '.join(sorted(lacks))}"
    return ""


def active_drivers() -> dict[str, bool]:
    from triton.backends import backends

    return {name: bool(backend.driver.is_active()) for name, backend in backends.items()}


def main(words: list[str]) -> None:
    start = time.perf_counter()
    wrong = attempt(TRITON)
    seconds = time.perf_counter() - start
    failures = [wrong] if wrong is not None else []
    if "imports" in words:
        failures += [found for piece in pieces() if piece != TRITON and (found := attempt(piece)) is not None]
    active: dict[str, bool] = {}
    if "drivers" in words and wrong is None:
        print(f"{STARTS}{DRIVERS}", flush=True)
        active = active_drivers()
    told = json.dumps({"seconds": seconds, "failures": failures, "active": active})
    print(f"\n{RESULT}{told}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
