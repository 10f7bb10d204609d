"""How calls of functions for kernels (``language/``) are spelled in TTIR: the prefixes of their symbols, and types.

Those who write the symbols and those who read them agree here. Nothing is imported: it is known to the language, the
lowering and the GPU's backend, which share nothing else.
"""

from __future__ import annotations

from typing import Final

PREFIX: Final = "math."
"""Of the symbols of lane-wise functions."""

SHIFT: Final = "block.shift."
"""Symbol of a shift (`lowering/block_functions.py`), before ``AXIS.BY``. It is not lane-wise."""

LETTERS: Final = {
    "f": "float32",
    "d": "float64",
    "h": "float16",
    "B": "bfloat16",
    "c": "int8",
    "s": "int16",
    "i": "int32",
    "l": "int64",
    "C": "uint8",
    "S": "uint16",
    "u": "uint32",
    "v": "uint64",
    "b": "int1",
}
"""Letter of a signature -> name of the type in ``triton.language``."""

UNSIGNED: Final = "CSuv"
"""Those of `LETTERS` that TTIR does not tell from others."""


def symbol_of(name: str, arguments: str) -> str:
    """The symbol in TTIR of function `name` for operands of types `arguments`, in letters of `LETTERS`."""
    return f"{PREFIX}{name}.u" if arguments[0] in UNSIGNED else PREFIX + name
