# mypy: disallow-untyped-defs=False, disallow-incomplete-defs=False, disallow-untyped-decorators=False
"""Kernels that do nothing: what their launch takes is the host's time."""

import triton
import triton.language as tl


@triton.jit
def no_arguments():
    pass


@triton.jit
def two_arguments(x, n, BLOCK: tl.constexpr):
    pass


@triton.jit
def twelve_arguments(a, b, c, d, e, f, m, n, o, p, q, r, BLOCK: tl.constexpr, FLAG: tl.constexpr):
    pass
