# mypy: disallow-untyped-decorators=False
"""What ``triton.language.target_info`` is for kernels on this backend: the same questions, answered for an NVIDIA GPU.

Triton's own functions compare the target's name with ``cuda``, and this backend has a name of its own. Kernels that
import the module, or functions from it, get these (`Backend.get_module_map`).
"""

from __future__ import annotations

from typing import Any

from triton.runtime.jit import constexpr_function

from .names import GPU_BACKEND_NAME


def current_target() -> Any:
    """The active driver's target, or None if there is none."""
    from triton.runtime import driver

    try:
        return driver.active.get_current_target()
    except RuntimeError:
        return None


current_target.__triton_builtin__ = True  # type: ignore[attr-defined]


@constexpr_function
def is_cuda() -> bool:
    target = current_target()
    return target is not None and target.backend in ("cuda", GPU_BACKEND_NAME)


@constexpr_function
def cuda_capability_geq(major: int, minor: int = 0) -> bool:
    target = current_target()
    if target is None or target.backend not in ("cuda", GPU_BACKEND_NAME):
        return False
    return bool(target.arch >= major * 10 + minor)


@constexpr_function
def is_hip() -> bool:
    return False


is_hip_cdna3 = is_hip_cdna4 = is_hip_gfx1250 = is_hip
