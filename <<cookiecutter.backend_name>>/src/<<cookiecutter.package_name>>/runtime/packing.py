"""From a kernel call's Python arguments to the bytes the kernel reads.

Classes are plain here: making data classes takes as long as importing all the rest, and every process does it.

Each runtime parameter has an 8-byte slot with the value in its low bytes. Which Python object goes where is known once
the signature is known, so the launcher writes a function for exactly that signature: unpack the arguments, one
``struct`` call. Only when that fails are arguments looked at one by one, to convert what ``struct`` does not or to say
what is wrong.
"""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ..errors import LaunchError
from ..rounding import bfloat16_bits, rounded
from . import device_memory

POINTER: Final = "pointer"

FORMATS: Final[dict[str, str]] = {
    POINTER: "Q",
    "i1": "?7x",
    "i8": "b7x",
    "i16": "h6x",
    "i32": "i4x",
    "i64": "q",
    "u1": "?7x",
    "u8": "B7x",
    "u16": "H6x",
    "u32": "I4x",
    "u64": "Q",
    "fp16": "e6x",
    "bf16": "H6x",
    "fp32": "f4x",
    "fp64": "d",
}
"""``struct`` format of a slot, by Triton's name of the type."""

_MLIR_NAMES: Final = {"f16": "fp16", "f32": "fp32", "f64": "fp64", "index": "i64"}
"""Kernels compiled from an IR file have signatures in MLIR's spelling."""

_FLOATS: Final = ("fp16", "bf16", "fp32", "fp64")


class Parameter:
    """One slot: ``path`` leads to the argument (``x`` or ``x[1]`` of a tuple), ``kind`` is a key of `FORMATS`.

    ``part`` is an expression in ``value`` for what a tensor descriptor brings along, else None.
    """

    def __init__(self, path: str, kind: str, part: str | None = None) -> None:
        self.path = path
        self.kind = kind
        self.part = part


class Signature:
    """A kernel's parameters: ``tree`` as Triton gives it (name -> type, nested tuples for tuples) and what
    follows from it.

    The leaves of the tree, constexprs included, are numbered from left to right: ``pattern`` is Python source
    that unpacks an argument tuple into variables ``a0``, ``a1``, ...; ``slots`` names for each slot the leaf
    that its value comes from.
    """

    def __init__(self, tree: dict[str, Any], pattern: str, slots: tuple[tuple[int, Parameter], ...]) -> None:
        self.tree = tree
        self.pattern = pattern
        self.slots = slots


def read_signature(tree: dict[Any, Any]) -> Signature:
    """What follows from the signature of a Triton source. Raises LaunchError for a type that has no slot format."""
    tree = {str(name): type_name for name, type_name in tree.items()}
    leaves = itertools.count()
    slots: list[tuple[int, Parameter]] = []

    def visit(path: str, type_name: Any) -> str:
        if isinstance(type_name, tuple):
            return "[" + ", ".join(visit(f"{path}[{n}]", item) for n, item in enumerate(type_name)) + "]"
        leaf = next(leaves)
        if type_name != "constexpr":
            slots.extend((leaf, parameter) for parameter in _parameters(path, str(type_name)))
        return f"a{leaf}"

    pattern = "[" + ", ".join(visit(name, type_name) for name, type_name in tree.items()) + "]"
    return Signature(tree, pattern, tuple(slots))


def _parameters(path: str, type_name: str) -> Iterator[Parameter]:
    if type_name.startswith("tensordesc"):
        yield from _descriptor_parameters(path, type_name)
        return
    if type_name.startswith(("*", "!tt.ptr")):
        yield Parameter(path, POINTER)
        return
    kind = _MLIR_NAMES.get(type_name, type_name)
    if kind not in FORMATS:
        raise LaunchError(f"parameter {path}: a kernel cannot take an argument of type {type_name!r}")
    yield Parameter(path, kind)


def _descriptor_parameters(path: str, type_name: str) -> Iterator[Parameter]:
    """The slots of a host tensor descriptor once Triton's TTIR pass has turned it into a pointer.

    That pass gives base, shape and strides, the padding and rounding flags; the front end has added shape and strides
    of its own before. The order is the same in Triton 3.7 to 3.9.
    """
    match = re.match(r"tensordesc(?:_im2col)?<[^[>]*\[([^\]]*)\]", type_name)
    if match is None:
        raise LaunchError(f"parameter {path}: not a tensor descriptor type: {type_name!r}")
    given = re.search(r",input_rank=(\d+)", type_name)
    rank = int(given.group(1)) if given else match.group(1).count(",") + 1
    yield Parameter(f"{path}.base", POINTER, "value.base")
    yield from (Parameter(f"{path}.shape[{n}]", "i64", f"value.shape[{n}]") for n in range(rank))
    yield from (Parameter(f"{path}.strides[{n}]", "i64", f"value.strides[{n}]") for n in range(rank))
    yield Parameter(f"{path}.padding", "i1", "value.padding == 'nan'")
    yield Parameter(f"{path}.round_f32_to_tf32", "i1", "value.round_f32_to_tf32")
    yield from (Parameter(f"{path}.shape[{n}]", "i32", f"value.shape[{n}]") for n in range(rank))
    yield from (Parameter(f"{path}.strides[{n}]", "i64", f"value.strides[{n}]") for n in range(rank))


