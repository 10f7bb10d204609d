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


@pytest.mark.skipif(targets.ACTIVE in os.environ, reason="this process is one of the targets already")
@pytest.mark.parametrize("name", targets.TARGETS)
def test_target(name: str) -> None:
    done = run(name, str(HERE / "target_checks.py"))
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert tuple(line.partition(" ")[0] for line in done.stdout.splitlines()) == CHECKS
