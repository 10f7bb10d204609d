"""pytest plugin of the conformance runner: runs inside each pytest process and reports to the one that started it.

It appends one JSON object a line to a file, and each line is out before the next step begins, so that a crash
of this process loses nothing but the test that crashed. Timeouts are the business of the parent.
Settings come from the JSON file that $CONFORMANCE_SETTINGS names: ``events`` and ``faults`` (files to write),
``cases`` (the node ids to run; null to run none and list them all).
"""

from __future__ import annotations

import faulthandler
import json
import os
from collections.abc import Generator
from typing import Any

import pytest

with open(os.environ["CONFORMANCE_SETTINGS"], encoding="utf-8") as settings_file:
    SETTINGS = json.load(settings_file)
# Kept open for the life of the process: faulthandler writes into it while the process goes down.
FAULTS = open(SETTINGS["faults"], "w")  # noqa: SIM115
EVENTS = os.open(SETTINGS["events"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
OWNER = os.getpid()

LONGEST_MESSAGE = 2000


def emit(**event: Any) -> None:
    if os.getpid() == OWNER:  # a test may fork, and its child may return into pytest
        os.write(EVENTS, (json.dumps(event) + "\n").encode())


def pytest_configure() -> None:
    faulthandler.enable(FAULTS)
    name = os.environ.get("CONFORMANCE_CUDA_NAME")
    if name:
        answer_as_cuda(name)


def answer_as_cuda(name: str) -> None:
    """Tests ask what they run on by comparing a name with "cuda". A CUDA device by another name is one, too."""
    import triton._internal_testing as testing
    from triton.backends.compiler import GPUTarget

    ask = testing.get_current_target

    def get_current_target() -> Any:
        target = ask()
        if target is None or target.backend != name:
            return target
        return GPUTarget("cuda", target.arch, target.warp_size)

    testing.get_current_target = get_current_target


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if SETTINGS["cases"] is None:
        for item in items:
            emit(event="case", id=item.nodeid)
    else:
        wanted = set(SETTINGS["cases"])
        items[:] = [item for item in items if item.nodeid in wanted]


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        emit(event="broken", id=report.nodeid, message=last_line(str(report.longrepr)))


def pytest_runtest_logstart(nodeid: str) -> None:
    emit(event="start", id=nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    message = ""
    if report.failed and call.excinfo is not None:
        message = describe(call.excinfo.value)
    elif report.skipped:
        message = (
            report.longrepr[2] if isinstance(report.longrepr, tuple) else getattr(report, "wasxfail", "")
        )
    emit(
        event="phase",
        id=item.nodeid,
        outcome=report.outcome,
        seconds=report.duration,
        message=message[:LONGEST_MESSAGE],
    )
    return report


def pytest_runtest_logfinish(nodeid: str) -> None:
    emit(event="end", id=nodeid)


def describe(error: BaseException) -> str:
    """The exception, and the one that began it: Triton wraps what a backend raises in a CompilationError."""
    root, seen = error, {id(error)}
    while True:
        cause = root.__cause__ or (None if root.__suppress_context__ else root.__context__)
        if cause is None or id(cause) in seen:
            break
        seen.add(id(cause))
        root = cause
    text = f"{type(error).__name__}: {error}"
    return text if root is error else f"{type(root).__name__}: {root}\nfrom which {text}"


def last_line(text: str) -> str:
    """The line of pytest's traceback that names the error."""
    lines = [line for line in text.splitlines() if line.startswith("E ")] or text.splitlines()
    return lines[-1].removeprefix("E ").strip()[:LONGEST_MESSAGE] if lines else ""
