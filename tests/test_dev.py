"""ci/dev.py: what is edited in a generated package arrives in the template, or is refused by name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from template import ODD_ANSWERS, TEMPLATE_FOLDER, copy_of_repository, generate


class Workshop:
    """A copy of the template and a default package generated from it."""

    def __init__(self, folder: Path) -> None:
        self.repository = copy_of_repository(folder)
        self.template = self.repository / TEMPLATE_FOLDER
        result = self.dev("generate", folder)
        assert result.returncode == 0, result.stderr
        self.package = folder / "acme"

    def dev(self, command: str, folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, self.repository / "ci" / "dev.py", command, folder],
            capture_output=True,
            text=True,
            check=False,
        )

    def back(self) -> subprocess.CompletedProcess[str]:
        return self.dev("back", self.package)

    def edit(self, name: str, before: str, after: str) -> None:
        path = self.package / name
        text = path.read_text(encoding="utf-8")
        assert before in text
        path.write_text(text.replace(before, after), encoding="utf-8")

    def add(self, name: str, text: str) -> None:
        path = self.package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def test_untouched_package_changes_nothing(workshop: Workshop) -> None:
    result = workshop.back()
    assert (result.returncode, result.stdout) == (0, "0 changed, 0 added, 0 refused\n")


def test_engine_files_go_back_verbatim(workshop: Workshop) -> None:
    source = "x = 1 << 2  # triton_acme <# %>\n"
    workshop.add("src/triton_acme/passes/fold.py", source)
    result = workshop.back()
    assert result.returncode == 0, result.stdout
    assert "added    src/triton_acme/passes/fold.py" in result.stdout
    place = workshop.template / "src" / "<<cookiecutter.package_name>>" / "passes" / "fold.py"
    assert place.read_text() == source


def test_names_become_placeholders_in_rendered_files(workshop: Workshop, tmp_path: Path) -> None:
    workshop.add("tests/test_new.py", "from triton_acme import target  # of triton-acme\nx = 1 << 2\n")
    workshop.add(
        "tests/filecheck/fold.mlir", "// triton-acme.\n%0 = acme.add %1 : !acme.vreg, #acme.x, 1 << 2\n"
    )
    result = workshop.back()
    assert result.returncode == 0, result.stdout
    odd = generate(tmp_path / "odd", ODD_ANSWERS, template=workshop.repository)
    assert (odd / "tests" / "test_new.py").read_text() == (
        "from zizka_triton import target  # of zizka-triton.backend\nx = 1 << 2\n"
    )
    assert (odd / "tests" / "filecheck" / "fold.mlir").read_text() == (
        "// zizka-triton.backend.\n%0 = zk_7.add %1 : !zk_7.vreg, #zk_7.x, 1 << 2\n"
    )


def test_edit_beside_computed_lines_is_merged(workshop: Workshop, tmp_path: Path) -> None:
    workshop.edit("pyproject.toml", '"numpy>=1.26",', '"numpy>=1.27",')
    result = workshop.back()
    assert result.returncode == 0, result.stdout
    assert "changed  pyproject.toml" in result.stdout
    text = (workshop.template / "pyproject.toml").read_text(encoding="utf-8")
    assert '"numpy>=1.27",' in text and "<< cookiecutter.author | quoted >>" in text


def test_edit_of_computed_line_is_refused(workshop: Workshop) -> None:
    before = (workshop.template / "src" / "<<cookiecutter.package_name>>" / "target.py").read_bytes()
    workshop.edit("src/triton_acme/target.py", 'ARCH: Final = "a1"', 'ARCH: Final = "b2"')
    workshop.add("src/triton_acme/other.py", "")
    result = workshop.back()
    assert result.returncode == 1
    assert (
        "REFUSED  src/triton_acme/target.py: the edit touches lines that the template computes"
        in result.stdout
    )
    assert "1 added, 1 refused" in result.stdout, "the rest goes back all the same"
    assert (workshop.template / "src" / "<<cookiecutter.package_name>>" / "target.py").read_bytes() == before


def test_deletions_are_reported_and_products_ignored(workshop: Workshop) -> None:
    (workshop.package / "CHANGELOG.md").unlink()
    for name in (
        "src/triton_acme/__pycache__/x.pyc",
        "dist/x.whl",
        "x.egg-info/PKG-INFO",
        ".ruff_cache/x",
        ".tox/y",
    ):
        workshop.add(name, "junk")
    result = workshop.back()
    assert result.returncode == 0
    assert result.stdout.startswith("missing  CHANGELOG.md") and "0 changed, 0 added" in result.stdout
    assert (workshop.template / "CHANGELOG.md").exists()


def test_wrong_folder_is_refused(workshop: Workshop, tmp_path: Path) -> None:
    result = workshop.dev("back", tmp_path)
    assert result.returncode == 2 and "is not the root of a generated package" in result.stderr
