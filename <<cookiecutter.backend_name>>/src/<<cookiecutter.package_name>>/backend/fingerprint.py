"""What compiled code depends on besides the kernel and its options: our part of Triton's cache key.

Triton's own key covers Triton only. Without this, a user who edits a pass, upgrades LLVM or moves a cache
folder to another processor gets stale code.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .. import extensions
from ..passes.registry import REGISTRY
from ..target import DISTRIBUTION_NAME, ENV_PREFIX

RUNTIME_VARIABLES: Final = frozenset(
    f"{ENV_PREFIX}_{name}" for name in ("NUM_THREADS", "TIME_PASSES", "VERIFY_PASSES", "DISABLE_PASSES")
)
"""Our environment variables that leave the code as it is (the passes that are left out count through the passes)."""


def fingerprint() -> str:
    """A digest of: our sources, those of extensions, the passes that will run, our environment variables, the host CPU,
    LLVM and xDSL.

    The same on every run of the same installation on the same machine. About 3 ms the first time, then well under
    1 ms. Imports extensions, but nothing of the compiler, nor LLVM: a kernel that is in the cache needs neither.
    """
    extensions.load_all()
    environment = sorted(
        (name, value)
        for name, value in os.environ.items()
        if name.startswith(f"{ENV_PREFIX}_") and name not in RUNTIME_VARIABLES
    )
    text = (
        f"{source_digest()} {REGISTRY.fingerprint()} {extensions.fingerprint()} {environment} {toolchain()}"
    )
    return hashlib.sha256(text.encode()).hexdigest()


WITHOUT_EFFECT: Final = frozenset({"/bench", "/cli", "/emulator", "/examples", "/gpu_reference"})
"""Folders whose files take no part in making code for this backend: they run it, show it, measure it. Ones of the same
name in other folders do."""


@functools.cache
def source_digest() -> str:
    """A digest of every Python file of this package that compiled code may depend on, and of nothing else."""
    root = str(Path(__file__).parent.parent)
    digest = hashlib.sha256()
    for name in sorted(python_files(root)):
        contents = extensions.read(root + name)
        digest.update(f"{name} {len(contents)}\n".encode())
        digest.update(contents)
    return digest.hexdigest()


def python_files(root: str, below: str = "") -> Iterator[str]:
    """Relative to the root, with slashes. (A third of the time that pathlib takes.)"""
    with os.scandir(root + below) as entries:
        for entry in entries:
            name = entry.name
            if name.endswith(".py"):
                yield f"{below}/{name}"
            elif "." not in name and name != "__pycache__" and f"{below}/{name}" not in WITHOUT_EFFECT:
                if entry.is_dir():
                    yield from python_files(root, f"{below}/{name}")


@functools.cache
def toolchain() -> str:
    """The code generator's host and versions, in words. LLVM, which would know them, takes too long to load."""
    names = ("llvmlite", "xdsl", DISTRIBUTION_NAME)
    versions = ", ".join(f"{name} {version_of(name)}" for name in names)
    return f"{platform.system()} {processor()}; {versions}; LLVM of {_library_size()} bytes"


def version_of(name: str) -> str:
    """The version of a distribution; empty where it is not there. Of an imported package its own ``__version__``
    counts: it is what runs."""
    loaded = getattr(sys.modules.get(name), "__version__", None)
    if isinstance(loaded, str):
        return loaded
    try:
        metadata = importlib.metadata.distribution(name).read_text("METADATA") or ""
    except importlib.metadata.PackageNotFoundError:
        return ""
    return metadata.partition("\nVersion:")[2].partition("\n")[0].strip()


def _library_size() -> int:
    """Tells builds of llvmlite apart that are linked with different LLVMs; 0 where it is not there."""
    spec = importlib.util.find_spec("llvmlite")
    if spec is None or spec.origin is None:
        return 0
    try:
        with os.scandir(os.path.join(os.path.dirname(spec.origin), "binding")) as entries:
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
        from ..codegen.host import HostFeatures

        return str(HostFeatures.current())
    lines = {line for line in entry.splitlines() if line.lower().startswith(MACHINE_LINES)}
    return f"{platform.machine()} {sorted(lines)}"
