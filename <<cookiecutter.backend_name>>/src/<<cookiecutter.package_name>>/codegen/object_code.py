"""From LLVM IR text to relocatable object code for the CPU of this process."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import llvmlite.binding as llvm

from ..errors import CompileError
from ..host_features import HostFeatures
from .llvm_options import flag

OPTIMISATION = 2
"""Effort of instruction selection and register allocation. No IR passes run: the text is vectorised already,
and they cost more time than all the rest together without making the code faster."""

KEEPS_ADDRESSES = "disable-lsr"
"""LLVM's flag that leaves the addresses in loops as the text has them. What it would do instead takes a third of the
time that code generation takes. On x86, whose instructions add an index and an offset by themselves, the kernels of
the benchmark run about as fast without: most within 2 %, some up to 10 % faster, a few up to 4 % slower."""


def compile_llvm(llir: str, host: HostFeatures | None = None) -> bytes:
    """Object code (ELF, Mach-O or COFF as the system has it), position independent.

    Raises `CompileError` with the place of a copy of `llir` if LLVM does not accept it.
    """
    host = host or HostFeatures.current()
    try:
        module = llvm.parse_assembly(llir)
        module.verify()
    except RuntimeError as error:
        raise CompileError(
            f"LLVM rejects what was emitted for this kernel: {error}\n  the LLVM IR is saved in {_save(llir)}\n"
            "  a function under @emits writes it: fix yours, or the text, if you edited it; otherwise this is a bug "
            "of this backend: please report it with that file"
        ) from error
    with module, flag(KEEPS_ADDRESSES, on=host.is_x86):
        return bytes(_machine(host).emit_object(module))


_machines: dict[HostFeatures, Any] = {}


def _machine(host: HostFeatures) -> Any:
    machine = _machines.get(host)
    if machine is None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_triple(host.triple).create_target_machine(
            cpu=host.name, features=host.features, opt=OPTIMISATION, reloc="pic", codemodel="default"
        )
        _machines[host] = machine
    return machine


def _save(llir: str) -> str:
    handle, path = tempfile.mkstemp(suffix=".ll", prefix="rejected-")
    with os.fdopen(handle, "w") as file:
        file.write(llir)
    return path
