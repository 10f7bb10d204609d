"""The benchmarks: every pair gives the same results on both sides, and what is done with the numbers is right."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from <<cookiecutter.package_name>>.bench import plot, report, timing
from <<cookiecutter.package_name>>.bench.results import (
    Compilation,
    FirstCall,
    Launch,
    Measurement,
    Memory,
    Run,
    compare,
    missed,
)
from <<cookiecutter.package_name>>.cli import bench as command
from <<cookiecutter.package_name>>.cli import main as cli
from <<cookiecutter.package_name>>.errors import BackendError

try:
    import torch
except ImportError:
    torch = None
    WORKS: tuple[Any, ...] = ()
else:
    from <<cookiecutter.package_name>>.bench.works import WORKS

needs_torch = pytest.mark.skipif(torch is None, reason="torch is the peer, and it is not installed")

ADD = Measurement("add", "1M", 1, "eager", 0.95, 100e-6, 110e-6, 90e-6, 100e-6, 0.0, 0.0)


@needs_torch
@pytest.mark.parametrize("work", WORKS, ids=[work.name for work in WORKS])
def test_pair(work: Any) -> None:
    from <<cookiecutter.package_name>>.bench.works import error

    pair = work.pair(small=True)
    worst = error(pair)
    assert worst <= pair.tolerance


@needs_torch
def test_names_are_unique() -> None:
    """A worker finds its work by name."""
    names = [work.name for work in WORKS]
    assert len(set(names)) == len(names)


@needs_torch
def test_an_error_is_seen() -> None:
    from <<cookiecutter.package_name>>.bench.works import Pair, error

    assert error(Pair(lambda: torch.tensor([1.0, 4.0]), lambda: torch.tensor([1.0, 2.0]), 0.0, 8)) == 1.0
    assert error(Pair(lambda: torch.tensor([float("nan")]), lambda: torch.tensor([2.0]), 0.0, 4)) == float(
        "inf"
    )


@needs_torch
def test_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A run of one pair at a tiny size, then another compared with it."""
    first = tmp_path / "first.json"
    arguments = ["bench", "add fp16", "--small", "--quick", "--threads", "1"]
    assert cli.main([*arguments, "--no-compile", "--json", str(first)]) == 0
    output = capfd.readouterr().out
    assert "add fp16" in output and "eager" in output
    run = Run.load(first)
    assert [m.work for m in run.measurements] == ["add fp16"]
    assert run.measurements[0].ratio > 0 and run.measurements[0].is_right
    assert run.measurements[0].floor > 0
    assert run.machine["cpus"] >= 1 and run.machine["torch"] == torch.__version__
    ElementTree.parse(first.with_suffix(".svg"))
    faster = replace(run.measurements[0], theirs=run.measurements[0].theirs * 1000)
    old = tmp_path / "old.json"
    Run(run.machine, [faster]).save(old)
    again = [*arguments, "--no-compile", "--json", str(tmp_path / "second.json"), "--compare", str(old)]
    assert cli.main(again) == 1
    assert "REGRESSION" in capfd.readouterr().out


@needs_torch
def test_compile_times() -> None:
    from <<cookiecutter.package_name>>.bench.compiling import STAGES, compile_times

    work = next(work for work in WORKS if work.name == "add")
    (times,) = compile_times(replace(work, sizes=work.small))
    assert times["name"] == "vector_add"
    stages = [times[stage] for stage in STAGES]
    assert all(stage > 0 for stage in stages)
    assert sum(stages) < times["total"] < 10_000


@needs_torch
def test_launch_times() -> None:
    from <<cookiecutter.package_name>>.bench.launching import launch_times

    times = launch_times(0.01)
    assert 0 < times["peer"]["fastest"] <= times["ours"]["fastest"] * 1.5


def test_first_call(tmp_path: Path) -> None:
    """In a process of its own: it times what is imported, too."""
    command = [sys.executable, "-m", "<<cookiecutter.package_name>>.bench.worker", json.dumps({"what": "first call"})]
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path)}
    cold, warm = (
        json.loads(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
        for _ in range(2)
    )
    assert 0 < warm["ours"] < warm["total"] < cold["total"]
    assert warm["ours"] < cold["ours"] / 2


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no statistics of memory on this system")
def test_kernel_memory() -> None:
    from <<cookiecutter.package_name>>.bench.memory import kernel_memory

    found = kernel_memory(6)
    assert found["kernels"] == 6 and found["first"] > 20 and found["growth"] < 50


def test_without_torch(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(command, "installed_version", lambda name: None)
    assert cli.main(["bench"]) == 1
    assert "pip install" in capsys.readouterr().err


@needs_torch
def test_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "no such work"]) == 1
    assert "--list" in capsys.readouterr().err
    assert cli.main(["bench", "add", "--threads", "two"]) == 1
    assert "'two'" in capsys.readouterr().err


def test_thread_counts() -> None:
    assert command.thread_counts("1,3") == [1, 3]
    assert command.thread_counts("all,all") == [command.thread_counts("all")[0]]
    for wrong in ("", "0", "1,,2", "-1"):
        with pytest.raises(BackendError, match="--threads"):
            command.thread_counts(wrong)


def test_interleaved() -> None:
    """Medians, in turns, each function after warming calls of its own."""
    calls: list[str] = []
    now = 0.0

    def clock() -> float:
        return now

    def work(name: str, seconds: float) -> Any:
        def run() -> None:
            nonlocal now
            calls.append(name)
            now += seconds

        return run

    slow, fast = timing.interleaved([work("slow", 2e-3), work("fast", 1e-3)], 0.1, clock=clock)
    assert slow.median == pytest.approx(2e-3) and fast.median == pytest.approx(1e-3)
    settling = round(timing.SETTLING / 2e-3), round(timing.SETTLING / 1e-3)
    last = ["slow"] * (settling[0] + 1) + ["fast"] * (settling[1] + 1)
    assert calls[-len(last) :] == last


