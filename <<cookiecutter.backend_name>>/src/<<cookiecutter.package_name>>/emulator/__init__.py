"""An emulator of the instruction set: runs assembled programs instruction by instruction, checks and counts.

It is slow (some hundred thousand instructions a second) and strict, and shares no code with the code generator: where
both agree, both are likely to be right.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager

from ..device_kinds import DEVICE_VARIABLE, EMULATOR, EMULATOR_DEVICE
from ..errors import BackendError
from ..target import BACKEND_NAME


@contextmanager
def emulated() -> Generator[None]:
    """Kernels launched in the ``with`` block run on the emulator, whether or not they were launched elsewhere before.

    The environment variable, set before the process starts, does the same for all of it. Raises BackendError if this
    backend is not the active one.
    """
    from triton.runtime import driver

    from ..backend.driver import Driver

    active = driver.active
    if not isinstance(active, Driver):
        raise BackendError(
            f"{BACKEND_NAME} is not the active backend: set TRITON_DEFAULT_BACKEND={BACKEND_NAME}"
        )
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
