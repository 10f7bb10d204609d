"""The devices that kernels can be compiled for: the reference device, or the emulator of the instruction set.

Which of them a kernel runs on is decided by what its binary begins with, and by nothing else: `kind_of_image` is asked
when the binary was made (for the launcher, which Triton makes first) and when it is loaded.
"""

from __future__ import annotations

import importlib
import os
import zlib
from types import ModuleType
from typing import Final

from .target import BACKEND_NAME, ENV_PREFIX, PACKAGE_NAME

DEVICE_VARIABLE: Final = f"{ENV_PREFIX}_DEVICE"
"""Environment variable that chooses one of `KINDS`; the launch keyword ``device_kind`` goes before it."""

REFERENCE: Final = "reference"
EMULATOR: Final = "emulator"

PROGRAM_MAGIC: Final = b"\xc1ISA"
"""What binaries for the emulator begin with; those for the reference device are ELF objects."""

RUNTIMES: Final = {
    EMULATOR: (PROGRAM_MAGIC, "emulator.launcher"),
}
"""Devices beside the reference device -> what their binaries begin with, and the module of this package that runs them.

The module has ``load(name, image)``, which returns what `load_binary` of the driver does, and ``make_launcher(src,
metadata)``. A device of yours is a row here; docs/replace-the-runtime.md shows it.
"""

KINDS: Final = (REFERENCE, *RUNTIMES)

DEVICE: Final = zlib.crc32(BACKEND_NAME.encode()) & 0x7FFFFFFF
"""Number of the one device. Triton keeps compiled kernels by this number alone, whatever the driver: it must not be one
that another driver in the process (a GPU's, with 0, 1, ...) uses too."""

EMULATOR_DEVICE: Final = DEVICE ^ 1
"""The number under which Triton keeps kernels for the emulator."""


def selected_kind() -> str:
    """The kind that the environment asks for; `Options` refuses anything that is not one of `KINDS`."""
    return os.environ.get(DEVICE_VARIABLE) or REFERENCE


def kind_of_image(image: bytes) -> str:
    """The device that a binary is for: the reference device, if no other one recognises it."""
    for kind, (magic, _) in RUNTIMES.items():
        if image.startswith(magic):
            return kind
    return REFERENCE


def runtime_of(kind: str) -> ModuleType:
    """The module that runs binaries of one of `RUNTIMES`."""
    return importlib.import_module(f"{PACKAGE_NAME}.{RUNTIMES[kind][1]}")
