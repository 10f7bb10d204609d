"""A product that a host with tile registers makes on them; for child processes."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl
from harness import launch


@triton.jit
def tile_product(a, b, out, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.dot(tl.load(a + at), tl.load(b + at), out_dtype=tl.int32))


def run() -> Any:
    """Checks the result; gives the compiled kernel."""
    generator = np.random.default_rng(0)
    a, b = (generator.integers(-128, 128, (32, 32), np.int8) for _ in range(2))
    out = np.zeros((32, 32), np.int32)
    kernel = launch(tile_product, (1,), a, b, out, N=32)
    np.testing.assert_array_equal(out, a.astype(np.int32) @ b.astype(np.int32))
    return kernel
