"""The documentation's code does what the documentation says: it is put where it says and run there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import <<cookiecutter.package_name>>
from <<cookiecutter.package_name>>.target import BACKEND_NAME, ENV_PREFIX, PACKAGE_NAME

TESTS = Path(__file__).parent
DOCS = TESTS.parent / "docs"
BLOCK = re.compile(r"^```(python|toml|diff|mlir)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PLACE = re.compile(r"(?:#|//) (\S+\.(?:py|mlir))(, at the end)?\n")

LINES_OF_AN_INSTRUCTION = 85
"""How much the walk-through may ask of a reader, tests included."""

PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")


def blocks(page: str, language: str) -> list[str]:
    if not DOCS.is_dir():
        pytest.skip("the tests run without the documentation beside them")
    return [
        text for kind, text in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")) if kind == language
    ]


def placed(page: str) -> dict[str, str]:
    """Where the code of a page goes -> the code."""
    found: dict[str, str] = {}
    for text in [*blocks(page, "python"), *blocks(page, "mlir")]:
        place = PLACE.match(text)
        assert place is not None, f"{page}: the first line must say where this goes:\n{text}"
        found[place[1]] = text[place.end() :]
    return found


def edits(page: str) -> Iterator[tuple[str, str, str]]:
    """The changes of lines that a page asks for: file, old text, new text."""
    for text in blocks(page, "diff"):
        place = PLACE.match(text)
        assert place is not None, f"{page}: the first line must say which file this changes:\n{text}"
        lines = text[place.end() :].splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] in " -")
        new = "".join(line[1:] for line in lines if line[0] in " +")
        yield place[1], old, new


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

    def edit(self, page: str) -> None:
        """Changes the lines that a page says are to be changed."""
        for place, old, new in edits(page):
            file = self.root / place
            text = file.read_text(encoding="utf-8")
            assert text.count(old) == 1, f"{page}: {place} does not have these lines once:\n{old}"
            file.write_text(text.replace(old, new), encoding="utf-8")

    def run(self, *words: str, **variables: str) -> str:
        """Runs Python with the copy, and what lies beside it, before everything installed."""
        paths = [str(self.root / "src"), str(self.root)]
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **variables},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def test_add_an_instruction_and_a_pass(workshop: Workshop) -> None:
    """And this package's tests of all instructions are content with the new one."""
    page = "add-an-instruction.md"
    shutil.copytree(TESTS / "filecheck", workshop.root / "tests" / "filecheck")
    workshop.edit(page)
    lines = workshop.put(page, "src/") + workshop.put(page, "tests/")
    assert lines < LINES_OF_AN_INSTRUCTION
    workshop.put("add-a-pass.md")
    no_old_interfaces = f"error::DeprecationWarning:{PACKAGE_NAME}.passes.form_relu_clip"
    out = workshop.run(*PYTEST, "-W", no_old_interfaces, "tests")
    assert "4 passed" in out
    for file in TESTS.glob("*.py"):
        shutil.copy(file, workshop.root / "tests")
    files = [f"tests/{name}.py" for name in ("test_filecheck", "test_assembler_forms", "test_emulator")]
    workshop.run(*PYTEST, *files, "-k", "relu_clip or alu or forms or step or (arithmetic and f32)")
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
    assert "2 passed" in workshop.run(*PYTEST, "tests")

    # A process that has not imported the package finds it by its entry point, to read its instructions back.
    text = f'%x = "test.op"() : () -> f32\n%y = {BACKEND_NAME}.relu_clip %x, %x : f32\n'
    (workshop.root / "file.mlir").write_text(text)
    assert "relu_clip" in workshop.run("-m", f"{PACKAGE_NAME}.cli.main", "opt", "file.mlir")


def test_kernel_functions(workshop: Workshop) -> None:
    assert workshop.put("kernel-functions.md")
    assert "1 passed" in workshop.run(*PYTEST, "tests")


