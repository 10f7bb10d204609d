"""Errors that Triton's autotuner understands: it skips a configuration that needs more than the machine has.

Imports Triton, unlike ``errors.py``: import this where such an error is raised.
"""

from __future__ import annotations

from typing import Any

from triton.runtime.errors import OutOfResources

from .errors import CompileError
from .target import BACKEND_NAME


class OutOfMachineResources(CompileError, OutOfResources):
    """A kernel needs more of something than the machine in ``target.py`` has: `required` of `name`, of `limit`."""

    def __init__(self, required: int, limit: int, name: str, location: str = "") -> None:
        self.required, self.limit, self.name = required, limit, name
        self.message = (
            f"out of resource: {name}: {required} needed, {limit} available (see target.py). {self.advice()}"
        )
        self.location, self.add_support_in = location, ""
        Exception.__init__(self, self.message)

    def advice(self) -> str:
        """What needs fewer of it."""
        return "Smaller blocks need fewer"

    def __str__(self) -> str:
        return f"{BACKEND_NAME}: {self.message}" + (f"\n  at {self.location}" if self.location else "")

    def __reduce__(self) -> Any:
        return (type(self), (self.required, self.limit, self.name, self.location))


class OutOfScratchpad(OutOfMachineResources):
    """A kernel's workspace does not fit the scratchpad of a machine whose scratchpad does not overflow."""
