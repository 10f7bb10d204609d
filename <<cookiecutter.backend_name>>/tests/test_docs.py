"""The documentation's code does what the documentation says: it is put where it says and run there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import <<cookiecutter.package_name>>
from <<cookiecutter.package_name>>.target import PACKAGE_NAME

TESTS = Path(__file__).parent
DOCS = TESTS.parent / "docs"
BLOCK = re.compile(r"^```(python|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PLACE = re.compile(r"# (\S+\.py)(, at the end)?\n")

LINES_OF_AN_INSTRUCTION = 60
"""How much the walk-through may ask of a reader, test included."""


def blocks(page: str, language: str) -> list[str]:
    if not DOCS.is_dir():
        pytest.skip("the tests run without the documentation beside them")
    return [
        text for kind, text in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")) if kind == language
    ]


def placed(page: str) -> dict[str, str]:
    """Where the Python code of a page goes -> the code."""
    found: dict[str, str] = {}
    for text in blocks(page, "python"):
        place = PLACE.match(text)
        assert place is not None, f"{page}: the first line must say where this goes:\n{text}"
        found[place[1]] = text[place.end() :]
    return found


class Workshop:
    """A copy of this package, and what is needed to run tests in it, for code to be put into."""

    def __init__(self, root: Path) -> None:
        self.root = root
        package = Path(<<cookiecutter.package_name>>.__file__).parent
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(package, root / "src" / PACKAGE_NAME, ignore=ignore)
        (root / "tests").mkdir()
        for name in ("conftest.py", "harness.py"):
            shutil.copy(TESTS / name, root / "tests")

    def put(self, page: str, folder: str = "") -> int:
        """Puts the code of a page that belongs below `folder` where it belongs; gives its lines."""
        count = 0
        for place, text in placed(page).items():
            if place.startswith(folder):
                file = self.root / place
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("a", encoding="utf-8") as stream:
                    stream.write(text)
                count += len(text.splitlines())
        return count

    def run(self, *words: str) -> str:
        """Runs Python with the copy, and what lies beside it, before everything installed."""
        paths = [str(self.root / "src"), str(self.root)]
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def test_add_an_instruction_and_a_pass(workshop: Workshop) -> None:
    lines = workshop.put("add-an-instruction.md", "src/") + workshop.put("add-an-instruction.md", "tests/")
    assert lines < LINES_OF_AN_INSTRUCTION
    workshop.put("add-a-pass.md")
    out = workshop.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
    assert "2 passed" in out
    listing = workshop.run("-m", f"{PACKAGE_NAME}.cli.main", "passes", "isa")
    assert listing.index("form-relu-clip") < listing.index("expand-special")


def test_add_an_instruction_from_another_package(workshop: Workshop) -> None:
    workshop.put("add-an-instruction.md", "their_package/")
    (workshop.root / "their_package" / "__init__.py").touch()
    (toml,) = blocks("add-an-instruction.md", "toml")
    ((group, points),) = tomllib.loads(toml)["project"]["entry-points"].items()
    info = workshop.root / "their_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    entries = "".join(f"{name} = {value}\n" for name, value in points.items())
    (info / "entry_points.txt").write_text(f"[{group}]\n{entries}")

    test = placed("add-an-instruction.md")["tests/test_relu_clip.py"]
    test = test.replace(f"{PACKAGE_NAME}.language.activations", "their_package.activations")
    (workshop.root / "tests" / "test_relu_clip.py").write_text(test)
    assert "1 passed" in workshop.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")

    # A process that has not imported the package finds it by its entry point, to read its instructions back.
    text = f'%x = "test.op"() : () -> f32\n%y = {<<cookiecutter.package_name>>.target.BACKEND_NAME}.relu_clip %x, %x : f32\n'
    (workshop.root / "file.mlir").write_text(text)
    assert "relu_clip" in workshop.run("-m", f"{PACKAGE_NAME}.cli.main", "opt", "file.mlir")


def test_kernel_functions(workshop: Workshop) -> None:
    assert workshop.put("kernel-functions.md")
    assert "1 passed" in workshop.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")


def test_registering_is_what_the_docs_say() -> None:
    """The entry-point group in both pages is the one that is looked up."""
    from <<cookiecutter.package_name>>.extensions import ENTRY_POINT_GROUP

    for page in ("add-an-instruction.md", "add-a-pass.md"):
        for toml in blocks(page, "toml"):
            assert set(tomllib.loads(toml)["project"]["entry-points"]) == {ENTRY_POINT_GROUP}
