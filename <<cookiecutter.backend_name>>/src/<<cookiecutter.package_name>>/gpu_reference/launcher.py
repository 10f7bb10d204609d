"""Makes the function that launches one kernel.

Most kernels take pointers and numbers and are launched plainly. Theirs is an object written in C (`launch.c`) that
Triton's JIT calls directly: no Python function in between, no tuple that is unpacked and checked again at every launch,
and a pointer is not looked up in CUDA's tables a second time while it stays the same. Everything else (tuples, tensor
descriptors, scratch memory, cooperative launches, clusters, sanitizers) goes through the installed release's launcher.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from .compat import compile_c, installed_driver, instruments
from .names import WARP_SIZE

KINDS: Final = {
    "constexpr": "x",
    **dict.fromkeys(("i1", "i8", "i16", "i32", "i64"), "l"),
    **dict.fromkeys(("u1", "u8", "u16", "u32", "u64"), "L"),
    "fp16": "e",
    "bf16": "E",
    "fp32": "f",
    "f32": "f",
    "fp64": "d",
}
"""Type of a parameter -> its letter in `launch.c`; pointers are ``P``."""

LARGEST_SHARED: Final = 228 * 1024
"""Bytes; a kernel with more needs an attribute at its launch."""


def make_launcher(source: Any, metadata: Any) -> Callable[..., None]:
    """The launcher of a compiled kernel: called with grid x, y, z, stream, function, packed metadata, launch metadata,
    the two hooks, and then every parameter of the Python function, constexprs included."""
    kinds = plain_kinds(source.signature.values())
    if kinds is None or needs_more(metadata) or len(kinds) > native().MOST_PARAMETERS:
        launcher: Callable[..., None] = installed_driver().CudaLauncher(source, metadata)
        return launcher
    plain: Callable[..., None] = native().Launcher(kinds, WARP_SIZE * metadata.num_warps, metadata.shared)
    return plain


def plain_kinds(signature: Iterable[Any]) -> bytes | None:
    """A letter an argument, or None if one of them is neither a pointer nor a number."""
    letters: list[str] = []
    for ty in signature:
        letter = (
            "P"
            if isinstance(ty, str) and ty.startswith("*")
            else KINDS.get(ty)
            if isinstance(ty, str)
            else None
        )
        if letter is None:
            return None
        letters.append(letter)
    return "".join(letters).encode()


def needs_more(metadata: Any) -> bool:
    """Whether launching takes more than a grid, a stream and arguments."""
    return bool(
        metadata.global_scratch_size
        or metadata.profile_scratch_size
        or metadata.launch_cooperative_grid
        or metadata.launch_pdl
        or metadata.num_ctas != 1
        or metadata.shared > LARGEST_SHARED
        or instruments(metadata, "gsan")
    )


@functools.cache
def native() -> Any:
    """`launch.c`, compiled and loaded; Triton's cache keeps it."""
    return compile_c(Path(__file__).with_name("launch.c"), "gpu_launch")
