"""From Triton's launch call to a run of the thread pool.

Triton makes one launcher per compiled kernel and calls it at every launch, so what can be decided once is
decided when the launcher is made: a Python function is written for the kernel's signature, about 1 us a call.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

from ..compat import hook_chain_type
from ..device_kinds import REFERENCE, runtime_of
from ..errors import BackendError, LaunchError, program_text
from ..rounding import bfloat16_bits
from ..target import BACKEND_NAME
from . import device_memory
from .packing import FORMATS, Signature, convert_all, fast_expression, read_signature
from .pool import CODE_BITS, OUT_OF_MEMORY, TOO_FEW_THREADS, run_function, thread_count

HEADER: Final = "<QqqQiIiiiI"
"""``%Launch`` in ``pool.ll``: entry point, workspace bytes, total programs, address of the pace, threads, cooperative,
grid x, y, z, reserved.

The reserved word holds ``x | y | z``: ``struct`` refuses it if one of them is negative.
"""

MOST_COOPERATIVE_PROGRAMS: Final = 1024
"""Programs of a cooperative launch need a thread each."""

_SOURCE = """\
def launch(gx, gy, gz, stream, function, packed_metadata, launch_metadata, enter_hook, exit_hook, *args):
    try:
        {pattern} = args
        joined = gx | gy | gz
        if joined.__class__ is not int:
            raise TypeError  # NumPy's integers would overflow
        total = gx * gy * gz
        threads = {threads} if total > 1 else 1
        block = pack(function, {scratch_bytes}, total, {pace}, threads, {cooperative}, gx, gy, gz, joined{values})
    except Exception as error:
        block, total = pack_carefully(function, (gx, gy, gz), args, error)
    if enter_hook is not None and (enter_hook.__class__ is not HookChain or enter_hook.calls):
        enter_hook(launch_metadata)
    result = run(block) if total > 0 else 0
    if exit_hook is not None and (exit_hook.__class__ is not HookChain or exit_hook.calls):
        exit_hook(launch_metadata)
    if result:
        raise failure(result, (gx, gy, gz))
"""
"""Triton's own hooks are chains, mostly empty ones: calling two of these takes as long as packing the arguments."""


class DeviceAssertion(BackendError, RuntimeError):
    """A program of a launch stopped itself: ``tl.device_assert`` or another check that was compiled in.

    Memory that the launch had written by then stays written; the next launch works.
    """


def make_launcher(src: Any, metadata: Any) -> Callable[..., None]:
    """The function that launches one compiled kernel; Triton calls this as ``driver.launcher_cls``.

    ``src`` has the kernel's ``signature``; ``metadata`` has ``scratch_bytes`` and ``traps`` from the compiler. The
    function takes grid x, y, z, stream, entry point, packed metadata, launch metadata, the two hooks, and then every
    parameter of the kernel, constexprs included. It returns when the grid has run. It raises LaunchError for arguments
    that do not fit, DeviceAssertion if a program trapped, MemoryError if there is no memory for workspaces.
    """
    kind = getattr(metadata, "image_kind", REFERENCE)
    if kind != REFERENCE:
        launch: Callable[..., None] = runtime_of(kind).make_launcher(src, metadata)
        return launch
    signature = read_signature(src.signature)
    _check_parameter_count(signature, metadata)
    cooperative = bool(getattr(metadata, "launch_cooperative_grid", False))
    layout = struct.Struct(HEADER + "".join(FORMATS[parameter.kind] for _, parameter in signature.slots))
    check_device = device_memory.tensors_may_be_elsewhere()
    values = (
        fast_expression(f"a{leaf}", parameter, check_device=check_device)
        for leaf, parameter in signature.slots
    )
    pace = ctypes.c_uint64()
    source = _SOURCE.format(
        pattern=signature.pattern,
        threads="cooperative_threads(total)" if cooperative else "thread_count()",
        scratch_bytes=int(metadata.scratch_bytes),
        pace=ctypes.addressof(pace),
        cooperative=int(cooperative),
        values="".join(f", {value}" for value in values),
    )
    careful = _Careful(str(metadata.name), signature, layout, int(metadata.scratch_bytes), cooperative, pace)
    namespace: dict[str, Any] = {
        "pack": layout.pack,
        "pack_carefully": careful.pack,
        "run": run_function(),
        "HookChain": hook_chain_type(),
        "failure": Traps(str(metadata.name), tuple(metadata.traps)).failure,
        "thread_count": thread_count,
        "cooperative_threads": _cooperative_threads,
        "bfloat16_bits": bfloat16_bits,
    }
    exec(compile(source, f"<{BACKEND_NAME} launcher of {metadata.name}>", "exec"), namespace)
    launch = namespace["launch"]
    return launch


def _check_parameter_count(signature: Signature, metadata: Any) -> None:
    """The launcher and the compiled kernel must agree on the slots; a wrong guess would read past the arguments."""
    expected = getattr(metadata, "parameters", None)
    if expected is not None and len(expected) != len(signature.slots):
        ours = ", ".join(f"{parameter.path}: {parameter.kind}" for _, parameter in signature.slots)
        raise LaunchError(
            f"{BACKEND_NAME}: kernel {metadata.name} was compiled for {len(expected)} parameters "
            f"({', '.join(expected)}), but its signature gives {len(signature.slots)} ({ours}): teach "
            f"{__name__.rpartition('.')[0]}.packing the difference"
        )


