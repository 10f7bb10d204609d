"""Inline assembly, which is another chip's. ``tl.extra.cuda``'s functions and ``tl.inline_asm_elementwise`` make it."""

from __future__ import annotations

from typing import Final

from ..dialects import tt
from .kernel import Handler, KernelLowering

SHOWN: Final = 40
"""Characters of the assembly in the error."""


def inline_assembly(k: KernelLowering, op: tt.ElementwiseInlineAsmOp) -> None:
    """Raises UnsupportedOperation: what to write instead."""
    words = " ".join(op.asm_string.data.split())
    shown = f"{words[:SHOWN]}..." if len(words) > SHOWN else words
    raise k.unsupported(
        op,
        f"inline assembly ({op.name}, {shown!r}) is for the chip that it was written for, and is not portable to this "
        "device. What tl.extra.cuda and tl.inline_asm_elementwise give is written in triton.language here, or as a "
        "function of the device's own instructions, made with extern_function",
        "language/extern.py",
    )


HANDLERS: dict[str, Handler] = {"tt.elementwise_inline_asm": inline_assembly}
