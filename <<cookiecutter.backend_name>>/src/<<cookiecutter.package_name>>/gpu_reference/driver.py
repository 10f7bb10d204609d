"""The driver that Triton finds: selection, device facts, loading and launching.

Triton imports this module while ``import triton`` runs and wants exactly one concrete `DriverBase` in it. So:
nothing heavy is imported here, no device is looked for, and no other backend's class is imported by name. Devices,
streams and modules are CUDA's, through the installed release's driver; launching is our own, see `launcher.py`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from .names import GPU_BACKEND_NAME, WARP_SIZE


class Driver(DriverBase):
    """NVIDIA GPUs. Works without torch where the installed Triton's driver does (3.8 and later)."""

    activated = False
    """Set while ``activate()`` of this folder holds."""

    def __init__(self) -> None:
        """Raises InstallationError where CUDA's driver library or a C compiler is missing."""
        super().__init__()
        self.installed = open_installed_driver()
        self.utils = Utilities(self.installed.utils)
        self.get_device_capability = self.installed.get_device_capability
        self.get_current_stream = self.installed.get_current_stream
        self.set_current_device = self.installed.set_current_device
        self.get_current_device: Callable[[], int] = self.installed.get_current_device
        torch = sys.modules.get("torch")
        if torch is not None and self.get_current_device is torch.cuda.current_device:
            self.get_current_device = self._first_current_device
            os.register_at_fork(after_in_child=self._forget_device)

    @classmethod
    def is_active(cls) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride] (untyped there)
        """Only where somebody asked for this backend, decided without a look at the machine."""
        from ..compat import selected_by_environment

        return cls.activated or selected_by_environment() == GPU_BACKEND_NAME

    def _first_current_device(self) -> int:
        """torch's function makes sure that CUDA is set up, at every launch. Once it is, what it wraps will do."""
        import torch

        device: int = torch.cuda.current_device()
        self.get_current_device = torch._C._cuda_getDevice  # pyright: ignore[reportPrivateUsage]
        return device

    def _forget_device(self) -> None:
        """In a forked child CUDA does not work, and torch's function is the one that says so."""
        self.get_current_device = self._first_current_device

    @property
    def launcher_cls(self) -> Callable[[Any, Any], Callable[..., None]]:
        """Makes the function that launches one kernel."""
        from .launcher import make_launcher

        return make_launcher

    def map_python_to_cpp_type(self, ty: str) -> str:
        """C type of a kernel parameter. Raises KeyError for a type that cannot be one."""
        return str(self.installed.map_python_to_cpp_type(ty))

    def get_current_target(self) -> GPUTarget:  # pyright: ignore[reportIncompatibleMethodOverride]
        major, minor = self.get_device_capability(self.get_current_device())
        return GPUTarget(GPU_BACKEND_NAME, 10 * major + minor, WARP_SIZE)

    def get_active_torch_device(self) -> Any:
        return self.installed.get_active_torch_device()

    def get_device_interface(self) -> Any:
        return self.installed.get_device_interface()

    def get_benchmarker(self) -> Callable[..., Any]:
        benchmarker: Callable[..., Any] = self.installed.get_benchmarker()
        return benchmarker

    def get_empty_cache_for_benchmark(self) -> Any:
        return self.installed.get_empty_cache_for_benchmark()

    def clear_cache(self, cache: Any) -> None:
        self.installed.clear_cache(cache)

    def allocate_default_profile_scratch(self, size: int, alignment: int, stream: Any) -> Any:
        return self.installed.allocate_default_profile_scratch(size, alignment, stream)

    def assemble_tensormap_to_arg(self, tensormaps_info: Any, args: Any) -> Any:
        return args


class Utilities:
    """What Triton asks of a driver's ``utils``: the installed release answers."""

    def __init__(self, installed: Any) -> None:
        self._installed = installed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._installed, name)

    def unload_module(self, module: Any) -> None:
        """Triton 3.8 and later calls this when a kernel is dropped, of the driver that is active by then. A module of
        CUDA is a number; another device's stays as it is."""
        if isinstance(module, int):
            self._installed.unload_module(module)


def open_installed_driver() -> Any:
    """An instance of the installed release's CUDA driver. Raises InstallationError with the reason if there is none."""
    from ..errors import InstallationError
    from .compat import initialize_cuda, installed_driver

    try:
        driver = installed_driver().CudaDriver()
        if "torch" not in sys.modules:  # torch does it when it first needs a GPU
            initialize_cuda()
        return driver
    except Exception as error:
        reason = " ".join(str(error).split())
        raise InstallationError(
            f"{GPU_BACKEND_NAME}: Triton's CUDA driver does not start here ({type(error).__name__}: {reason}). It "
            "needs an NVIDIA GPU with its driver (does `nvidia-smi` work?) and a C compiler (CC, gcc, clang)."
        ) from error
