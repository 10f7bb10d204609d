"""The driver that Triton finds: selection, device facts, loading and launching.

Triton imports this module while ``import triton`` runs and wants exactly one concrete `DriverBase` in it. So:
nothing heavy is imported here, no device is looked for, and no other backend's class is imported by name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase

from ..device_kinds import (
    DEVICE,
    EMULATOR,
    EMULATOR_DEVICE,
    REFERENCE,
    kind_of_image,
    runtime_of,
    selected_kind,
)
from ..target import ARCH, BACKEND_NAME, SCRATCHPAD_BYTES
from .read_by_triton import DeviceProperties, ReadByTriton

WARP_SIZE: Final = 32
"""Nominal: a program is one thread of control. Programs that size their work by it find a GPU's value, and what a GPU
prints once per thread is printed ``num_warps * WARP_SIZE`` times here too."""

_TYPES: Final = {
    **{f"i{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)},
    "i1": "bool",
    "u1": "bool",
    "fp16": "uint16_t",
    "bf16": "uint16_t",
    "fp32": "float",
    "f32": "float",
    "fp64": "double",
}


class Utilities(ReadByTriton):
    """What Triton asks of a driver's ``utils``."""

    def load_binary(
        self, name: str, image: bytes, shared: int, device: int
    ) -> tuple[Any, Any, int, int, int]:
        """Link object code. Returns (module, address of the entry point, registers, spills, most threads a program may
        ask for). Registers and spills are nominal. Raises LoadError.

        A program for the emulator is its own entry point; registers and spills are real."""
        kind = kind_of_image(image)
        if kind != REFERENCE:
            loaded_elsewhere: tuple[Any, Any, int, int, int] = runtime_of(kind).load(name, image)
            return loaded_elsewhere
        from ..runtime.loader import load_image

        loaded = load_image(image, name)
        return loaded, loaded.addresses[name], 32, 0, 1 << 30

    def unload_module(self, module: Any) -> None:
        """Free what `load_binary` returned first. Triton 3.8 and later calls this when a kernel is dropped, of the
        driver that is active by then: what is not of this device stays as it is."""
        unload = getattr(module, "unload", None)
        if unload is not None:
            unload()

    def get_device_properties(self, device: Any) -> dict[str, int]:
        """Facts by the names that programs look for. Clock rates and register counts are nominal, sizes are
        in bytes."""
        from ..runtime.pool import thread_count

        return DeviceProperties(
            {
                "max_shared_mem": SCRATCHPAD_BYTES,
                "multiprocessor_count": thread_count(),
                "max_num_regs": 65536,
                "max_threads_per_sm": 2048,
                "warpSize": WARP_SIZE,
                "sm_clock_rate": 1_000_000,  # kHz
                "mem_clock_rate": 1_000_000,  # kHz
                "mem_bus_width": 64,  # bits
            }
        )

    def set_printf_fifo_size(self, size: int) -> None:
        """Printing goes straight to standard output: there is no buffer to size."""


class Driver(ReadByTriton, DriverBase):
    """The reference device: this process's CPU."""

    activated = False
    """Set while ``activate()`` of the package holds."""

    def __init__(self) -> None:
        super().__init__()
        self.utils = Utilities()
        self.device = EMULATOR_DEVICE if selected_kind() == EMULATOR else DEVICE

    @classmethod
    def is_active(cls) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride] (untyped there)
        """Only where somebody asked for this backend: a CPU is everywhere, and Triton wants one active driver."""
        from ..compat import selected_by_environment

        return cls.activated or selected_by_environment() == BACKEND_NAME

    @property
    def launcher_cls(self) -> Callable[[Any, Any], Callable[..., None]]:
        """Makes the function that launches one kernel."""
        from ..runtime.launcher import make_launcher

        return make_launcher

    def map_python_to_cpp_type(self, ty: str) -> str:
        """C type of a kernel parameter. Raises ValueError for a type that cannot be one."""
        if ty.startswith("*"):
            return "void*"
        if ty not in _TYPES:
            raise ValueError(f"{BACKEND_NAME}: a kernel cannot take an argument of type {ty!r}")
        return _TYPES[ty]

    def get_current_target(self) -> GPUTarget:  # pyright: ignore[reportIncompatibleMethodOverride]
        return GPUTarget(BACKEND_NAME, ARCH, WARP_SIZE)

    def get_current_device(self) -> int:
        return self.device

    def set_current_device(self, device: int) -> None:
        """There is one device."""

    def get_current_stream(self, device: int | None = None) -> int:
        """Launches run at once, in the calling thread's order: there is one stream."""
        return 0

    def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
        """Compute capabilities are NVIDIA's; (0, 0) is older than all of them."""
        return (0, 0)

    def get_active_torch_device(self) -> Any:
        """``torch.device`` of the tensors that kernels take. Raises InstallationError without torch."""
        try:
            import torch
        except ImportError as error:
            from ..errors import InstallationError

            raise InstallationError(
                f"{BACKEND_NAME}: torch is not installed. Install it, or keep data in "
                "runtime.array.DeviceArray of this package."
            ) from error
        from ..runtime.device_memory import TENSOR_DEVICE

        return torch.device(TENSOR_DEVICE)

    def get_device_interface(self) -> Any:
        from ..runtime import benchmark

        return benchmark

    def get_benchmarker(self) -> Callable[..., Any]:
        """Triton's own: it asks this driver for clock and cache, and needs no torch."""
        from triton.testing import do_bench

        benchmarker: Callable[..., Any] = do_bench
        return benchmarker

    def get_empty_cache_for_benchmark(self) -> Any:
        from ..runtime.benchmark import CacheFlush

        return CacheFlush()

    def clear_cache(self, cache: Any) -> None:
        cache.zero_()