def fast_expression(variable: str, parameter: Parameter, *, check_device: bool) -> str:
    """Python source for the number that goes into the slot; fails (any exception) where `convert` has to look."""
    value = variable if parameter.part is None else parameter.part.replace("value", variable)
    if parameter.kind == POINTER:
        # An attribute that is not there, an unknown device and a null address end up in `convert`.
        address = f"({value}.data_ptr() or REFUSE)"
        return f"({address} if {value}.{device_memory.FLAG} else REFUSE)" if check_device else address
    if parameter.kind == "bf16":
        return f"bfloat16_bits({value})"
    return value


def convert(value: Any, parameter: Parameter) -> Any:
    """The number for one slot, the careful way. Raises LaunchError naming the parameter."""
    if parameter.part is not None:
        try:
            value = eval(parameter.part, {"value": value})  # source text of this file
        except (AttributeError, IndexError, TypeError):
            raise LaunchError(
                f"parameter {parameter.path}: expected a tensor descriptor, got {_what(value)}"
            ) from None
    if parameter.kind == POINTER:
        return _address(value, parameter)
    try:
        if parameter.kind in _FLOATS:
            number = float(value)
            if parameter.kind == "bf16":
                return bfloat16_bits(value if isinstance(value, int) else number)
            return rounded("<" + FORMATS[parameter.kind], number)
        struct.pack("<" + FORMATS[parameter.kind], value)
    except (TypeError, ValueError, struct.error, OverflowError) as error:
        raise LaunchError(
            f"parameter {parameter.path}: {_what(value)} is not a value of type {parameter.kind} ({error})"
        ) from None
    return value


def _address(value: Any, parameter: Parameter) -> int:
    if value is None:
        return 0
    if isinstance(value, int) and not isinstance(value, bool):
        if 0 <= value < 1 << 64:
            return value
        raise LaunchError(f"parameter {parameter.path}: {value} is not an address")
    data_ptr = getattr(value, "data_ptr", None)
    if data_ptr is None:
        raise LaunchError(
            f"parameter {parameter.path}: expected a tensor (something with data_ptr()), got {_what(value)}"
        )
    device_memory.check(value, parameter.path)
    address = int(data_ptr())
    if address == 0 and _elements(value):
        raise LaunchError(
            f"parameter {parameter.path}: the tensor has no memory (a meta or fake tensor, or one whose storage was "
            "freed): give it some before the launch"
        )
    return address


def _elements(value: Any) -> int:
    """How many elements a tensor has; 0 for objects that do not tell."""
    count: Any = getattr(value, "numel", None)
    elements: Any = count() if callable(count) else 0
    return int(elements)


def _what(value: Any) -> str:
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"


_WHO_COUNTS: Final = (
    "If a compiled kernel was launched by hand, give it every parameter, constexprs included. kernel[grid](...) always "
    "does: then this release of Triton calls launchers with other arguments before these, which is new to this package "
    "(runtime/launcher.py has the order)"
)


def find_leaves(args: Sequence[Any], tree: dict[str, Any]) -> list[Any]:
    """The arguments by leaf number. Raises LaunchError naming a missing or extra argument or a tuple of the
    wrong shape."""
    if len(args) < len(tree):
        missing = list(tree)[len(args)]
        raise LaunchError(
            f"missing argument for parameter {missing}: got {len(args)} of {len(tree)} arguments. {_WHO_COUNTS}"
        )
    if len(args) > len(tree):
        names = ", ".join(tree)
        raise LaunchError(f"got {len(args)} arguments for {len(tree)} parameters ({names}). {_WHO_COUNTS}")
    leaves: list[Any] = []

    def visit(path: str, type_name: Any, value: Any) -> None:
        if not isinstance(type_name, tuple):
            leaves.append(value)
        elif isinstance(value, tuple | list) and len(value) == len(type_name):
            for n, (item, part) in enumerate(zip(type_name, value, strict=True)):
                visit(f"{path}[{n}]", item, part)
        else:
            raise LaunchError(
                f"parameter {path}: expected a tuple of {len(type_name)} values, got {_what(value)}"
            )

    for (name, type_name), value in zip(tree.items(), args, strict=True):
        visit(name, type_name, value)
    return leaves


def convert_all(args: Sequence[Any], signature: Signature) -> list[Any]:
    """The numbers for all slots, the careful way. Raises LaunchError naming the argument that does not fit."""
    leaves = find_leaves(args, signature.tree)
    return [convert(leaves[leaf], parameter) for leaf, parameter in signature.slots]
