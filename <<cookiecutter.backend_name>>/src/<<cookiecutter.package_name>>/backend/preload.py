"""Imports the compiler, when the first kernel has to be compiled."""

from __future__ import annotations

import functools
import gc
from importlib import import_module

from ..requirements_check import require_toolchain
from ..target_rules import check_target
from .gc_pause import paused_collector

MODULES = (
    "frontend.ttir_parser",
    "lowering",
    "passes.pipeline",
    "passes.expand_special",
    "codegen.llvm",
    "codegen.object_code",
    "language.libdevice",
)


@functools.cache
def import_compiler() -> None:
    """Checks the numbers of the machine and the toolchain, and imports everything that a compilation needs, once.
    Raises InstallationError if something is missing.

    Importing makes many objects that stay. Afterwards they count as old, so that the collector does not walk them at
    once.
    """
    check_target()
    require_toolchain()
    package = (__package__ or "").rpartition(".")[0]
    with paused_collector:
        for name in MODULES:
            import_module(f"{package}.{name}")
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()  # from the permanent generation to the oldest one
