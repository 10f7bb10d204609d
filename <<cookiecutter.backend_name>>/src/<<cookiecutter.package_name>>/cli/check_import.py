"""The doctor's only check that runs Triton, in a process of its own and only when asked for (``doctor
--import``).

Files do not show everything: a module may raise while it is imported, a driver may ask the hardware whether
it is active. A fresh Python tells; whatever happens to it, the report is finished here. Readable by Python
3.10.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator

from ..installed import find_module, python_command
from ..target import BACKEND_NAME
from .report import Finding, fail, ok
from .surroundings import Claim, Surroundings

SECONDS = 120
"""A driver that hangs while it looks for its device must not hang the doctor."""

PROBE = """
import json, time
start = time.perf_counter()
try:
    from triton.backends import backends
except RuntimeError as error:
    # Triton says only that a module has no class that it can use, not what the class lacks.
    import sys
    for name, module in sorted(sys.modules.items()):
        if name.endswith((".compiler", ".driver")) and not name.startswith("triton."):
            for item in vars(module).values():
                lacks = getattr(item, "__abstractmethods__", None)
                if lacks and item.__module__ == name:
                    raise RuntimeError(f"{name}.{item.__name__} does not define {', '.join(sorted(lacks))}") from error
    raise
seconds = time.perf_counter() - start
active = {name: bool(backend.driver.is_active()) for name, backend in backends.items()}
print("\\n" + json.dumps([seconds, active]))
"""


def import_triton(surroundings: Surroundings) -> Iterator[Finding]:
    """Does ``import triton`` work, and which drivers say that they are active?"""
    by_hand = f"{python_command()} -c {shlex.quote('import triton')}"
    try:
        child = subprocess.run(
            [sys.executable, "-c", PROBE],
            env=dict(surroundings.environ),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        yield fail(
            "import.hangs",
            f"importing Triton and asking the drivers was not done after {SECONDS} s.",
            "See where it hangs.",
            f"timeout -s INT {SECONDS} {by_hand}",
        )
        return
    if child.returncode:
        yield _failed(surroundings, child, by_hand)
        return
    seconds, active = json.loads(child.stdout.rstrip().splitlines()[-1])
    yield from _active(
        surroundings, float(seconds), [name for name, is_active in active.items() if is_active]
    )


def _failed(surroundings: Surroundings, child: subprocess.CompletedProcess[str], by_hand: str) -> Finding:
    errors = child.stderr.strip().splitlines() or [f"it ended with status {child.returncode}"]
    guilty = [
        claim for claim in surroundings.claims if claim.package in child.stderr or _is_in(claim, errors)
    ]
    culprit = next((claim for claim in guilty if claim.owner.name != "triton"), None)
    what = f"importing Triton fails: {errors[-1]}"
    if culprit is None or culprit.is_ours:
        return fail("import.fails", what, "Read the whole message.", by_hand)
    do = f"Correct the package {culprit.package}, or remove it:"
    return fail("import.fails", f"{what} (in {culprit})", do, culprit.owner.remove_command)


def _is_in(claim: Claim, errors: list[str]) -> bool:
    """Does the traceback pass through a file of the backend's package?"""
    spec = find_module(claim.package)
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    return any(f'File "{folder}/' in line for folder in folders for line in errors)


def _active(surroundings: Surroundings, seconds: float, active: list[str]) -> Iterator[Finding]:
    requested = surroundings.environ.get("TRITON_DEFAULT_BACKEND", "")
    what = f"importing Triton takes {seconds:.2f} s; active: {', '.join(active) or 'none'}"
    select = f"export TRITON_DEFAULT_BACKEND={BACKEND_NAME}"
    if requested and requested not in active:
        do = "Select a backend whose device is there."
        yield fail(
            "import.not-active", f"{what}. {requested} is asked for, so every launch fails.", do, select
        )
    elif not requested and len(active) > 1:
        do = "Select one by name."
        yield fail("import.conflict", f"{what}. Triton wants exactly one, so every launch fails.", do, select)
    else:
        yield ok("import", what)
