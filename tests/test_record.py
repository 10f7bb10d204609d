"""What a package records of the template is enough to generate it again, and to merge a newer one into it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from template import (
    ODD_ANSWERS,
    REPOSITORY,
    TEMPLATE_FOLDER,
    cookiecutter,
    copy_of_repository,
    files_of,
    generate,
)

RECORD = ".triton-backend.json"
IDENTITY = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "A Tester"), ("EMAIL", "tester@example.com"))
}


def git(folder: Path, *words: str) -> str:
    return subprocess.run(
        ["git", *words],
        cwd=folder,
        env={**os.environ, **IDENTITY},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def commit(folder: Path, message: str) -> str:
    git(folder, "add", "--all")  # byte code stays out, by .gitignore
    git(folder, "commit", "--quiet", "--no-verify", "--message", message)
    return git(folder, "rev-parse", "HEAD")


@pytest.mark.parametrize(
    "answers",
    [
        {},
        ODD_ANSWERS,
        {
            "vendor_name": "\u200b\u202e\ufeff \U000e0001 <\u200b< {{ }}",
            "backend_name": "zk",
            "author": "a\\\\u00e9",
        },
    ],
    ids=["default", "odd", "invisible"],
)
def test_the_same_package_again(tmp_path: Path, answers: dict[str, str]) -> None:
    first = generate(tmp_path / "first", answers)
    recorded = json.loads((first / RECORD).read_text(encoding="utf-8"))["default_context"]
    assert answers.items() <= recorded.items()
    again = tmp_path / "again"
    result = cookiecutter(again, arguments=("--no-input", "--config-file", str(first / RECORD)))
    assert result.returncode == 0, result.stdout + result.stderr
    (second,) = again.iterdir()
    assert {path.relative_to(first): path.read_bytes() for path in files_of(first)} == {
        path.relative_to(second): path.read_bytes() for path in files_of(second)
    }


def test_typed_delimiters_are_the_same_again(tmp_path: Path) -> None:
    """Typed answers are no templates, those of a file are."""
    typed = "Chips << 1 <% x <# y\nzk\n" + "\n" * 12
    result = cookiecutter(tmp_path / "first", arguments=(), stdin=typed)
    assert result.returncode == 0, result.stdout + result.stderr
    first = tmp_path / "first" / "zk"
    result = cookiecutter(tmp_path / "again", arguments=("--no-input", "--config-file", str(first / RECORD)))
    assert result.returncode == 0, result.stdout + result.stderr
    for name in (RECORD, "pyproject.toml", "src/triton_zk/target.py"):
        assert (first / name).read_bytes() == (tmp_path / "again" / "zk" / name).read_bytes()


def commands(package: Path) -> str:
    """What CONTRIBUTING.md says under "Taking a newer template"."""
    text = (package / "CONTRIBUTING.md").read_text(encoding="utf-8")
    found = re.search(r"^## Taking a newer template\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    return "".join(f"{line[4:]}\n" for line in found[1].splitlines() if line.startswith("    "))


def test_a_newer_template_is_merged_as_contributing_says(tmp_path: Path) -> None:
    """Its edits, its new and its deleted files arrive beside those of the vendor; the record moves on."""
    template = copy_of_repository(tmp_path)
    git(template, "init", "--quiet", "--initial-branch=main")
    old = commit(template, "old")
    package = generate(tmp_path / "output", {"vendor_name": "Kestrel"}, template=template)
    assert json.loads((package / RECORD).read_text())["template"]["commit"] == old
    tox = package / "tox.ini"
    tox.write_text(tox.read_text() + "\n[testenv:ours]\ncommands = true\n")
    (package / "docs" / "ours.md").write_text("ours\n")
    commit(package, "the vendor's")

    place = template / TEMPLATE_FOLDER
    (place / "tox.ini").write_text("# a line of the newer template\n" + (place / "tox.ini").read_text())
    (place / "docs" / "newer.md").write_text("of <<cookiecutter.distribution_name>>\n")
    (place / "CHANGELOG.md").unlink()
    new = commit(template, "new")

    home = tmp_path / "home"
    home.mkdir()
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

    def follow(address: str) -> subprocess.CompletedProcess[str]:
        """The commands with the address of a template, in a shell that goes on after a command that fails."""
        script = commands(package).replace("gh:OWNER/triton-backend", address)
        assert address in script
        return subprocess.run(
            ["bash", "-c", script],
            cwd=package,
            env={**os.environ, **IDENTITY, "HOME": str(home), "PATH": tools, "TMPDIR": str(tmp_path)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    # A wrong address stops it, though what an earlier time has fetched could be merged.
    before = git(package, "rev-parse", "HEAD")
    for side in ("old", "new"):
        git(package, "update-ref", f"refs/template/{side}", before)
    assert follow(f"git+file://{tmp_path}/nowhere").returncode != 0
    assert git(package, "rev-parse", "HEAD") == before and git(package, "status", "--porcelain") == ""
    assert git(package, "for-each-ref", "refs/template") == ""

    done = follow(f"git+file://{template}")
    assert done.returncode == 0, done.stdout + done.stderr
    text = tox.read_text()
    assert text.startswith("# a line of the newer template\n") and "[testenv:ours]" in text
    assert (package / "docs" / "newer.md").read_text() == "of triton-kestrel\n"
    assert (package / "docs" / "ours.md").exists() and not (package / "CHANGELOG.md").exists()
    assert json.loads((package / RECORD).read_text())["template"]["commit"] == new
    assert git(package, "status", "--porcelain") == ""


def test_a_template_without_history_is_no_commit(tmp_path: Path) -> None:
    """Nor that of a repository which happens to lie around it."""
    git(tmp_path, "init", "--quiet")
    (tmp_path / "x").touch()
    commit(tmp_path, "around")
    package = generate(tmp_path / "output", template=copy_of_repository(tmp_path))
    assert json.loads((package / RECORD).read_text())["template"]["commit"] is None
    assert (REPOSITORY / TEMPLATE_FOLDER / RECORD).read_text() == "<< cookiecutter | record >>\n"
