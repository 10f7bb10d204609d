"""What is installed in this Python, learnt from files alone: nothing found here is imported.

The doctor and the toolchain check have to work exactly when importing Triton, xDSL or llvmlite fails.
Everything in this file therefore reads ``*.dist-info`` folders and asks the import system *where* a module
is, without running it.

Sources: the recording formats of https://packaging.python.org/en/latest/specifications/ (core metadata, entry
points, direct URL). Stays readable by Python 3.10, so that the doctor can say there that the version is too
old.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shlex
import shutil
import site
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from .target import DISTRIBUTION_NAME

PACKAGE_FOLDER = Path(__file__).parent


def normalize(name: str) -> str:
    """The spelling under which two distribution names are the same distribution."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_headers(distribution: importlib.metadata.Distribution) -> list[tuple[str, str]]:
    """The header lines of a distribution's metadata, in order; empty if the metadata file is gone.

    ``Distribution.metadata`` parses the long description too, which costs milliseconds for some packages.
    """
    text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
    headers: list[tuple[str, str]] = []
    for line in text.splitlines():
        if not line:
            break
        key, colon, value = line.partition(":")
        if colon and not key[:1].isspace():
            headers.append((key, value.strip()))
    return headers


@dataclass(frozen=True)
class Installed:
    """One distribution on ``sys.path``.

    ``folder`` is its ``.dist-info`` or ``.egg-info`` folder. ``hidden`` says that a distribution of the same
    name comes earlier on ``sys.path``: Python, and so Triton, does not look at this one.
    """

    distribution: importlib.metadata.Distribution
    folder: Path
    hidden: bool = False

    @cached_property
    def headers(self) -> list[tuple[str, str]]:
        return read_headers(self.distribution)

    def header(self, key: str) -> str:
        return next((value for name, value in self.headers if name == key), "")

    @cached_property
    def name(self) -> str:
        return self.header("Name") or self.folder.stem.partition("-")[0]

    @cached_property
    def version(self) -> str:
        return self.header("Version") or "of unknown version"

    @property
    def requires(self) -> list[str]:
        return [value for key, value in self.headers if key == "Requires-Dist"]

    def entry_points(self, group: str) -> list[tuple[str, str]]:
        """(name, value) pairs of one group, in the order of the file.

        Raises whatever reading a damaged ``entry_points.txt`` raises: Triton would meet the same error.
        """
        return [(point.name, point.value) for point in self.distribution.entry_points if point.group == group]

    @cached_property
    def editable_source(self) -> Path | None:
        """The source folder of an editable install (it may be gone), or None for a copied install."""
        try:
            origin = cast(
                Mapping[str, Any], json.loads(self.distribution.read_text("direct_url.json") or "{}")
            )
            editable = bool(origin["dir_info"]["editable"])
            return Path(unquote(urlsplit(str(origin["url"])).path)) if editable else None
        except (ValueError, KeyError, TypeError):
            return None

    def owns(self, path: str) -> bool:
        """Does the distribution's file list name ``path`` (relative to its site folder)?"""
        record = self.distribution.read_text("RECORD") or ""
        return re.search(rf"^{re.escape(path)},", record, re.MULTILINE) is not None

    @property
    def remove_command(self) -> str:
        """The shell command that takes this distribution away.

        pip refuses what lies outside its environment and what has lost its file list: those folders are
        deleted.
        """
        half_removed = self.folder.name.startswith("~")  # pip's mark on what it failed to delete
        if _in_environment(self.folder) and (self.folder / "RECORD").is_file() and not half_removed:
            return pip_command("uninstall", "-y", self.name)
        return shlex.join(["rm", "-r", str(self.folder)])

    @property
    def reinstall_command(self) -> str:
        source = self.editable_source
        if source is not None and source.is_dir():
            return pip_command("install", "-e", str(source))
        if normalize(self.name) == normalize(DISTRIBUTION_NAME):
            return install_ourselves_command()
        return pip_command("install", "--force-reinstall", "--no-deps", f"{self.name}=={self.version}")


