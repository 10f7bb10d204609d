"""Copies of this package that tests may edit, under its own name or another, for fresh Python processes to find."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import <<cookiecutter.package_name>>
from <<cookiecutter.package_name>>.target import BACKEND_NAME, DISTRIBUTION_NAME, PACKAGE_NAME


def copy_package(
    folder: Path,
    package: str = PACKAGE_NAME,
    backend: str = BACKEND_NAME,
    distribution: str = DISTRIBUTION_NAME,
    entry_point: str = "",
) -> Path:
    """Install a copy into ``folder``, which belongs on PYTHONPATH: source and metadata with an entry point (named as the
    backend unless given). Returns the copied package's folder."""
    target = folder / package
    source = Path(<<cookiecutter.package_name>>.__file__).parent
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    constants = {"PACKAGE_NAME": package, "BACKEND_NAME": backend, "DISTRIBUTION_NAME": distribution}
    text = (target / "target.py").read_text(encoding="utf-8")
    for name, value in constants.items():
        text, count = re.subn(f'^{name}: Final = "[^"]*"', f'{name}: Final = "{value}"', text, flags=re.M)
        assert count == 1, name
    (target / "target.py").write_text(text, encoding="utf-8")
    metadata = folder / f"{distribution.replace('-', '_')}-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {distribution}\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(
        f"[triton.backends]\n{entry_point or backend} = {package}.backend\n"
    )
    return target
