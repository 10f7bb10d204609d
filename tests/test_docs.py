"""What the documentation points to is there: links, and files and folders of the generated package."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest

from template import REPOSITORY, generate

LINK = re.compile(r"\]\((?!https?:)([^)#]+)")
# In backquotes, with a slash: a place below src/<package>, or below the root of the package.
PLACE = re.compile(r"`((?:[\w.]+/)+(?:[\w.]+)?)`")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate(tmp_path_factory.mktemp("docs") / "output")


def documents(root: Path) -> dict[Path, str]:
    """The documents and their prose, without blocks of code."""
    paths = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    return {
        path: re.sub(
            r"```.*?```|^    .*?$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
        )
        for path in paths
    }


def broken_links(root: Path) -> list[str]:
    return [
        f"{document.relative_to(root)}: {link}"
        for document, prose in documents(root).items()
        for link in LINK.findall(prose)
        if not (document.parent / link).exists()
    ]


def test_links_of_the_repository() -> None:
    assert broken_links(REPOSITORY) == []


def test_links_of_a_package(package: Path) -> None:
    assert broken_links(package) == []


@pytest.mark.parametrize(("provider", "pages"), [("github", "/blob/main/"), ("gitlab", "/-/blob/main/")])
def test_links_of_a_readme_work_on_the_package_index(tmp_path: Path, provider: str, pages: str) -> None:
    """There is no file beside it there: every link is a whole address, and that file is in the repository."""
    address = "https://forge.example/kestrel/triton-k2"
    package = generate(
        tmp_path / "output",
        {"repository_url": f"{address}.git/", "ci_provider": provider, "vendor_name": "K"},
    )
    text = documents(package)[package / "README.md"]
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert [link for link in links if not link.startswith("https://")] == []
    ours = [link.removeprefix(address + pages) for link in links if link.startswith(address + pages)]
    assert {"CONTRIBUTING.md", "CHANGELOG.md", "docs/README.md", "SECURITY.md"} <= set(ours)
    assert [file for file in ours if not (package / file).exists()] == []
    urls = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    assert urls["Source"] == address and urls["Issues"].removeprefix(address) in ("/issues", "/-/issues")
    for name in ("Documentation", "Changelog"):
        assert (package / urls[name].removeprefix(address + pages)).exists(), name


def test_readme_names_every_question_with_its_default(package: Path) -> None:
    """And the form for scripts, which works as it stands."""
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    settings = json.loads((REPOSITORY / "cookiecutter.json").read_text(encoding="utf-8"))
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \|$", text, re.MULTILINE)
    assert [name for name, *_ in rows] == [name for name in settings if not name.startswith("_")]
    recorded = json.loads((package / ".triton-backend.json").read_text(encoding="utf-8"))["default_context"]
    assert {name: default.split("`")[1] for name, _, default in rows} == recorded


def test_command_without_questions_works(tmp_path: Path) -> None:
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    (words,) = (
        shlex.split(command.replace("\\\n", " "))
        for command in re.findall(
            r"^    cookiecutter (?:.*\\\n)*.*--no-input(?:.*\\\n)*.*$", text, re.MULTILINE
        )
    )
    answers = dict(word.split("=", 1) for word in words if "=" in word)
    package = generate(tmp_path / "output", answers)
    assert package.name == answers["backend_name"]


def test_places_of_a_package(package: Path) -> None:
    roots = (package, package / "src" / "triton_acme")
    example = "passes/form_relu.py"  # the file that docs/add-a-pass.md lets the reader write
    missing = [
        f"{document.relative_to(package)}: {place}"
        for document, prose in documents(package).items()
        for place in PLACE.findall(prose)
        if place != example and not any((root / place).exists() for root in roots)
    ]
    assert missing == []