def installed_distributions() -> list[Installed]:
    """Every distribution on ``sys.path``, in the order in which Python looks at them."""
    found: list[Installed] = []
    seen: set[str] = set()
    folders: set[Path] = set()
    for distribution in importlib.metadata.distributions():
        # The folder has no public name; `files` and `locate_file` only lead to the folder around it.
        path = getattr(distribution, "_path", None)
        if path is None:
            continue
        folder = Path(str(path))
        if folder in folders:  # the same folder twice on sys.path
            continue
        folders.add(folder)
        candidate = Installed(distribution, folder)
        name = normalize(candidate.name)
        found.append(Installed(distribution, folder, hidden=name in seen))
        seen.add(name)
    return found


def find_module(name: str) -> ModuleSpec | None:
    """Where ``import name`` would find the module, or None. Unlike ``importlib.util.find_spec`` imports no
    parent.
    """
    spec: ModuleSpec | None = None
    search: Sequence[str] | None = None
    parts = name.split(".")
    for depth in range(1, len(parts) + 1):
        spec = _find_in(".".join(parts[:depth]), search)
        if spec is None:
            return None
        search = _locations(spec)
        if search is None and depth < len(parts):  # a plain module has no submodules
            return None
    return spec


def module_source(spec: ModuleSpec) -> Path | None:
    """The Python source file of a module, or None where there is none to read."""
    path = Path(spec.origin) if spec.has_location and spec.origin else None
    return path if path is not None and path.suffix == ".py" and path.is_file() else None


def _find_in(name: str, search: Sequence[str] | None) -> ModuleSpec | None:
    modules = cast("Mapping[str, object]", sys.modules)
    if modules.get(name, name) is None:  # the documented way to forbid an import
        return None
    for finder in sys.meta_path:
        find_spec = getattr(finder, "find_spec", None)
        if find_spec is None:
            continue
        try:
            spec = find_spec(name, search)
        except ImportError:  # a finder that forbids the import
            return None
        except KeyError:
            # A folder without __init__.py below a parent that was never imported: the import system wants
            # that parent in sys.modules to follow changes of its path. Its folders are all that is needed
            # here.
            spec = ModuleSpec(name, None, is_package=True)
            folders = [os.path.join(folder, name.rpartition(".")[2]) for folder in search or ()]
            spec.submodule_search_locations = [folder for folder in folders if os.path.isdir(folder)]
        if isinstance(spec, ModuleSpec):
            return spec
    return None


def _locations(spec: ModuleSpec) -> list[str] | None:
    return None if spec.submodule_search_locations is None else list(spec.submodule_search_locations)


def python_command() -> str:
    return shlex.quote(sys.executable or "python3")


def pip_command(verb: str, *arguments: str, python: str = "") -> str:
    """``<python> -m pip verb arguments``, or uv's form of it in an environment that uv made without pip.

    ``python`` is a shell word; by default the running interpreter.
    """
    if not python and find_module("pip") is None and shutil.which("uv"):
        kept = [argument for argument in arguments if argument != "-y"]  # uv never asks
        return f"uv pip {verb} --python {python_command()} {shlex.join(kept)}"
    return f"{python or python_command()} -m pip {verb} {shlex.join(arguments)}"


def install_ourselves_command(python: str = "") -> str:
    """How to (re)install this package: from the source tree it is running from, or else by name."""
    for folder in PACKAGE_FOLDER.parents:
        project = folder / "pyproject.toml"
        if project.is_file() and DISTRIBUTION_NAME in project.read_text(encoding="utf-8", errors="replace"):
            return pip_command("install", "-e", str(folder), python=python)
    return pip_command("install", "--force-reinstall", "--no-deps", DISTRIBUTION_NAME, python=python)


def _in_environment(folder: Path) -> bool:
    return any(_is_below(folder, root) for root in _environment_roots())


def _environment_roots() -> Iterator[Path]:
    yield Path(sys.prefix)
    if sys.prefix == sys.base_prefix and site.ENABLE_USER_SITE:
        yield Path(site.getuserbase())


def _is_below(path: Path, root: Path) -> bool:
    return root.resolve() in path.resolve().parents
