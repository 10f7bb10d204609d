"""Many matrix products of different sizes in one launch: arrays of pointers, a schedule made on the device.

A fixed number of programs deals the tiles of all products out among themselves: program ``p`` takes tiles
``p, p + PROGRAMS, ...`` of the tiles of all products in a row. Addresses and sizes are read from memory.
"""

from collections.abc import Sequence

import numpy as np
import triton
import triton.language as tl

from .arrays import Array, empty, from_list, triton_dtype

PROGRAMS = 8


@triton.jit
def grouped_gemm(
    a_pointers, b_pointers, out_pointers, sizes, pitches, products,
    DTYPE: tl.constexpr, PROGRAMS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    tile = tl.program_id(0)
    done = 0  # tiles of the products before this one
    for product in range(products):
        m = tl.load(sizes + 3 * product)
        n = tl.load(sizes + 3 * product + 1)
        k = tl.load(sizes + 3 * product + 2)
        tiles_n = tl.cdiv(n, BLOCK_N)
        end = done + tl.cdiv(m, BLOCK_M) * tiles_n
        if tile >= done and tile < end:
            a = tl.load(a_pointers + product).to(tl.pointer_type(DTYPE))
            b = tl.load(b_pointers + product).to(tl.pointer_type(DTYPE))
            out = tl.load(out_pointers + product).to(tl.pointer_type(DTYPE))
            a_pitch = tl.load(pitches + 3 * product)
            b_pitch = tl.load(pitches + 3 * product + 1)
            out_pitch = tl.load(pitches + 3 * product + 2)
            while tile < end:
                rows = (tile - done) // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)
                columns = (tile - done) % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
                inner = tl.arange(0, BLOCK_K)
                a_tile = a + rows[:, None] * a_pitch + inner[None, :]
                b_tile = b + inner[:, None] * b_pitch + columns[None, :]
                total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
                for start in range(0, k, BLOCK_K):
                    left = k - start
                    total += tl.dot(
                        tl.load(a_tile, mask=(rows[:, None] < m) & (inner[None, :] < left), other=0.0),
                        tl.load(b_tile, mask=(inner[:, None] < left) & (columns[None, :] < n), other=0.0),
                        input_precision="ieee",
                    )
                    a_tile += BLOCK_K
                    b_tile += BLOCK_K * b_pitch
                inside = (rows[:, None] < m) & (columns[None, :] < n)
                tl.store(out + rows[:, None] * out_pitch + columns[None, :], total.to(DTYPE), mask=inside)
                tile += PROGRAMS
        done = end


def run(a: Sequence[Array], b: Sequence[Array], out: Sequence[Array] | None = None) -> Sequence[Array]:
    """``[a[i] @ b[i]]`` for matrices of one dtype whose rows are contiguous."""
    if out is None:
        out = [empty((left.shape[0], right.shape[1]), like=left) for left, right in zip(a, b, strict=True)]
    triples = list(zip(a, b, out, strict=True))
    pointers = [
        from_list([matrix.data_ptr() for matrix in group], "int64", like=a[0]) for group in (a, b, out)
    ]
    sizes = [size for left, right, _ in triples for size in (left.shape[0], right.shape[1], left.shape[1])]
    pitches = [matrix.stride(0) for triple in triples for matrix in triple]
    grouped_gemm[(PROGRAMS,)](
        *pointers, from_list(sizes, "int32", like=a[0]), from_list(pitches, "int32", like=a[0]), len(triples),
        DTYPE=triton_dtype(a[0]), PROGRAMS=PROGRAMS, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32,
    )  # fmt: skip
    return out


def reference(a: Sequence[np.ndarray], b: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [left.astype(np.float32) @ right.astype(np.float32) for left, right in zip(a, b, strict=True)]
