"""The doctor's only check that imports Triton and this package, in a process of its own.

Files do not show everything: a module may raise while it is imported, a table may be wrong, a driver may ask the
hardware whether it is active. A fresh Python tells (`probe`), while the other checks look at files; whatever happens
to it, the report is finished here. Readable by Python 3.10.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..installed import Installed, find_module, python_command
from ..requirements_check import find_problems, own_requirements
from ..target import BACKEND_NAME, PACKAGE_NAME
from . import target_fallback
from .environment import Claim, Environment
from .probe import RESULT, STARTS, TRITON, code_of
from .report import Finding, fail, ok

SECONDS = 120
"""A driver that hangs while it looks for its device must not hang the doctor."""

EXTENSIONS = f"{PACKAGE_NAME}.extensions"


@dataclass(frozen=True)
class Trial:
    """A process that imports things. ``findings`` waits for its end."""

    process: subprocess.Popen[str] | None
    imports: bool
    drivers: bool

    @classmethod
    def start(cls, environment: Environment, *, imports: bool, drivers: bool) -> Trial:
        """Nothing is tried where other checks say that it cannot work."""
        missing = any(problem.version is None for problem in find_problems(own_requirements()[1]))
        words = [word for word, wanted in (("imports", imports), ("drivers", drivers)) if wanted]
        process = None
        if not target_fallback.problems and not missing:
            process = subprocess.Popen(
                [sys.executable, "-m", f"{PACKAGE_NAME}.cli.probe", *words],
                env=dict(environment.environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
            )
        return cls(process, imports, drivers)

    def findings(self, environment: Environment) -> Iterator[Finding]:
        if self.process is None:
            return
        try:
            out, errors = self.process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, _ = self.process.communicate()
            yield _hangs(out)
            return
        result = [line for line in out.splitlines() if line.startswith(RESULT)]
        if self.process.returncode or not result:
            yield _died(out, errors, self.process.returncode)
            return
        told: dict[str, Any] = json.loads(result[-1].removeprefix(RESULT))
        seen: set[tuple[str, str, int]] = set()
        without = next((f["error"] for f in told["failures"] if f["piece"] == TRITON), None)
        for failure in told["failures"]:
            if failure["piece"] != TRITON and failure["error"] == without:
                continue  # what keeps Triton from being imported, in every module that imports it
            what_and_where = (failure["error"], failure["file"], failure["line"])
            if what_and_where not in seen:  # what one file lacks, those that import it lack, too
                seen.add(what_and_where)
                yield _failed(environment, failure)
        if seen:
            return
        what = f"importing Triton takes {told['seconds']:.2f} s"
        if self.imports:
            what += "; this package and what extends it can be imported"
        if self.drivers:
            active = [name for name, is_active in told["active"].items() if is_active]
            yield _active(environment, f"{what}; active: {', '.join(active) or 'none'}", active)
        else:
            yield ok("import", what)


def _by_hand(code: str) -> str:
    return f"{python_command()} -c {shlex.quote(code)}"


def _reached(out: str) -> str:
    """The piece that the process was at when it ended."""
    started = [line for line in out.splitlines() if line.startswith(STARTS)]
    return started[-1].removeprefix(STARTS) if started else TRITON


def _hangs(out: str) -> Finding:
    piece = _reached(out)
    return fail(
        "import.hangs",
        f"importing {piece} was not done after {SECONDS} s.",
        "See where it hangs.",
        f"timeout -s INT {SECONDS} {_by_hand(code_of(piece))}",
    )


def _died(out: str, errors: str, status: int) -> Finding:
    piece = _reached(out)
    last = (errors.strip().splitlines() or [f"it ended with status {status}"])[-1]
    what = f"importing {piece} ends the process: {last}"
    return fail("import.fails", what, "Read the whole message.", _by_hand(code_of(piece)))


def _failed(environment: Environment, failure: dict[str, Any]) -> Finding:
    what = f"importing {failure['piece']} fails: {failure['error']}"
    if failure["file"]:
        what += f" ({failure['file']}, line {failure['line']})"
    by_hand = _by_hand(code_of(failure["piece"]))
    claim = next((claim for claim in environment.claims if _is_in(claim, failure)), None)
    if (
        failure["piece"] == TRITON
        and claim is not None
        and not claim.is_ours
        and claim.owner.name != "triton"
    ):
        do = f"Correct the package {claim.package}, or remove it:"
        return fail("import.fails", f"{what} (in {claim})", do, claim.owner.remove_command)
    extension = _extension(environment, failure)
    if extension is not None:
        return fail(
            "import.fails", what, "Correct that distribution, or remove it:", extension.remove_command
        )
    return fail("import.fails", what, "Fix that file; this shows the whole message:", by_hand)


def _is_in(claim: Claim, failure: dict[str, Any]) -> bool:
    """Does an error pass through a file of the backend's package, or name it?"""
    spec = find_module(claim.package)
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    files = [failure["file"], *failure["through"]]
    return claim.package in failure["error"] or any(
        file.startswith(f"{folder}/") for folder in folders for file in files
    )


def _extension(environment: Environment, failure: dict[str, Any]) -> Installed | None:
    """The distribution whose extension an error is about (`extensions.load_extensions` names it)."""
    for installed in environment.distributions:
        try:
            points = installed.entry_points(EXTENSIONS)
        except Exception:  # reported by check_backends.entry_points
            continue
        if any(f"extension {name!r} ({value})" in failure["error"] for name, value in points):
            return installed
    return None


def _active(environment: Environment, what: str, active: list[str]) -> Finding:
    requested = environment.environ.get("TRITON_DEFAULT_BACKEND", "")
    select = f"export TRITON_DEFAULT_BACKEND={BACKEND_NAME}"
    if requested and requested not in active:
        do = "Select a backend whose device is there."
        return fail(
            "import.not-active", f"{what}. {requested} is asked for, so every launch fails.", do, select
        )
    if not requested and len(active) > 1:
        do = "Select one by name."
        return fail(
            "import.conflict", f"{what}. Triton wants exactly one, so every launch fails.", do, select
        )
    return ok("import", what)
