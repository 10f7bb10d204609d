"""Functions for kernels, beyond those of ``triton.language``. Its modules need Triton, so nothing is imported here."""

from __future__ import annotations

import importlib
import pkgutil


def load_functions() -> None:
    """Import the modules of this folder, by which their functions become known to the compiler.

    A process that compiles a kernel need not: the kernel's module has imported what it calls.
    """
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f".{module.name}", __package__)
