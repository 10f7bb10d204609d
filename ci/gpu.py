"""Numbers and times of the GPU reference, on a machine with an NVIDIA GPU: not part of CI, which has none.

    python ci/gpu.py --out report [--triton 3.7.1 3.8.0 3.9.0] [--tests TRITON_CHECKOUT_OR_GIT_DIRECTORY]

Generates the package with its GPU reference and, for each release of Triton, installs both into a folder of
their own; torch is that of this Python, and must be a CUDA build. Then it runs the tests that need a GPU, the
report (numerics, kernels, launches, compilation against Triton's own backend) and, where Triton's tests are
named, a sample of them under both backends. Everything goes to OUT/VERSION. The exit status is 1 if any of it
failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from dev import generate

NEEDED = ("pytest", "scipy", "expecttest")


def arguments() -> argparse.Namespace:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    add = parser.add_argument
    add("--out", type=Path, default=Path("gpu-report"), help="folder of the reports")
    add("--triton", nargs="+", default=["3.7.1", "3.8.0", "3.9.0"], metavar="VERSION", help="releases")
    add("--tests", type=Path, help="a checkout of Triton, or a git directory, for its own tests")
    add("--sample", type=int, default=1200, help="how many of them (default: 1200)")
    add("--workers", type=int, default=os.cpu_count() or 1, help="processes for them")
    add("--rounds", type=int, default=5, help="of measurements (default: 5)")
    add("--wheels", type=Path, help="take packages from this folder instead of an index")
    return parser.parse_args()


def run(log: Path, package: Path, site: Path, *words: object) -> bool:
    """Run `python WORDS` in the package's folder, its output also in a file. Whether it succeeded."""
    command = [sys.executable, *map(str, words)]
    print(f"$ {' '.join(command)}", flush=True)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    with log.open("w", encoding="utf-8") as file:
        done = subprocess.run(
            command, cwd=package, env=environment, stdout=file, stderr=subprocess.STDOUT, check=False
        )
    print(log.read_text(encoding="utf-8"), flush=True)
    return done.returncode == 0


def check(version: str, package: Path, options: argparse.Namespace) -> bool:
    """All of it beside one release. Whether nothing failed."""
    out = (options.out / version).resolve()
    out.mkdir(parents=True, exist_ok=True)
    report: list[object] = [
        "-m",
        "triton_acme.gpu_reference.report",
        "--out",
        out,
        "--rounds",
        options.rounds,
    ]
    commands: dict[str, list[object]] = {
        "tests": ["-m", "pytest", "-q", "tests/test_gpu_reference_device.py"],
        "report": report,
    }
    if options.tests:
        sample = ["--tests", options.tests.resolve(), "--sample", options.sample]
        where = ["--workers", options.workers, "--out", out / "conformance.json"]
        commands["conformance"] = ["conformance/gpu.py", *sample, *where]
    with tempfile.TemporaryDirectory(prefix=f"gpu-{version}-") as name:
        site = Path(name)
        index = ["--no-index", "--find-links", options.wheels.resolve()] if options.wheels else []
        install = ["-m", "pip", "install", *index, "--target", site, f"triton=={version}", package, *NEEDED]
        if not run(out / "install.log", package, site, *install):
            return False
        results = [run(out / f"{what}.log", package, site, *words) for what, words in commands.items()]
    return all(results)


def main() -> int:
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="triton-backend-gpu-") as folder:
        package = generate(Path(folder), gpu=True)
        results = {version: check(version, package, options) for version in options.triton}
    for version, good in results.items():
        print(f"Triton {version}: {'good' if good else 'FAILED'}; {options.out / version}")
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
