"""Machines that this package is tested as: what each changes in `target.py`.

    TEST_TARGET=no-fp64 python -m pytest tests      the tests as one of them (`conftest.py` calls `become`)
    python tests/targets.py [NAME ...] [-- ARGUMENT ...]      the tests of the language as each, and a table of results

The arguments go to pytest, instead of the files in `LANGUAGE`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

VARIABLE = "TEST_TARGET"
ACTIVE = "TESTS_RUN_AS_TARGET"
"""Set where `VARIABLE` was obeyed, for this process and its children."""

SOME_SPECIAL = frozenset("ldexp lookup sqrt rsqrt exp exp2 log log2 tanh".split())
ALL_SPECIAL = frozenset("sqrt rsqrt exp exp2 log log2 sin cos tanh erf remf".split())
NO_FP64 = frozenset({"i8", "i16", "i32", "i64", "f32"})

TARGETS: dict[str, dict[str, object]] = {
    "lanes-4": {"VECTOR_LANES": 4},
    "lanes-8": {"VECTOR_LANES": 8, "MATRIX_TILE": (8, 16, 32)},
    "lanes-32": {"VECTOR_LANES": 32, "SCRATCHPAD_BYTES": 4 * 2**20, "SCRATCHPAD_OVERFLOWS": False},
    "lanes-64": {"VECTOR_LANES": 64, "MATRIX_TILE": (32, 32, 32)},
    "scratchpad-32k": {"SCRATCHPAD_BYTES": 32 * 2**10, "MATRIX_TILE": (4, 4, 4)},
    "group-1": {"REGISTER_GROUP": 1},
    "group-8": {"REGISTER_GROUP": 8, "VECTOR_LANES": 4, "VECTOR_REGISTERS": 64},
    "scratchpad-limit": {"SCRATCHPAD_OVERFLOWS": False, "SCRATCHPAD_BYTES": 64 * 2**10},
    "no-matrix": {"MATRIX_TILE": None},
    "no-fp64": {"VECTOR_TYPES": NO_FP64},
    "no-special": {"SPECIAL_FUNCTIONS": frozenset()},
    "some-special": {"SPECIAL_FUNCTIONS": SOME_SPECIAL},
    "all-special": {"SPECIAL_FUNCTIONS": ALL_SPECIAL},
    "minimal": {
        "VECTOR_LANES": 4,
        "MATRIX_TILE": None,
        "SCRATCHPAD_BYTES": 32 * 2**10,
        "VECTOR_TYPES": NO_FP64,
        "SPECIAL_FUNCTIONS": frozenset(),
    },
}
"""Name -> constants of `target.py`. The rest are as they stand there."""

LANGUAGE = (
    "accumulate", "conformance_regressions", "e2e_autotune", "e2e_launch", "emulator", "examples", "exchange",
    "extern_functions", "language_activation", "language_atomics", "language_control", "language_descriptors",
    "language_dot", "language_elementwise", "language_memory", "language_random", "language_reduce", "language_saturate",
    "language_shape", "language_shift", "libdevice", "libdevice_exact", "prefetch", "property_elementwise",
    "random_programs", "regressions",
)  # fmt: skip
"""The files that test what kernels compute, without ``test_``."""


def known(name: str) -> str:
    """A name in `TARGETS`. Ends the program with a sentence for another."""
    if name not in TARGETS:
        sys.exit(f"there is no target {name!r}; there are {', '.join(TARGETS)}")
    return name


def edited(text: str, constants: dict[str, object]) -> str:
    """The text of `target.py` with other constants."""
    for name, value in constants.items():
        line = f"{name}: Final = {_spelled(value)}"
        text, count = re.subn(rf"^{name}: Final = .*$", line, text, flags=re.M)
        assert count == 1, name
    return text


def _spelled(value: object) -> str:
    return f"frozenset({sorted(value)!r})" if isinstance(value, frozenset) else repr(value)


def install(name: str, folder: Path) -> None:
    """A copy of this package for the target, which `folder` on PYTHONPATH finds."""
    from package_copy import copy_package

    path = copy_package(folder) / "target.py"
    for metadata in folder.glob("*.dist-info"):  # that of the installed package says more
        shutil.rmtree(metadata)
    path.write_text(edited(path.read_text(encoding="utf-8"), TARGETS[name]), encoding="utf-8")


def become(name: str) -> Any:
    """Makes this process, and those that it starts, import a copy of the package for the target. Before it is imported.

    Gives the temporary folder that holds it.
    """
    known(name)
    holder = tempfile.TemporaryDirectory(prefix=f"target-{name}-")
    install(name, Path(holder.name))
    for module in [module for module in sys.modules if module.partition(".")[0] == "<<cookiecutter.package_name>>"]:
        del sys.modules[module]  # `package_copy` has looked at the original
    sys.path.insert(0, holder.name)
    os.environ[ACTIVE] = name
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (holder.name, os.environ.get("PYTHONPATH"))))
    return holder


def main(words: list[str]) -> int:
    at = words.index("--") if "--" in words else len(words)
    names, arguments = [known(word) for word in words[:at]], words[at + 1 :]
    here = Path(__file__).parent
    arguments = arguments or [str(here / f"test_{name}.py") for name in LANGUAGE]
    failed = False
    for name in names or TARGETS:
        start = time.monotonic()
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", *arguments],
            env={**os.environ, VARIABLE: name},
            capture_output=True,
            text=True,
        )
        last = run.stdout.strip().rpartition("\n")[2]
        print(f"{name:<16} {time.monotonic() - start:6.0f} s  {last}", flush=True)
        if run.returncode:
            failed = True
            print(run.stdout, run.stderr, flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
