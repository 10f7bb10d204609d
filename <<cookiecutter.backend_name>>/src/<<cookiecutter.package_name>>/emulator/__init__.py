"""An emulator of the instruction set: runs assembled programs instruction by instruction, checks and counts.

It is slow (some hundred thousand instructions a second) and strict, and shares no code with the code generator: where
both agree, both are likely to be right.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager

from ..backend.kinds import DEVICE_VARIABLE, EMULATOR


@contextmanager
def emulated() -> Generator[None]:
    """Kernels launched in the ``with`` block run on the emulator, whether or not they were launched elsewhere before.

    This backend has to be the active one. The environment variable, set before the process starts, does the same.
    """
    from triton.runtime import driver

    from ..backend.driver import EMULATOR_DEVICE

    active = driver.active
    before, device = os.environ.get(DEVICE_VARIABLE), active.device
    os.environ[DEVICE_VARIABLE] = EMULATOR
    active.device = EMULATOR_DEVICE
    try:
        yield
    finally:
        active.device = device
        if before is None:
            del os.environ[DEVICE_VARIABLE]
        else:
            os.environ[DEVICE_VARIABLE] = before
