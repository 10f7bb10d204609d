"""The instruction set as an xDSL dialect: one small class per instruction, a file per family.

A file that is put beside ours is a family, too; what its instructions do is in files of its name in `codegen/` and
`emulator/`. So those of this package's owner and those of the template, which gets newer, are not in one file.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from xdsl.ir import Attribute, Dialect, Operation

from ...target import BACKEND_NAME
from ..locations import SourceLoc
from . import alu, control, convert, lanes, matrix, memory
from .base import Instruction
from .definitions import added_modules, check_instructions

OWN_FAMILIES: tuple[str, ...] = added_modules(__path__)
"""Names of the files that are not the template's."""

FAMILIES = (
    alu, convert, lanes, memory, matrix, control, *(import_module(f".{name}", __name__) for name in OWN_FAMILIES)
)  # fmt: skip

INSTRUCTIONS: tuple[type[Operation], ...] = tuple(
    cast(type[Operation], item)
    for family in FAMILIES
    for item in vars(family).values()
    if isinstance(item, type)
    and issubclass(item, Instruction)
    and item.__module__ == family.__name__  # not one that it imports
    and "name" in vars(item)
)

check_instructions(INSTRUCTIONS)

ATTRIBUTES: tuple[type[Attribute], ...] = (SourceLoc, alu.Predicate)

ISA = Dialect(BACKEND_NAME, list(INSTRUCTIONS), list(ATTRIBUTES))
