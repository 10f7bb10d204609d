"""What can go wrong between instructions and a binary."""

from __future__ import annotations

from typing import Any

from triton.runtime.errors import OutOfResources

from ..errors import CompileError
from ..target import BACKEND_NAME


class AssemblyError(CompileError):
    """Assembly text that is not what the assembler writes; ``location`` is the line of the text."""


class EncodingError(CompileError):
    """A binary that is damaged, or was made by another version or for another target."""


class OutOfRegisters(CompileError, OutOfResources):
    """A kernel needs more registers, or more scratchpad for spilled ones, than the target has.

    Triton's autotuner takes it for what it is: the configuration is skipped.
    """

    def __init__(self, required: int, limit: int, name: str, location: str = "") -> None:
        self.required, self.limit, self.name = required, limit, name
        self.message = (
            f"out of resource: {name}: {required} needed, {limit} there (see target.py). "
            "Smaller blocks need fewer"
        )
        self.location, self.add_support_in = location, ""
        Exception.__init__(self, self.message)

    def __str__(self) -> str:
        return f"{BACKEND_NAME}: {self.message}" + (f"\n  at {self.location}" if self.location else "")

    def __reduce__(self) -> Any:
        return (type(self), (self.required, self.limit, self.name, self.location))
