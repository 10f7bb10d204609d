"""A layer of a quantized network: a product of int8 matrices, and all that follows in two instructions of this machine.

``y = int8(activation(scale * (x @ w) + bias) / step)``, with a scale and a bias for each column: `activation` takes the
scale and the bias, `saturate` rounds to the nearest int8.
"""

import math

import numpy as np
import triton
import triton.language as tl

from ..language.elementwise import activation, saturate
from .arrays import Array, empty


@triton.jit
def quantized_linear(
    x, w, scale, bias, y, m, n, k, steps,
    x_row, x_column, w_row, w_column, y_row, y_column,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, KIND: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    # What wraps around is never stored.
    x_tile = x + (rows % m)[:, None] * x_row + inner[None, :] * x_column
    w_tile = w + inner[:, None] * w_row + (columns % n)[None, :] * w_column
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)
    for start in range(0, k, BLOCK_K):
        left = k - start
        a = tl.load(x_tile, mask=inner[None, :] < left, other=0)
        b = tl.load(w_tile, mask=inner[:, None] < left, other=0)
        total = tl.dot(a, b, total, out_dtype=tl.int32)
        x_tile += BLOCK_K * x_column
        w_tile += BLOCK_K * w_row

    column_inside = columns < n
    scales = tl.load(scale + columns, mask=column_inside, other=0.0)
    biases = tl.load(bias + columns, mask=column_inside, other=0.0)
    result = activation(total.to(tl.float32), KIND, scales[None, :], biases[None, :])
    inside = (rows[:, None] < m) & column_inside[None, :]
    out = y + rows[:, None] * y_row + columns[None, :] * y_column
    tl.store(out, saturate(result * steps, tl.int8), mask=inside)


def run(
    x: Array, w: Array, scale: Array, bias: Array, y: Array | None = None, *,
    kind: str = "gelu_tanh", step: float = 0.05,
) -> Array:  # fmt: skip
    """int8 `x` (m, k) and `w` (k, n), float32 `scale` and `bias` (n,) -> int8 (m, n), in units of `step`."""
    (m, k), (k_of_w, n) = x.shape, w.shape
    if k != k_of_w:
        raise ValueError(f"cannot multiply a {m} x {k} by a {k_of_w} x {n} matrix: {k} is not {k_of_w}")
    y = empty((m, n), like=x) if y is None else y
    quantized_linear[(triton.cdiv(m, 64), triton.cdiv(n, 64))](
        x, w, scale, bias, y, m, n, k, 1 / step,
        x.stride(0), x.stride(1), w.stride(0), w.stride(1), y.stride(0), y.stride(1),
        BLOCK_M=64, BLOCK_N=64, BLOCK_K=64, KIND=kind,
    )  # fmt: skip
    return y


def reference(
    x: np.ndarray, w: np.ndarray, scale: np.ndarray, bias: np.ndarray, step: float = 0.05
) -> np.ndarray:  # fmt: skip
    """With kind "gelu_tanh". The products' sums are exact in float32 up to 2^24, that is for k up to 1024."""
    t = (x.astype(np.float32) @ w.astype(np.float32)) * scale + bias
    values = t * (1 + np.tanh(np.float32(math.sqrt(2 / math.pi)) * (t + np.float32(0.044715) * t**3))) / 2
    return np.clip(np.rint(values / np.float32(step)), -128, 127).astype(np.int8)