def _cooperative_threads(total: int) -> int:
    if total > MOST_COOPERATIVE_PROGRAMS:
        raise LaunchError(
            f"a cooperative launch of {total} programs: they run at the same time, a thread each, and at most "
            f"{MOST_COOPERATIVE_PROGRAMS} can"
        )
    return max(total, 1)


class _Careful:
    """Packs what the generated code could not: converts, or raises an error that says what is wrong."""

    def __init__(
        self,
        kernel: str,
        signature: Signature,
        layout: struct.Struct,
        scratch_bytes: int,
        cooperative: bool,
        pace: ctypes.c_uint64,
    ) -> None:
        self.kernel = kernel
        self.signature = signature
        self.layout = layout
        self.scratch_bytes = scratch_bytes
        self.cooperative = cooperative
        self.pace = pace  # the generated code has only its address

    def pack(
        self, function: Any, grid: Sequence[Any], args: Sequence[Any], error: Exception
    ) -> tuple[bytes, int]:
        """The block, and the number of programs."""
        if isinstance(error, BackendError):
            raise error
        try:
            return self._pack(function, grid, args)
        except BackendError as wrong:
            raise wrong from None  # not of the generated code's failure, which says less

    def _pack(self, function: Any, grid: Sequence[Any], args: Sequence[Any]) -> tuple[bytes, int]:
        # First: where the arguments have moved, `function` is another one, too.
        values = convert_all(args, self.signature)
        if not isinstance(function, int):
            raise wrong_image(self.kernel, function, "an address of code")
        sizes = [grid_size(axis, size) for axis, size in zip("xyz", grid, strict=True)]
        total = sizes[0] * sizes[1] * sizes[2]
        if total >= 1 << 63:
            raise LaunchError(f"the grid {tuple(sizes)} has too many programs")
        threads = 1
        if total > 1:
            threads = _cooperative_threads(total) if self.cooperative else thread_count()
        header = (
            function,
            self.scratch_bytes,
            total,
            ctypes.addressof(self.pace),
            threads,
            self.cooperative,
            *sizes,
            0,
        )
        return self.layout.pack(*header, *values), total


def wrong_image(kernel: str, function: Any, expected: str) -> LaunchError:
    """The error where the binary that was loaded is not the one for which the launcher was made."""
    return LaunchError(
        f"{BACKEND_NAME}: kernel {kernel}: load_binary gave an object of type {type(function).__name__}, and the "
        f"launcher takes {expected}: the binary is for another device than its metadata says (an old override file?), "
        "or load_binary and launcher_cls of backend/driver.py were not changed together"
    )


def grid_size(axis: str, size: Any) -> int:
    """One of a grid's sizes as an int: anything that is an integer will do. Raises LaunchError."""
    try:
        number = size.__index__()
    except (AttributeError, TypeError):
        raise LaunchError(f"the grid's size along {axis} must be an integer, not {size!r}") from None
    if not 0 <= number < 1 << 31:
        raise LaunchError(f"the grid's size along {axis} must be between 0 and 2147483647, not {number}")
    return int(number)


class Traps:
    """What the codes mean that a kernel can stop with. ``table``: ``[kind, message, file, line]`` for codes
    from 1 on."""

    def __init__(self, kernel: str, table: Sequence[Sequence[Any]]) -> None:
        self.kernel = kernel
        self.table = table

    def failure(self, result: int, grid: Sequence[int]) -> Exception:
        """The error of a launch on the reference device. ``result``: what `run_function` returned."""
        if result == OUT_OF_MEMORY:
            return MemoryError(f"{BACKEND_NAME}: no memory for the workspace of kernel {self.kernel}")
        if result < TOO_FEW_THREADS:
            return LaunchError(
                f"{BACKEND_NAME}: a cooperative launch of kernel {self.kernel} needs {prod(grid)} threads, one for "
                f"each program, and the system gives {TOO_FEW_THREADS - result} (ulimit -u, or a limit of the "
                "container): nothing has run"
            )
        number, code = divmod(result, 1 << CODE_BITS)
        x, y, z = (int(size) for size in grid)
        return self.trapped(code, program_text((number % x, number // x % y, number // x // y), (x, y, z)))

    def trapped(self, code: int, program: str = "") -> Exception:
        """The error of a launch that was ended by a trap. ``program``: which of them trapped, if that is known."""
        if not 1 <= code <= len(self.table):
            return BackendError(f"{BACKEND_NAME}: kernel {self.kernel} stopped with unknown trap code {code}")
        kind, message, file, line = self.table[code - 1]
        what = "device-side assert triggered" if kind == "assert" else f"device-side {kind} check failed"
        where = f" at {file}:{line}" if file else ""
        whose = f"kernel {self.kernel}" + (f", {program}" if program else "")
        return DeviceAssertion(f"{what}: {message}{where} ({whose})")
