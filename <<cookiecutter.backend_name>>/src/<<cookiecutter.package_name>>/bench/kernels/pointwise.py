"""Elementwise kernels: one load, some arithmetic in fp32, one store."""

from typing import Any

import triton
import triton.language as tl

from ...examples.arrays import Array
from ...language import libdevice  # that of triton.language.extra gives None in the interpreter

BLOCK = 1024


@triton.jit
def silu_mul(gate, up, out, count, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < count
    value = tl.load(gate + lanes, mask=inside).to(tl.float32)
    other = tl.load(up + lanes, mask=inside).to(tl.float32)
    result = value * tl.sigmoid(value) * other
    tl.store(out + lanes, result.to(out.dtype.element_ty), mask=inside)


@triton.jit
def activation(x, out, count, FUNCTION: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < count
    value = tl.load(x + lanes, mask=inside)
    if FUNCTION == "gelu":
        value = 0.5 * value * (1 + tl.erf(value * 0.7071067811865476))
    elif FUNCTION == "gelu_tanh":
        inner = 0.7978845608028654 * (value + 0.044715 * value * value * value)
        value = 0.5 * value * (1 + libdevice.tanh(inner))
    elif FUNCTION == "tanh":
        value = libdevice.tanh(value)
    elif FUNCTION == "erf":
        value = tl.erf(value)
    elif FUNCTION == "sin":
        value = tl.sin(value)
    else:
        tl.static_assert(False, "FUNCTION is not one of the above")
    tl.store(out + lanes, value, mask=inside)


def run_silu_mul(gate: Array, up: Array, out: Array) -> Array:
    """``gate * sigmoid(gate) * up``."""
    count = gate.numel()
    silu_mul[(triton.cdiv(count, 4 * BLOCK),)](gate, up, out, count, BLOCK=4 * BLOCK)
    return out


def run_activation(x: Array, out: Array, function: str) -> Array:
    """``function`` of each element; its names are those in the kernel."""
    count = x.numel()

    def grid(meta: dict[str, Any]) -> tuple[int]:
        return (triton.cdiv(count, meta["BLOCK"]),)

    activation[grid](x, out, count, FUNCTION=function, BLOCK=4 * BLOCK)
    return out
