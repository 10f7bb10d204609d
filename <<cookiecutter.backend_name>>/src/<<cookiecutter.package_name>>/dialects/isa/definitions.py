"""What makes a class an instruction, and where the rest of an instruction belongs.

xDSL takes a class without its decorator, and fails over it later, in words that do not name the class.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Final

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation, VarOperandDef

from ...errors import DefinitionError
from ...target import BACKEND_NAME, PACKAGE_NAME

PREFIX = f"{BACKEND_NAME}."
PACKAGE_FOLDER = Path(__file__).parents[2]

MODULES: Final = frozenset(
    "addresses alu base checks control convert definitions lanes legality math_library matrix memory printing "
    "verification".split()
)
"""The files of this folder that the template has."""


def added_modules(path: Iterable[str]) -> tuple[str, ...]:
    """Names of the modules in this folder that are not in `MODULES`, in their order."""
    return tuple(sorted({module.name for module in pkgutil.iter_modules(path)} - MODULES))


def import_companions(package: str, path: Iterable[str], names: Iterable[str]) -> None:
    """Imports those modules of a package (which lies in `path`) that have one of the names: what they enter into its
    table is then there."""
    here = {module.name for module in pkgutil.iter_modules(path)} if names else set[str]()
    for name in names:
        if name in here:
            import_module(f"{package}.{name}")


def check_class(cls: type[Operation]) -> None:
    """Raises DefinitionError for a class of an operation that xDSL's decorator has not seen, or without a name."""
    if not issubclass(cls, IRDLOperation):
        return
    if "get_irdl_definition" not in vars(cls):
        raise DefinitionError(
            f"{BACKEND_NAME}: the class {cls.__qualname__} ({defined_at(cls)}) lacks @irdl_op_definition above it"
        )
    if "name" not in vars(cls):
        raise DefinitionError(
            f'{BACKEND_NAME}: the class {cls.__qualname__} ({defined_at(cls)}) has no name = mnemonic("...")'
        )


def check_instructions(instructions: Iterable[type[Operation]]) -> None:
    """Raises DefinitionError for one that is not defined fully, and for two that have one name."""
    seen: dict[str, type[Operation]] = {}
    for cls in instructions:
        check_class(cls)
        if not cls.name.startswith(PREFIX):
            raise DefinitionError(
                f"{BACKEND_NAME}: the class {cls.__qualname__} ({defined_at(cls)}) has the name {cls.name!r}: "
                f'write name = mnemonic("{cls.name.rpartition(".")[2]}"), which begins with the dialect\'s {PREFIX!r}'
            )
        other = seen.setdefault(cls.name, cls)
        if other is not cls:
            raise DefinitionError(
                f"{BACKEND_NAME}: the classes {other.__qualname__} ({defined_at(other)}) and {cls.__qualname__} "
                f"({defined_at(cls)}) have one name, {cls.name!r}"
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
    return f"{folder}/{cls.__module__.removeprefix(own)}.py, {how}"


def defined_at(cls: type[Operation]) -> str:
    """``file:line`` of a class, from the package's folder on."""
    try:
        path, line = Path(inspect.getfile(cls)), inspect.getsourcelines(cls)[1]
    except (OSError, TypeError):  # typed into a prompt
        return cls.__module__
    name = path.relative_to(PACKAGE_FOLDER) if path.is_relative_to(PACKAGE_FOLDER) else path
    return f"{name}:{line}"
