"""What can go wrong between instructions and a binary."""

from __future__ import annotations

from ..errors import CompileError
from ..resources import OutOfMachineResources
from ..target import REGISTER_GROUP


class AssemblyError(CompileError):
    """Assembly text that is not what the assembler writes; ``location`` is the line of the text."""


class EncodingError(CompileError):
    """A binary that is damaged, or was made by another version or for another target."""


class OutOfRegisters(OutOfMachineResources):
    """A kernel needs more registers, or more scratchpad for spilled ones, than the target has."""

    def advice(self) -> str:
        # One instruction and what it works on is all that is left when registers run out: the rest was spilled.
        if self.name == "vector registers" and REGISTER_GROUP > 1:
            return (
                "One instruction alone needs them: each of its operands takes up to "
                f"REGISTER_GROUP = {REGISTER_GROUP}. With a smaller one, or blocks shorter than a group, it needs fewer"
            )
        return super().advice()
