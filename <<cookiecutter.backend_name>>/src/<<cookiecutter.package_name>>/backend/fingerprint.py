"""What compiled code depends on besides the kernel and its options: our part of Triton's cache key.

Triton's own key covers Triton only. Without this, a user who edits a pass, upgrades LLVM or moves a cache
folder to another processor gets stale code.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import os
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

    The same on every run of the same installation on the same machine. About 10 ms the first time, then well
    under 1 ms. Imports extensions, but nothing of the compiler: a kernel that is in the cache does not need it.
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


@functools.cache
def source_digest() -> str:
    """A digest of every Python file of this package, and of nothing else."""
    root = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        contents = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()} {len(contents)}\n".encode())
        digest.update(contents)
    return digest.hexdigest()


@functools.cache
def toolchain() -> str:
    """The code generator's host and versions, in words."""
    import llvmlite
    import llvmlite.binding as llvm

    from ..codegen.host import HostFeatures

    host = HostFeatures.current()
    return (
        f"{host.triple} {host.name} {host.features} LLVM {llvm.llvm_version_info} llvmlite {llvmlite.__version__} "
        f"xDSL {importlib.metadata.version('xdsl')} {DISTRIBUTION_NAME} {own_version()}"
    )


def own_version() -> str:
    """The version of this package as it is installed; empty where it runs from a folder that is not."""
    try:
        return importlib.metadata.version(DISTRIBUTION_NAME)
    except importlib.metadata.PackageNotFoundError:
        return ""
