"""What compiled code depends on besides the kernel and its options: our part of Triton's cache key.

Triton's own key covers Triton only. Without this, a user who edits a pass, upgrades LLVM or moves a cache
folder to another processor gets stale code.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import platform
import sys
from pathlib import Path
from typing import Final

from .. import extensions
from ..file_memory import digest_below
from ..host_caches import last_level_bytes
from ..target import DISTRIBUTION_NAME, ENV_PREFIX, PACKAGE_NAME
from ..tile_permission import tiles_allowed

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
    if environment:
        from .variables import warn_of_misspelt

        warn_of_misspelt(name for name, _ in environment)
    text = f"{source_digest()} {foreign_passes()} {extensions.fingerprint()} {environment} {toolchain()}"
    return hashlib.sha256(text.encode()).hexdigest()


def foreign_passes() -> str:
    """Changes with the passes that others register. Where the registry is not imported, nobody has."""
    registry = sys.modules.get(f"{PACKAGE_NAME}.passes.registry")
    return "" if registry is None else str(registry.REGISTRY.fingerprint())


WITHOUT_EFFECT: Final = frozenset({"/bench", "/cli", "/emulator", "/examples", "/gpu_reference"})
"""Folders whose files take no part in making code for this backend: they run it, show it, measure it. Ones of the same
name in other folders do."""


@functools.cache
def source_digest() -> str:
    """A digest of every Python file of this package that compiled code may depend on, and of nothing else."""
    from triton import knobs

    return digest_below(str(Path(__file__).parent.parent), knobs.cache.dir, WITHOUT_EFFECT)


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

    return f"; {name} {digest_below(folder, knobs.cache.dir)}"


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
    return extensions.version_of(name)


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
