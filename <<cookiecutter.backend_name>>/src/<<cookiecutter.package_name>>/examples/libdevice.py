"""Mathematical functions beyond ``tl.*``: a kernel calls ``libdevice.<name>``, the backend says what that means.

Which function is called is a compile-time constant here, so each name gives its own small kernel.
"""

import numpy as np
import triton
import triton.language as tl
from triton.language.extra import libdevice

from .arrays import Array, empty_like

FUNCTIONS = ("asin", "acos", "atan", "sinh", "cosh", "tan", "log1p", "expm1", "cbrt")
NUMPY_NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan"}


@triton.jit
def map_libdevice(x, out, count, FUNCTION: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < count
    value = tl.load(x + lanes, mask=inside)
    if FUNCTION == "asin":
        value = libdevice.asin(value)
    elif FUNCTION == "acos":
        value = libdevice.acos(value)
    elif FUNCTION == "atan":
        value = libdevice.atan(value)
    elif FUNCTION == "sinh":
        value = libdevice.sinh(value)
    elif FUNCTION == "cosh":
        value = libdevice.cosh(value)
    elif FUNCTION == "tan":
        value = libdevice.tan(value)
    elif FUNCTION == "log1p":
        value = libdevice.log1p(value)
    elif FUNCTION == "expm1":
        value = libdevice.expm1(value)
    elif FUNCTION == "cbrt":
        value = libdevice.cbrt(value)
    else:
        tl.static_assert(False, "FUNCTION is not one of FUNCTIONS")
    tl.store(out + lanes, value, mask=inside)


def run(x: Array, function: str, out: Array | None = None, *, block: int = 1024) -> Array:
    """``function`` (one of `FUNCTIONS`) of each element of ``x``, which is float32 or float64."""
    out = empty_like(x) if out is None else out
    count = x.numel()
    map_libdevice[(triton.cdiv(count, block),)](x, out, count, FUNCTION=function, BLOCK=block)
    return out


def reference(x: np.ndarray, function: str) -> np.ndarray:
    return getattr(np, NUMPY_NAMES.get(function, function))(x)
