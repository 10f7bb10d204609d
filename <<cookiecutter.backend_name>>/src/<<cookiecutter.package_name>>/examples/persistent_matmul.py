"""Matrix product by programs that stay: tensor descriptors, tiles in a loop, an epilogue in two halves.

As many programs as the device runs at once deal the tiles of the result out among themselves, so that a tile's first
loads can be under way while the one before is being stored. Operands and result are described once (base, shape,
strides, block) and moved a block at a time: no pointers, no masks; what is outside of a matrix reads as zero and is not
written. Descriptors are made by the host, or by each program for itself (``on_device``).
"""

from typing import Any, NamedTuple

import numpy as np
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from .arrays import Array, empty
from .matmul import tile_of

PROGRAMS = 8


class Blocks(NamedTuple):
    """Sizes of a program's tile of the result, and of one step along the inner dimension."""

    m: int = 64
    n: int = 64
    k: int = 32
    group: int = 8


@triton.jit
def multiply_tiles(
    a, b, out, m, n, k,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
    PROGRAMS: tl.constexpr, FLATTEN: tl.constexpr, SPECIALIZE: tl.constexpr,
):  # fmt: skip
    """``a``, ``b`` and ``out`` are descriptors, of blocks M x K, K x N and M x N/2."""
    tiles_m, tiles_n = tl.cdiv(m, BLOCK_M), tl.cdiv(n, BLOCK_N)
    for tile in tl.range(
        tl.program_id(0), tiles_m * tiles_n, PROGRAMS, flatten=FLATTEN, warp_specialize=SPECIALIZE
    ):
        tile_m, tile_n = tile_of(tile, tiles_m, tiles_n, GROUP)
        row, column = tile_m * BLOCK_M, tile_n * BLOCK_N
        total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for start in range(0, k, BLOCK_K):
            total = tl.dot(a.load([row, start]), b.load([start, column]), total, input_precision="ieee")
        # In halves, a store needs half the staging memory, which the loads of the next tile can use.
        halves = total.reshape(BLOCK_M, 2, BLOCK_N // 2).permute(0, 2, 1)
        left, right = tl.split(halves)
        out.store([row, column], left.to(out.dtype))
        out.store([row, column + BLOCK_N // 2], right.to(out.dtype))


@triton.jit
def persistent_matmul(
    a, b, out, m, n, k, a_pitch, b_pitch, out_pitch, ON_DEVICE: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
    PROGRAMS: tl.constexpr, FLATTEN: tl.constexpr, SPECIALIZE: tl.constexpr,
):  # fmt: skip
    if ON_DEVICE:
        a = tl.make_tensor_descriptor(a, [m, k], [a_pitch, 1], [BLOCK_M, BLOCK_K])
        b = tl.make_tensor_descriptor(b, [k, n], [b_pitch, 1], [BLOCK_K, BLOCK_N])
        out = tl.make_tensor_descriptor(out, [m, n], [out_pitch, 1], [BLOCK_M, BLOCK_N // 2])
    multiply_tiles(
        a, b, out, m, n, k, BLOCK_M, BLOCK_N, BLOCK_K, GROUP, PROGRAMS, FLATTEN, SPECIALIZE
    )  # fmt: skip


def run(
    a: Array, b: Array, out: Array | None = None, *, blocks: Blocks = Blocks(), programs: int = PROGRAMS,
    on_device: bool = False, flatten: bool = True, specialize: bool = False, **options: Any,
) -> Array:  # fmt: skip
    """``a @ b`` for matrices of one dtype whose rows are contiguous and start at multiples of 16 bytes.

    ``flatten`` makes one loop of the two, ``specialize`` lets some warps load while others multiply: for devices that
    have such a thing, nothing elsewhere. Descriptors made ``on_device`` may want memory of `triton.set_allocator`.
    ``options`` are those of a launch, such as ``num_warps``.
    """
    (m, k), (k_of_b, n) = a.shape, b.shape
    if k != k_of_b:
        raise ValueError(f"cannot multiply a {m} x {k} by a {k_of_b} x {n} matrix: {k} is not {k_of_b}")
    out = empty((m, n), like=a) if out is None else out
    sizes = [[blocks.m, blocks.k], [blocks.k, blocks.n], [blocks.m, blocks.n // 2]]
    operands: list[Any] = [a, b, out]
    if not on_device:
        operands = [
            TensorDescriptor(array, list(array.shape), list(array.stride()), size)
            for array, size in zip(operands, sizes, strict=True)
        ]
    programs = min(programs, triton.cdiv(m, blocks.m) * triton.cdiv(n, blocks.n))
    persistent_matmul[(programs,)](
        *operands, m, n, k, a.stride(0), b.stride(0), out.stride(0), ON_DEVICE=on_device,
        BLOCK_M=blocks.m, BLOCK_N=blocks.n, BLOCK_K=blocks.k, GROUP=blocks.group,
        PROGRAMS=programs, FLATTEN=flatten, SPECIALIZE=specialize, **options,
    )  # fmt: skip
    return out


def reference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float32) @ b.astype(np.float32)
