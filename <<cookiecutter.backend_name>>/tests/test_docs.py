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
import targets
from workshop import DOCS, TESTS, Workshop, blocks, commands, edits, placed, text_of

from <<cookiecutter.package_name>>.target import BACKEND_NAME, ENV_PREFIX, PACKAGE_NAME

LINES_OF_AN_INSTRUCTION = 100
"""How much the walk-through may ask of a reader, tests included."""

PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
INSIDE = "DOCS_WERE_FOLLOWED_HERE"
"""Set in the copy of this package where the pages have been followed, so that it makes no copy of its own."""


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path)


def test_add_an_instruction(workshop: Workshop) -> None:
    """And this package's tests of all instructions are content with the new one."""
    page = "add-an-instruction.md"
    workshop.take_tests()
    assert workshop.follow(page, "src/") + workshop.follow(page, "tests/") < LINES_OF_AN_INSTRUCTION
    assert "2 passed" in workshop.run(*PYTEST, "tests/test_relu_clip.py")
    files = [f"tests/test_{name}.py" for name in ("filecheck", "assembler_forms", "emulator", "instructions")]
    chosen = "relu_clip or activations or alu or forms or step or (arithmetic and f32)"
    workshop.run(*PYTEST, *files, "-k", chosen)


def test_more_instructions(workshop: Workshop) -> None:
    workshop.take_tests()
    workshop.follow("more-instructions.md")
    assert "2 passed" in workshop.run(*PYTEST, "tests/test_integers.py")
    files = [f"tests/test_{name}.py" for name in ("filecheck", "assembler_forms", "emulator", "instructions")]
    workshop.run(*PYTEST, *files, "-k", "dot or alu or forms or step")


def test_add_a_pass(workshop: Workshop) -> None:
    workshop.follow("add-an-instruction.md", "src/")
    workshop.follow("add-a-pass.md")
    no_old_interfaces = f"error::DeprecationWarning:{PACKAGE_NAME}.passes.form_relu_clip"
    files = [place for place, _ in placed("add-a-pass.md") if place.startswith("tests/")]
    assert f"{len(files) + 1} passed" in workshop.run(*PYTEST, "-W", no_old_interfaces, *files)
    listing = workshop.run("-m", f"{PACKAGE_NAME}.cli.main", "passes", "isa")
    assert listing.index("form-relu-clip") < listing.index("expand-special")
    # A pass must not form what a machine without fp64 has no formula for.
    machine = workshop.root / "src" / PACKAGE_NAME / "target.py"
    text = targets.edited(machine.read_text(encoding="utf-8"), targets.TARGETS["no-fp64"])
    machine.write_text(text, encoding="utf-8")
    assert "2 passed" in workshop.run(*PYTEST, "tests/test_form_relu_clip.py")


def test_the_commands_of_a_pass(workshop: Workshop) -> None:
    """As they are printed, one after the other, on a file of Triton IR."""
    workshop.follow("add-an-instruction.md", "src/")
    workshop.follow("add-a-pass.md", "src/")
    shutil.copy(TESTS / "filecheck" / "lowering" / "while.mlir", workshop.root / "kernel.ttir")
    ours, first, second = commands("add-a-pass.md")
    assert f"{BACKEND_NAME}.kernel" in workshop.shell(ours)
    workshop.shell(first)
    assert f"{BACKEND_NAME}.kernel" in (workshop.root / "kernel.mlir").read_text(encoding="utf-8")
    assert "define" in workshop.shell(second)


def test_add_an_instruction_from_another_package(workshop: Workshop) -> None:
    page = "add-an-instruction.md"
    files = (workshop.root / "src" / PACKAGE_NAME / "dialects" / "isa").glob("*.py")
    # Where this package has the instruction already, the other one's needs another name.
    taken = any("class ReluClip" in file.read_text(encoding="utf-8") for file in files)
    names = {"ReluClip": "TheirClip", "relu_clip": "their_clip"} if taken else {"relu_clip": "relu_clip"}
    workshop.follow(page, "their_package/", names)
    (workshop.root / "their_package" / "__init__.py").touch()
    (toml,) = blocks(page, "toml")
    ((group, points),) = tomllib.loads(toml)["project"]["entry-points"].items()
    info = workshop.root / "their_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    entries = "".join(f"{name} = {value}\n" for name, value in points.items())
    (info / "entry_points.txt").write_text(f"[{group}]\n{entries}")

    test = dict(placed(page))["tests/test_relu_clip.py"]
    test = test.replace(f"{PACKAGE_NAME}.language.activations", "their_package.activations")
    name = names["relu_clip"]
    (workshop.root / "tests" / "test_relu_clip.py").write_text(test.replace("relu_clip", name))
    assert "2 passed" in workshop.run(*PYTEST, "tests")

    # A process that has not imported the package finds it by its entry point, to read its instructions back.
    text = f'%x = "test.op"() : () -> f32\n%y = {BACKEND_NAME}.{name} %x, %x : f32\n'
    (workshop.root / "file.mlir").write_text(text)
    assert name in workshop.run("-m", f"{PACKAGE_NAME}.cli.main", "opt", "file.mlir")


def test_kernel_functions(workshop: Workshop) -> None:
    assert workshop.follow("kernel-functions.md")
    assert "1 passed" in workshop.run(*PYTEST, "tests")


