"""The first hour in two minutes: generate a package with the default answers, install it, run kernels on it.

Installs into the environment that runs this script; `tox run -e demo` makes one for it. Needs neither torch
nor a C compiler.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dev import generate


class Steps:
    """Says what is going on, and how long it took."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.number = 0

    def run(self, what: str, *arguments: str | Path, **environment: str) -> None:
        """Run `python ARGUMENTS`. Raises SystemExit with its status if it fails."""
        self.number += 1
        print(f"[{self.number}/{self.total}] {what}", flush=True)
        start = time.monotonic()
        result = subprocess.run([sys.executable, *arguments], env={**os.environ, **environment}, check=False)
        if result.returncode:
            print(f"[{self.number}/{self.total}] failed: {what}", file=sys.stderr)
            raise SystemExit(result.returncode)
        print(f"[{self.number}/{self.total}] done in {time.monotonic() - start:.1f} s\n", flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="triton-backend-demo-") as folder:
        package = generate(Path(folder))
        print(f"Generated with the default answers: {package}\n", flush=True)
        pip = ("-m", "pip", "--disable-pip-version-check", "--no-input")
        install = "install the package beside a stock Triton; the first time, pip downloads about 250 MB"
        steps = Steps(3)
        steps.run(install, *pip, "install", "--progress-bar=off", package)
        steps.run("pip check", *pip, "check")
        cache = Path(folder, "kernels")
        steps.run(
            "kernels on the reference device",
            "-m",
            "triton_acme.cli.main",
            "demo",
            TRITON_CACHE_DIR=str(cache),
        )


if __name__ == "__main__":
    main()
