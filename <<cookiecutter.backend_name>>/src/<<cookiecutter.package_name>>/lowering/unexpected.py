"""The error where the lowering breaks on something that it does not expect, a type that a newer Triton prints, say.

A bare ``AssertionError`` from deep inside would not say which line of the kernel it is about.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException

from ..dialects.locations import location_of
from ..errors import CompileError

PACKAGE_FOLDER: Final = Path(__file__).parents[1]

UNEXPECTED: Final = (
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    TypeError,
    ValueError,
    VerifyException,
)


@contextmanager
def explained(operation: Callable[[], Operation | None]) -> Generator[None, None, None]:
    """Raises CompileError for what breaks inside, with the place and the types of the ``operation`` that is lowered by
    then. An error that says what is wrong gets the place, if it had none."""
    try:
        yield
    except CompileError as error:
        op = operation()
        if error.location or op is None:
            raise
        raise error.at(location_of(op)) from error.__cause__
    except UNEXPECTED as error:
        op = operation()
        what = "the kernel" if op is None else f"'{op.name}' {_types(op)}"
        problem = f"{type(error).__name__}{f': {error}' if str(error) else ''}"
        raise CompileError(
            f"the lowering of {what} broke with {problem}. Either the operation is not what it is in the supported "
            "releases of Triton, or this package has a mistake there",
            location="" if op is None else location_of(op),
            add_support_in=_place(error),
        ) from error


def _types(op: Operation) -> str:
    operands = ", ".join(map(str, op.operand_types))
    results = ", ".join(map(str, op.result_types))
    return f"({operands}) -> ({results})"


def _place(error: BaseException) -> str:
    """File and line of this package where an error comes from, or of another where none of this one is passed."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if PACKAGE_FOLDER in Path(frame.filename).parents]
    frame = (ours or frames)[-1]
    path = Path(frame.filename)
    return f"{path.relative_to(PACKAGE_FOLDER) if ours else path}, line {frame.lineno}"
