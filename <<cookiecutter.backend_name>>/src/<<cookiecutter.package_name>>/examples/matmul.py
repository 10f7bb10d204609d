"""Matrix product: ``tl.dot``, autotuning, an order of programs that reuses tiles, a fused epilogue.

``out = activation(a @ b)`` for fp32, fp16 and bf16; sums are kept in fp32 whatever the inputs are.
"""

from typing import Any

import numpy as np
import triton
import triton.language as tl

from .arrays import Array, empty
from .device import fast_memory

CONFIGS = [
    triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 64, "GROUP": 4}, num_warps=4, num_stages=2),
    triton.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP": 4}, num_warps=4, num_stages=2),
    triton.Config({"BLOCK_M": 256, "BLOCK_N": 256, "BLOCK_K": 128, "GROUP": 2}, num_warps=8, num_stages=2),
    triton.Config({"BLOCK_M": 256, "BLOCK_N": 512, "BLOCK_K": 128, "GROUP": 2}, num_warps=8, num_stages=2),
    triton.Config({"BLOCK_M": 512, "BLOCK_N": 512, "BLOCK_K": 128, "GROUP": 2}, num_warps=8, num_stages=2),
]


def worth_trying(configs: list[triton.Config], arguments: dict[str, Any], **_: Any) -> list[triton.Config]:
    """Tiles more than half of which is inside of the matrices, along each dimension, and whose operands the device's
    fast memory holds; the smallest in any case."""
    fast = fast_memory()
    smallest, *larger = configs
    return [smallest] + [
        config
        for config in larger
        if operand_bytes(config, arguments["a"].element_size()) <= fast
        and all(
            config.kwargs[f"BLOCK_{length.upper()}"] < 2 * arguments[length] for length in ("m", "n", "k")
        )
    ]


def operand_bytes(config: triton.Config, size: int) -> int:
    """What the tiles of ``a`` and ``b`` take that are on their way at once, with elements of ``size`` bytes."""
    block = config.kwargs
    return int(config.num_stages * block["BLOCK_K"] * (block["BLOCK_M"] + block["BLOCK_N"]) * size)


@triton.jit
def leaky_relu(x):
    return tl.where(x < 0, 0.01 * x, x)


@triton.jit
def tile_of(program, tiles_m, tiles_n, GROUP: tl.constexpr):
    """Row and column of the tile that ``program`` computes.

    Programs run through bands of ``GROUP`` tile rows, down each column of a band before going right: programs
    that run at about the same time then share both their rows of ``a`` and their columns of ``b``.
    """
    per_band = GROUP * tiles_n
    first_row = (program // per_band) * GROUP
    height = min(tiles_m - first_row, GROUP)
    within = program % per_band
    return first_row + within % height, within // height


@triton.autotune(
    configs=CONFIGS, key=["m", "n", "k", "PRECISION"], prune_configs_by={"early_config_prune": worth_trying}
)
@triton.jit
def matmul(
    a, b, out, m, n, k,
    a_row, a_column, b_row, b_column, out_row, out_column,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
    ACTIVATION: tl.constexpr, PRECISION: tl.constexpr = "ieee",
):  # fmt: skip
    tile_m, tile_n = tile_of(tl.program_id(0), tl.cdiv(m, BLOCK_M), tl.cdiv(n, BLOCK_N), GROUP)
    rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)

    # Rows and columns past the end wrap around: what they compute is never stored, so no mask is needed.
    a_tile = a + (rows % m)[:, None] * a_row + inner[None, :] * a_column
    b_tile = b + inner[:, None] * b_row + (columns % n)[None, :] * b_column
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        left = k - start
        total = tl.dot(
            tl.load(a_tile, mask=inner[None, :] < left, other=0.0),
            tl.load(b_tile, mask=inner[:, None] < left, other=0.0),
            total,
            input_precision=PRECISION,
        )
        a_tile += BLOCK_K * a_column
        b_tile += BLOCK_K * b_row

    if ACTIVATION == "leaky_relu":
        total = leaky_relu(total)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    out_tile = out + rows[:, None] * out_row + columns[None, :] * out_column
    tl.store(out_tile, total.to(out.dtype.element_ty), mask=inside)


def run(
    a: Array, b: Array, out: Array | None = None, *, activation: str = "", precision: str = "ieee"
) -> Array:
    """``activation(a @ b)`` for matrices of one dtype with any strides; ``activation``: "" or "leaky_relu".

    ``precision`` is what ``tl.dot`` calls ``input_precision``: how exactly fp32 is multiplied at least.
    """
    (m, k), (k_of_b, n) = a.shape, b.shape
    if k != k_of_b:
        raise ValueError(f"cannot multiply a {m} x {k} by a {k_of_b} x {n} matrix: {k} is not {k_of_b}")
    out = empty((m, n), like=a) if out is None else out

    def grid(meta: dict[str, Any]) -> tuple[int]:
        return (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)

    matmul[grid](
        a, b, out, m, n, k,
        a.stride(0), a.stride(1), b.stride(0), b.stride(1), out.stride(0), out.stride(1),
        ACTIVATION=activation, PRECISION=precision,
    )  # fmt: skip
    return out


def reference(a: np.ndarray, b: np.ndarray, activation: str = "") -> np.ndarray:
    product = a.astype(np.float32) @ b.astype(np.float32)
    return (
        np.where(product < 0, np.float32(0.01) * product, product) if activation == "leaky_relu" else product
    )
