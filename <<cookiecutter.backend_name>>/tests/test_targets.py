"""Other machines: each of `targets.py` is checked in a process of its own, and what it lacks is expanded or refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import targets

HERE = Path(__file__).parent
CHECKS = (
    "elementwise_over_types", "special_functions", "conversions_of_int64", "reductions_scans_and_sorts",
    "products_of_matrices", "scaled_products", "atomics", "control_flow", "examples", "random_programs",
    "emulator_and_reference_device",
)  # fmt: skip


def run(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, *words, name], env=environment, capture_output=True, text=True, timeout=600
    )


def test_an_unknown_target() -> None:
    words = "there is no target 'lanes-5'; there are lanes-4, "
    done = run("lanes-5", str(HERE / "targets.py"))
    assert done.returncode == 1 and done.stderr.startswith(words)
    environment = {**os.environ, targets.VARIABLE: "lanes-5"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(HERE / "test_targets.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode and words in done.stderr and "Traceback" not in done.stderr


@pytest.mark.skipif(targets.ACTIVE in os.environ, reason="this process is one of the targets already")
@pytest.mark.parametrize("name", targets.TARGETS)
def test_target(name: str) -> None:
    done = run(name, str(HERE / "target_checks.py"))
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert tuple(line.partition(" ")[0] for line in done.stdout.splitlines()) == CHECKS
