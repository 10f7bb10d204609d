# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-decorators=False
"""The functions for kernels of this package, for the report: the same kernels on the GPU and on the reference device.

Triton's own backend does not know them. What they promise is in ``language/elementwise.py`` and ``language/blocks.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import triton
import triton.language as tl

from ..dialects.isa.alu import ACTIVATIONS
from ..examples import cases
from ..examples.arrays import empty
from ..language.blocks import shift
from ..language.elementwise import activation, saturate

COUNT: Final = 20_011
BLOCK: Final = 1024


@triton.jit
def activate_all(x, out, count, scale, bias, KIND: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < count
    tl.store(out + lanes, activation(tl.load(x + lanes, mask=inside), KIND, scale, bias), mask=inside)


@triton.jit
def saturate_all(x, out, count, DTYPE: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < count
    tl.store(out + lanes, saturate(tl.load(x + lanes, mask=inside), DTYPE), mask=inside)


@triton.jit
def shift_all(x, out, fill, BY: tl.constexpr, AXIS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    places = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(out + places, shift(tl.load(x + places), BY, AXIS, fill))


def sigmoid(t: Any) -> Any:
    small = np.exp(-np.abs(t))
    return np.where(t >= 0, 1, small) / (1 + small)


FORMULAS: Final[dict[str, Callable[[Any], Any]]] = {
    "linear": lambda t: t,
    "relu": lambda t: np.maximum(t, 0),
    "relu6": lambda t: np.clip(t, 0, 6),
    "leaky_relu": lambda t: np.where(t > 0, t, t / 100),
    "sigmoid": sigmoid,
    "silu": lambda t: t * sigmoid(t),
    "gelu": lambda t: t * (1 + np.vectorize(math.erf)(t / math.sqrt(2))) / 2,
    "gelu_tanh": lambda t: t * sigmoid(2 * math.sqrt(2 / math.pi) * (t + 0.044715 * t**3)),
    "tanh": np.tanh,
}
"""Kind of activation -> what it is of t, in fp64."""

TOLERANCE: Final = {"float32": 2e-6, "float16": 1e-3, "bfloat16": 8e-3}
"""Of an activation: what it promises, and the rounding to the type."""


def function_cases() -> Iterator[cases.Case]:
    """Each kind and each type once. Saturation and shifts are exact."""
    for kind in ACTIVATIONS:
        yield activation_case(kind, "float32")
    for dtype in ("float16", "bfloat16"):
        yield activation_case("gelu", dtype)
    for source in ("float32", "float16"):
        for narrow in ("int8", "uint8", "int16"):
            yield saturation_case(source, narrow)
    for by, axis in ((1, 0), (-3, 1), (5, 1), (-40, 0)):
        yield shift_case(by, axis)


def activation_case(kind: str, dtype: str) -> cases.Case:
    x, values = cases.Data().between(-12, 12, [COUNT], dtype)
    out = empty([COUNT], like=x, dtype=dtype)
    scale, bias = 0.75, -0.25

    def run() -> list[Any]:
        activate_all[(triton.cdiv(COUNT, BLOCK),)](x, out, COUNT, scale, bias, KIND=kind, BLOCK=BLOCK)
        return [out]

    def expected() -> list[Any]:
        t = (values.astype(np.float64) * scale + bias).astype(np.float32).astype(np.float64)
        return [FORMULAS[kind](t)]

    return cases.Case(
        f"activation {kind}", f"{COUNT}", dtype, run, expected, expected, tolerance=TOLERANCE[dtype]
    )


def saturation_case(source: str, narrow: str) -> cases.Case:
    x, values = cases.Data().between(-400, 400, [COUNT], source)
    out = empty([COUNT], like=x, dtype=narrow)
    ends = np.iinfo(narrow)

    def run() -> list[Any]:
        saturate_all[(triton.cdiv(COUNT, BLOCK),)](x, out, COUNT, DTYPE=getattr(tl, narrow), BLOCK=BLOCK)
        return [out]

    def expected() -> list[Any]:
        return [np.clip(np.rint(values.astype(np.float64)), ends.min, ends.max)]

    return cases.Case(f"saturate to {narrow}", f"{COUNT}", source, run, expected, expected, tolerance=1e-30)


def shift_case(by: int, axis: int) -> cases.Case:
    shape, fill = [32, 64], -1.5
    x, values = cases.Data().normal(shape, "float32")
    out = empty(shape, like=x, dtype="float32")

    def run() -> list[Any]:
        shift_all[(1,)](x, out, fill, BY=by, AXIS=axis, ROWS=shape[0], COLUMNS=shape[1])
        return [out]

    def expected() -> list[Any]:
        index = np.arange(shape[axis]) - by
        inside = (index >= 0) & (index < shape[axis])
        moved = np.take(values, np.where(inside, index, 0), axis)
        return [np.where(inside[:, None] if axis == 0 else inside[None, :], moved, np.float32(fill))]

    return cases.Case(
        f"shift by {by}, axis {axis}", cases.by(*shape), "float32", run, expected, expected, tolerance=1e-30
    )
