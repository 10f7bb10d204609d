"""Kernels that call functions for kernels, and what they give: run twice, compiled and in Triton's interpreter.

python interpreted_kernels.py RESULTS.npz
"""

from __future__ import annotations

import sys

import numpy as np
import torch
import triton
import triton.language as tl

from <<cookiecutter.package_name>>.language.blocks import shift
from <<cookiecutter.package_name>>.language.elementwise import activation, saturate
from <<cookiecutter.package_name>>.language.libdevice import atan2, erfinv, isnan, mulhi, popc, pow

KINDS = ("linear", "relu", "leaky_relu", "sigmoid", "silu", "gelu", "tanh")


@triton.jit
def activate(x, y, scale, KIND: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    columns = tl.arange(0, N)
    i = tl.arange(0, M)[:, None] * N + columns[None, :]
    tl.store(y + i, activation(tl.load(x + i), KIND, tl.load(scale + columns)[None, :], 0.25))


@triton.jit
def narrow(x, y, TO: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, saturate(tl.load(x + i) * 100, TO))


@triton.jit
def move(x, y, BY: tl.constexpr, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(y + i, shift(tl.load(x + i), BY, AXIS, 7))


@triton.jit
def library(x, y, whole, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    small = value / (1 + tl.abs(value))
    total = erfinv(small) + atan2(value, 0.5) + pow(tl.abs(value), 1.5)
    tl.store(y + i, tl.where(isnan(total), 0.0, total))
    number = (value * 1e6).to(tl.int32)
    tl.store(whole + i, popc(number) + mulhi(number, number) + popc(tl.full((), 255, tl.int32)))


@triton.jit
def behind_a_sum(x, y, N: tl.constexpr):
    """Triton's interpreter exchanges functions of ``triton.language`` for a call of one that is itself a kernel's."""
    i = tl.arange(0, N)
    value = tl.load(x + i)
    total = tl.sum(value, 0)
    tl.store(y + i, activation(value, "silu") + pow(tl.abs(value), 1.5) + shift(value, 1, 0, 0) + total * 0)


def results() -> dict[str, np.ndarray]:
    found = {}
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((8, 256)).astype(np.float32))
    scale = torch.linspace(-2, 2, 256)
    for kind in KINDS:
        for dtype in (torch.float32, torch.bfloat16, torch.float64):
            y = torch.empty_like(x, dtype=dtype)
            activate[(1,)](x.to(dtype), y, scale, kind, 8, 256)
            found[f"{kind} {dtype}"] = y.double().numpy()
    # Not to fp8: the interpreter's own conversion loses the carry into the exponent (127 becomes 64).
    for name in ("int8", "uint8", "int16", "uint16"):
        y = torch.empty(2048, dtype=getattr(torch, name))
        narrow[(1,)](x, y, getattr(tl, name), 2048)
        found[name] = y.double().numpy()
    for by, axis in ((3, 0), (-5, 1), (300, 1), (0, 0)):
        y = torch.empty_like(x)
        move[(1,)](x, y, by, axis, 8, 256)
        found[f"shift {by} {axis}"] = y.numpy()
    y = torch.empty(1024)
    behind_a_sum[(1,)](x, y, 1024)
    found["sum.library"] = y.numpy()
    y, whole = torch.empty(1024), torch.empty(1024, dtype=torch.int32)
    library[(1,)](x, y, whole, 1024)
    return {**found, "library": y.numpy(), "integers": whole.numpy()}


if __name__ == "__main__":
    np.savez(sys.argv[1], **results())
