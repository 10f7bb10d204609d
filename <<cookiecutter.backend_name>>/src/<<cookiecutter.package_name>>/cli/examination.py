"""The doctor's checks, and how they are run. Imports none of the packages that it judges.

Nearly everything is read from files, so it works when ``import triton`` does not; what files do not show, a process of
its own finds out meanwhile (`check_import`). The checks live in ``check_*.py`` beside this file, each a generator of
findings; add one by writing it and listing it in CHECKS. Readable by Python 3.10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module

from ..installed import python_command
from ..target import BACKEND_NAME, DISTRIBUTION_NAME, PACKAGE_NAME, VENDOR_NAME
from .environment import Environment
from .failure import in_words, place
from .report import Finding, as_json, as_table, fail, is_healthy

Check = Callable[[Environment], Iterator[Finding]]

CHECKS = (
    "check_host.python_version",
    "check_host.platform",
    "check_host.machine_numbers",
    "check_packages.own_package",
    "check_packages.dependencies",
    "check_packages.triton_owners",
    "check_packages.torch",
    "check_backends.entry_points",
    "check_backends.own_entry_point",
    "check_backends.clashes",
    "check_backends.selection",
    "check_backends.interpreter",
    "check_cache.folder",
    "check_cache.leftovers",
    "check_host.environment_variables",
    "check_host.processor",
)
"""``module.function``, so that a file that cannot be imported takes only its own checks with it."""


def named(name: str) -> Check:
    """The check of a name in CHECKS. Imports its module when it is run."""
    module, _, function = name.partition(".")

    def check(environment: Environment) -> Iterator[Finding]:
        found: Check = getattr(import_module(f".{module}", __package__), function)
        yield from found(environment)

    check.__module__, check.__name__ = module, function
    return check


def examine(environment: Environment, checks: Sequence[Check]) -> list[Finding]:
    """Run the checks. One that breaks is itself reported: the others are then still worth reading."""
    findings: list[Finding] = []
    seen: set[tuple[str, int]] = set()  # a file that many checks need is one finding
    for check in checks:
        try:
            findings += check(environment)
        except Exception as error:
            name = f"{check.__module__.rpartition('.')[2]}.{check.__name__}"
            file, line = place(error)
            if (file, line) in seen:
                continue
            seen.add((file, line))
            finding = fail(
                "doctor",
                f"the check {name} broke: {in_words(error)} ({file}, line {line})",
                "Fix that file if you edited it; otherwise send this report to whoever maintains the package.",
                f"{python_command()} -m {PACKAGE_NAME}.cli.doctor --json",
            )
            findings.append(finding)
    return findings


def report(*, json: bool, imports: bool, drivers: bool) -> int:
    """Print the findings; 0 if nothing failed, else 1. ``imports``, ``drivers``: see the doctor's arguments."""
    environment = Environment.of_this_process()
    tried: list[Check] = []
    if imports or drivers:

        def start(environment: Environment) -> Iterator[Finding]:
            """Starts the process; the check of what it found comes last."""
            from .check_import import Trial

            tried.append(Trial.start(environment, imports=imports, drivers=drivers).findings)
            yield from ()

        findings = examine(environment, (start, *map(named, CHECKS)))
        findings += examine(environment, tried)
    else:
        findings = examine(environment, tuple(map(named, CHECKS)))
    if json:
        print(as_json(findings, environment.own_version))
    else:
        print(
            f"{DISTRIBUTION_NAME} {environment.own_version}: the {BACKEND_NAME!r} backend of {VENDOR_NAME}\n"
        )
        print(as_table(findings, imported=imports))
    return 0 if is_healthy(findings) else 1
