"""What is measured: our kernel, torch doing the same work on the same data, and how fast ours should be.

`WORKS` is the table; a line of it makes a `Pair` of functions for the sizes it is asked for. Both sides write to memory
that they were given wherever torch has a way to; where it has none, both allocate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F

from ..examples import fused_attention, fused_softmax, layer_norm, matmul, vector_add
from .kernels import pointwise, rows, transformer

EXACT, FP32, SUMS = 0.0, 2e-6, 2e-5
"""Tolerated errors, relative to max(1, |value|): none, of fp32 arithmetic, of long fp32 sums."""
HALF = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


@dataclass(frozen=True)
class Pair:
    """The same work by two sides; each gives a tensor or several."""

    ours: Callable[[], Any]
    peer: Callable[[], Any]
    tolerance: float
    moved: int
    """Bytes that either side reads and writes at least, if no cache holds them."""
    multiply_adds: int = 0
    """Of fp32 numbers, which both sides do one by one."""


@dataclass(frozen=True)
class Work:
    """A line of the table. ``goal`` and ``goal_all``: torch's time over ours, with one thread and with all."""

    name: str
    goal: float
    goal_all: float
    make: Callable[..., Pair]
    sizes: tuple[int, ...]
    small: tuple[int, ...]
    """Sizes at which a check takes no time."""
    kernels: tuple[Any, ...] = ()
    """The kernels it launches, for the compile-time table."""
    compile_goal: float = 0.0
    """CPU milliseconds to compile one of them; 0 if there is no goal."""

    def shape(self, *, small: bool = False) -> str:
        return " x ".join(map(short, self.small if small else self.sizes))

    def pair(self, *, small: bool = False) -> Pair:
        torch.manual_seed(0)
        return self.make(*(self.small if small else self.sizes))


def short(size: int) -> str:
    """1048576 -> 1M."""
    mega = 1024 * 1024
    return f"{size // mega}M" if size >= mega and size % mega == 0 else str(size)


def moved(*tensors: torch.Tensor) -> int:
    """Bytes of all that is read or written."""
    return sum(tensor.nbytes for tensor in tensors)


# --- elementwise ----------------------------------------------------------------------------------------------


def add(count: int, *, dtype: torch.dtype = torch.float32) -> Pair:
    x, y = (torch.randn(count).to(dtype) for _ in range(2))
    ours, theirs = torch.empty_like(x), torch.empty_like(x)
    return Pair(
        lambda: vector_add.run(x, y, ours), lambda: torch.add(x, y, out=theirs), EXACT, moved(x, y, ours)
    )


def silu_mul(count: int, *, dtype: torch.dtype) -> Pair:
    gate, up = (torch.randn(count).to(dtype) for _ in range(2))
    out = torch.empty_like(gate)
    return Pair(
        lambda: pointwise.run_silu_mul(gate, up, out),
        lambda: F.silu(gate) * up,
        HALF[dtype],
        moved(gate, up, out),
    )


PEERS: dict[str, Callable[[Any, Any], Any]] = {
    "gelu": lambda x, out: F.gelu(x),
    "gelu_tanh": lambda x, out: F.gelu(x, approximate="tanh"),
    "tanh": lambda x, out: torch.tanh(x, out=out),
    "erf": lambda x, out: torch.erf(x, out=out),
    "sin": lambda x, out: torch.sin(x, out=out),
}


def activation(count: int, *, function: str) -> Pair:
    x = torch.randn(count) * 3
    ours, theirs = torch.empty_like(x), torch.empty_like(x)
    return Pair(
        lambda: pointwise.run_activation(x, ours, function),
        lambda: PEERS[function](x, theirs),
        2 * FP32,
        moved(x, ours),
    )


# --- rows -----------------------------------------------------------------------------------------------------


def softmax(count: int, columns: int) -> Pair:
    x = torch.randn(count, columns)
    ours, theirs = torch.empty_like(x), torch.empty_like(x)
    return Pair(
        lambda: fused_softmax.run(x, ours),
        lambda: torch.softmax(x, dim=1, out=theirs),
        FP32,
        moved(x, ours),
    )


def layer_norm_forward(count: int, columns: int) -> Pair:
    x, weight, bias = torch.randn(count, columns), torch.randn(columns), torch.randn(columns)
    return Pair(
        lambda: layer_norm.run_forward(x, weight, bias).y,
        lambda: F.layer_norm(x, (columns,), weight, bias),
        SUMS,
        moved(x, x),
    )


