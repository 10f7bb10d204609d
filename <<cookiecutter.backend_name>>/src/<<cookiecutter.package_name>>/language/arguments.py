"""Checks of what kernels hand to the functions of this folder, made while a kernel is compiled.

Triton adds the kernel's line to what is raised here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from triton.language import core

from ..target import BACKEND_NAME


def plain(value: Any) -> Any:
    """A ``tl.constexpr`` as what it holds; a value of the kernel as it is."""
    return value.value if isinstance(value, core.constexpr) else value


def is_block(value: Any) -> bool:
    """Whether a value of the kernel is a block, and not a scalar."""
    return bool(value.type.is_block())


def spell(value: Any) -> str:
    """How an error calls an argument: the type of a value of the kernel, or what was written."""
    if not isinstance(value, core.tensor):
        return repr(value)
    if is_block(value):
        return f"a block of {value.dtype} and shape {tuple(map(plain, value.shape))}"
    return f"a value of type {value.dtype}"


def names(choices: Iterable[Any]) -> str:
    """``"a, b or c"``."""
    *most, last = map(str, choices)
    return f"{', '.join(most)} or {last}" if most else last


def known_now(function: str, argument: str, value: Any, wanted: str, kind: type) -> Any:
    """An argument that must be known when the kernel is compiled, such as ``wanted="a string"``.

    Raises TypeError.
    """
    value = plain(value)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(
            f"{function}: {argument} must be {wanted}, known when the kernel is compiled (written out, or a "
            f"tl.constexpr), not {spell(value)}"
        )
    return value


def tensor_of(function: str, argument: str, value: Any, types: Iterable[Any], semantic: Any) -> Any:
    """A block or scalar whose elements have one of `types`. Raises TypeError."""
    value = plain(value)
    types = tuple(types)
    if isinstance(value, bool | int | float):
        value = semantic.to_tensor(value)
    if not isinstance(value, core.tensor) or value.dtype not in types:
        raise TypeError(f"{function}: {argument} must be of {names(types)}, not {spell(value)}")
    return value


def scalar_or_block(function: str, argument: str, value: Any, element: Any, semantic: Any) -> Any:
    """A number, or a float tensor that is no wider than `element`, as a tensor of `element`. Raises TypeError."""
    value = plain(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return semantic.scalar_constant(float(value), element)
    if (
        not isinstance(value, core.tensor)
        or not value.dtype.is_floating()
        or value.dtype.primitive_bitwidth > element.primitive_bitwidth
    ):
        raise TypeError(
            f"{function}: {argument} must be a number or floats of at most {element.primitive_bitwidth} bits, "
            f"since it computes in {element} here, not {spell(value)}: convert with .to(...)"
        )
    return semantic.cast(value, element)


def for_this_machine(semantic: Any) -> bool:
    """Whether the kernel is compiled for this machine, and not for a GPU or by another backend."""
    return bool(semantic.builder.options.backend_name == BACKEND_NAME)
