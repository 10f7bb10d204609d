"""What compiled code depends on besides the kernel and its options: our part of Triton's cache key.

Triton's own key covers Triton only. Without this, a user who edits a pass, upgrades LLVM or moves a cache
folder to another processor gets stale code.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import os
import platform
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .. import extensions
from ..host_caches import last_level_bytes
from ..target import DISTRIBUTION_NAME, ENV_PREFIX, PACKAGE_NAME
from ..tile_permission import tiles_allowed
from .variables import warn_of_misspelt

RUNTIME_VARIABLES: Final = frozenset(
    f"{ENV_PREFIX}_{name}" for name in ("NUM_THREADS", "PRINT_IR_AFTER_ALL", "TIME_PASSES", "VERIFY_PASSES")
)
"""Our environment variables that leave the code as it is."""


def fingerprint() -> str:
    """A digest of: our sources, those of extensions, the passes that will run, our environment variables, the host CPU,
    LLVM and xDSL.

    The same on every run of the same installation on the same machine. About 2 ms the first time, then well under
    1 ms. Imports extensions, but nothing of the compiler, nor LLVM: a kernel that is in the cache needs neither.
    """
    extensions.load_all()
    environment = sorted(
        (name, value)
        for name, value in os.environ.items()
        if name.startswith(f"{ENV_PREFIX}_") and name not in RUNTIME_VARIABLES
    )
    warn_of_misspelt(name for name, _ in environment)
    text = f"{source_digest()} {foreign_passes()} {extensions.fingerprint()} {environment} {toolchain()}"
    return hashlib.sha256(text.encode()).hexdigest()


def foreign_passes() -> str:
    """Changes with the passes that others register. Where the registry is not imported, nobody has."""
    registry = sys.modules.get(f"{PACKAGE_NAME}.passes.registry")
    return "" if registry is None else str(registry.REGISTRY.fingerprint())


@functools.cache
def source_digest() -> str:
    """A digest of every Python file of this package that compiled code may depend on, and of nothing else."""
    from triton import knobs

    return digest_below(str(Path(__file__).parent.parent), knobs.cache.dir)


SETTLED: Final = 3 * 10**9
"""Nanoseconds for which files must have stayed as they are before what they hold is remembered: more than the steps in
which any clock advances, so that a later edit cannot have the same time."""


WITHOUT_EFFECT: Final = frozenset({"/bench", "/cli", "/emulator", "/examples", "/gpu_reference"})
"""Folders whose files take no part in making code for this backend: they run it, show it, measure it. Ones of the same
name in other folders do."""


def digest_below(root: str, memory: str | None, without: frozenset[str] = WITHOUT_EFFECT) -> str:
    """The digest of the Python files below `root`, remembered in the folder `memory` (Triton's cache) if there is one.

    Those below the folders `without` do not count.

    Reading and digesting takes 2 ms, looking whether it has been done less than half. What is remembered holds for
    files with the same names, sizes, inodes, and times of the last modification and of the last *change*, to the
    nanosecond. The system sets the latter at every write, every rename, and every attempt to set the former: short of
    setting the clock back to the nanosecond, nobody can edit a file and keep it. Where that is not so, nothing is
    remembered: on systems with another notion of it (Windows), in file systems and images that know whole seconds only
    or have one time for all files, and while a file is younger than `SETTLED`.
    """
    files = dict(sorted(python_files(root, without=without)))
    place, remembers = "", False
    if memory and os.name == "posix":
        states = [entry.stat() for entry in files.values()]
        changes = [state.st_ctime_ns for state in states]
        remembers = max(changes) < time.time_ns() - SETTLED and all(change % 10**9 for change in changes)
        if remembers:
            kept = [(s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for s in states]
            seen = [number & 0xFFFF_FFFF_FFFF_FFFF for numbers in kept for number in numbers]
            text = f"{root} {[*files]} ".encode() + struct.pack(f"{len(seen)}Q", *seen)
            key = hashlib.sha256(text).hexdigest()
            place = os.path.join(memory, key, "sources.sha256")
            try:
                known = extensions.read(place)
            except OSError:
                known = b""
            if len(known) == DIGITS:
                return known.decode()
    digest = hashlib.sha256()
    for name in files:
        contents = extensions.read(root + name)
        digest.update(f"{name} {len(contents)}\n".encode())
        digest.update(contents)
    if remembers:
        remember(place, digest.hexdigest())
    return digest.hexdigest()


DIGITS: Final = hashlib.sha256().digest_size * 2


def remember(place: str, text: str) -> None:
    """Write a file that others see whole or not at all. A folder that cannot be used is no error here."""
    unfinished = f"{place}.tmp.{os.getpid()}"
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(unfinished, "wb") as file:
            file.write(text.encode())
        os.replace(unfinished, place)


def python_files(
    root: str, below: str = "", without: frozenset[str] = WITHOUT_EFFECT
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Their names, relative to the root and with slashes, and what the folder knows of them. (A third of the time that
    pathlib takes.)"""
    with os.scandir(root + below) as entries:
        for entry in entries:
            name = entry.name
            if name.endswith(".py"):
                yield f"{below}/{name}", entry
            elif "." not in name and name != "__pycache__" and f"{below}/{name}" not in without:
                if entry.is_dir():
                    yield from python_files(root, f"{below}/{name}", without)


@functools.cache
def toolchain() -> str:
    """The code generator's host and versions, in words. LLVM, which would know them, takes too long to load."""
    names = ("llvmlite", "xdsl", DISTRIBUTION_NAME)
    versions = ", ".join(f"{name} {version_of(name)}" for name in names)
    tiles = "with" if tiles_allowed() else "without"
    host = f"{platform.system()} {processor()} {tiles} tile registers, {last_level_bytes()} bytes of cache"
    sources = "".join(edited_sources(name) for name in ("llvmlite", "xdsl"))
    return f"{host}; {versions}; LLVM of {_library_size()} bytes{sources}"


def edited_sources(name: str) -> str:
    """What changes when somebody edits a package that is used from its sources: by its path, or installed "editable".

    Empty for one that a wheel brought: its files lie beside its metadata, and its version says what they are.
    """
    folder = folder_of(name)
    if not folder:
        return ""
    installed = next(extensions.metadata_folders(name), None)
    if installed is not None and installed.suffix == ".dist-info":
        beside = os.path.dirname(folder) or "."
        if str(installed.parent) == beside or os.path.samefile(installed.parent, beside):
            return ""
    from triton import knobs

    return f"; {name} {digest_below(folder, knobs.cache.dir, without=frozenset())}"


def folder_of(name: str) -> str:
    """The folder of a package that would be imported; empty where there is none."""
    for entry in sys.path:  # a fifth of the time that `find_spec` takes, which then knows of other places
        folder = os.path.join(entry, name)
        if os.path.isfile(f"{folder}/__init__.py"):
            return folder
    spec = importlib.util.find_spec(name)
    return "" if spec is None or spec.origin is None else os.path.dirname(spec.origin)


def version_of(name: str) -> str:
    """The version of a distribution; empty where it is not there. Of an imported package its own ``__version__``
    counts: it is what runs."""
    loaded = getattr(sys.modules.get(name), "__version__", None)
    if isinstance(loaded, str):
        return loaded
    return extensions.metadata_of(name).partition("\nVersion:")[2].partition("\n")[0].strip()


def _library_size() -> int:
    """Tells builds of llvmlite apart that are linked with different LLVMs; 0 where it is not there."""
    folder = folder_of("llvmlite")
    if not folder:
        return 0
    try:
        with os.scandir(os.path.join(folder, "binding")) as entries:
            return sum(entry.stat().st_size for entry in entries if "llvmlite" in entry.name)
    except OSError:
        return 0


MACHINE_LINES: Final = ("vendor_id", "cpu family", "model", "stepping", "flags", "features", "cpu ")
"""What lines of ``/proc/cpuinfo`` begin with, in lower case, that say what a processor can do."""


def processor() -> str:
    """What LLVM would look at in order to name the host and its features, as the system tells it.

    On x86 the first processor's entry, which all share: on machines with hundreds the whole file takes long.
    """
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            entry = (
                file.read(16 * 1024).partition("\n\n")[0] if platform.machine() == "x86_64" else file.read()
            )
    except OSError:  # no Linux
        from ..host_features import HostFeatures

        return str(HostFeatures.current())
    lines = {line for line in entry.splitlines() if line.lower().startswith(MACHINE_LINES)}
    return f"{platform.machine()} {sorted(lines)}"
