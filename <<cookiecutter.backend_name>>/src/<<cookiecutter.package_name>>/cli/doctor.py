"""``doctor``: what is installed here, what is wrong with it, and what to do. Readable by Python 3.10.

It is run when things are broken, this package among them: so what it needs is imported when it runs, and a failure of
that is a finding, too.
"""

from __future__ import annotations

import argparse
import sys

from .failure import PACKAGE_FOLDER, sentence


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument(
        "--files",
        action="store_true",
        help="look at files only: do not try, in a process of its own, whether Triton and this package can be imported",
    )
    parser.add_argument(
        "--drivers",
        action="store_true",
        help="also ask the drivers of all backends whether they are active (some import torch for it)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the report; 0 if nothing failed, else 1."""
    try:
        from .examination import report
    except Exception as error:
        print(f"FAIL  {sentence(error)}")
        return 1
    return report(json=arguments.json, imports=not arguments.files, drivers=arguments.drivers)


def main() -> int:
    """``python -m <package>.cli.doctor``: for when the console script itself is what is missing."""
    name = f"{PACKAGE_FOLDER.name}.cli.doctor"
    parser = argparse.ArgumentParser(prog=f"python -m {name}", description=run.__doc__)
    add_arguments(parser)
    return run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
