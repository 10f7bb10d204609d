"""``tt.extern_elementwise``: calls of the functions for kernels (``formulas/functions.py``) as instructions."""

from __future__ import annotations

from typing import Final

from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects.isa.base import element_of
from ..errors import UnsupportedOperation
from ..formulas.checked import Checked
from ..formulas.formula import Formula, Sink
from ..formulas.functions import ENTERED, INSTRUCTIONS, LIBRARY, RULES
from ..function_symbols import PREFIX

FOREIGN: Final = ("__nv_", "__ocml_")
"""What the symbols of CUDA's and ROCm's libraries begin with (``tl.extra.cuda.libdevice``)."""


def instruction_of(symbol: str) -> type[Operation] | None:
    """The instruction that function `symbol` is, if it is one."""
    return INSTRUCTIONS.get(symbol.removeprefix(PREFIX))


def lower_extern(symbol: str, args: list[SSAValue], result_type: Attribute, builder: Sink) -> SSAValue:
    """The value of function `symbol` (``"math.asin"``) of registers `args`, scalars or vectors of one length.

    Raises:
        UnsupportedOperation: an unknown symbol, or one without a form for these types.
    """
    name = symbol.removeprefix(PREFIX)
    is_entered = name in ENTERED
    f = Formula(Checked(name, builder) if is_entered else builder)
    instruction = INSTRUCTIONS.get(name)
    if instruction is not None:
        value = f(instruction, *args, element=element_of(result_type) if is_entered else None)
    elif name in LIBRARY:
        value = f.call(name, *args)
    elif name in RULES:
        value = RULES[name](f, *args)
    elif symbol.startswith(FOREIGN):
        raise UnsupportedOperation(
            f"{symbol!r} is a function of another chip's library; this device's are in triton.language.extra.libdevice"
        )
    else:
        raise UnsupportedOperation(
            f"no external function {symbol!r} is known", add_support_in="formulas/functions.py"
        )
    if value.type != result_type:
        raise UnsupportedOperation(
            f"external function {symbol!r} gives {value.type}, but {result_type} is wanted",
            add_support_in="" if is_entered else "formulas/functions.py",
        )
    return value
