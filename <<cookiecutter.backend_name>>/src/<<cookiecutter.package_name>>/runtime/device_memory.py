"""Which tensors kernels can work on: the one place that says whose memory they reach. Here it is the host's."""

from __future__ import annotations

import sys
from typing import Any, Final

from ..errors import LaunchError

TENSOR_DEVICE: Final[str] = "cpu"
"""torch's name of the device whose memory kernels reach: ``tensor.device.type``.

For a device of yours that torch knows, its name there. The launcher then takes tensors of that device, and refuses
those of the CPU. Their attribute ``is_NAME`` makes it quick: torch gives them one by
``torch.utils.generate_methods_for_privateuse1_backend()``, and `DeviceArray` needs one, too.
"""

FLAG: Final = f"is_{TENSOR_DEVICE}"
"""Attribute of a tensor that is true if kernels reach its memory. `check` looks at what has no such attribute."""


def tensors_may_be_elsewhere() -> bool:
    """Whether an argument could be a tensor whose memory kernels do not reach: not if torch is a CPU-only build without
    a device of some package's own, and kernels run on the CPU."""
    torch = sys.modules.get("torch")
    if torch is None or TENSOR_DEVICE != "cpu":
        return True  # it may be imported later
    version = getattr(torch, "version", None)
    if any(getattr(version, name, None) is not None for name in ("cuda", "hip", "xpu")):
        return True
    current = getattr(getattr(torch, "accelerator", None), "current_accelerator", None)
    return current is not None and current() is not None


def check(tensor: Any, path: str) -> None:
    """Raises LaunchError, which names the parameter by `path`, for a tensor in another device's memory. What does not
    say where it is, such as `DeviceArray`, is taken."""
    device: Any = getattr(tensor, "device", None)
    if getattr(device, "type", TENSOR_DEVICE) != TENSOR_DEVICE:
        raise LaunchError(
            f"parameter {path}: the tensor is on device {str(device)!r}, whose memory this device cannot reach: move "
            f"it with .to({TENSOR_DEVICE!r}), or select that device's driver"
        )
