"""Verifying instructions whose classes are not ours: what is wrong with the use, and what with the class itself.

A ``check`` that refuses something raises VerifyException. Any other exception is a mistake in the check, and an error
must not blame the kernel, the lowering or a pass for it.
"""

from __future__ import annotations

import inspect
import linecache
import re
from functools import lru_cache
from traceback import walk_tb
from typing import Final

from xdsl.ir import Attribute, Block, Operation
from xdsl.utils.exceptions import VerifyException

VERIFIERS: Final = ("check", "verify_")

_SAME_TYPE: Final = re.compile(r"attribute (.+) expected from variable '\w+', but got (.+)")
"""How xDSL says that two operands or results differ in type."""


def mistake_in_check(error: Exception) -> str:
    """Which class has a check that raised `error` by mistake, and on which line of its file; "" for an exception that
    does not come from one."""
    if isinstance(error, VerifyException):
        return ""
    frames = list(walk_tb(error.__traceback__))
    for frame, _ in reversed(frames):
        op = frame.f_locals.get("self")
        if frame.f_code.co_name in VERIFIERS and isinstance(op, Operation):
            file = _file_of(type(op), frame.f_code.co_filename)
            break
    else:
        return ""
    line = [(f, n) for f, n in frames if f.f_code.co_filename == file][-1:]
    sentence = f"{type(op).__qualname__}.{frame.f_code.co_name} (of {op.name}) fails itself: {_spell(error)}"
    return sentence + "".join(f"\n  at {file}:{n}: {linecache.getline(file, n).strip()}" for _, n in line)


def _file_of(cls: type[Operation], otherwise: str) -> str:
    try:
        return inspect.getfile(cls)
    except (OSError, TypeError):  # typed into a prompt
        return otherwise


def _spell(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


@lru_cache(maxsize=512)
def refusal(
    cls: type[Operation],
    operands: tuple[Attribute, ...],
    result: Attribute,
    properties: tuple[tuple[str, Attribute], ...] = (),
) -> str:
    """Why an instruction cannot have these types (and properties), as the end of a sentence; "" where it can."""
    block = Block(arg_types=operands)
    try:
        op = cls.create(operands=list(block.args), result_types=[result], properties=dict(properties))
        block.add_op(op)
        op.verify()
    except VerifyException as error:
        return first_line(error)
    except Exception as error:
        return mistake_in_check(error) or _spell(error)
    return ""


def first_line(error: Exception) -> str:
    """What a VerifyException says, without the module that xDSL prints around it."""
    cause = error.__cause__ or error
    lines = [line.strip(" ^|-") for line in str(cause).splitlines()]
    text = next((line for line in lines if line), type(error).__name__)
    differ = _SAME_TYPE.fullmatch(text)
    return f"{differ[1]} and {differ[2]} must be one type" if differ else text