def test_replace_the_runtime(workshop: Workshop) -> None:
    """The example's device runs the kernel of its test, and tests of this package."""
    workshop.take_tests()
    assert workshop.follow("replace-the-runtime.md")
    assert "1 passed" in workshop.run(*PYTEST, "tests/test_my_device.py")
    workshop.run(*PYTEST, "tests/test_e2e_launch.py", **{f"{ENV_PREFIX}_DEVICE": "mine"})
    workshop.run(*PYTEST, "tests/test_devices.py", "tests/test_layering.py")
    workshop.run(*PYTEST, "tests/test_registry.py", "-k", "steps_between")


def test_files_of_the_quick_form_are_there() -> None:
    from conftest import QUICK

    assert [name for name in QUICK if not (TESTS / f"test_{name}.py").exists()] == []


RUFF = shutil.which("ruff", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
PAGES = (
    "add-an-instruction.md",
    "more-instructions.md",
    "add-a-pass.md",
    "kernel-functions.md",
    "replace-the-runtime.md",
)
"""Those with code that is put into the package, in an order in which they can be followed."""


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

    places = sorted({place for place, *_ in (*placed(page), *edits(page)) if place.endswith(".py")})

    def clean(*words: str) -> list[str]:
        """Files that will be new, or have nothing to complain of before the page is followed."""
        return [place for place in places if not (root / place).exists() or not ruff(*words, place)]

    # How lines break may depend on the length of this package's name: files that are as they were generated.
    formatted, checked = clean("format", "--check"), clean("check")
    workshop.follow(page)
    assert ruff("format", "--diff", *formatted) == ""
    ours = [place for place in checked if place.startswith(("src/", "tests/"))]
    assert ruff("check", *ours) == ""
    theirs = [place for place in places if not place.startswith(("src/", "tests/"))]
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


def test_files_that_pages_name_are_there() -> None:
    """But for those that pages make, and those in folders that are not here, which an owner may have deleted."""
    root = DOCS.parent
    homes = (root / "src" / PACKAGE_NAME, root)
    made = {place for page in PAGES if (DOCS / page).exists() for place, _ in placed(page)}
    missing: list[str] = []
    for page in DOCS.glob("*.md"):
        for name in re.findall(r"`([\w-]+/[\w./-]+\.(?:py|md|c))`", page.read_text(encoding="utf-8")):
            folders = [home for home in homes if (home / name).parent.is_dir()]
            is_made = any(place.endswith(f"/{name}") for place in made)
            if folders and not is_made and not any((home / name).exists() for home in folders):
                missing.append(f"{page.name}: {name}")
    assert missing == []


def test_every_constant_of_the_machine_is_explained() -> None:
    from <<cookiecutter.package_name>>.target_rules import RULES

    text = text_of("first-day-numbers.md")
    assert [name for name in RULES if f"`{name}`" not in text] == []


def test_registering_is_what_the_docs_say() -> None:
    """The entry-point group in both pages is the one that is looked up."""
    from <<cookiecutter.package_name>>.extensions import ENTRY_POINT_GROUP

    for page in ("add-an-instruction.md", "add-a-pass.md"):
        for toml in blocks(page, "toml"):
            assert set(tomllib.loads(toml)["project"]["entry-points"]) == {ENTRY_POINT_GROUP}


@pytest.mark.skipif(INSIDE in os.environ, reason="this is the package where the docs were followed")
def test_the_tests_hold_where_the_docs_were_followed(tmp_path: Path) -> None:
    """The owner has added an instruction, done what the pages say, made the new device the default, deleted a page."""
    workshop = Workshop(tmp_path, whole=True)
    root = workshop.root
    for name in ("src/", "tests/filecheck/"):
        names = {"ReluClip": "OwnClip", "relu_clip": "own_clip", "activations": "own_activations"}
        workshop.follow("add-an-instruction.md", name, names)
    followed = [page for page in PAGES if (DOCS / page).exists()]

    def follow_all() -> dict[Path, bytes]:
        for page in followed:
            workshop.follow(page)
        return {file: file.read_bytes() for file in root.rglob("*") if file.suffix in (".py", ".mlir")}

    assert follow_all() == follow_all()
    numbers = (root / "src" / PACKAGE_NAME / "assembler" / "opcodes.py").read_text(encoding="utf-8")
    assert '"own_clip": ' in numbers and '"relu_clip": ' in numbers
    for file in (root / "src").rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if "def selected_kind" in text:
            assert text.count("or REFERENCE") == 1
            file.write_text(text.replace("or REFERENCE", 'or "mine"'), encoding="utf-8")
    inside = {INSIDE: "1"}
    workshop.run(*PYTEST, "tests/test_docs.py", **inside)
    tests = ("devices", "registry", "assembler_forms", "filecheck", "instructions")
    chosen = "kind or binary or steps_between or forms or isa or own_activations or own_clip or relu_clip or dot4"
    workshop.run(*PYTEST, *(f"tests/test_{name}.py" for name in tests), "-k", chosen, **inside)
    (root / "docs" / "add-a-pass.md").unlink(missing_ok=True)
    assert "skipped" in workshop.run(*PYTEST, "tests/test_docs.py", "-k", "pass or says or say", **inside)
