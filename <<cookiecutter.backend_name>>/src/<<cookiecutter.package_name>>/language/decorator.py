"""What makes a Python function one that kernels call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from triton.language import core

extern_elementwise = core.extern_elementwise
"""Taken here, and not where a kernel calls it: once an interpreted kernel has called a function such as ``tl.sum``, the
one in `core` no longer gets the ``_semantic`` that it is given."""


def function_for_kernels(implementation: Callable[..., Any]) -> Callable[..., Any]:
    """Makes one of a Python function that builds operations by its keyword ``_semantic``, as ``triton.language`` does.

    Triton's compiler hands ``_semantic`` over. Its interpreter (``TRITON_INTERPRET=1``) simply calls the functions
    that a kernel calls, and lends its own to those of ``triton.language`` only.
    """

    marked = core.extern(implementation)

    @functools.wraps(marked)  # with the attributes by which Triton knows it
    def call(*args: Any, _semantic: Any = None, **kwargs: Any) -> Any:
        return marked(*args, _semantic=_semantic or _of_interpreter(), **kwargs)

    return call


def _of_interpreter() -> Any:
    from triton import knobs

    if not knobs.runtime.interpret:
        return None
    from .interpreted import interpreter

    return interpreter()
