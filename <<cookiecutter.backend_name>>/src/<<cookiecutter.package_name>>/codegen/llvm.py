"""From a module of instructions to LLVM IR text."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from ..dialects.isa import OWN_FAMILIES
from ..dialects.isa.control import Kernel
from ..dialects.isa.definitions import import_companions
from ..errors import CompileError
from ..host_features import HostFeatures
from . import __path__ as folder
from . import alu, atomics, convert, division, lanes, matrix, memory
from .control import emit_kernel
from .emission import Emitter, Module

FAMILIES = (alu, atomics, convert, division, lanes, memory, matrix)
"""Imported for the instructions they enter into the emission table."""

import_companions(__package__ or "", folder, OWN_FAMILIES)


def emit_module(isa_module: ModuleOp, host: HostFeatures | None = None, producers: Sequence[str] = ()) -> str:
    """LLVM IR with one function a kernel: ``{i32, i64} NAME(ptr args, ptr scratch, ptr launch, i64 first, i64 last)``.

    The code suits `host`, by default the CPU of this process. `producers` are programs and their versions, noted
    as the module's origin. Raises `CompileError` (`UnsupportedOperation`
    for what has no machine code).
    """
    module = Module(host or HostFeatures.current())
    for op in isa_module.body.block.ops:
        if not isinstance(op, Kernel):
            raise CompileError(f"a module of instructions holds only kernels, not {op.name}")
        module.functions[op.sym_name.data] = emit_kernel(Emitter(module), op)
    notes = [f'!{i} = !{{!"{producer}"}}' for i, producer in enumerate(producers)]
    if notes:
        notes.insert(0, f"!llvm.ident = !{{{', '.join(f'!{i}' for i in range(len(producers)))}}}")
    return "\n".join([module.text(), *notes])
