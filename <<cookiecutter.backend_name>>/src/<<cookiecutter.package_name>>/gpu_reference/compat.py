"""What differs between the supported Triton releases on this GPU, found by looking at what is there.

The installed wheel's own CUDA backend is imported here and only here, and only when it is needed: it is asked for facts
(options, versions of PTX, the name of a chip) that belong to the release, never for the composition of a stage.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any


def installed_compiler() -> ModuleType:
    """The compiler module of the installed CUDA backend."""
    from triton.backends.nvidia import compiler

    module: ModuleType = compiler
    return module


def installed_driver() -> ModuleType:
    """The driver module of the installed CUDA backend. Importing it looks for no device."""
    from triton.backends.nvidia import driver

    module: ModuleType = driver
    return module


def compile_c(source: Path, name: str) -> Any:
    """A Python extension module in C that calls CUDA's driver, by Triton's own means: its compiler, flags and cache."""
    from triton.runtime.build import compile_module_from_src

    driver = installed_driver()
    return compile_module_from_src(
        src=source.read_text(encoding="utf-8"),
        name=name,
        library_dirs=driver.library_dirs(),
        include_dirs=driver.include_dirs,
        libraries=driver.libraries,
    )


def initialize_cuda() -> None:
    """Set up CUDA's driver library, which the installed release does where it is asked whether it is active.

    Raises OSError where there is no such library, RuntimeError where it finds no GPU.
    """
    library = ctypes.CDLL("libcuda.so.1")  # loaded already: the installed release's C code is linked with it
    status = library.cuInit(0)
    if status:
        raise RuntimeError(f"cuInit says {status}")


@functools.cache
def find_pass(path: str) -> Callable[..., None] | None:
    """The function that adds a libtriton pass, by "group.name", or None if this release has no such pass."""
    from triton._C.libtriton import nvidia, passes

    group, name = path.split(".")
    holder = getattr(passes, group, None) or getattr(nvidia.passes, group)
    add = getattr(holder, f"add_{name}", None)
    if add is None and hasattr(nvidia.passes, group):  # both have a group "ttgpuir"
        add = getattr(getattr(nvidia.passes, group), f"add_{name}", None)
    return add


def since_3_8() -> bool:
    """Triton 3.8 brought the pass that turns GPU operations to LLVM's canonical form."""
    return find_pass("ttgpuir.canonicalize_llvm_ir") is not None


def since_3_9() -> bool:
    """Triton 3.9 made the insertion of barriers a pass of its own."""
    return find_pass("ttgpuir.membar") is not None


def prepare_layout(module: Any, chip: str, features: str) -> None:
    """Give an LLVM module its target. Shared memory is addressed with 32 bits: a switch before 3.9, now a flag."""
    from triton._C.libtriton import llvm, nvidia

    if hasattr(nvidia, "set_short_ptr"):
        nvidia.set_short_ptr()
        llvm.attach_datalayout(module, TRIPLE, chip, features)
    else:
        llvm.attach_datalayout(module, TRIPLE, chip, features, llvm_flags())


TRIPLE = "nvptx64-nvidia-cuda"


def llvm_flags() -> list[str]:
    """Command-line flags of LLVM's code generator."""
    flags = getattr(installed_compiler(), "get_llvm_flags", None)
    return ["nvptx-mad-wide-opt"] if flags is None else list(flags())


def avoid_slp(sm: int, ttgir: str) -> bool:
    """Whether LLVM must not combine scalar operations: known miscompilations of the release's LLVM and ptxas.

    On sm_80, ptxas rejects what comes out (3.8 on). On sm_90, LLVM reorders ordered sums (3.8 only).
    """
    if not since_3_8():
        return False
    return sm == 80 or (sm == 90 and not since_3_9() and "bf16" in ttgir and "tt.reduce" in ttgir)


def optimize(module: Any, sm: int, ttgir: str) -> None:
    """LLVM's own optimizations, at -O3."""
    from triton._C.libtriton import llvm

    settings: dict[str, Any] = {}
    if since_3_8():
        settings["disable_slp_vectorizer"] = avoid_slp(sm, ttgir)
    if since_3_9():
        settings |= {"flags": llvm_flags(), "expand_masked_div_rem": True}
    llvm.optimize_module(module, llvm.OPTIMIZE_O3, **settings)


def translate_to_ptx(llir: str, chip: str, features: str, options: Any) -> str:
    """LLVM IR -> PTX."""
    from triton._C.libtriton import llvm

    arguments: list[Any] = [llir, TRIPLE, chip, features, llvm_flags(), options.enable_fp_fusion, False]
    if since_3_8():
        arguments.append(instruments(options, "fpsan"))
    settings = {"sched4reg": options.sched4reg} if since_3_9() else {}
    return str(llvm.translate_to_asm(*arguments, **settings))


def instruments(options: Any, sanitizer: str) -> bool:
    """Whether one of Triton's sanitizers ("consan", "fpsan", "gsan", "iisan") was asked for."""
    return sanitizer in getattr(options, "instrumentation_mode", "")


def reads_ttgir() -> bool:
    """Whether `avoid_slp` looks at the text of the TTGIR: printing it costs time."""
    return since_3_8() and not since_3_9()
