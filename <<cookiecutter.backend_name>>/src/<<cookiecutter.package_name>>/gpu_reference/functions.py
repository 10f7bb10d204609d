"""The vendor's own functions for kernels (`language/extern.py`) on the GPU: what each means, in LLVM IR.

A function that `extern_function` made is a call of ``math.NAME`` in LLVM IR. Here it gets a body, once for each choice
of types::

    gpu_function("relu_clip", "ff>f", '''
        %positive = call float @llvm.maxnum.f32(float %0, float 0.0)
        %clipped = call float @llvm.minnum.f32(float %positive, float %1)
        ret float %clipped
    ''')

The body is inlined and optimized with the kernel. It may call intrinsics, and functions of CUDA's libdevice
(``@__nv_expf``), or be inline PTX (``call float asm ...``).
"""

from __future__ import annotations

import hashlib
import re
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from ..errors import UnsupportedOperation
from ..function_symbols import LETTERS, PREFIX, symbol_of

LLVM_FLOATS: Final = {"float32": "float", "float64": "double", "float16": "half", "bfloat16": "bfloat"}

TYPES: Final = {letter: LLVM_FLOATS.get(name, re.sub(r"\D+", "i", name)) for letter, name in LETTERS.items()}
"""Letters of a signature -> LLVM's types."""

_CALLED = re.compile(rf"^declare .*?(\w+) @({re.escape(PREFIX)}[\w.]+)\(([^)]*)\)", re.MULTILINE)

_CALLS = re.compile(r"call (\w+) (@(?:llvm\.|__nv_)[\w.]+)\(([^)]*)\)")
"""Of intrinsics and of functions of libdevice."""

_bodies: dict[str, str] = {}
"""The first line of a definition, without ``define`` -> the body."""


def gpu_function(name: str, signature: str, body: str) -> None:
    """Define a function for one choice of types, such as ``"ff>f"``. The parameters are ``%0``, ``%1``, ...

    Defining it again replaces it. Raises ValueError for an invalid signature.
    """
    arguments, arrow, result = signature.partition(">")
    if not arrow or len(result) != 1 or not arguments or set(arguments + result) - set(TYPES):
        raise ValueError(
            f"{signature!r} is not a signature: write letters of {''.join(TYPES)}, such as 'ff>f'"
        )
    symbol = symbol_of(name, arguments)
    _bodies[_header(TYPES[result], symbol, [TYPES[letter] for letter in arguments])] = body


def _header(result: str, symbol: str, arguments: list[str]) -> str:
    return f"{result} @{symbol}({', '.join(arguments)})"


def _define_own() -> None:
    """The functions of ``language/elementwise.py``."""
    import_module(f"{__package__}.unit_functions")


def _declaration(call: tuple[str, str, str]) -> str:
    result, symbol, operands = call
    types = ", ".join(operand.split()[0] for operand in operands.split(",") if operand.strip())
    return f"declare {result} {symbol}({types})"


def fingerprint() -> str:
    """Changes with every definition."""
    _define_own()
    return hashlib.sha256(repr(sorted(_bodies.items())).encode()).hexdigest()


def link_functions(module: Any) -> None:
    """Define the vendor's functions that an LLVM module calls. Raises UnsupportedOperation for one that has no body."""
    from triton._C.libtriton import llvm, nvidia

    _define_own()
    if not nvidia.has_extern_deps(module):
        return
    called = [
        _header(result, symbol, [argument.split()[0] for argument in arguments.split(",")])
        for result, symbol, arguments in _CALLED.findall(str(module))
    ]
    for header in called:
        if header not in _bodies:
            raise UnsupportedOperation(
                f"a function of this package has no meaning on the GPU for these types: {header}. Give it one with "
                "gpu_function, where the function is made or in a module that is imported with it",
                add_support_in=__file__,
            )
    if not called:
        return
    text = "\n".join(f"define {header} alwaysinline {{\n{_bodies[header]}\n}}" for header in called)
    for declaration in sorted(set(map(_declaration, _CALLS.findall(text)))):
        text += f"\n{declaration}"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "functions.ll")
        file.write_text(text + "\n", encoding="utf-8")
        llvm.link_extern_libs(module, [str(file)])
