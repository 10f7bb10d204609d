"""``version``: this package and what it stands on, one a line. Imports none of them. Readable by Python
3.10.
"""

from __future__ import annotations

import argparse
import platform

from ..requirements_check import MODULES, installed_version
from ..target import DISTRIBUTION_NAME


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No arguments."""


def run(arguments: argparse.Namespace) -> int:
    for name in (DISTRIBUTION_NAME, *MODULES, "torch"):
        version = installed_version(name)
        print(f"{name} {'not installed' if version is None else version or 'of unknown version'}")
    print(f"Python {platform.python_version()}")
    return 0
