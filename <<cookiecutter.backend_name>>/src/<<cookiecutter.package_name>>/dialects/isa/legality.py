"""What the machine of ``target.py`` can execute. The dialect has more, which passes expand where the machine lacks it.

`verify_legal` runs after the last pass on instructions, when passes are verified.
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...errors import CompileError
from ...target import SPECIAL_FUNCTIONS, VECTOR_TYPES
from ...target_rules import COMPUTED_TYPES, EXPANDABLE
from ..locations import location_of
from .base import mnemonic
from .checks import element_name
from .matrix import Mma, has_unit_for

LACKING_TYPES: Final = frozenset(COMPUTED_TYPES) - VECTOR_TYPES
LACKING_INSTRUCTIONS: Final = frozenset(map(mnemonic, EXPANDABLE - SPECIAL_FUNCTIONS))


def lacking(op: Operation) -> str:
    """What the machine lacks to execute `op`; empty where nothing is."""
    if op.name in LACKING_INSTRUCTIONS:
        return f"instruction {op.name} (SPECIAL_FUNCTIONS)"
    if isinstance(op, Mma) and not has_unit_for(str(op.acc_type)):
        return f"matrix unit for {op.acc_type} (MATRIX_TILE, VECTOR_TYPES)"
    arguments = (argument for region in op.regions for block in region.blocks for argument in block.args)
    for value in (*op.operands, *op.results, *arguments):
        if element_name(value.type) in LACKING_TYPES:
            return f"registers of {element_name(value.type)} (VECTOR_TYPES)"
    return ""


def verify_legal(module: ModuleOp) -> None:
    """Raises CompileError for the first instruction that the machine cannot execute."""
    for op in module.walk():
        what = lacking(op)
        if what:
            raise CompileError(
                f"{op.name} is left after the last pass, but the machine of target.py has no {what}",
                location=location_of(op),
                add_support_in="passes/",
            )
