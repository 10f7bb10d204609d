"""What the examples ask of the device that their kernels run on."""

from __future__ import annotations

from triton import knobs
from triton.runtime import driver


def fast_memory() -> float:
    """Bytes of the device's scratchpad, or a GPU's shared memory; without limit in Triton's interpreter."""
    if knobs.runtime.interpret:
        return float("inf")
    device = driver.active
    return float(device.utils.get_device_properties(device.get_current_device())["max_shared_mem"])
