"""What the documentation points to is there: links, and files and folders of the generated package."""

from __future__ import annotations

import re
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
