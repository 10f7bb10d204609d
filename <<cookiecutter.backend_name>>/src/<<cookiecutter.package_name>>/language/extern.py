"""Functions for kernels that are computed lane by lane: `extern_function` makes one.

A call becomes a ``tt.extern_elementwise`` whose symbol is ``math.NAME``, or ``math.NAME.u`` where the first
operand is unsigned, which TTIR does not tell; ``lowering/extern_elementwise.py`` turns it into instructions.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

from triton.language import core
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, IntegerType
from xdsl.ir import Attribute, Operation

from ..dialects.isa.base import vector
from ..dialects.isa.definitions import check_class, operand_count
from ..dialects.isa.verification import refusal
from ..errors import DefinitionError
from ..formulas.formula import Rule
from ..formulas.functions import lower_function
from ..function_symbols import LETTERS, PREFIX, symbol_of
from ..target import VECTOR_LANES
from .arguments import plain, spell
from .decorator import extern_elementwise, function_for_kernels

TYPES: Final[dict[str, Any]] = {letter: getattr(core, name) for letter, name in LETTERS.items()}
"""Letters of a signature; "fi>f" takes an fp32 and an int32 and gives an fp32."""

ELEMENTS: Final[dict[str, Attribute]] = {
    "float32": Float32Type(),
    "float64": Float64Type(),
    "float16": Float16Type(),
    "bfloat16": BFloat16Type(),
    **{f"{sign}int{width}": IntegerType(width) for width in (8, 16, 32, 64) for sign in ("", "u")},
    "int1": IntegerType(1),
}
"""Names of `LETTERS` -> the elements of registers."""

MOST_OPERANDS: Final = 4


def extern_function(
    name: str, signatures: str, lowering: type[Operation] | Rule | None = None, *, module: str = __name__
) -> Callable[..., Any]:
    """A lane-wise function of tensors and scalars for kernels, such as ``relu_clip(x, 6.0)``.

    ``signatures``: one for each choice of types, in letters of `TYPES`: ``"ff>f dd>d"``. Calls with other types are a
    TypeError where the kernel is compiled. ``lowering``: the instruction that it is, or a `Rule` that makes it of
    several, for signed and unsigned operands alike; None if ``formulas/functions.py`` has it already. ``module``: where
    the function says it is from. Raises ValueError if there is another function of the name, and for signatures that
    are invalid, or not of that instruction.
    """
    choices = read_signatures(name, signatures)
    if lowering is not None:
        check_lowering(name, lowering)
        check_operands(name, choices, lowering)
        for symbol in sorted({symbol_of(name, arguments) for arguments, _ in choices}):
            lower_function(symbol.removeprefix(PREFIX), lowering)
    overloads = {
        tuple(TYPES[letter] for letter in arguments): (symbol_of(name, arguments), TYPES[result])
        for arguments, result in choices
    }
    known = list(overloads)
    parameters = [
        inspect.Parameter(f"arg{number}", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for number in range(len(choices[0][0]))
    ]
    operands = inspect.Signature(parameters)

    def function(*args: Any, _semantic: Any = None, **named: Any) -> Any:
        try:
            bound = operands.bind(*args, **named).args
        except TypeError as error:
            given = "one operand" if len(args) + len(named) == 1 else f"{len(args) + len(named)} operands"
            raise TypeError(f"{name} takes {_spell(*known)}, and was given {given}: {error}") from None
        if not all(isinstance(plain(arg), core.tensor | bool | int | float) for arg in bound):
            raise TypeError(
                f"{name} takes {_spell(*known)}, not ({', '.join(spell(plain(a)) for a in bound)})"
            )
        tensors = [_semantic.to_tensor(arg) for arg in bound]
        types = tuple(tensor.dtype for tensor in tensors)
        if types not in known:  # (pointers cannot be looked up)
            how = "tl.load what is there" if any(ty.is_ptr() for ty in types) else "convert with .to(...)"
            raise TypeError(f"{name} takes {_spell(*known)}, not {_spell(types)}: {how}")
        return extern_elementwise("", "", tensors, overloads, is_pure=True, _semantic=_semantic)

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
                    f"{name}: the letter {letter!r} of {signature!r} must be one of {known}"
                )
        choices.append((arguments, result))
    if not choices:
        raise DefinitionError(f'{name}: there is no signature, such as "ff>f"')
    if len({len(arguments) for arguments, _ in choices}) > 1:
        raise DefinitionError(f"{name}: the signatures {signatures!r} differ in their numbers of operands")
    return choices


def check_lowering(name: str, lowering: Any) -> None:
    """Raises DefinitionError for what is neither an instruction nor a rule."""
    is_class = isinstance(lowering, type)
    is_rule = callable(lowering) and hasattr(lowering, "__qualname__") and hasattr(lowering, "__module__")
    if not (issubclass(lowering, Operation) if is_class else is_rule):
        raise DefinitionError(
            f"{name}: what computes it must be the class of an instruction, or a function that takes a formula and the "
            f"operands (def or lambda), not {lowering!r}"
        )


def check_operands(name: str, choices: list[tuple[str, str]], lowering: type[Operation] | Rule) -> None:
    """Raises DefinitionError where the signatures have other operands than what computes the function."""
    given = len(choices[0][0])
    if isinstance(lowering, type):
        check_instruction(name, choices, lowering)
        return
    try:
        inspect.signature(lowering).bind(None, *choices[0][0])
    except (TypeError, ValueError) as error:
        raise DefinitionError(
            f"{name}: the rule {lowering.__qualname__} does not take a formula and the {given} operands of "
            f'"{choices[0][0]}>{choices[0][1]}": {error}'
        ) from None


def check_instruction(name: str, choices: list[tuple[str, str]], instruction: type[Operation]) -> None:
    """Raises DefinitionError where the instruction has another number of operands, or none of such types."""
    check_class(instruction)
    wanted = operand_count(instruction)
    for arguments, result in choices:
        if wanted is not None and wanted != len(arguments):
            raise DefinitionError(
                f"{name}: the instruction {instruction.name} has {wanted} operands, the signature "
                f'"{arguments}>{result}" has {len(arguments)}'
            )
        registers = [vector(VECTOR_LANES, ELEMENTS[LETTERS[letter]]) for letter in arguments + result]
        wrong = refusal(instruction, tuple(registers[:-1]), registers[-1])
        if wrong:
            raise DefinitionError(
                f'{name}: the instruction {instruction.name} cannot be "{arguments}>{result}": {wrong}'
            )


def _spell(*overloads: tuple[Any, ...]) -> str:
    return " or ".join(f"({', '.join(str(ty) for ty in types)})" for types in overloads)
