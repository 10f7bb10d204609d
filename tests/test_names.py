"""A package works whatever the length of its name: its lint is clean, no variable is taken for another."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from template import REPOSITORY, TEMPLATE_FOLDER, generate

VARIABLES = (
    REPOSITORY / TEMPLATE_FOLDER / "src" / "<<cookiecutter.package_name>>" / "backend" / "variables.py"
)


def lint(package: Path, *words: str) -> str:
    """What ruff complains of."""
    command = [sys.executable, "-m", "ruff", *words, "--no-cache", "."]
    done = subprocess.run(command, cwd=package, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


@pytest.mark.parametrize(
    ("name", "gpu_reference"),
    [
        ("k2", "none"),
        ("acme", "nvidia"),
        ("graphcore", "none"),
        ("a_vendor_whose_name_is_very_long", "nvidia"),
    ],
)
def test_lint_and_format(tmp_path: Path, name: str, gpu_reference: str) -> None:
    package = generate(tmp_path / "output", {"backend_name": name, "gpu_reference": gpu_reference})
    assert lint(package, "check") == ""
    assert lint(package, "format", "--check") == ""


def test_one_release_of_ruff_everywhere(tmp_path: Path) -> None:
    """What one formatter wrote, another one, of a commit hook, would write again."""
    package = generate(tmp_path / "output")
    (hook,) = re.findall(
        r"ruff-pre-commit\n    rev: v(\d+\.\d+)\.", (package / ".pre-commit-config.yaml").read_text()
    )
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    assert f"ruff=={hook}.*" in project["optional-dependencies"]["dev"]
    for tox in (package / "tox.ini", REPOSITORY / "tox.ini"):
        pins = re.findall(r"^    ruff(.*?)(?: #.*)?$", tox.read_text(), re.MULTILINE)
        assert [pin for pin in pins if not pin.startswith((" check", " format"))] == [f"=={hook}.*"] * (
            len(pins) - 2
        )


@pytest.fixture(params=["K2", "KESTREL", "TENSTORRENT_", "AVERYLONGVENDORNAMEINDEED"])
def variables(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module that knows misspelt variables, in a package of this name, of 2, 7, 12, 25 letters."""
    name = f"package_of_{request.param.lower()}"
    (tmp_path / name / "backend").mkdir(parents=True)
    (tmp_path / name / "__init__.py").touch()
    (tmp_path / name / "backend" / "__init__.py").touch()
    (tmp_path / name / "target.py").write_text(f"ENV_PREFIX = {request.param!r}\n")
    (tmp_path / name / "backend" / "variables.py").write_bytes(VARIABLES.read_bytes())
    monkeypatch.syspath_prepend(str(tmp_path))
    return importlib.import_module(f"{name}.backend.variables")


def names_in_the_tests_of(package_test: str) -> list[str]:
    """The names that the package's own test of the module is about."""
    text = (REPOSITORY / TEMPLATE_FOLDER / "tests" / "test_variables.py").read_text(encoding="utf-8")
    found = re.search(rf'parametrize\("name", (\[[^]]*\])\)\ndef {package_test}\(', text, re.DOTALL)
    assert found is not None
    return list(json.loads(found[1]))


def test_a_misspelt_variable_is_one_with_any_prefix(variables: ModuleType) -> None:
    for name in names_in_the_tests_of("test_a_misspelt_one_is_named_once"):
        meant = variables.meant_by(f"{variables.PREFIX}{name}")
        assert meant in variables.KNOWN, name


def test_a_foreign_variable_is_none_with_any_prefix(variables: ModuleType) -> None:
    foreign = names_in_the_tests_of("test_known_and_foreign_ones_are_not")
    foreign = [name for name in foreign if f"{variables.PREFIX}{name}" not in variables.KNOWN]
    assert len(foreign) >= 3
    for name in [*foreign, "QQ", "LOG_LEVEL", "PASSES", "VISIBLE_DEVICES"]:
        assert variables.meant_by(f"{variables.PREFIX}{name}") is None, name
