"""The devices that kernels can be compiled for: the reference device, or the emulator of the instruction set."""

from __future__ import annotations

import os
from typing import Final

from ..target import ENV_PREFIX

DEVICE_VARIABLE: Final = f"{ENV_PREFIX}_DEVICE"
"""Environment variable that chooses one of `KINDS`; the launch keyword ``device_kind`` goes before it."""

REFERENCE: Final = "reference"
EMULATOR: Final = "emulator"
KINDS: Final = (REFERENCE, EMULATOR)

PROGRAM_MAGIC: Final = b"\xc1ISA"
"""What binaries for the emulator begin with; those for the reference device are ELF objects."""


def selected_kind() -> str:
    """The kind that the environment asks for; what is no kind is refused by `Options`."""
    return os.environ.get(DEVICE_VARIABLE) or REFERENCE