def layer_norm_backward(count: int, columns: int) -> Pair:
    x, weight, bias = torch.randn(count, columns), torch.randn(columns), torch.randn(columns)
    dy = torch.randn(count, columns)
    forward = layer_norm.run_forward(x, weight, bias)
    _, mean, rstd = torch.native_layer_norm(x, (columns,), weight, bias, 1e-5)
    backward = torch.ops.aten.native_layer_norm_backward
    return Pair(
        lambda: layer_norm.run_backward(dy, x, weight, forward),
        lambda: backward(dy, x, (columns,), mean, rstd, weight, bias, (True, True, True)),
        50 * SUMS,  # sums over all rows
        moved(x, dy, x),
    )


def rms_norm(count: int, columns: int) -> Pair:
    x, weight = torch.randn(count, columns), torch.randn(columns)
    return Pair(
        lambda: rows.run_rms_norm(x, weight, torch.empty_like(x)),
        lambda: F.rms_norm(x, (columns,), weight, 1e-6),
        SUMS,
        moved(x, x),
    )


def cross_entropy(count: int, classes: int) -> Pair:
    logits, labels = torch.randn(count, classes), torch.randint(classes, (count,))
    losses = torch.empty(count)
    return Pair(
        lambda: rows.run_cross_entropy(logits, labels, losses),
        lambda: F.cross_entropy(logits, labels, reduction="none"),
        SUMS,
        moved(logits, labels, losses),
    )


def cumulative_sum(count: int, columns: int) -> Pair:
    x = torch.rand(count, columns)
    ours, theirs = torch.empty_like(x), torch.empty_like(x)
    return Pair(
        lambda: rows.run_cumulative_sum(x, ours),
        lambda: torch.cumsum(x, dim=1, out=theirs),
        SUMS,
        moved(x, ours),
    )


def sort(count: int, columns: int) -> Pair:
    x = torch.randn(count, columns)
    out = torch.empty_like(x)
    return Pair(lambda: rows.run_sort(x, out), lambda: torch.sort(x, dim=1).values, EXACT, moved(x, out))


# --- matrices and transformers ----------------------------------------------------------------------------------


def matrix_product(size: int, *, dtype: torch.dtype, precision: str = "ieee") -> Pair:
    a, b = ((torch.rand(size, size) - 0.5).to(dtype) for _ in range(2))
    ours, theirs = torch.empty_like(a), torch.empty_like(a)
    return Pair(
        lambda: matmul.run(a, b, ours, precision=precision),
        lambda: torch.mm(a, b, out=theirs),
        2 * HALF.get(dtype, 5 * SUMS),
        moved(a, b, ours),
        size**3 if dtype == torch.float32 and precision == "ieee" else 0,
    )


def attention(heads: int, length: int, width: int) -> Pair:
    q, k, v = (torch.randn(1, heads, length, width) for _ in range(3))
    return Pair(
        lambda: fused_attention.run(q, k, v, causal=False),
        lambda: F.scaled_dot_product_attention(q, k, v),
        SUMS,
        moved(q, k, v, q),
    )


def rotary(heads: int, length: int, width: int) -> Pair:
    x = torch.randn(heads, length, width)
    angles = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
    cos, sin = angles.cos(), angles.sin()
    cos_twice, sin_twice = torch.cat([cos, cos], -1), torch.cat([sin, sin], -1)
    half = width // 2

    def peer() -> torch.Tensor:
        turned = torch.cat([-x[..., half:], x[..., :half]], dim=-1)
        return x * cos_twice + turned * sin_twice

    return Pair(
        lambda: transformer.run_rotary(x, cos, sin, torch.empty_like(x)), peer, FP32, moved(x, cos, sin, x)
    )


def embedding(tokens: int, vocabulary: int, width: int) -> Pair:
    table, picked = torch.randn(vocabulary, width), torch.randint(vocabulary, (tokens,))
    return Pair(
        lambda: transformer.run_embedding(picked, table, torch.empty(tokens, width)),
        lambda: F.embedding(picked, table),
        EXACT,
        2 * tokens * width * table.itemsize + moved(picked),
    )


# --- the table --------------------------------------------------------------------------------------------------

M = 1024 * 1024
NARROW = {"fp16": torch.float16, "bf16": torch.bfloat16}

