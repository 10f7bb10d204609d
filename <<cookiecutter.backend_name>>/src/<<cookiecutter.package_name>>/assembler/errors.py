"""What can go wrong between instructions and a binary."""

from __future__ import annotations

from ..errors import CompileError
from ..resources import OutOfMachineResources


class AssemblyError(CompileError):
    """Assembly text that is not what the assembler writes; ``location`` is the line of the text."""


class EncodingError(CompileError):
    """A binary that is damaged, or was made by another version or for another target."""


class OutOfRegisters(OutOfMachineResources):
    """A kernel needs more registers, or more scratchpad for spilled ones, than the target has."""