def test_replace_the_runtime(workshop: Workshop) -> None:
    """The example's device runs the kernel of its test, and tests of this package."""
    page = "replace-the-runtime.md"
    workshop.edit(page)
    assert workshop.put(page)
    assert "1 passed" in workshop.run(*PYTEST, "tests/test_my_device.py")
    shutil.copy(TESTS / "test_e2e_launch.py", workshop.root / "tests")
    workshop.run(*PYTEST, "tests/test_e2e_launch.py", **{f"{ENV_PREFIX}_DEVICE": "mine"})


def test_stock_xdsl_opt(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands that a page gives, on Triton IR and on what the first of them prints."""
    for page in ("add-an-instruction.md", "add-a-pass.md"):
        workshop.edit(page)
        workshop.put(page)
    text = (DOCS / "add-a-pass.md").read_text(encoding="utf-8")
    first, second = re.findall(r"^    xdsl-opt (.*) kernel\.\w+$", text, re.MULTILINE)
    kernel = TESTS / "filecheck" / "lowering" / "while.mlir"
    instructions = workshop.run("-m", "xdsl.tools.xdsl_opt", *first.split(), str(kernel))
    assert f"{BACKEND_NAME}.kernel" in instructions
    (workshop.root / "kernel.mlir").write_text(instructions, encoding="utf-8")
    assert "define" in workshop.run("-m", "xdsl.tools.xdsl_opt", *second.split(), "kernel.mlir")


def test_files_of_the_quick_form_are_there() -> None:
    from conftest import QUICK

    assert [name for name in QUICK if not (TESTS / f"test_{name}.py").exists()] == []


RUFF = shutil.which("ruff", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
PAGES = ("add-an-instruction.md", "add-a-pass.md", "kernel-functions.md", "replace-the-runtime.md")


@pytest.mark.skipif(RUFF is None, reason="ruff is not installed")
@pytest.mark.parametrize("page", PAGES)
def test_style(workshop: Workshop, page: str) -> None:
    """Code copied from the docs passes the checks of this package, and of another one where it belongs there."""
    root = workshop.root
    shutil.copy(DOCS.parent / "pyproject.toml", root)

    def ruff(*words: str) -> str:
        """What it complains of."""
        done = subprocess.run([str(RUFF), *words], cwd=root, capture_output=True, text=True)
        return done.stdout + done.stderr if done.returncode else ""

    places = [
        place for place in [*placed(page), *(place for place, *_ in edits(page))] if place.endswith(".py")
    ]
    # How lines break may depend on the length of this package's name: files that are as they were generated.
    formatted = [
        place for place in places if not (root / place).exists() or not ruff("format", "--check", place)
    ]
    workshop.edit(page)
    workshop.put(page)
    assert ruff("format", "--diff", *formatted) == ""
    ours = [place for place in places if place.startswith(("src/", "tests/"))]
    assert ruff("check", *ours) == ""
    theirs = sorted(set(places) - set(ours))
    if theirs and PACKAGE_NAME < "xdsl":  # the order of its imports is that of the names
        config = ("--isolated", "--line-length", "110", "--select", "E,F,I,B,UP", "--config", 'src=["."]')
        assert ruff("check", *config, *theirs) == ""


@pytest.mark.skipif(RUFF is None, reason="ruff is not installed")
def test_style_of_the_readme(tmp_path: Path) -> None:
    shutil.copy(DOCS.parent / "pyproject.toml", tmp_path)
    (tmp_path / "src" / PACKAGE_NAME).mkdir(parents=True)
    for number, text in enumerate(blocks("../README.md", "python")):
        (tmp_path / f"example{number}.py").write_text(text, encoding="utf-8")
    for words in (["check", "."], ["format", "--diff", "."]):
        done = subprocess.run([str(RUFF), *words], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_registering_is_what_the_docs_say() -> None:
    """The entry-point group in both pages is the one that is looked up."""
    from <<cookiecutter.package_name>>.extensions import ENTRY_POINT_GROUP

    for page in ("add-an-instruction.md", "add-a-pass.md"):
        for toml in blocks(page, "toml"):
            assert set(tomllib.loads(toml)["project"]["entry-points"]) == {ENTRY_POINT_GROUP}
