"""What compiled code depends on besides the kernel, its options and the installed Triton: our part of the cache key."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Final

from .. import extensions
from ..file_memory import digest_below

WITHOUT_EFFECT: Final = frozenset({"/assembler", "/bench", "/cli", "/codegen", "/emulator", "/examples"})
"""Folders of this package whose files take no part in making code for GPUs."""


def fingerprint() -> str:
    """A digest of the sources, the passes that will run, the vendor's functions, and what extensions bring.

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
    """A digest of the Python files that GPU code may depend on: this folder's, and what kernels and it import."""
    from triton import knobs

    return digest_below(str(Path(__file__).parent.parent), knobs.cache.dir, WITHOUT_EFFECT)
