"""Lets the doctor speak although `target.py`, where everything here is named, cannot be imported or lacks a name.

It is the file that a vendor edits first, and nearly every other imports it. What is wrong with it is kept for
`check_host.machine_numbers`; for the rest of the process what it lacks is read off its text, or made up. Readable by
Python 3.10.
"""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from types import ModuleType

PACKAGE = (__package__ or "").rpartition(".")[0]
TARGET_FILE = Path(__file__).parents[1] / "target.py"

problems: list[str] = []
"""Sentences about what had to be made up. Empty where `target.py` can be imported and has the names."""


def prepare() -> None:
    """Import `target.py`, or put a stand-in in its place. Before anything else of this package is imported."""
    name = f"{PACKAGE}.target"
    importable = True
    try:
        module = importlib.import_module(name)
    except Exception as error:
        importable = False
        problems.append(f"{TARGET_FILE} cannot be imported: {type(error).__name__}: {error}")
        module = sys.modules[name] = ModuleType(name)
        module.__file__ = str(TARGET_FILE)
        vars(module).update(_literals(TARGET_FILE))
        vars(sys.modules[PACKAGE])["target"] = module
    for constant, value in _made_up(getattr(module, "BACKEND_NAME", None)).items():
        if not isinstance(getattr(module, constant, None), str):
            if importable:
                problems.append(f"{constant} is missing in {TARGET_FILE}, or is not a string")
            setattr(module, constant, value)


def _made_up(backend: object) -> dict[str, str]:
    """The names that the doctor itself needs, as the template makes them of each other."""
    if not isinstance(backend, str):
        backend = PACKAGE.removeprefix("triton_")
    return {
        "VENDOR_NAME": "(unknown)",
        "BACKEND_NAME": backend,
        "DISTRIBUTION_NAME": PACKAGE.replace("_", "-"),
        "PACKAGE_NAME": PACKAGE,
        "ENV_PREFIX": backend.upper(),
    }


def _literals(file: Path) -> dict[str, object]:
    """Constants whose line can be read by itself, whatever is wrong with the others."""
    found: dict[str, object] = {}
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return found
    for line in lines:
        name, _, value = line.partition("=")
        name = name.partition(":")[0].strip()
        if name.isidentifier() and name.isupper():
            try:
                found[name] = ast.literal_eval(value.strip())
            except (ValueError, SyntaxError):
                continue
    return found
