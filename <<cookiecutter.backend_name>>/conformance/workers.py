"""pytest in processes of its own, so that what a test does to its process is contained.

A crash costs the test that crashed and a restart. A test that runs too long is stopped from outside, with its
process: nothing inside can be relied on while native code holds the interpreter's lock.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cases import BAD, Outcome, Result, file_of, function_of

INSIDE = Path(__file__).resolve().parent / "inside"
POLL_SECONDS = 0.05
QUIET_SECONDS = 300  # longest time without news from a process between tests: importing, collecting, ending
LARGEST_BATCH = 250  # cases of one process: enough to forget its start, few enough to share work out evenly
MOST_TIMEOUTS = 3  # of one function: its other cases are not waited for
MOST_RETRIES = 25  # of cases of a batch that failed: where all fail, once is enough
PASSED_ALONE = "passes alone, but after other tests"

PYTEST_INI = """\
[pytest]
markers =
    interpreter: Triton's mark for what its interpreter can run
    enable_warmup: Triton's
    disable_warmup: Triton's
"""


@dataclass(frozen=True)
class Ending:
    """How a process ended. ``last_words`` are for a person: what went wrong, the innermost frame."""

    was_stopped: bool
    last_words: str


class Pytest:
    """One pytest process over some files: its events while it runs, then its ending."""

    def __init__(self, session: Session, files: Sequence[str], cases: Sequence[str] | None) -> None:
        self.folder = session.new_folder()
        self.session = session
        settings = self.folder / "settings.json"
        self._events, self._faults = self.folder / "events", self.folder / "faults"
        self._events.touch()
        settings.write_text(
            json.dumps({"events": str(self._events), "faults": str(self._faults), "cases": cases})
        )
        command = [sys.executable, "-m", "pytest", "-p", "conformance_plugin", "-p", "no:cacheprovider"]
        command += ["-p", "no:faulthandler", "-q", "--tb=no", "-W", "ignore", "-c", str(session.ini)]
        command += ["--rootdir", str(session.tests), "--confcutdir", str(session.tests.parent)]
        command += ["--device", session.device, *files]
        if cases is None:
            command += ["--collect-only", "--continue-on-collection-errors"]
        with open(self.folder / "output", "wb") as output:
            self.process = subprocess.Popen(
                command,
                cwd=session.tests,
                env={**session.environment, "CONFORMANCE_SETTINGS": str(settings)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.ending = Ending(False, "")

    def events(self) -> Iterator[dict[str, Any]]:
        """Each event of the plugin as it comes. Ends when the process has, or has been quiet for too long."""
        in_test, since, was_stopped = False, time.monotonic(), False
        with open(self._events, "rb") as stream:
            partial = b""
            while True:
                ended = self.process.poll() is not None  # asked first: what it wrote before is read below
                partial += stream.read()
                *lines, partial = partial.split(b"\n")
                for line in lines:
                    event = json.loads(line)
                    since = time.monotonic()
                    in_test = event["event"] in ("start", "phase")
                    yield event
                if ended:
                    break
                if time.monotonic() - since > (self.session.timeout if in_test else QUIET_SECONDS):
                    was_stopped = True
                    self._stop()
                time.sleep(POLL_SECONDS)
        self._end_children()
        self.ending = Ending(was_stopped, self._last_words(was_stopped))
        shutil.rmtree(self.folder, ignore_errors=True)

    def _stop(self) -> None:
        self.process.send_signal(signal.SIGABRT)  # has faulthandler say where every thread was
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _end_children(self) -> None:
        """End what tests left running: all of the session that the process was the leader of."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass

    def _last_words(self, was_stopped: bool) -> str:
        words = self._faults.read_text(errors="replace").strip() if self._faults.exists() else ""
        if was_stopped:
            return f"stopped after {self.session.timeout:g} s\n{words}"[:2000]
        if words:
            return words[:2000]
        status = self.process.returncode
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        output = (self.folder / "output").read_text(errors="replace").strip()
        return f"pytest ended with {how}\n{output[-1500:]}"


