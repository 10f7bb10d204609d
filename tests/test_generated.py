"""Generated packages are real packages: they build, install, lint, type-check, and pass their own tests.

Needs what tox.ini lists for the triton environments. Each package is installed from its wheel into the
environment that runs this file, and uninstalled at the end.
"""

from __future__ import annotations

import email
import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import pytest

from template import VARIANTS, generate

LARGEST_WHEEL = 1_000_000  # bytes
OWN_TESTS_LIMIT = 25 * 60  # seconds

SAME_BESIDE_EVERY_TRITON = [
    "array",
    "assembler_*",
    "bench",
    "cases_cache",
    "cases_memory",
    "cases_numbers",
    "cases_process",
    "codegen_*",
    "conformance_runner",
    "docs",
    "doctor",
    "emulator*",
    "filecheck",
    "libdevice",
    "libdevice_exact",
    "library_functions",
    "opt",
    "pool",
    "property_elementwise",
    "random_programs",
    "registry",
    "requirements_check",
    "special_functions",
]
"""Own tests that see next to nothing of the release of Triton or of the answers: the default package runs
them once, beside the newest release. (Its own tox runs all of them beside each.)"""

WHERE_TORCH_MATTERS = ["array", "driver", "e2e_*", "examples", "import", "launcher", "selection"]


@dataclass(frozen=True)
class Variant:
    """One generated package. `root` is its folder, `scratch` a place for what is made from it."""

    name: str
    root: Path
    scratch: Path

    def python(self, *arguments: str | Path, timeout: float = 300, capture: bool = True) -> str:
        """Run `python ARGUMENTS` in the package's folder; fail with its output if it fails."""
        result = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            env={**os.environ, "TRITON_CACHE_DIR": str(self.scratch / "cache")},
            stdout=subprocess.PIPE if capture else None,
            stderr=subprocess.STDOUT if capture else None,
            encoding="utf-8",
            timeout=timeout,
            check=False,
        )
        if result.returncode:
            command = " ".join(map(str, arguments))
            pytest.fail(f"{command} ended with status {result.returncode}\n{result.stdout or ''}")
        return result.stdout or ""

    def pip(self, *arguments: str | Path) -> str:
        return self.python("-m", "pip", "--disable-pip-version-check", "--no-input", *arguments)

    @property
    def distribution_name(self) -> str:
        return VARIANTS[self.name].get("distribution_name", "triton-acme")

    @property
    def package_name(self) -> str:
        return VARIANTS[self.name].get("package_name", "triton_acme")

    @property
    def distributions(self) -> list[Path]:
        """The source distribution, and the wheel built from it."""
        return sorted((self.scratch / "dist").iterdir())

    @property
    def wheel(self) -> Path:
        (wheel,) = (path for path in self.distributions if path.suffix == ".whl")
        return wheel

    @property
    def metadata(self) -> Message:
        with zipfile.ZipFile(self.wheel) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
            return email.message_from_bytes(archive.read(name))


@pytest.fixture(scope="module")
def variant(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Variant]:
    """A package: generated into a path with a space and an accent, built, and installed."""
    others = {point.dist.name for point in entry_points(group="triton.backends") if point.dist is not None}
    if others - {"triton"}:
        pytest.fail(f"these backends are installed here and would take part: {', '.join(sorted(others))}")
    folder = tmp_path_factory.mktemp(request.param)
    variant = Variant(request.param, generate(folder / "dé veloppement", VARIANTS[request.param]), folder)
    variant.python("-m", "build", "--no-isolation", "--outdir", folder / "dist", variant.root)
    variant.pip("install", "--no-deps", "--no-index", variant.wheel)
    yield variant
    variant.pip("uninstall", "--yes", variant.distribution_name)


def test_distributions(variant: Variant) -> None:
    variant.python("-m", "twine", "check", "--strict", *variant.distributions)
    assert variant.wheel.name.endswith("-py3-none-any.whl"), "pure Python"
    assert variant.wheel.stat().st_size < LARGEST_WHEEL
    with zipfile.ZipFile(variant.wheel) as archive:
        names = archive.namelist()
    roots = {name.split("/")[0] for name in names}
    assert variant.package_name in roots and {root for root in roots if not root.endswith(".dist-info")} == {
        variant.package_name
    }
    assert f"{variant.package_name}/py.typed" in names
    assert not [name for name in names if name.endswith((".pyc", ".so"))]


def test_metadata(variant: Variant) -> None:
    answers = VARIANTS[variant.name]
    assert variant.metadata["Name"] == variant.distribution_name
    assert variant.metadata["License-Expression"] == answers.get("license", "MIT")
    assert variant.metadata["License-File"] == "LICENSE"
    assert variant.metadata["Requires-Python"] == ">=3.11"
    requirements = [value.split(";")[0].strip() for value in variant.metadata.get_all("Requires-Dist", [])]
    assert "triton<3.10,>=3.7" in requirements
    assert "torch>=2.6" in requirements and "torch" in variant.metadata.get_all("Provides-Extra", [])


def test_installed_package_fits(variant: Variant) -> None:
    variant.pip("check")
    code = f"import {variant.package_name} as package; print(package.__file__); print(package.__version__)"
    module, version = variant.python("-c", code).split("\n")[:2]
    assert Path(module).is_relative_to(sysconfig.get_path("purelib")) and version == "0.1.0"


def test_command(variant: Variant) -> None:
    command = Path(sysconfig.get_path("scripts"), variant.distribution_name)
    result = subprocess.run(
        [command, "doctor"], capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert result.returncode == 0, result.stdout + result.stderr


def test_lint_and_types(variant: Variant) -> None:
    variant.python("-m", "ruff", "check", "--no-cache", ".")
    variant.python("-m", "mypy", "--cache-dir", variant.scratch / "mypy", timeout=600)


def test_own_tests(variant: Variant, request: pytest.FixtureRequest) -> None:
    print(f"\n---- tests of the generated package, variant {variant.name!r} ----", flush=True)
    command = ["-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider"]
    if variant.name == "gpu":  # the rest is the default package's, tested there
        command += ["-k", "gpu or selection or import or doctor"]
    elif find_spec("torch") is None:
        folder = variant.root / "tests"
        command += [str(path) for name in WHERE_TORCH_MATTERS for path in folder.glob(f"test_{name}.py")]
    elif variant.name != "default" or request.config.getoption("--brief"):
        command += [f"--ignore-glob=*/test_{name}.py" for name in SAME_BESIDE_EVERY_TRITON]
    variant.python(*command, timeout=OWN_TESTS_LIMIT, capture=False)
