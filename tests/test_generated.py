"""Generated packages are real packages: they build, install, lint, type-check, and pass their own tests.

Needs what tox.ini lists for the triton environments. The package is installed from its wheel into a folder
of its own, which joins this environment through PYTHONPATH: one environment serves every variant, and none
is left behind in it.
"""

from __future__ import annotations

import email
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from functools import cached_property
from pathlib import Path

import pytest

from template import ODD_ANSWERS, generate

VARIANTS: dict[str, dict[str, str]] = {"default": {}, "odd": ODD_ANSWERS}
LARGEST_WHEEL = 1_000_000  # bytes
OWN_TESTS_LIMIT = 25 * 60  # seconds


@dataclass(frozen=True)
class Variant:
    """One generated package. `root` is its folder, `scratch` a place for what is made from it."""

    name: str
    root: Path
    scratch: Path

    def run(self, *arguments: str | Path, timeout: float = 300, capture: bool = True) -> str:
        """Run `python ARGUMENTS` in the package's folder with the installed package; fail with its output."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.site),
            "TRITON_CACHE_DIR": str(self.scratch / "cache"),
        }
        result = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE if capture else None,
            stderr=subprocess.STDOUT if capture else None,
            text=True,
            encoding="utf-8",
            timeout=timeout,
            check=False,
        )
        if result.returncode:
            command = " ".join(map(str, arguments))
            pytest.fail(f"{command} ended with status {result.returncode}\n{result.stdout or ''}")
        return result.stdout or ""

    @cached_property
    def distributions(self) -> list[Path]:
        """The source distribution, and the wheel built from it."""
        command = [
            sys.executable,
            "-m",
            "build",
            "--no-isolation",
            "--outdir",
            self.scratch / "dist",
            self.root,
        ]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=120)
        return sorted((self.scratch / "dist").iterdir())

    @property
    def wheel(self) -> Path:
        (wheel,) = (path for path in self.distributions if path.suffix == ".whl")
        return wheel

    @cached_property
    def site(self) -> Path:
        """The folder into which the wheel is installed."""
        folder = self.scratch / "site"
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run(
            [*pip, "--no-deps", "--no-index", "--target", folder, self.wheel], check=True, timeout=120
        )
        return folder

    @property
    def metadata(self) -> Message:
        with zipfile.ZipFile(self.wheel) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            return email.message_from_bytes(archive.read(name))


@pytest.fixture(scope="module", params=VARIANTS)
def variant(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Variant]:
    folder = tmp_path_factory.mktemp(request.param)
    # A path with a space and an accent, as people have them.
    yield Variant(request.param, generate(folder / "dé veloppement", VARIANTS[request.param]), folder)


def test_distributions(variant: Variant) -> None:
    variant.run("-m", "twine", "check", "--strict", *variant.distributions)
    assert variant.wheel.name.endswith("-py3-none-any.whl"), "pure Python"
    assert variant.wheel.stat().st_size < LARGEST_WHEEL
    with zipfile.ZipFile(variant.wheel) as archive:
        names = archive.namelist()
    package = VARIANTS[variant.name].get("package_name", "triton_acme")
    assert {name.split("/")[0].split("-")[0] for name in names} == {package, variant.wheel.name.split("-")[0]}
    assert f"{package}/py.typed" in names
    assert not [name for name in names if name.endswith((".pyc", ".so"))]


def test_metadata(variant: Variant) -> None:
    answers = VARIANTS[variant.name]
    assert variant.metadata["Name"] == answers.get("distribution_name", "triton-acme")
    assert variant.metadata["License-Expression"] == answers.get("license", "MIT")
    assert variant.metadata["License-File"] == "LICENSE"
    assert variant.metadata["Requires-Python"] == ">=3.11"
    requirements = [value.split(";")[0].strip() for value in variant.metadata.get_all("Requires-Dist", [])]
    assert "triton<3.10,>=3.7" in requirements
    assert "torch>=2.6" in requirements and "torch" in variant.metadata.get_all("Provides-Extra", [])


def test_installs_and_fits(variant: Variant) -> None:
    """`pip check` sees the installed package through PYTHONPATH, with all that it depends on."""
    variant.run("-m", "pip", "check")
    name = VARIANTS[variant.name].get("package_name", "triton_acme")
    code = f"import {name} as package; print(package.__file__); print(package.__version__)"
    module, version = variant.run("-c", code).split("\n")[:2]
    assert Path(module).is_relative_to(variant.site) and version == "0.1.0"


def test_lint_and_types(variant: Variant) -> None:
    variant.run("-m", "ruff", "check", "--no-cache", ".")
    variant.run("-m", "mypy", "--cache-dir", variant.scratch / "mypy", timeout=600)


def test_own_tests(variant: Variant) -> None:
    print(f"\n---- tests of the generated package, variant {variant.name!r} ----", flush=True)
    command = ["-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider"]
    variant.run(*command, timeout=OWN_TESTS_LIMIT, capture=False)
