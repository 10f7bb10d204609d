"""The thread pool that runs a kernel over a grid; its code is ``pool.ll``, this is the Python side.

No C compiler is needed: LLVM compiles the file once (16 ms) and Triton's cache folder keeps the object code, so later
processes load it in 2 ms. Workers are started by the first launch that can use them and spin for at most 200 us.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ..errors import InstallationError
from ..target import ENV_PREFIX
from .loader import LoadedImage, load_image

THREADS_VARIABLE: Final = f"{ENV_PREFIX}_NUM_THREADS"

OUT_OF_MEMORY: Final = -1
"""What `run_function` returns when a workspace cannot be allocated."""

TOO_FEW_THREADS: Final = -2
"""Less the number of threads that there are (the calling one included), what it returns when there is not one for each
program of a cooperative launch. Nothing has run then."""

CODE_BITS: Final = 20
"""The lower bits of what it returns where a program trapped: the trap's code. Above them is the program's number."""

_SYMBOLS = ("pool_run", "pool_forget_workers", "pool_workers")
_SPIN_HINT = {"x86_64": "pause", "aarch64": "yield"}


@functools.cache
def run_function() -> Callable[[bytes], int]:
    """The function that runs a grid: takes the packed launch (layout: ``%Launch`` in ``pool.ll``), returns 0, the code
    and number of the lowest program that trapped, or a negative number as above. Releases the GIL; may be called from
    many threads."""
    # Without types of arguments, which ctypes would check at each call: bytes are passed as their address.
    return ctypes.CFUNCTYPE(ctypes.c_int64)(_image().addresses["pool_run"])


def worker_count() -> int:
    """Worker threads started in this process so far (the launching threads, which work too, do not count)."""
    return int(ctypes.CFUNCTYPE(ctypes.c_int32)(_image().addresses["pool_workers"])())


def thread_count() -> int:
    """How many threads a launch may use, its own included.

    `THREADS_VARIABLE` if it was set when first asked, else torch's setting if torch is imported (so that
    ``torch.set_num_threads`` holds for kernels too), else the number of CPUs this process may run on.
    Raises InstallationError if the variable is not a number from 1 to 1024.
    """
    chosen = _chosen_thread_count()
    if chosen:
        return chosen
    torch = sys.modules.get("torch")
    if torch is not None:
        try:
            return int(torch.get_num_threads())
        except AttributeError:  # torch is being imported at this moment
            pass
    return cpu_count()


@functools.cache
def _chosen_thread_count() -> int:
    text = os.environ.get(THREADS_VARIABLE, "")
    if not text:
        return 0
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1024:
        raise InstallationError(
            f"{THREADS_VARIABLE}={text!r}: give a number of threads from 1 to 1024, or unset it"
        )
    return int(text)


@functools.cache
def cpu_count() -> int:
    """How many CPUs this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@functools.cache
def _image() -> LoadedImage:
    image = load_image(_object_code(), *_SYMBOLS)
    image.keep_forever()
    # The child of a fork has the code but not the threads.
    os.register_at_fork(after_in_child=ctypes.CFUNCTYPE(None)(image.addresses["pool_forget_workers"]))
    return image


def source() -> str:
    """LLVM IR of the pool for this processor."""
    machine = platform.machine()
    if machine not in _SPIN_HINT:
        raise InstallationError(
            f"the reference device does not know the processor {machine!r}: add its spin-wait hint to {__file__}"
        )
    return (
        Path(__file__).with_name("pool.ll").read_text(encoding="utf-8").replace("RELAX", _SPIN_HINT[machine])
    )


def _object_code() -> bytes:
    """Compiled `source`, from the cache folder if it is there. A cache that cannot be used is no error here."""
    from triton.runtime.cache import get_cache_manager

    from ..backend.fingerprint import toolchain

    text = source()
    key = hashlib.sha256(f"{toolchain()} {text}".encode()).hexdigest()
    name = "thread_pool.o"
    try:
        cache = get_cache_manager(key)
        path = cache.get_file(name)
        if path is not None:
            return Path(path).read_bytes()
    except (OSError, RuntimeError):  # an unusable folder, no folder at all
        return _compile(text)
    image = _compile(text)
    with contextlib.suppress(OSError):
        cache.put(image, name)
    return image


def _compile(text: str) -> bytes:
    import llvmlite.binding as llvm

    from ..codegen.object_code import compile_llvm

    llvm.initialize_native_asmparser()  # for the spin-wait hint
    return compile_llvm(text)