@dataclass
class Session:
    """What the processes of a run share. ``timeout`` is in seconds a test, ``batch`` the most cases of a process,
    ``retries`` the most cases of a batch that are tried once more."""

    tests: Path
    work: Path
    device: str
    timeout: float
    environment: Mapping[str, str]
    batch: int = LARGEST_BATCH
    retries: int = MOST_RETRIES
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _folders: int = 0
    _timeouts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.ini = self.work / "pytest.ini"
        self.ini.write_text(PYTEST_INI)

    def new_folder(self) -> Path:
        with self._lock:
            self._folders += 1
            folder = self.work / f"process{self._folders}"
        folder.mkdir()
        return folder

    def collect(self, files: Sequence[str]) -> tuple[list[str], list[Result]]:
        """All cases of the files, and a failure for each file that has none to give."""
        cases: dict[str, None] = {}
        broken: list[Result] = []
        process = Pytest(self, files, None)
        for event in process.events():
            if event["event"] == "case":
                cases[event["id"]] = None
            else:
                broken.append(Result(event["id"], "failed", message=event["message"]))
        if cases or broken or not files:
            return list(cases), broken
        if len(files) == 1:
            if process.process.returncode == 5:  # pytest's way to say that there are no tests in the file
                return [], []
            return [], [Result(files[0], "failed", message=process.ending.last_words)]
        half = len(files) // 2  # one of them took the process down: which?
        first, second = self.collect(files[:half]), self.collect(files[half:])
        return first[0] + second[0], first[1] + second[1]

    def run(self, cases: Sequence[str], workers: int, record: Callable[[Result], None]) -> None:
        """Run the cases, ``workers`` processes at a time; ``record`` gets each result, from one thread at a time."""

        def record_in_turn(result: Result) -> None:
            with self._lock:
                record(result)

        by_file: dict[str, list[str]] = {}
        for case in cases:
            by_file.setdefault(file_of(case), []).append(case)
        batches = [
            group[start : start + self.batch]
            for group in sorted(by_file.values(), key=len, reverse=True)
            for start in range(0, len(group), self.batch)
        ]
        with ThreadPoolExecutor(workers) as pool:
            for done in [pool.submit(self._run_batch, batch, record_in_turn) for batch in batches]:
                done.result()

    def _run_batch(self, batch: Sequence[str], record: Callable[[Result], None]) -> None:
        """Run cases of one file. What fails gets a second chance, alone in a process.

        Some tests leave a setting of Triton's or a broken context behind; that the next one fails is no fault of the
        backend. A case that passes alone counts as passed, and says so in its message.
        """
        doubtful: list[Result] = []
        for result in self._attempt(batch):
            if result.outcome in BAD and len(batch) > 1:
                doubtful.append(result)
            else:
                record(result)
        for number, result in enumerate(doubtful):
            if number < self.retries:
                (again,) = self._attempt([result.case])
                if again.outcome not in BAD:
                    result = replace(again, message=f"{PASSED_ALONE}: {result.message}")
            record(result)

    def _attempt(self, batch: Sequence[str]) -> Iterator[Result]:
        """The results of cases of one file, from as many processes as it takes."""
        left = dict.fromkeys(batch)
        fruitless = 0
        yield from self._give_up(left)
        while left:
            before = len(left)
            process = Pytest(self, [file_of(batch[0])], list(left))
            running = ""
            started = time.monotonic()
            phases: list[dict[str, Any]] = []
            for event in process.events():
                match event["event"]:
                    case "start":
                        running, started, phases = event["id"], time.monotonic(), []
                    case "phase":
                        phases.append(event)
                    case "end" if event["id"] in left:
                        del left[event["id"]]
                        running = ""
                        yield summarize(event["id"], phases)
            if running in left:
                del left[running]
                outcome: Outcome = "timeout" if process.ending.was_stopped else "crashed"
                yield Result(running, outcome, time.monotonic() - started, process.ending.last_words)
                if outcome == "timeout":
                    with self._lock:
                        self._timeouts[function_of(running)] += 1
                    yield from self._give_up(left)
            fruitless = fruitless + 1 if len(left) == before else 0
            if fruitless == 2:  # the file's own import may crash, now and then
                yield from (
                    Result(case, "crashed", 0.0, f"never began: {process.ending.last_words}") for case in left
                )
                return

    def _give_up(self, left: dict[str, None]) -> Iterator[Result]:
        """Take the cases of functions that keep running out of time from those that are left."""
        for case in [case for case in left if self._timeouts[function_of(case)] >= MOST_TIMEOUTS]:
            del left[case]
            reason = f"not run: {MOST_TIMEOUTS} other cases of this function ran out of time"
            yield Result(case, "timeout", 0.0, reason)


def summarize(case: str, phases: Sequence[Mapping[str, Any]]) -> Result:
    """One result from those of setting up, calling and tearing down."""
    outcomes = [phase["outcome"] for phase in phases]
    outcome: Outcome = "failed" if "failed" in outcomes else "skipped" if "skipped" in outcomes else "passed"
    messages = [phase["message"] for phase in phases if phase["outcome"] == outcome]
    message = next(filter(None, messages), "")
    return Result(case, outcome, sum(phase["seconds"] for phase in phases), message)
