"""Triton IR to the instruction set: the middle of the compiler.

    parse_ttir -> lower_module -> the ISA module -> codegen

`lower_module` walks the kernel in program order. Handlers (one table per file: `simple_ops`, `memory_ops`,
`reduce_ops`, `dot`, `control_flow`, ...) turn values into tiles or scalar registers; roots go to the `Scheduler`,
which emits loop nests.
"""

from __future__ import annotations

import sys
from threading import Lock
from typing import Protocol

from xdsl.dialects.builtin import ArrayAttr, FunctionType, IntegerAttr, ModuleOp, TensorType, i64
from xdsl.ir import Block, Region

from ..dialects import tt
from ..dialects.isa import control
from ..dialects.isa.printing import InstructionModule
from ..dialects.locations import location_of
from ..dialects.tt_enums import InputPrecision
from ..errors import UnsupportedOperation
from ..tables import merged
from ..target import SCRATCHPAD_BYTES, SCRATCHPAD_OVERFLOWS
from . import (
    block_functions,
    control_flow,
    debug_ops,
    dot,
    dot_scaled,
    inline_assembly,
    loops,
    memory_ops,
    reduce_ops,
    simple_ops,
    unstructured,
)
from .cleanup import remove_unused
from .elementwise import register_element
from .inline import inline_calls
from .kernel import Handler, KernelLowering
from .mem2reg import promote_buffers
from .op_order import op_list
from .unexpected import explained
from .unstructured import lower_blocks

HANDLERS: dict[str, Handler] = merged(
    "a handler",
    simple_ops.HANDLERS,
    block_functions.HANDLERS,
    memory_ops.HANDLERS,
    reduce_ops.HANDLERS,
    dot.HANDLERS,
    control_flow.HANDLERS,
    loops.HANDLERS,
    debug_ops.HANDLERS,
    dot_scaled.HANDLERS,
    inline_assembly.HANDLERS,
    unstructured.HANDLERS,
)
"""Operation name -> handler. To support an operation, add it to the table of the file it belongs in."""


class LoweringOptions(Protocol):
    """What the lowering reads of a compilation's options."""

    @property
    def num_warps(self) -> int: ...

    @property
    def warp_size(self) -> int: ...

    @property
    def default_dot_input_precision(self) -> str: ...


def lower_module(module: ModuleOp, options: LoweringOptions) -> ModuleOp:
    """The ISA module of a Triton module with one kernel.

    Raises `UnsupportedOperation` for an operation without a handler, naming it and its source line.
    """
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, tt.FuncOp)}
    kernels = [op for op in functions.values() if op.is_kernel]
    if len(kernels) != 1:
        raise UnsupportedOperation(
            f"a module with {len(kernels)} kernels", add_support_in="lowering/lower.py"
        )
    with deep_recursion:
        inline_calls(kernels[0], functions)
        precision = InputPrecision[options.default_dot_input_precision.upper()]
        lowered = lower_kernel(kernels[0], options.num_warps * options.warp_size, precision)
    return InstructionModule([lowered])


def lower_kernel(function: tt.FuncOp, threads: int, dot_precision: InputPrecision) -> control.Kernel:
    source = function.body
    entry = source.blocks[0]
    types = [register_element(arg.type) for arg in entry.args]
    for arg in entry.args:
        if isinstance(arg.type, TensorType):
            raise UnsupportedOperation(f"kernel argument of type {arg.type}", location=location_of(function))
    body = Block(arg_types=types)
    k = KernelLowering(body, HANDLERS, threads, dot_precision)
    for arg, register in zip(entry.args, body.args, strict=True):
        k.set_scalar(arg, register)
    region = Region(body)
    with explained(lambda: k.current):
        if len(source.blocks) == 1:
            k.lower_ops(op_list(entry))
            k.scheduler.flush()
            body.add_op(control.Return.create())
        else:
            lower_blocks(k, source, region, lambda terminator: k.b.insert(control.Return.create()))
    kernel = control.Kernel.create(
        properties={
            "sym_name": function.sym_name,
            "function_type": FunctionType.from_lists(types, []),
            "scratch_bytes": IntegerAttr(0, i64),
            "traps": ArrayAttr(k.traps),
        },
        regions=[region],
    )
    promote_buffers(kernel, k.scratch.offsets)
    remove_unused(kernel)
    needed = k.scratch.share_memory(kernel)
    if needed > SCRATCHPAD_BYTES and not SCRATCHPAD_OVERFLOWS:
        from ..resources import OutOfScratchpad

        raise OutOfScratchpad(needed, SCRATCHPAD_BYTES, "bytes of scratchpad", location_of(function))
    kernel.scratch_bytes = IntegerAttr(needed, i64)
    return kernel


class DeepRecursion:
    """Lets Python recurse deeply while kernels are lowered: tiles of unrolled kernels nest thousands deep.

    The limit is the interpreter's, and threads compile at the same time: the last one to leave restores it.
    """

    DEPTH = 200_000

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._limit = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limit = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self._limit, self.DEPTH))
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                sys.setrecursionlimit(self._limit)


deep_recursion = DeepRecursion()
