"""A vendor waits for the template once; nobody should wonder whether it hangs."""

from __future__ import annotations

import time
from pathlib import Path

from template import cookiecutter

LIMIT_SECONDS = 2.0


def test_generation_takes_less_than_two_seconds(tmp_path: Path) -> None:
    """The best of three: the machine may be busy with something else."""
    durations: list[float] = []
    for attempt in range(3):
        start = time.perf_counter()
        result = cookiecutter(tmp_path / str(attempt))
        durations.append(time.perf_counter() - start)
        assert result.returncode == 0, result.stdout + result.stderr
    print("seconds:", ", ".join(f"{duration:.2f}" for duration in durations))
    assert min(durations) < LIMIT_SECONDS
