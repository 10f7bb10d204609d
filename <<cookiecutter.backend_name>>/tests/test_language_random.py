"""Random numbers: bit for bit what the algorithm says, on every device."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import launch

from <<cookiecutter.package_name>>.examples.dropout import philox, uniform

SEEDS = [0, 1, 42, -1, 2**31 - 1, 2**31, 123456789012345678]


@triton.jit
def random_words(out, seed, N: tl.constexpr):
    lanes = tl.arange(0, N)
    a, b, c, d = tl.randint4x(seed, lanes)
    tl.store(out + lanes, a)
    tl.store(out + N + lanes, b)
    tl.store(out + 2 * N + lanes, c)
    tl.store(out + 3 * N + lanes, d)


def test_philox_known_answers() -> None:
    """The NumPy Philox that the tests below rely on, against the authors' known answer for key 0 and counter 0."""
    words = [int(word[0]) for word in philox(0, np.zeros(1, np.uint32))]
    assert [f"{word:08x}" for word in words] == ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"]


@pytest.mark.parametrize("seed", SEEDS)
def test_philox(seed: int) -> None:
    out = np.zeros((4, 64), np.uint32)
    launch(random_words, (1,), out, seed, N=64)
    np.testing.assert_array_equal(out, philox(seed % 2**64, np.arange(64, dtype=np.uint32)))


@triton.jit
def random_uniform(out, seed, first, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.rand(seed, first + lanes))


@pytest.mark.parametrize("first", [0, 2**31 - 64])
def test_rand(first: int) -> None:
    """Bit for bit, and in [0, 1)."""
    out = np.zeros(64, np.float32)
    launch(random_uniform, (1,), out, 7, first, N=64)
    np.testing.assert_array_equal(out, uniform(7, first + np.arange(64, dtype=np.uint32)))
    assert ((out >= 0) & (out < 1)).all()


@triton.jit
def random_normal(out, seed, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.randn(seed, lanes))


def test_randn() -> None:
    """Mean and spread of a standard normal distribution over 4096 numbers, five standard errors wide."""
    out = np.zeros(4096, np.float32)
    launch(random_normal, (1,), out, 3, N=4096)
    assert abs(out.mean()) < 5 / 64
    assert abs(out.std() - 1) < 5 / np.sqrt(2 * 4096)
