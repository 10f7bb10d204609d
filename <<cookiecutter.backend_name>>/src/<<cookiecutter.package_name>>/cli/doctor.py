"""``doctor``: what is installed here, what is wrong with it, and what to do. Imports none of the packages it
judges.

Everything is read from files, so it works when ``import triton`` does not. The checks live in ``check_*.py``
beside this file, each a generator of findings; add one by writing it and listing it in CHECKS. Readable by
Python 3.10.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence

from ..installed import python_command
from ..target import BACKEND_NAME, DISTRIBUTION_NAME, PACKAGE_NAME, VENDOR_NAME
from . import check_backends, check_cache, check_host, check_import, check_packages
from .report import Finding, as_json, as_table, fail, is_healthy
from .surroundings import Surroundings

Check = Callable[[Surroundings], Iterator[Finding]]

CHECKS: tuple[Check, ...] = (
    check_host.python_version,
    check_host.platform,
    check_host.machine_numbers,
    check_packages.own_package,
    check_packages.dependencies,
    check_packages.triton_owners,
    check_packages.torch,
    check_backends.entry_points,
    check_backends.own_entry_point,
    check_backends.clashes,
    check_backends.selection,
    check_backends.interpreter,
    check_cache.folder,
    check_cache.leftovers,
    check_host.environment_variables,
    check_host.processor,
)


def examine(surroundings: Surroundings, checks: Sequence[Check]) -> list[Finding]:
    """Run the checks. One that breaks is itself reported: the others are then still worth reading."""
    findings: list[Finding] = []
    for check in checks:
        try:
            findings += check(surroundings)
        except Exception as error:
            name = f"{check.__module__.rpartition('.')[2]}.{check.__name__}"
            findings.append(
                fail(
                    "doctor",
                    f"the check {name} broke: {type(error).__name__}: {error}",
                    "Send this report to whoever maintains the package.",
                    f"{python_command()} -m {PACKAGE_NAME}.cli.doctor --json",
                )
            )
    return findings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument(
        "--import",
        action="store_true",
        dest="import_triton",
        help="also import Triton, in a process of its own, and ask its drivers whether they are active",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the report; 0 if nothing failed, else 1."""
    surroundings = Surroundings.of_this_process()
    checks = (*CHECKS, check_import.import_triton) if arguments.import_triton else CHECKS
    findings = examine(surroundings, checks)
    if arguments.json:
        print(as_json(findings, surroundings.own_version))
    else:
        print(
            f"{DISTRIBUTION_NAME} {surroundings.own_version}: the {BACKEND_NAME!r} backend of {VENDOR_NAME}\n"
        )
        print(as_table(findings))
    return 0 if is_healthy(findings) else 1


def main() -> int:
    """``python -m <package>.cli.doctor``: for when the console script itself is what is missing."""
    parser = argparse.ArgumentParser(prog=f"python -m {PACKAGE_NAME}.cli.doctor", description=run.__doc__)
    add_arguments(parser)
    return run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
