"""Autotuning and benchmarking on this device."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from triton.testing import do_bench

from <<cookiecutter.package_name>>.runtime.array import DeviceArray

seen_blocks: list[int] = []


def note_block(arguments: dict[str, Any]) -> None:
    seen_blocks.append(arguments["BLOCK"])


@triton.autotune(
    configs=[triton.Config({"BLOCK": block}, num_warps=1) for block in (64, 256, 1024)],
    key=["n"],
    reset_to_zero=["out"],
)
@triton.heuristics({"EVEN": lambda arguments: arguments["n"] % arguments["BLOCK"] == 0})
@triton.jit
def accumulate(x, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.atomic_add(out + lanes, tl.load(x + lanes))
    else:
        inside = lanes < n
        tl.atomic_add(out + lanes, tl.load(x + lanes, mask=inside), mask=inside)


@pytest.mark.parametrize("n", [1000, 2048])
def test_autotune(n: int) -> None:
    """R31: three configurations are timed within seconds, one is chosen, and outputs are reset between the trials."""
    x = DeviceArray.from_numpy(np.arange(n, dtype=np.float32))
    out = DeviceArray.zeros(n, "float32")
    start = time.perf_counter()
    accumulate[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n)
    assert time.perf_counter() - start < 30
    np.testing.assert_array_equal(out.numpy(), x.numpy())
    assert accumulate.best_config.kwargs["BLOCK"] in (64, 256, 1024)


@triton.autotune(
    configs=[triton.Config({"BLOCK": block}, pre_hook=note_block) for block in (1024, 16)],
    key=["n"],
    restore_value=["x"],
)
@triton.jit
def double_in_place(x, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + lanes, tl.load(x + lanes, mask=lanes < n) * 2, mask=lanes < n)


def test_restored_inputs_and_hooks() -> None:
    """R31: an input that the kernel overwrites is restored between trials; hooks run before each."""
    x = DeviceArray.from_numpy(np.arange(100, dtype=np.float32))
    double_in_place[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, 100)
    np.testing.assert_array_equal(x.numpy(), np.arange(100) * 2)
    assert set(seen_blocks) == {16, 1024}


@triton.autotune(configs=[triton.Config({"SIZE": size}) for size in (1024, 16)], key=[])
@triton.jit
def large_scratch(x, out, SIZE: tl.constexpr):
    rows = tl.arange(0, SIZE)[:, None]
    columns = tl.arange(0, SIZE)[None, :]
    tile = tl.load(x + (rows * 0 + columns % 16))
    product = tl.dot(tile, tl.trans(tile), input_precision="ieee")
    tl.store(out, tl.sum(tl.sum(product, axis=0), axis=0) * 0 + SIZE)


def test_configuration_out_of_resources() -> None:
    """R31: a configuration that needs more scratchpad than there is loses to one that fits."""
    x, out = DeviceArray.zeros(16, "float32"), DeviceArray.zeros(1, "float32")
    large_scratch[(1,)](x, out)
    assert out.item() == 16


def test_do_bench() -> None:
    """Milliseconds, as a mean, as quantiles in their order, and as a list."""
    x = DeviceArray.zeros(1024, "float32")

    def work() -> None:
        x.fill_(1.0)

    mean = do_bench(work, warmup=1, rep=5)
    assert 0 < mean < 100
    low, middle, high = do_bench(work, warmup=1, rep=5, quantiles=[0.1, 0.5, 0.9])
    assert 0 < low <= middle <= high
    assert len(do_bench(work, warmup=1, rep=5, return_mode="all")) >= 1
