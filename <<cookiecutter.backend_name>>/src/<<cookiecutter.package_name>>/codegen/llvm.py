"""From a module of instructions to LLVM IR text."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ..dialects.isa.control import Kernel
from ..errors import CompileError
from . import alu, atomics, convert, lanes, matrix, memory
from .control import emit_kernel
from .emission import Emitter, Module
from .host import HostFeatures

FAMILIES = (alu, atomics, convert, lanes, memory, matrix)
"""Imported for the instructions they enter into the emission table."""


def emit_module(isa_module: ModuleOp, host: HostFeatures | None = None) -> str:
    """LLVM IR with one function ``i32 NAME(ptr args, ptr scratch, ptr launch, i64 first, i64 last)`` a kernel.

    The code suits `host`, by default the CPU of this process. Raises `CompileError` (`UnsupportedOperation`
    for what has no machine code).
    """
    module = Module(host or HostFeatures.current())
    for op in isa_module.body.block.ops:
        if not isinstance(op, Kernel):
            raise CompileError(f"a module of instructions holds kernels only, but not {op.name}")
        module.functions[op.sym_name.data] = emit_kernel(Emitter(module), op)
    return module.text()
