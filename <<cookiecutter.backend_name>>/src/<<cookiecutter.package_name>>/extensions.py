"""What other packages, and users in their scripts, add to the compiler: passes, instructions, functions for kernels.

Each has a decorator or function that enters it into a table: `passes.registry.register_pass`,
`codegen.emission.emits`, `language.extern.extern_function`. An installed package names a module that uses them under
the entry-point group `ENTRY_POINT_GROUP`; it is imported before the first kernel is compiled.
"""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from .errors import InstallationError
from .file_memory import read, remembered, state_of
from .target import BACKEND_NAME, PACKAGE_NAME

ENTRY_POINT_GROUP: Final = f"{PACKAGE_NAME}.extensions"

_noted: dict[tuple[str, str], Callable[..., Any]] = {}
"""Instructions and functions that were added from outside of this package, by module and name."""


def note(function: Callable[..., Any]) -> None:
    """Make the source of something that changes compiled code part of the cache key."""
    if not is_own(function):
        _noted[function.__module__, function.__qualname__] = function


def fingerprint() -> str:
    """Changes with the source of everything noted."""
    return ";".join(
        f"{module}.{name}:{source_digest(_noted[module, name])}" for module, name in sorted(_noted)
    )


def is_own(function: Callable[..., Any]) -> bool:
    """Whether this package defines it. Its sources are digested as a whole (`backend/fingerprint.py`)."""
    return function.__module__.partition(".")[0] == PACKAGE_NAME


def source_digest(function: Callable[..., Any]) -> str:
    """A digest of the package that defines `function`, or of its code if that was typed into a prompt or a notebook.

    Empty for what is this package's own.
    """
    if is_own(function):
        return ""
    from .extension_sources import digest_of

    return digest_of(function)


@functools.cache
def load_all() -> None:
    """Import what installed packages add. Once a process."""
    from triton import knobs

    load_extensions(memory=knobs.cache.dir)


@functools.cache
def installed_distributions() -> tuple[Any, ...]:
    """All that is installed when this is first asked: finding it takes as long as reading what it says."""
    from importlib.metadata import distributions

    return tuple(distributions())


def metadata_folders(name: str) -> Iterator[Path]:
    """Where installed distributions of a name have their metadata; the first counts."""
    prefix = name.lower().replace("-", "_") + "-"
    for distribution in installed_distributions():
        folder = getattr(distribution, "_path", None)
        if isinstance(folder, Path) and folder.name.lower().startswith(prefix):
            yield folder


def version_of(name: str) -> str:
    """The version of an installed distribution, of the first if there are several. Empty where it is not there."""
    folder = next(metadata_folders(name), None)
    if folder is not None and folder.suffix == ".dist-info":  # whose name has it, by the specification
        return folder.stem.partition("-")[2]
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def anybody_offers(group: str, memory: str | None) -> bool:
    """Whether the entry points of anything installed may mention `group`; remembered in the folder `memory` if given.

    A tenth of the time that `entry_points` takes, and mostly there is nothing.
    """
    files: list[str] = []
    for distribution in installed_distributions():
        folder = getattr(distribution, "_path", None)  # no public name; what is not in a folder has none
        if isinstance(folder, Path):
            files.append(f"{folder}/entry_points.txt")
        elif group in (distribution.read_text("entry_points.txt") or ""):
            return True
    states = {file: state_of(file) for file in files} if memory else {}

    def learn() -> str:
        return str(any(_may_mention(file, group) for file in files))

    return remembered(f"any entry point of {group}", states, learn, memory) == str(True)


def _may_mention(file: str, word: str) -> bool:
    """A file that is not there does not; one that this user cannot read may."""
    try:
        return word.encode() in read(file)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True


def load_extensions(memory: str | None = None) -> list[str]:
    """Import every module that an installed package offers as an extension. Returns their names, in order.

    That there is none is remembered in the folder `memory` (Triton's cache) if it is given.

    Raises InstallationError naming the entry point whose module cannot be imported.
    """
    from importlib.metadata import entry_points

    installed_distributions.cache_clear()  # something may have been installed since

    if not anybody_offers(ENTRY_POINT_GROUP, memory):
        return []
    loaded: list[str] = []
    for point in sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda point: (point.name, point.value)):
        try:
            point.load()
        except Exception as error:
            owner = point.dist.name if point.dist is not None else "unknown"
            raise InstallationError(
                f"{BACKEND_NAME}: the extension {point.name!r} ({point.value}) of the installed distribution "
                f"{owner!r} cannot be loaded: {type(error).__name__}: {error}. Mend or uninstall that distribution."
            ) from error
        loaded.append(point.name)
    return loaded
