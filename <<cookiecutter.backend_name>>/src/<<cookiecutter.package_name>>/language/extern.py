"""Functions for kernels that are computed lane by lane: `extern_function` makes one.

A call becomes a ``tt.extern_elementwise`` whose symbol is ``math.NAME``, or ``math.NAME.u`` where the first
operand is unsigned, which TTIR does not tell; ``lowering/extern_elementwise.py`` turns it into instructions.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

from triton.language import core
from xdsl.ir import Operation

from ..dialects.formula import Rule
from ..dialects.isa.definitions import check_class, operand_count
from ..errors import DefinitionError
from ..lowering.extern_elementwise import PREFIX, lower_function
from .decorator import extern_elementwise, function_for_kernels

TYPES: Final[dict[str, Any]] = {
    "f": core.float32,
    "d": core.float64,
    "c": core.int8,
    "s": core.int16,
    "i": core.int32,
    "l": core.int64,
    "u": core.uint32,
    "v": core.uint64,
    "b": core.int1,
}
"""Letters of a signature; "fi>f" takes an fp32 and an int32 and gives an fp32."""

UNSIGNED: Final = "uv"

MOST_OPERANDS: Final = 4


def symbol_of(name: str, arguments: str) -> str:
    """The symbol in TTIR of function `name` for operands of types `arguments`, in letters of `TYPES`."""
    return f"{PREFIX}{name}.u" if arguments[0] in UNSIGNED else PREFIX + name


def extern_function(
    name: str, signatures: str, lowering: type[Operation] | Rule | None = None, *, module: str = __name__
) -> Callable[..., Any]:
    """A lane-wise function of tensors and scalars for kernels, such as ``relu_clip(x, 6.0)``.

    ``signatures``: one for each choice of types, in letters of `TYPES`: ``"ff>f dd>d"``. Calls with other types are a
    TypeError where the kernel is compiled. ``lowering``: the instruction that it is, or a `Rule` that makes it of
    several; None if ``lowering/extern_elementwise.py`` has it already. ``module``: where the function says it is from.
    Raises ValueError if there is another function of the name, and for signatures that cannot be.
    """
    choices = read_signatures(name, signatures)
    if lowering is not None:
        check_operands(name, choices, lowering)
        lower_function(name, lowering)
    overloads = {
        tuple(TYPES[letter] for letter in arguments): (symbol_of(name, arguments), TYPES[result])
        for arguments, result in choices
    }

    def apply(args: list[Any], semantic: Any) -> Any:
        tensors = [semantic.to_tensor(arg) for arg in args]
        given = tuple(tensor.dtype for tensor in tensors)
        if given not in overloads:
            raise TypeError(f"{name} takes {_spell(*overloads)}, not {_spell(given)}: convert with .to(...)")
        return extern_elementwise("", "", tensors, overloads, is_pure=True, _semantic=semantic)

    # Triton looks at the signature and passes keywords on, so each number of operands needs its own.
    def unary(arg0: Any, _semantic: Any = None) -> Any:
        return apply([arg0], _semantic)

    def binary(arg0: Any, arg1: Any, _semantic: Any = None) -> Any:
        return apply([arg0, arg1], _semantic)

    def ternary(arg0: Any, arg1: Any, arg2: Any, _semantic: Any = None) -> Any:
        return apply([arg0, arg1, arg2], _semantic)

    def quaternary(arg0: Any, arg1: Any, arg2: Any, arg3: Any, _semantic: Any = None) -> Any:
        return apply([arg0, arg1, arg2, arg3], _semantic)

    arity = len(choices[0][0])
    function: Callable[..., Any] = (unary, binary, ternary, quaternary)[arity - 1]
    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = f"{name}: {signatures}."
    return function_for_kernels(function)


def read_signatures(name: str, signatures: str) -> list[tuple[str, str]]:
    """``"ff>f dd>d"`` as ``[("ff", "f"), ("dd", "d")]``. Raises DefinitionError."""
    choices: list[tuple[str, str]] = []
    for signature in signatures.split():
        arguments, arrow, result = signature.partition(">")
        if not arrow or not 1 <= len(arguments) <= MOST_OPERANDS or len(result) != 1:
            raise DefinitionError(
                f"{name}: a signature is letters of 1 to {MOST_OPERANDS} operands, > and the letter of the result, "
                f'such as "ff>f", not {signature!r}'
            )
        for letter in arguments + result:
            if letter not in TYPES:
                known = ", ".join(f"{known} ({ty})" for known, ty in TYPES.items())
                raise DefinitionError(
                    f"{name}: no type has the letter {letter!r} of {signature!r}; there are {known}"
                )
        choices.append((arguments, result))
    if not choices:
        raise DefinitionError(f'{name}: there is no signature, such as "ff>f"')
    if len({len(arguments) for arguments, _ in choices}) > 1:
        raise DefinitionError(f"{name}: the signatures {signatures!r} differ in their numbers of operands")
    return choices


def check_operands(name: str, choices: list[tuple[str, str]], lowering: type[Operation] | Rule) -> None:
    """Raises DefinitionError where the signatures have another number of operands than what computes the function."""
    given = len(choices[0][0])
    if isinstance(lowering, type):
        instruction: type[Operation] = lowering
        check_class(instruction)
        wanted = operand_count(instruction)
        if wanted is not None and wanted != given:
            raise DefinitionError(
                f"{name}: the instruction {instruction.name} has {wanted} operands, the signature "
                f'"{choices[0][0]}>{choices[0][1]}" has {given}'
            )
        return
    try:
        inspect.signature(lowering).bind(None, *choices[0][0])
    except TypeError as error:
        raise DefinitionError(
            f"{name}: the rule {lowering.__qualname__} does not take a formula and the {given} operands of "
            f'"{choices[0][0]}>{choices[0][1]}": {error}'
        ) from None


def _spell(*overloads: tuple[Any, ...]) -> str:
    return " or ".join(f"({', '.join(str(ty) for ty in types)})" for types in overloads)
