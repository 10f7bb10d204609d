"""Failures that Triton's own tests have shown, each at its smallest."""

import numpy as np
import triton
import triton.language as tl
from harness import launch


@triton.jit
def roll(count_1, last_1, current_1, count_2, last_2, current_2):
    return count_1 + count_2, tl.where(count_2 == 1, current_1, 0) + last_2, current_2


@triton.jit
def scan_with_constants(source, result, n: tl.constexpr):
    x = tl.load(source + tl.arange(0, n))
    _, previous, _ = tl.associative_scan((1 + 0 * x, 0 * x, x), 0, roll)
    tl.store(result + tl.arange(0, n), previous)


def test_constants_in_a_combine_function():
    # Triton's canonicalizer moves them out of the region that uses them.
    source, result = np.arange(1, 33, dtype=np.float32), np.zeros(32, np.float32)
    launch(scan_with_constants, (1,), source, result, 32)
    assert result.tolist() == [0, *source[:-1]]


@triton.jit
def at_least(a, b):
    return tl.maximum(tl.maximum(a, b), 17)


@triton.jit
def reduce_with_constants(source, result, n: tl.constexpr):
    tl.store(result, tl.reduce(tl.load(source + tl.arange(0, n)), 0, at_least))


def test_constants_in_the_combine_function_of_a_reduction():
    for top, expected in ((40, 40), (9, 17)):
        source, result = np.full(64, 3, dtype=np.int32), np.zeros(1, np.int32)
        source[11] = top
        launch(reduce_with_constants, (1,), source, result, 64)
        assert result[0] == expected
