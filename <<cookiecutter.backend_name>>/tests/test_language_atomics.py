"""Atomics under a grid whose programs run in parallel."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import Typed, bf16_values, launch

from <<cookiecutter.package_name>>.errors import UnsupportedOperation
from <<cookiecutter.package_name>>.target import VECTOR_TYPES

TYPES = ["int32", "int64", "uint32", "uint64", "float32", "float64", "float16", "bfloat16"]


def cells(values: list[int], dtype: str) -> Typed | np.ndarray:
    if dtype == "bfloat16":
        return Typed((np.array(values, np.float32).view(np.uint32) // 0x1_0000).astype(np.uint16), dtype)
    return np.array(values, dtype)


def numbers(array: Typed | np.ndarray) -> list[float]:
    return (bf16_values(array.bits) if isinstance(array, Typed) else array).tolist()


@triton.jit
def contended_add(slots, old, N: tl.constexpr):
    lanes = tl.arange(0, N)
    live = lanes % 3 != 0
    one = tl.full([N], 1, slots.dtype.element_ty)
    before = tl.atomic_add(slots + lanes % 2, one, mask=live)
    tl.store(old + tl.program_id(0) * N + lanes, before, mask=live)


@pytest.mark.parametrize("dtype", TYPES)
def test_contended_add(dtype: str) -> None:
    """R14: three programs of 32 lanes add 1 to slot ``lane % 2`` where ``lane % 3``; no old value is seen twice."""
    slots, old = cells([0, 0], dtype), cells([-1 if dtype[0] != "u" else 99] * 96, dtype)
    if dtype == "float64" and "f64" not in VECTOR_TYPES:
        with pytest.raises(
            UnsupportedOperation, match=r"(?s)atomic.* of fp64.*target.py.*test_language_atomics.py:\d+"
        ):
            launch(contended_add, (3,), slots, old, N=32)
        return
    launch(contended_add, (3,), slots, old, N=32)
    assert numbers(slots) == [30, 33]
    lanes = np.arange(96) % 32
    live = lanes % 3 != 0
    seen = np.array(numbers(old))
    for slot, total in ((0, 30), (1, 33)):
        assert sorted(seen[live & (lanes % 2 == slot)]) == list(range(total))


@triton.jit
def many_adds(counter, N: tl.constexpr):
    tl.atomic_add(counter, 1)
    tl.atomic_add(counter + 1 + tl.arange(0, N), tl.full([N], 2, counter.dtype.element_ty))


@pytest.mark.parametrize("dtype", ["int32", "float32", "int64"])
def test_thousand_programs(dtype: str) -> None:
    """R14: a scalar pointer and a vector, 1000 programs."""
    counter = np.zeros(17, dtype)
    launch(many_adds, (1000,), counter, N=16)
    assert counter.tolist() == [1000] + [2000] * 16


@triton.jit
def extremes(low, high, values, N: tl.constexpr):
    lanes = tl.arange(0, N)
    value = tl.load(values + tl.program_id(0) * N + lanes)
    tl.atomic_min(low + lanes % 4, value)
    tl.atomic_max(high + lanes % 4, value)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64", "float32", "float64"])
def test_minimum_and_maximum(dtype: str) -> None:
    """R14: signed, unsigned (top bit set) and floats (by their sign)."""
    generator = np.random.default_rng(0)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        values = generator.standard_normal((20, 32)).astype(kind)
        first_low, first_high = np.inf, -np.inf
    else:
        limits = np.iinfo(kind)
        values = generator.integers(limits.min, limits.max, (20, 32), dtype=kind)
        first_low, first_high = limits.max, limits.min
    low, high = np.full(4, first_low, kind), np.full(4, first_high, kind)
    launch(extremes, (20,), low, high, values, N=32)
    by_slot = values.reshape(20, 8, 4)
    np.testing.assert_array_equal(low, by_slot.min(axis=(0, 1)))
    np.testing.assert_array_equal(high, by_slot.max(axis=(0, 1)))


@triton.jit
def bits(slots, N: tl.constexpr):
    program = tl.program_id(0)
    lanes = tl.arange(0, N)
    bit = (tl.full([N], 1, tl.int32) * program + 1).to(slots.dtype.element_ty)
    tl.atomic_or(slots + lanes, bit)
    tl.atomic_and(slots + N + lanes, ~bit)
    tl.atomic_xor(slots + 2 * N + lanes, bit)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
def test_bitwise(dtype: str) -> None:
    slots = np.concatenate([np.zeros(8), np.full(8, 255), np.zeros(8)]).astype(dtype)
    launch(bits, (5,), slots, N=8)
    ones = [1, 2, 3, 4, 5]
    expected = [np.bitwise_or.reduce(ones)] * 8 + [255 & ~7] * 8 + [np.bitwise_xor.reduce(ones)] * 8
    assert slots.tolist() == expected


@triton.jit
def exchange(slots, old, N: tl.constexpr):
    lanes = tl.arange(0, N)
    program = tl.program_id(0)
    fresh = (lanes + (program + 1) * 100).to(slots.dtype.element_ty)
    tl.store(old + program * N + lanes, tl.atomic_xchg(slots + lanes, fresh))


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_exchange(dtype: str) -> None:
    """Each value put in comes out once, but for the last: nothing is lost, nothing is seen twice."""
    slots, old = np.arange(16).astype(dtype), np.zeros((9, 16), dtype)
    launch(exchange, (9,), slots, old, N=16)
    for lane in range(16):
        seen = sorted([*old[:, lane].tolist(), slots[lane].item()])
        assert seen == [lane + 100 * turn for turn in range(10)]


@triton.jit
def compare_and_swap(slots, old, N: tl.constexpr):
    lanes = tl.arange(0, N)
    expected = (lanes % 2).to(slots.dtype.element_ty)
    desired = tl.full([N], 7, slots.dtype.element_ty)
    tl.store(old + lanes, tl.atomic_cas(slots + lanes, expected, desired))


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
def test_compare_and_swap(dtype: str) -> None:
    """Slots hold 0, 0, 1, 1; lanes expect 0, 1, 0, 1: the first and the last succeed."""
    slots, old = np.array([0, 0, 1, 1] * 4, dtype), np.zeros(16, dtype)
    launch(compare_and_swap, (1,), slots, old, N=16)
    assert old.tolist() == [0, 0, 1, 1] * 4
    assert slots.tolist() == [7, 0, 1, 7] * 4


@triton.jit
def locked_increment(lock, value, turns):
    for _ in range(turns):
        while tl.atomic_cas(lock, 0, 1) == 1:
            pass
        tl.store(value, tl.load(value) + 1)
        tl.atomic_xchg(lock, 0)


def test_spin_lock() -> None:
    """A lock made of compare-and-swap protects a plain load and store."""
    lock, value = np.zeros(1, np.int32), np.zeros(1, np.int32)
    launch(locked_increment, (50,), lock, value, 20)
    assert (lock[0], value[0]) == (0, 1000)


@triton.jit
def masked_scalar(counter, n):
    tl.atomic_add(counter, 5, mask=tl.program_id(0) < n, sem="relaxed")


def test_masked_scalar_atomic() -> None:
    counter = np.zeros(1, np.int32)
    launch(masked_scalar, (10,), counter, 3)
    assert counter[0] == 15


@triton.jit
def colliding_lanes(counter, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    before = tl.atomic_add(counter + lanes * 0, lanes + 1)
    tl.store(out + lanes, before)


def test_lanes_that_collide() -> None:
    """All lanes of one vector at one address: each adds, and old values are the running sums of some order."""
    counter, out = np.zeros(1, np.int32), np.zeros(64, np.int32)
    launch(colliding_lanes, (1,), counter, out, N=64)
    assert counter[0] == 64 * 65 // 2
    order = np.argsort(out)
    np.testing.assert_array_equal(out[order], np.cumsum(order + 1) - (order + 1))
