"""From instructions to a program of the machine: linear code, registers, assembly text, a binary."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from .program import Program


def assemble(module: ModuleOp) -> Program:
    """The program of a module with one kernel, on the machine's registers.

    Raises OutOfRegisters if it does not fit, UnsupportedOperation for instructions that have no machine code.
    """
    from .linearize import linearize_module
    from .registers import allocate

    return allocate(linearize_module(module))
