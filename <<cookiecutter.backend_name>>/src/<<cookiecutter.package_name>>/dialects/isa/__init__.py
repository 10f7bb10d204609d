"""The instruction set as an xDSL dialect: one small class per instruction, a file per family."""

from __future__ import annotations

from typing import cast

from xdsl.ir import Attribute, Dialect, Operation

from ...target import BACKEND_NAME
from ..locations import SourceLoc
from . import alu, control, convert, lanes, matrix, memory
from .base import Instruction
from .definitions import check_instructions

FAMILIES = (alu, convert, lanes, memory, matrix, control)

INSTRUCTIONS: tuple[type[Operation], ...] = tuple(
    cast(type[Operation], item)
    for family in FAMILIES
    for item in vars(family).values()
    if isinstance(item, type) and issubclass(item, Instruction) and "name" in vars(item)
)

check_instructions(INSTRUCTIONS)

ATTRIBUTES: tuple[type[Attribute], ...] = (SourceLoc, alu.Predicate)

ISA = Dialect(BACKEND_NAME, list(INSTRUCTIONS), list(ATTRIBUTES))
