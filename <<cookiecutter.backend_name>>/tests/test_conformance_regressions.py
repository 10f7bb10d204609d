"""Failures that Triton's own tests have shown, each at its smallest."""

import threading
import time

import numpy as np
import pytest
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


@triton.jit
def copy_constant(source: tl.const, result, n: tl.constexpr):
    lanes = tl.arange(0, n)
    tl.store(result + lanes, tl.load(source + lanes))


def test_pointers_to_constants():
    # Triton 3.9 puts them into an address space that has a name.
    source, result = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    launch(copy_constant, (1,), source, result, 64)
    assert np.array_equal(source, result)


needs_poll = pytest.mark.skipif(not hasattr(tl, "atomic_poll"), reason="since Triton 3.9")


@triton.jit
def poll(flags, found, wanted, timeout, n: tl.constexpr):
    lanes = tl.arange(0, n)
    tl.store(found + lanes, tl.atomic_poll(flags + lanes, wanted, timeout_ns=timeout))


@triton.jit
def poll_scalar(flag, found, wanted, timeout):
    tl.store(found, tl.atomic_poll(flag, wanted, sem="relaxed", timeout_ns=timeout))


@needs_poll
@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64])
def test_polling_with_a_timeout(dtype):
    flags = np.tile(np.array([7, 8, -7], dtype), 22)[:64]
    for timeout in (0, 1000):
        found = np.zeros(64, bool)
        launch(poll, (1,), flags, found, 7, timeout, 64)
        assert np.array_equal(found, flags == 7)
        for flag, expected in ((7, True), (8, False)):
            launch(poll_scalar, (1,), np.array([flag], dtype), found, 7, timeout)
            assert found[0] == expected


@needs_poll
def test_the_timeout_is_for_all_elements_together():
    flags, found = np.zeros(64, np.int32), np.zeros(64, bool)
    launch(poll, (1,), flags, found, 0, 0, 64)  # compiles
    start = time.monotonic()
    launch(poll, (1,), flags, found, 1, 200_000_000, 64)
    assert 0.2 <= time.monotonic() - start < 64 * 0.2 and not found.any()
    launch(poll, (1,), flags, found, 0, 2**63 - 1, 64)
    assert found.all()


@triton.jit
def wait(flag, payload, result):
    tl.atomic_poll(flag, 1)
    tl.store(result, tl.load(payload))


@needs_poll
def test_polling_for_another_thread():
    flag, payload, result = (np.zeros(1, np.int32) for _ in range(3))
    launch(wait, (1,), np.ones(1, np.int32), payload, result)  # compiles

    def release():
        payload[0] = 42
        flag[0] = 1

    timer = threading.Timer(0.1, release)
    timer.start()
    launch(wait, (1,), flag, payload, result)
    timer.join()
    assert result[0] == 42


@triton.jit
def load_and_store(source, result, n: tl.constexpr):
    lanes = tl.arange(0, n)
    values = tl.atomic_load(source + lanes, mask=lanes % 3 != 0, sem="acquire")
    tl.atomic_store(result + lanes, values + 1, mask=lanes % 2 == 0, sem="release", scope="sys")
    tl.atomic_store(result + n, tl.atomic_load(source + 5) * 2)


@pytest.mark.skipif(not hasattr(tl, "atomic_load"), reason="since Triton 3.9")
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_atomic_loads_and_stores(dtype):
    source, result = np.arange(10, 74).astype(dtype), np.full(65, -1, dtype)
    launch(load_and_store, (1,), source, result, 64)
    lanes = np.arange(64)
    loaded = np.where(lanes % 3 != 0, source, 0)
    assert np.array_equal(
        result[:64][lanes % 3 != 0], np.where(lanes % 2 == 0, loaded + 1, -1)[lanes % 3 != 0]
    )
    assert (result[:64][lanes % 2 == 1] == -1).all() and result[64] == 30


def test_llvm_ir_names_its_producers():
    # Triton 3.9's test of dumped files looks for it.
    kernel = launch(copy_constant, (1,), np.zeros(64, np.float32), np.zeros(64, np.float32), 64)
    text = kernel.asm["llir"]
    assert "!llvm.ident = !{!0, !1}" in text
    assert f'!0 = !{{!"Triton version {triton.__version__}"}}' in text and '!1 = !{!"LLVM version ' in text
