"""Loading and launching on the emulator: the counterparts of ``runtime/loader.py`` and ``runtime/launcher.py``."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..assembler.encoding import decode
from ..assembler.program import Program
from ..errors import LaunchError
from ..runtime.launcher import Traps, grid_size, wrong_image
from ..runtime.packing import FORMATS, POINTER, Signature, convert_all, find_leaves, read_signature
from .core import Core, register_use
from .cycles import BlockCost, cost_of
from .machine import Buffer
from .profile import record


class LoadedProgram:
    """A program in memory, and its own entry point. Triton keeps it for as long as the kernel."""

    def __init__(self, program: Program) -> None:
        self.program = program

    @cached_property
    def costs(self) -> list[BlockCost]:
        """The time of each block."""
        return [cost_of(block) for block in self.program.blocks]

    def unload(self) -> None:
        """Python does that."""


def load(name: str, image: bytes) -> tuple[LoadedProgram, LoadedProgram, int, int, int]:
    """What ``load_binary`` returns: module, entry point, registers, spills, most threads. Raises EncodingError."""
    program = decode(image)
    spills = sum(instruction.name == "spill" for instruction in program.instructions())
    loaded = LoadedProgram(program)
    return loaded, loaded, sum(register_use(program).values()), spills, 1 << 30


def make_launcher(src: Any, metadata: Any) -> Callable[..., None]:
    """The function that launches one kernel on the emulator; Triton calls it as that of
    ``runtime/launcher.py``.

    Besides that one's errors it raises EmulatorFault for what the machine does not define.
    """
    signature = read_signature(src.signature)
    traps = Traps(str(metadata.name), tuple(metadata.traps))
    if getattr(metadata, "launch_cooperative_grid", False):
        raise LaunchError(
            f"kernel {metadata.name} asks for a cooperative launch: the emulator runs programs one after the other. "
            "Run it on the reference device"
        )

    def launch(
        x: int, y: int, z: int, stream: Any, loaded: LoadedProgram, packed_metadata: Any, launch_metadata: Any,
        enter_hook: Any, exit_hook: Any, *args: Any,
    ) -> None:  # fmt: skip
        arguments, buffers, pointers = bind(args, signature)
        if not isinstance(loaded, LoadedProgram):
            raise wrong_image(str(metadata.name), loaded, "a program for the emulator")
        grid = tuple(grid_size(axis, size) for axis, size in zip("xyz", (x, y, z), strict=True))
        if enter_hook is not None:
            enter_hook(launch_metadata)
        count = grid[0] * grid[1] * grid[2]
        code, where = 0, ""
        if count:
            core = Core(loaded.program, arguments, buffers, pointers)
            code = core.run(grid)
            where = core.program_text
            record(loaded.program.name, loaded.costs, core, count)
        if exit_hook is not None:
            exit_hook(launch_metadata)
        if code:
            raise traps.trapped(code, where)

    return launch


def bind(args: Sequence[Any], signature: Signature) -> tuple[Any, list[Buffer], list[int]]:
    """A launch's arguments in 8-byte slots, the memory they point to, and the slots of pointers of known extent."""
    values = convert_all(args, signature)
    leaves = find_leaves(args, signature.tree)
    layout = struct.Struct("<" + "".join(FORMATS[parameter.kind] for _, parameter in signature.slots))
    packed = np.frombuffer(layout.pack(*values) + bytes(8), np.uint8)
    buffers: list[Buffer] = []
    pointers: list[int] = []
    for slot, (leaf, parameter) in enumerate(signature.slots):
        if parameter.kind != POINTER:
            continue
        value = leaves[leaf] if parameter.part is None else leaves[leaf].base
        extent = extent_of(value)
        if extent is not None:
            pointers.append(slot)
            buffers.append(Buffer(parameter.path, *extent))
    return packed, buffers, pointers


def extent_of(value: Any) -> tuple[int, int] | None:
    """First address of an argument's memory and one past its last; None where that is not known.

    Of a torch tensor it is the whole storage (kernels may reach all of it from a view), of a device array its own
    elements.
    """
    from ..runtime.array import DeviceArray

    if value is None:
        return 0, 0
    if isinstance(value, DeviceArray):
        storage = value.bits()
        low = high = value.data_ptr()
        for size, stride in zip(storage.shape, storage.strides, strict=True):
            if size == 0:
                return low, low
            low, high = (low + (size - 1) * stride, high) if stride < 0 else (low, high + (size - 1) * stride)
        return low, high + storage.itemsize
    whole = getattr(value, "untyped_storage", None)
    if whole is not None:
        storage = whole()
        return storage.data_ptr(), storage.data_ptr() + storage.nbytes()
    base = getattr(value, "base", None)  # a tensor under another type
    return extent_of(base) if hasattr(base, "data_ptr") else None