def test_short_calls_are_timed_together() -> None:
    now = 0.0

    def run() -> None:
        nonlocal now
        now += 1e-6

    (each,) = timing.interleaved([run], 1e-3, clock=lambda: round(now / 10e-6) * 10e-6)
    assert each.median == pytest.approx(1e-6, rel=0.2)


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, "yes"),
        ({"theirs": 50e-6}, "no"),
        ({"goal": 0.0, "theirs": 50e-6}, ""),
        ({"error": 0.1}, "WRONG"),
        ({"problem": "no answer"}, "failed"),
    ],
)
def test_verdict(changed: dict[str, Any], verdict: str) -> None:
    measurement = replace(ADD, **changed)
    assert measurement.verdict == verdict
    assert bool(missed([measurement])) == (verdict in ("no", "WRONG", "failed"))
    assert report.cells(measurement)[-1] == verdict


def test_what_the_machine_allows() -> None:
    """A goal that not even a copy of the same bytes, or the bare arithmetic, would reach is told apart."""
    slow = replace(ADD, goal=1.5)  # 110 us by the peer
    assert slow.is_within_reach  # nobody measured it
    assert replace(slow, floor=70e-6).is_within_reach
    assert not replace(slow, floor=80e-6).is_within_reach


def test_saved_and_loaded(tmp_path: Path) -> None:
    run = Run(
        {"cpus": 2},
        [ADD],
        [Compilation("vector_add", 14.0, {"TTIR": 1.0}, 30.0)],
        Launch(5e-6, 4e-6),
        FirstCall(8.0, 400.0),
        Memory(500, 300.0, 80.0),
    )
    path = tmp_path / "run.json"
    run.save(path)
    assert Run.load(path) == run


@pytest.mark.parametrize("text", ["", "{}", json.dumps({"format": 0}), "[1]"])
def test_not_results(tmp_path: Path, text: str) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(text)
    with pytest.raises(BackendError, match=r"wrong\.json"):
        Run.load(path)


def test_compare() -> None:
    """Only what both measured, relative to the peer of the same run, the worst first."""
    old = Run({}, [ADD, replace(ADD, work="gone")], [Compilation("k", 10.0, {})], Launch(5e-6, 4e-6))
    busy = replace(ADD, ours=200e-6, theirs=220e-6)  # everything twice as slow: another job on the machine
    new = Run({}, [busy, replace(ADD, work="new")], [Compilation("k", 30.0, {})], Launch(4e-6, 4e-6))
    changes = compare(old, new)
    assert [(change.what, round(change.factor, 2)) for change in changes] == [
        ("compile k", 3.0),
        ("add (1M, 1 thread) vs eager", 1.0),
        ("launch", 0.8),
    ]
    assert [change.is_regression for change in changes] == [True, False, False]
    assert "REGRESSION" in report.changes_table(changes).splitlines()[2]


def test_tables() -> None:
    rows = [ADD, replace(ADD, floor=90e-6), replace(ADD, work="sort", problem="no answer")]
    lines = report.measurements_table(rows).splitlines()
    assert lines[2].split() == ["add", "1M", "1", "eager", "100", "110", "1.10", "0.95", "yes"]
    assert lines[3].split() == ["add", "1M", "1", "eager", "100", "110", "90", "1.10", "0.95", "yes"]
    assert lines[4].split() == ["sort", "1M", "1", "eager", "0.95", "failed"]
    compilations = [
        Compilation("k", 10.0, {"TTIR": 1.0, "ISA": 5.0}),
        Compilation("l", 60.0, {"TTIR": 1.0}, 50),
    ]
    table = report.compilations_table(compilations[:1]).splitlines()
    assert table[2].split() == ["k", "10.0", "4.0", "1.0", "5.0"]
    assert report.compilations_table(compilations[1:]).splitlines()[2].split()[:4] == [
        "l",
        "60.0",
        "50",
        "no",
    ]
    assert report.first_call_line(FirstCall(8.0, 400.0)).endswith("no")
    assert "160 kB each" in report.memory_line(Memory(501, 300.0, 80.0))
    assert "1.50 times" in report.launch_line(Launch(6e-6, 4e-6)) and report.launch_line(
        Launch(6e-6, 4e-6)
    ).endswith("no")


def test_plot() -> None:
    """A bar a measurement with numbers, none outside of the picture, names escaped."""
    measurements = [ADD, replace(ADD, work="a<b", theirs=1.0), replace(ADD, problem="no answer", ours=0.0)]
    root = ElementTree.fromstring(plot.svg(measurements, "R&D"))
    rectangles = [element for element in root if element.tag.endswith("rect")][1:]
    assert len(rectangles) == 2
    for rectangle in rectangles:
        assert float(rectangle.attrib["x"]) + float(rectangle.attrib["width"]) <= plot.NAMES + plot.WIDTH + 1
    texts = [element.text for element in root if element.tag.endswith("text")]
    assert "R&D" in texts and any("a<b" in (text or "") for text in texts)


def test_without_a_subcommand_of_its_own() -> None:
    """The worker is a module that can be run."""
    done = subprocess.run(
        [sys.executable, "-m", "<<cookiecutter.package_name>>.bench.worker", "{}"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode != 0 and "what" in done.stderr
