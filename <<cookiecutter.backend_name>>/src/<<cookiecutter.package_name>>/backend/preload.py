"""Imports the compiler, when the first kernel has to be compiled."""

from __future__ import annotations

import functools
import gc
from importlib import import_module

from ..target_rules import check_target

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
    """Checks the numbers of the machine and imports everything that a compilation needs, once.

    The garbage collector waits meanwhile: importing makes many objects that stay, and it would walk them again
    and again (a sixth of the time). Afterwards they count as old, so that it does not walk them at once.
    """
    check_target()
    package = (__package__ or "").rpartition(".")[0]
    collecting = gc.isenabled()
    gc.disable()
    try:
        for name in MODULES:
            import_module(f"{package}.{name}")
        if collecting and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()  # from the permanent generation to the oldest one
    finally:
        if collecting:
            gc.enable()
