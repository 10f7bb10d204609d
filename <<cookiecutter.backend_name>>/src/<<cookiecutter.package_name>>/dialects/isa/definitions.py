"""What makes a class an instruction, and where the rest of an instruction belongs.

xDSL takes a class without its decorator, and fails over it later, in words that do not name the class.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, VarOperandDef

from ...errors import DefinitionError
from ...target import BACKEND_NAME, PACKAGE_NAME

PREFIX = f"{BACKEND_NAME}."
PACKAGE_FOLDER = Path(__file__).parents[2]


def check_class(cls: type[Operation]) -> None:
    """Raises DefinitionError for a class of an operation that xDSL's decorator has not seen, or without a name."""
    if not issubclass(cls, IRDLOperation):
        return
    if "get_irdl_definition" not in vars(cls):
        raise DefinitionError(
            f"{BACKEND_NAME}: the class {cls.__qualname__} ({_place(cls)}) lacks @irdl_op_definition above it"
        )
    if "name" not in vars(cls):
        raise DefinitionError(
            f'{BACKEND_NAME}: the class {cls.__qualname__} ({_place(cls)}) has no name = mnemonic("...")'
        )


def check_instructions(instructions: Iterable[type[Operation]]) -> None:
    """Raises DefinitionError for one that is not defined fully, and for two that have one name."""
    seen: dict[str, type[Operation]] = {}
    for cls in instructions:
        check_class(cls)
        if not cls.name.startswith(PREFIX):
            raise DefinitionError(
                f"{BACKEND_NAME}: the class {cls.__qualname__} ({_place(cls)}) has the name {cls.name!r}: "
                f'write name = mnemonic("{cls.name.rpartition(".")[2]}"), which begins with the dialect\'s {PREFIX!r}'
            )
        other = seen.setdefault(cls.name, cls)
        if other is not cls:
            raise DefinitionError(
                f"{BACKEND_NAME}: the classes {other.__qualname__} ({_place(other)}) and {cls.__qualname__} "
                f"({_place(cls)}) have one name, {cls.name!r}"
            )


def operand_count(cls: type[Operation]) -> int | None:
    """How many operands an instruction takes; None where that varies."""
    if not issubclass(cls, IRDLOperation):
        return None
    operands = [operand for _, operand in cls.get_irdl_definition().operands]
    return None if any(isinstance(operand, VarOperandDef) for operand in operands) else len(operands)


def belongs_in(folder: str, cls: type[Operation], how: str) -> str:
    """Which file of `folder` has what an instruction's family needs, and how it is entered there."""
    own = f"{PACKAGE_NAME}.dialects.isa."
    if not cls.__module__.startswith(own):
        return f"the package that defines it ({cls.__module__}), {how}"
    file = f"{folder}/{cls.__module__.removeprefix(own)}.py"
    return f"{file if (PACKAGE_FOLDER / file).is_file() else folder + '/'}, {how}"


def _place(cls: type[Operation]) -> str:
    """``file:line`` of a class, from the package's folder on."""
    try:
        path, line = Path(inspect.getfile(cls)), inspect.getsourcelines(cls)[1]
    except (OSError, TypeError):  # typed into a prompt
        return cls.__module__
    name = path.relative_to(PACKAGE_FOLDER) if path.is_relative_to(PACKAGE_FOLDER) else path
    return f"{name}:{line}"
