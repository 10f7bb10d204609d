"""How tests run the template: as its users do, with the cookiecutter command, in a home of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
TEMPLATE_FOLDER = "<<cookiecutter.backend_name>>"

# Answers that are unlike the defaults in every question, with text that some file format gets wrong.
ODD_ANSWERS = {
    "vendor_name": 'Žižka "芯片" & 50% \\ O\'Hara 🚀',
    "backend_name": "zk_7",
    "distribution_name": "zizka-triton.backend",
    "package_name": "zizka_triton",
    "arch": "ZK-7.1+b",
    "author": 'Jan: "O\'Hara", #1 [x] {y} \\n 100% é🚀',
    "email": "o'hara+triton@zk.example",
    "repository_url": "https://git.zk.example:8443/~o/zizka-triton",
    "license": "Apache-2.0",
    "vector_lanes": "8",
    "matrix_tile": "8",
    "scratchpad_kib": "32",
    "ci_provider": "gitlab",
}

# The packages that tests/test_generated.py builds, installs and tests: name -> answers.
VARIANTS: dict[str, dict[str, str]] = {
    "default": {},
    "odd": ODD_ANSWERS,
    "gpu": {"gpu_reference": "nvidia"},
}

# Python's own remedies for a C locale switched off: what remains is ASCII everywhere.
C_LOCALE = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def cookiecutter(
    output: Path,
    answers: dict[str, str] | None = None,
    *,
    template: Path = REPOSITORY,
    environment: dict[str, str] | None = None,
    arguments: tuple[str, ...] = ("--no-input",),
    stdin: str | None = None,
    largest_file: int | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run the command below `output`; its home is a hidden folder beside it. Never raises for a failed run.

    `largest_file` limits the bytes of every file that it writes: writing fails as on a full disk.
    """
    home = output.parent / f".home-of-{output.name}"
    home.mkdir(parents=True, exist_ok=True)
    output.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "cookiecutter", str(template), *arguments, "--output-dir", str(output)]
    command += [f"{question}={answer}" for question, answer in (answers or {}).items()]
    if largest_file is not None:
        command = ["bash", "-c", f'ulimit -f {largest_file // 1024}; exec "$@"', "-", *command]
    return subprocess.run(
        [os.fsencode(argument) if argument.isascii() else argument.encode() for argument in command],
        cwd=home,
        env={**os.environ, "HOME": str(home), "PYTHONPATH": "", **(environment or {})},
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=120,
        check=False,
    )


def generate(output: Path, answers: dict[str, str] | None = None, **settings: object) -> Path:
    """Generate a package below `output` and return its root."""
    result = cookiecutter(output, answers, **settings)  # type: ignore[arg-type]
    assert result.returncode == 0, result.stdout + result.stderr
    (package,) = output.iterdir()
    return package


def copy_of_repository(folder: Path) -> Path:
    """A copy of the template repository that a test may damage; caches and history stay behind."""
    ignore = shutil.ignore_patterns(".git", ".tox", "__pycache__", ".*_cache", "dist")
    return Path(shutil.copytree(REPOSITORY, folder / "repository", ignore=ignore))


def files_of(package: Path) -> list[Path]:
    """All files that were generated, without git's own."""
    return sorted(
        path
        for path in package.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(package).parts[:-1]
    )


def tree(folder: Path) -> list[str]:
    """Every name below `folder`, hidden ones included."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
