"""Run Triton's own tests, unmodified, through this backend, and hold the result against a list of known failures.

    git clone --depth 1 --branch v3.8.0 https://github.com/triton-lang/triton /tmp/triton-3.8.0
    python conformance/run.py --tests /tmp/triton-3.8.0 --sample 700

Exit status: 0 if all is as the list says, 1 if not, 2 if there was nothing to compare. See README.md beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path

import checkout
import report
from cases import Scope, file_of, sample
from known import KnownFailures, KnownFailuresError
from workers import INSIDE, Session

from <<cookiecutter.package_name>>.target import BACKEND_NAME, DISTRIBUTION_NAME

HERE = Path(__file__).resolve().parent
NEEDED = ("triton", "torch", "numpy", "scipy", "pytest", "expecttest")


class UsageError(Exception):
    """The run cannot be made as it was asked for. The message says what to do."""


def parse(arguments: list[str] | None) -> argparse.Namespace:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    add = parser.add_argument
    add("--tests", type=Path, required=True, help="a checkout of Triton, or a git directory")
    add("--revision", default="", help="a commit (default: what is checked out, else the release)")
    add("--device", default="cpu", help="torch's name of the device to run on (default: cpu)")
    add("--sample", type=int, metavar="N", help="only N cases, spread evenly over the test functions")
    add("--seed", default="1", help="chooses the sample (default: 1)")
    add("-k", dest="only", type=re.compile, metavar="REGEX", help="only cases whose name it occurs in")
    add("--workers", type=int, default=2, help="processes at a time (default: 2)")
    add("--timeout", type=float, default=60, help="seconds for a test (default: 60)")
    add("--out", type=Path, help="write a report there, in JSON")
    add("--known", type=Path, default=HERE / "known_failures.toml", help="the list of known failures")
    add("--update-known", action="store_true", help="rewrite that list to fit this run")
    add("--collect-only", action="store_true", help="list the cases that would run, and stop")
    parser.set_defaults(only=re.compile(""))
    options = parser.parse_args(arguments)
    for name in ("sample", "workers", "timeout"):
        if (value := getattr(options, name)) is not None and value <= 0:
            parser.error(f"--{name} {value} is not positive")
    return options


def test_environment(work: Path, device: str, backend: str = BACKEND_NAME) -> dict[str, str]:
    """Of our own environment all but what is meant for Triton and pytest; an empty cache; one thread for torch."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TRITON_", "PYTEST_"))}
    home = work / "home"  # tests that reset Triton's settings find their way back to ~/.triton
    home.mkdir()
    search = [str(INSIDE), *filter(None, [kept.get("PYTHONPATH")])]
    return kept | {
        "TRITON_DEFAULT_BACKEND": backend,
        "TRITON_CACHE_DIR": str(work / "cache"),
        "CONFORMANCE_DEVICE": device,
        "HOME": str(home),
        "PYTHONPATH": os.pathsep.join(search),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
    }


def check_backend(environment: dict[str, str], name: str = BACKEND_NAME) -> None:
    """Tests that run on another backend, or on none, would say nothing about this one."""
    question = "from triton.runtime import driver; print(driver.active.get_current_target().backend)"
    done = subprocess.run([sys.executable, "-c", question], capture_output=True, text=True, env=environment)
    answer = done.stdout.strip()
    if answer != name:
        last = (done.stderr.strip() or f"the active backend is {answer!r}").splitlines()[-1]
        sentence = f"{sys.executable} does not run kernels on {name}: {last}"
        raise UsageError(f"{sentence}\nTry: {DISTRIBUTION_NAME} doctor")


def versions() -> dict[str, str]:
    """Of the packages that the tests need."""
    try:
        return {name: metadata.version(name) for name in NEEDED}
    except metadata.PackageNotFoundError as error:
        install = f"{sys.executable} -m pip install {' '.join(NEEDED)}"
        raise UsageError(f"the tests need {error.name}: {install}") from None


def run(options: argparse.Namespace, work: Path) -> int:
    installed = versions()
    release = ".".join(installed["triton"].split(".")[:2])
    known = KnownFailures(options.known, release)
    environment = test_environment(work, options.device)
    check_backend(environment)
    tests = checkout.prepare(options.tests, options.revision, installed["triton"], work / "triton")
    scope = Scope.load(HERE / "scope.toml")
    files = scope.files(tests.folder)
    if not files:
        raise UsageError(f"{options.tests} has no test files in python/test")
    print(f"Triton {installed['triton']}, tests of {tests.commit or options.tests}: {len(files)} files")

    session = Session(tests.folder, work, options.device, options.timeout, environment)
    collected, broken = session.collect(files)
    names = [*collected, *(result.case for result in broken)]
    applicable = [case for case in collected if not scope.why_not(case)]
    chosen = [case for case in applicable if options.only.search(case)]
    broken = [result for result in broken if options.only.search(result.case)]
    if options.sample:
        chosen = sample(chosen, options.sample, options.seed)
    print(f"{len(collected)} cases, of which {len(applicable)} apply and {len(chosen)} will run", flush=True)
    if options.collect_only:
        print("\n".join(chosen))
        return 0

    start = time.monotonic()
    progress = report.Progress(len(chosen), known)
    for result in broken:
        progress.record(result)
    session.run(chosen, options.workers, progress.record)
    results = progress.results
    if not results:
        raise UsageError("nothing ran: no case was chosen")
    verdict = known.judge(results, names)
    if options.update_known:
        known.update(results, verdict)
        known = KnownFailures(options.known, release)
        verdict = known.judge(results, names)

    print(f"\n{report.table('file', results, file_of)}\n\n{report.table('family', results, scope.family)}\n")
    print(report.findings(verdict, known))
    rate, whole, functions = report.function_rate(results)
    print(f"{report.counts(results)} in {time.monotonic() - start:.0f} s")
    print(f"{whole} of {functions} test functions pass wholly; mean pass rate of a function {rate:.4f}")
    if options.out:
        about = {
            "versions": installed,
            "commit": tests.commit,
            "backend": BACKEND_NAME,
            "device": options.device,
            "sample": options.sample,
            "seed": options.seed,
            "collected": len(collected),
            "applicable": len(applicable),
        }
        options.out.write_text(json.dumps(report.as_json(results, verdict, known, about), indent=1) + "\n")
    return 0 if verdict.is_good else 1


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    with tempfile.TemporaryDirectory(prefix="conformance-", ignore_cleanup_errors=True) as work:
        try:
            return run(options, Path(work).resolve())
        except (UsageError, checkout.CheckoutError, KnownFailuresError) as error:
            print(f"error: {error}", file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main())