WORKS: tuple[Work, ...] = (
    Work("add", 0.95, 0.9, add, (M,), (1000,), (vector_add.vector_add,), 30),
    Work("add large", 0.95, 0.9, add, (16 * M,), (5000,)),
    *(
        Work(f"add {name}", 1.1, 1.1, partial(add, dtype=dtype), (8 * M,), (1000,))
        for name, dtype in NARROW.items()
    ),
    *(
        Work(
            f"silu_mul {name}", 1.1, 1.1, partial(silu_mul, dtype=dtype), (8 * M,), (1000,),
            (pointwise.silu_mul,),
        )
        for name, dtype in NARROW.items()
    ),
    Work("softmax", 1.5, 1.5, softmax, (4096, 1024), (3, 128), (fused_softmax.fused_softmax,), 50),
    Work("softmax ragged", 1.3, 1.3, softmax, (4096, 1000), (3, 100)),
    Work(
        "layer_norm", 1.0, 1.3, layer_norm_forward, (4096, 1024), (3, 100), (layer_norm.layer_norm_forward,)
    ),
    Work(
        "layer_norm backward", 1.0, 1.0, layer_norm_backward, (4096, 1024), (20, 100),
        (layer_norm.layer_norm_backward, layer_norm.add_groups),
    ),
    *(
        Work(
            name, 1.5, 1.5, partial(activation, function=name), (4 * M,), (1000,), (pointwise.activation,)
        )
        for name in PEERS
    ),
    Work(
        "matmul", 1.5, 1.5, partial(matrix_product, dtype=torch.float32), (512,), (65,), (matmul.matmul,), 80
    ),
    Work("matmul large", 1.2, 1.2, partial(matrix_product, dtype=torch.float32), (2048,), (130,)),
    Work(
        "matmul bf16x6", 1.5, 1.5, partial(matrix_product, dtype=torch.float32, precision="bf16x6"), (512,),
        (65,),
    ),
    Work(
        "matmul bf16x6 large", 1.2, 1.2, partial(matrix_product, dtype=torch.float32, precision="bf16x6"),
        (2048,), (130,),
    ),
    Work("matmul bf16", 0.7, 0.7, partial(matrix_product, dtype=torch.bfloat16), (1024,), (65,)),
    Work("matmul fp16", 5.0, 5.0, partial(matrix_product, dtype=torch.float16), (1024,), (65,)),
    Work(
        "attention", 0.7, 0.7, attention, (4, 1024, 64), (2, 70, 32), (fused_attention.fused_attention,), 250
    ),
    Work("cross_entropy", 0.8, 0.8, cross_entropy, (2048, 8192), (7, 300), (rows.cross_entropy,)),
    Work("rms_norm", 0.8, 0.8, rms_norm, (4096, 1024), (3, 100), (rows.rms_norm,)),
    Work("rotary", 0.8, 0.8, rotary, (32, 2048, 64), (2, 50, 32), (transformer.rotary,)),
    Work("embedding", 0.8, 0.8, embedding, (8192, 32000, 512), (50, 100, 70), (transformer.embedding,)),
    Work("cumsum", 0.8, 0.8, cumulative_sum, (1024, 1024), (5, 300), (rows.cumulative_sum,)),
    Work("sort", 0.8, 0.8, sort, (1024, 1024), (3, 64), (rows.sort_rows,)),
)  # fmt: skip
"""Everything that the command measures. To add a benchmark, write a function that makes its `Pair` and a line here."""


def chosen(words: Sequence[str]) -> list[Work]:
    """The works whose name contains one of `words`; all if there are none."""
    return [work for work in WORKS if not words or any(word in work.name for word in words)]


def error(pair: Pair) -> float:
    """Largest error of one call of our side against the peer's, relative to max(1, |value|); infinite for a NaN.

    The peer's first call is not looked at: in a new process, MKL's functions on a second thread now and then take
    their less accurate form (torch 2.13: `torch.sin` of 4 million numbers, once in about ten processes, 1.5e-4 off).
    """
    pair.peer()
    worst = 0.0
    for got, right in zip(tensors(pair.ours()), tensors(pair.peer()), strict=True):
        wide = right.double()
        off = (got.double() - wide).abs() / wide.abs().clamp(min=1)
        worst = max(worst, float(off.nan_to_num(nan=float("inf")).max()))
    return worst


def tensors(result: Any) -> list[Any]:
    return [result] if isinstance(result, torch.Tensor) else list(result)
