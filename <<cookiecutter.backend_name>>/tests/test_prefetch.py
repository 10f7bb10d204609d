"""What a kernel's next iteration or program will read and write is asked for in this one, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from isa_kernels import NATIVE, IsaKernel

from <<cookiecutter.package_name>>.runtime.array import DeviceArray
from <<cookiecutter.package_name>>.target import BACKEND_NAME


@triton.jit
def rows_in_a_loop(x, out, pitch, rows, columns, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    inside = lanes < columns
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        value = tl.load(x + row * pitch + lanes, mask=inside)
        tl.store(out + row * pitch + lanes, value * 2, mask=inside)


@triton.jit
def row_of_a_program(x, weight, out, pitch, columns, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    inside = lanes < columns
    at = tl.program_id(0) * pitch + lanes
    tl.store(out + at, tl.load(x + at, mask=inside) * tl.load(weight + lanes, mask=inside), mask=inside)


@triton.jit
def row_of_an_index(rows, x, out, pitch, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    row = tl.load(rows + tl.program_id(0))
    tl.store(out + lanes, tl.load(x + row * pitch + lanes))


def compiled(kernel: Any, grid: tuple[int, ...], *args: Any, **constants: Any) -> str:
    """The kernel's instructions, after a launch."""
    launched = kernel[grid](
        *(DeviceArray.wrap(a) if isinstance(a, np.ndarray) else a for a in args), **constants
    )
    return launched.asm[f"{BACKEND_NAME}ir"]


def prefetches(text: str) -> list[str]:
    """What each prefetch is for."""
    return [line.split('"')[1] for line in text.splitlines() if f"{BACKEND_NAME}.prefetch" in line]


@pytest.mark.parametrize("columns", [1, 100, 256])
def test_rows_in_a_loop(columns: int) -> None:
    """Reads in the loop over whole vectors and in the one over the rest; writes, in the latter: whole vectors may go
    past the caches. Results as ever."""
    x = np.arange(12 * 256, dtype=np.float32).reshape(12, 256)
    out = np.zeros_like(x)
    text = compiled(rows_in_a_loop, (3,), x, out, 256, 12, columns, BLOCK=256)
    assert sorted(prefetches(text)) == ["read", "read", "write"]
    np.testing.assert_array_equal(out[:, :columns], 2 * x[:, :columns])
    assert not out[:, columns:].any()


def test_row_of_a_program() -> None:
    """The weights are the same for all programs: only the rows are asked for."""
    x, weight = np.ones((5, 512), np.float32), np.arange(512, dtype=np.float32)
    out = np.zeros_like(x)
    text = compiled(row_of_a_program, (5,), x, weight, out, 512, 512, BLOCK=512)
    assert sorted(prefetches(text)) == ["read", "read", "write"]
    np.testing.assert_array_equal(out, x * weight)


@triton.jit
def blocks_of_a_vector(x, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at))


@triton.jit
def rows_that_come_again(x, weight, out, pitch, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    program = tl.program_id(0)
    at = program * pitch + lanes
    tl.store(out + at, tl.load(x + at) * tl.load(weight + program % 4 * pitch + lanes))


def test_what_follows_in_memory_is_left_to_the_processor() -> None:
    x = np.arange(1024, dtype=np.float32)
    out = np.zeros_like(x)
    assert prefetches(compiled(blocks_of_a_vector, (4,), x, out, BLOCK=256)) == []
    np.testing.assert_array_equal(out, x)


@triton.jit
def sum_of_a_row(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + row + at, mask=at < columns, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(total, axis=0))


@pytest.mark.parametrize("columns", [1, 300, 512])
def test_a_sum_asks_for_what_follows(columns: int) -> None:
    """It has the time; the processor itself stops at the end of a page."""
    x, out = np.random.default_rng(0).integers(0, 9, (3, columns)).astype(np.float32), np.zeros(3, np.float32)
    assert prefetches(compiled(sum_of_a_row, (3,), x, out, columns, BLOCK=256)) == ["read", "read"]
    np.testing.assert_array_equal(out, x.sum(axis=1))


def test_what_comes_again_is_left_to_the_caches() -> None:
    x, weight = np.ones((8, 256), np.float32), np.arange(1024, dtype=np.float32).reshape(4, 256)
    out = np.zeros_like(x)
    assert prefetches(compiled(rows_that_come_again, (8,), x, weight, out, 256, BLOCK=256)) == ["read"]
    np.testing.assert_array_equal(out, np.tile(weight, (2, 1)))


def test_addresses_that_cannot_be_told() -> None:
    """Which row the next program takes is in memory: reading it early could trap."""
    x, rows = np.arange(4 * 256, dtype=np.float32).reshape(4, 256), np.array([2], np.int32)
    out = np.zeros(256, np.float32)
    assert prefetches(compiled(row_of_an_index, (1,), rows, x, out, 256, BLOCK=256)) == []
    np.testing.assert_array_equal(out, x[2])


def test_large_tiles_are_left_to_the_processor() -> None:
    x, weight = np.ones((2, 8192), np.float32), np.ones(8192, np.float32)
    text = compiled(row_of_a_program, (2,), x, weight, np.zeros_like(x), 8192, 8192, BLOCK=8192)
    assert prefetches(text) == []


@pytest.mark.parametrize("address", [0, -1, 2**62])
@pytest.mark.parametrize("intent", ["read", "write"])
def test_no_address_traps(intent: str, address: int) -> None:
    body = f'isa.prefetch "{intent}" 256 from %a\nisa.return'
    assert IsaKernel({"a": "i64"}, body, NATIVE)(address) == 0
