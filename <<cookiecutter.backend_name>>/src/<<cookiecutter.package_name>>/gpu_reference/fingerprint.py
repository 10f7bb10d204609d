"""What compiled code depends on besides the kernel, its options and the installed Triton: our part of the cache key."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

from .. import extensions


def fingerprint() -> str:
    """A digest of this folder's sources, the passes that will run, the vendor's functions, and what extensions bring.

    Raises PassError if the registered passes cannot be ordered.
    """
    from . import functions
    from .passes import REGISTRY, STAGES, load_passes

    load_passes()
    names = [[p.name for p in REGISTRY.enabled(stage)] for stage in STAGES]
    text = f"{source_digest()} {names} {REGISTRY.fingerprint()} {functions.fingerprint()} {extensions.fingerprint()}"
    return hashlib.sha256(text.encode()).hexdigest()


@functools.cache
def source_digest() -> str:
    """A digest of every Python file of this folder."""
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        contents = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()} {len(contents)}\n".encode())
        digest.update(contents)
    return digest.hexdigest()
