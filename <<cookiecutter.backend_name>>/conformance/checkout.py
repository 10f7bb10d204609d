"""Where the tests come from: a checkout of Triton, or a git directory and a revision."""

from __future__ import annotations

import io
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

# The tests, and the pytest options that they need, which have lived in two places.
NEEDED = ("python/test", "python/conftest.py")


class CheckoutError(Exception):
    """No tests to run at the place that was named. The message says what to do."""


@dataclass(frozen=True)
class Tests:
    """Triton's python/test at ``folder``, and the commit that it is of ("" where that is not known)."""

    folder: Path
    commit: str


def prepare(source: Path, revision: str, version: str, destination: Path) -> Tests:
    """Put the tests of ``source`` into ``destination``, a folder that lives as long as the run.

    They do not run where they are: beside them is the source of Triton itself, which would be imported in
    place of the installed one, and tests leave files behind. ``version`` is that of the installed Triton:
    the tests of a git directory are those of its release unless ``revision`` is given.
    """
    if not source.exists():
        raise CheckoutError(f"{source} does not exist")
    if (source / NEEDED[0]).is_dir() and not revision:
        for part in filter(Path.exists, (source / name for name in NEEDED)):
            copy = destination / part.relative_to(source)
            if part.is_dir():
                shutil.copytree(part, copy, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(part, copy)
        commit = git(source, "rev-parse", "HEAD") if (source / ".git").exists() else ""
    else:
        commit = find_commit(source, revision, version)
        present = git(source, "ls-tree", "--name-only", commit, *NEEDED).split()
        if NEEDED[0] not in present:
            raise CheckoutError(
                f"{source} has no {NEEDED[0]} at {commit}: is it a copy of Triton's repository?"
            )
        archive = run_git(source, "archive", "--format=tar", commit, *present)
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(destination, filter="data")
    return Tests(destination / NEEDED[0], commit)


def find_commit(repository: Path, revision: str, version: str) -> str:
    """The commit of ``revision``, or of the tag or the branch of a release."""
    release = ".".join(version.split(".")[:2])
    names = [revision] if revision else [f"v{version}", f"release/{release}.x", f"origin/release/{release}.x"]
    for name in names:
        try:
            return git(repository, "rev-parse", "--verify", "--quiet", name + "^{commit}")
        except CheckoutError:
            continue
    raise CheckoutError(
        f"{repository} has neither a folder {NEEDED[0]} nor a revision {' or '.join(names)}. "
        f"Get the tests: git clone --depth 1 --branch v{version} https://github.com/triton-lang/triton"
        " (or name a commit of that release with --revision)"
    )


def git(repository: Path, *arguments: str) -> str:
    return run_git(repository, *arguments).decode().strip()


def run_git(repository: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", repository, *arguments], capture_output=True)
    except FileNotFoundError:
        raise CheckoutError("git is not installed; name a checkout instead of a git directory") from None
    if done.returncode:
        raise CheckoutError(
            f"git {arguments[0]} in {repository}: {done.stderr.decode(errors='replace').strip()}"
        )
    return done.stdout
