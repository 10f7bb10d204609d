"""Errors this backend raises for people: what failed, where in the kernel, why, what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .target import BACKEND_NAME

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self


class BackendError(Exception):
    """Base of every error raised by this backend on purpose."""


class InstallationError(BackendError):
    """The installation cannot work: a missing or unsupported package, or an unusable folder."""


class DefinitionError(BackendError, ValueError):
    """A table, class or function that makes up the compiler, of this package or of an extension, is invalid: two
    instructions with the same number, say. Found when it is read or entered, before a kernel is compiled with it."""


class LaunchError(BackendError, ValueError):
    """A launch was asked for with arguments that the compiled kernel does not take."""


class CompileError(BackendError):
    """A kernel cannot be compiled.

    ``location`` is ``"file:line"`` of the kernel source (``"file:first-last"`` where it is one of these lines), or
    ``""`` where it is unknown; ``add_support_in`` names the file in which the missing support belongs, and the table or
    decorator there.
    """

    def __init__(self, message: str, *, location: str = "", add_support_in: str = "") -> None:
        self.message = message
        self.location = location
        self.add_support_in = add_support_in
        text = f"{BACKEND_NAME}: {message}"
        if location:
            text += f"\n  at {location}"
        if add_support_in:
            text += f"\n  support is added in {add_support_in}"
        super().__init__(text)

    def at(self, location: str) -> Self:
        """The same error, with the location if it had none."""
        if self.location:
            return self
        return type(self)(self.message, location=location, add_support_in=self.add_support_in)

    def __reduce__(self) -> tuple[object, ...]:
        # Triton and torch compile in worker processes: the error must survive pickling.
        return (_rebuild, (type(self), self.message, self.location, self.add_support_in))


class UnsupportedOperation(CompileError):
    """The kernel uses an operation, type or option that is not lowered (yet)."""


def program_text(coordinates: Sequence[int], grid: Sequence[int]) -> str:
    """Which program of a grid an error is about, in words."""
    return f"program {tuple(coordinates)} of the grid {tuple(grid)}"


def _rebuild(cls: type[CompileError], message: str, location: str, add_support_in: str) -> CompileError:
    return cls(message, location=location, add_support_in=add_support_in)
