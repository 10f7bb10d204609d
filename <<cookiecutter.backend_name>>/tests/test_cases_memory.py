"""Public failures of loads, stores, descriptors and atomics: every variant of the cases R01, R02, R04, R12, R13, R14.

`CASES.md` says which test covers which case.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import Typed, bf16_bits, bf16_values, launch, on_device, random, skip_if_refused
from test_language_memory import GuardedPages, Pointer
from triton.tools.tensor_descriptor import TensorDescriptor

STORAGE = {"bool": "uint8", "bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}
"""Formats that NumPy lacks, or stores in its own way, and the integers that hold their bits."""


def memory(bits: np.ndarray, dtype: str) -> Any:
    return Typed(bits, dtype) if dtype in STORAGE else bits.view(dtype)


# --- R01: masked lanes touch nothing ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pages() -> GuardedPages:
    return GuardedPages()


@triton.jit
def copy_between(x, out, shift, low, high, N: tl.constexpr, VOLATILE: tl.constexpr):
    lanes = tl.arange(0, N)
    live = (lanes >= low) & (lanes < high)
    value = tl.load(x + (lanes - shift), mask=live, volatile=VOLATILE)
    tl.store(out + (lanes - shift), value, mask=live)


@pytest.mark.parametrize("volatile", [False, True])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float8_e5m2", "bfloat16", "float16", "float64"])
def test_r01_every_width_at_both_ends(pages: GuardedPages, dtype: str, volatile: bool) -> None:
    """A copy within the page: lanes before its first byte and after its last are dead; bytes beside the live ones stay."""
    width = np.dtype(STORAGE.get(dtype, dtype)).itemsize
    words = pages.bytes.view(f"uint{8 * width}")
    for first, shift, low, high in ((0, 32, 32, 60), (words.size - 32, 0, 4, 32)):
        words[:] = 1
        before = words.copy()
        pointer = Pointer(pages.bytes.ctypes.data + first * width, on_device(memory(words, dtype)).dtype)
        launch(copy_between, (1,), pointer, pointer, shift, low, high, N=64, VOLATILE=volatile)
        np.testing.assert_array_equal(words, before)
    out = np.full(64, 3, words.dtype)
    pointer = Pointer(pages.bytes.ctypes.data, on_device(memory(words, dtype)).dtype)
    for low, high in ((64, 64), (0, 0)):  # nothing is live: the target is left alone
        launch(copy_between, (1,), pointer, memory(out, dtype), 4000, low, high, N=64, VOLATILE=volatile)
        assert (out == 3).all()


@triton.jit
def every_atomic(x, shift, low, high, N: tl.constexpr, KIND: tl.constexpr):
    lanes = tl.arange(0, N)
    live = (lanes >= low) & (lanes < high)
    at = x + (lanes - shift)
    value = (lanes + 1).to(x.dtype.element_ty)
    if KIND == "add":
        tl.atomic_add(at, value, mask=live)
    elif KIND == "max":
        tl.atomic_max(at, value, mask=live)
    elif KIND == "min":
        tl.atomic_min(at, -value, mask=live)
    elif KIND == "or":
        tl.atomic_or(at, value, mask=live)
    elif KIND == "xor":
        tl.atomic_xor(at, value, mask=live)
    elif KIND == "and":
        tl.atomic_and(at, value - value, mask=live)
    else:
        tl.atomic_xchg(at, value, mask=live)


ATOMICS = [(kind, "int32") for kind in ("max", "min", "or", "xor", "and", "xchg")] + [
    ("add", "float16"),
    ("add", "bfloat16"),
    ("add", "float64"),
    ("max", "float32"),
    ("min", "int64"),
    ("xchg", "float32"),
]


@pytest.mark.parametrize(("kind", "dtype"), ATOMICS)
def test_r01_every_atomic_at_both_ends(pages: GuardedPages, kind: str, dtype: str) -> None:
    if kind == "add":
        skip_if_refused(dtype)
    width = 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
    words = pages.bytes.view(f"uint{8 * width}" if dtype == "bfloat16" else dtype)
    lanes = np.arange(64)
    for first, shift, low, high in ((0, 32, 32, 60), (words.size - 32, 0, 4, 32)):
        words[:] = 0
        pointer = Pointer(pages.bytes.ctypes.data + first * width, dtype)
        launch(every_atomic, (1,), pointer, shift, low, high, N=64, KIND=kind)
        expected = np.zeros(words.size)
        live = lanes[low:high]
        expected[first + live - shift] = {"and": 0 * live, "min": -(live + 1)}.get(kind, live + 1)
        found = bf16_values(words) if dtype == "bfloat16" else words
        np.testing.assert_array_equal(found, expected)


@triton.jit
def scalar_accesses(x, out, flag):
    value = tl.load(x, mask=flag > 0, other=5)
    tl.store(out, value)
    tl.store(x, value, mask=flag > 0)
    tl.atomic_add(x, 1, mask=flag > 0)


def test_r01_scalar_at_a_forbidden_address(pages: GuardedPages) -> None:
    out = np.zeros(1, np.int32)
    for address in (pages.start, pages.start + 2 * pages.page, 0):
        launch(scalar_accesses, (1,), Pointer(address, "int32"), out, 0)
        assert out[0] == 5


@triton.jit
def move_in_a_loop(x, out, n, N: tl.constexpr):
    total = tl.zeros([N], tl.int32)
    at = x + tl.arange(0, N)
    for start in range(0, n + N, N):  # the last turn is dead as a whole
        live = start + tl.arange(0, N) < n
        total += tl.load(at, mask=live, other=0)
        at += N
    tl.store(out + tl.arange(0, N), total)


def test_r01_a_loop_that_runs_past_the_end(pages: GuardedPages) -> None:
    words = pages.bytes.view("int32")
    words[:] = 1
    n = 1000 % words.size
    out = np.zeros(32, np.int32)
    launch(move_in_a_loop, (1,), Pointer(words[-n:].ctypes.data, "int32"), out, n, N=32)
    assert out.sum() == n


@triton.jit
def store_rows(x, out, n_rows, n_columns, N: tl.constexpr, ACCUMULATE: tl.constexpr):
    rows, columns = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    value = tl.load(x + rows * N + columns)
    inside = (rows < n_rows) & (columns < n_columns)
    if ACCUMULATE:
        tl.atomic_add(out + rows * n_columns + columns, value, mask=inside)
    else:
        tl.store(out + rows * n_columns + columns, value, mask=inside)


@pytest.mark.parametrize("accumulate", [False, True])
def test_r01_a_tile_stored_beside_a_forbidden_page(pages: GuardedPages, accumulate: bool) -> None:
    words, x = pages.bytes.view("float32"), random((16, 16))
    words[:] = 0
    tile = words[-35:]
    launch(store_rows, (1,), x, Pointer(tile.ctypes.data, "float32"), 5, 7, N=16, ACCUMULATE=accumulate)
    np.testing.assert_array_equal(tile.reshape(5, 7), x[:5, :7])
    assert not words[:-35].any()


@triton.jit
def copy_block(x, out, n, N: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [n], [1], [N])
    target = tl.make_tensor_descriptor(out, [n], [1], [N])
    target.store([-4], source.load([-4]))
    target.store([n - 4], source.load([n - 4]))


def test_r01_descriptors_beside_forbidden_pages(pages: GuardedPages) -> None:
    """The whole page is the tensor; blocks stick out of it at both ends."""
    words = pages.bytes.view("float32")
    words[:] = random(words.size)
    before = words.copy()
    out = np.zeros_like(words)
    launch(copy_block, (1,), Pointer(words.ctypes.data, "float32"), out, words.size, N=32)
    np.testing.assert_array_equal(out[:28], words[:28])
    np.testing.assert_array_equal(out[-4:], words[-4:])
    assert not out[28:-4].any()
    launch(copy_block, (1,), before, Pointer(words.ctypes.data, "float32"), words.size, N=32)
    np.testing.assert_array_equal(words, before)


# --- R02: dead lanes are 0 -------------------------------------------------------------------------------------


@triton.jit
def leave_garbage(x, out, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tile = tl.load(x + at)
    total = tl.cumsum(tl.dot(tile, tl.trans(tile), input_precision="ieee"), 0)
    tl.store(out + at, tl.sort(total) + tl.trans(total))


@triton.jit
def use_as_index(x, table, out, n, N: tl.constexpr):
    lanes = tl.arange(0, N)
    value = tl.load(x + lanes, mask=lanes < n)
    number = value.to(tl.float32).to(tl.int32)
    number = tl.where(number < 0, number + 5, number)
    tl.device_assert(number < 5, "garbage in a dead lane")
    tl.store(table + number, lanes + 1, mask=lanes >= n)
    tl.store(out + lanes, value)


@pytest.mark.parametrize(
    ("dtype", "bits"),
    [
        ("float32", np.array([-1, 2, -3, 4, 1], np.float32)),
        ("bfloat16", bf16_bits(np.array([-1, 2, -3, 4, 1], np.float32))),
        ("float8_e5m2", np.array([0xBC, 0x40, 0xC2, 0x44, 0x3C], np.uint8)),
        ("float8_e4m3fn", np.array([0xB8, 0x40, 0xC4, 0x48, 0x38], np.uint8)),
        ("bool", np.array([1, 0, 1, 1, 1], np.uint8)),
        ("int64", np.array([-1, 2, -3, 4, 1], np.int64)),
        ("int8", np.array([-1, 2, -3, 4, 1], np.int8)),
    ],
)
def test_r02_dead_lanes_as_indices(dtype: str, bits: np.ndarray) -> None:
    """5 of 8 lanes, no ``other``; 5 is added to negatives; dead lanes are used as an index. Twice, after garbage."""
    garbage = np.full((64, 64), 1e30, np.float32)
    padded = np.concatenate([bits, np.full(3, bits[3])])  # what lies in memory behind the live lanes
    for _ in range(2):
        launch(leave_garbage, (4,), garbage, np.zeros((64, 64), np.float32), N=64)
        out, table = np.full_like(padded, 1), np.zeros(16, np.int32)
        launch(use_as_index, (1,), memory(padded, dtype), table, memory(out, dtype), 5, N=8, debug=True)
        assert table[0] in (6, 7, 8) and not table[1:].any()
        assert out[:5].tolist() == bits.tolist()
        assert not out[5:].view(np.uint8).any()


# --- R04: booleans in memory -----------------------------------------------------------------------------------


@triton.jit
def any_of(x, out, n, N: tl.constexpr, CAST: tl.constexpr):
    lanes = tl.arange(0, N)
    total = tl.sum(tl.load(x + lanes, mask=lanes < n, other=0))
    if CAST:
        total = total.to(tl.int1)
    tl.store(out, total)


@pytest.mark.parametrize("n", [0, 128, 256, 257, 512])
@pytest.mark.parametrize("cast", [True, False])
def test_r04_raw_bytes(n: int, cast: bool) -> None:
    """Exactly 0 or 1. Without the cast it is Triton's front end that stores the lowest byte of the sum, in every
    release so far: its IR has an ``arith.trunci`` to i8, and no backend can tell that from what the user wrote."""
    out = np.full(3, 0xAA, np.uint8)
    kernel = launch(any_of, (1,), np.ones(512, np.int32), Typed(out[1:2], "bool"), n, N=512, CAST=cast)
    truncated = not cast and "arith.trunci" in kernel.asm["ttir"]
    assert out.tolist() == [0xAA, n % 256 if truncated else int(n > 0), 0xAA]


@triton.jit
def store_truth(x, out, n, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes).to(tl.int1), mask=lanes < n)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float16", "float32", "float64"])
def test_r04_truth_of_every_type(dtype: str) -> None:
    """Not zero is true: 256, 2, one half, the smallest number; -0.0 is not. Bytes that are masked off stay."""
    x = np.array([0, 1, 2, -1, 64, -128, 0, 1], dtype)
    if dtype != "int8":
        x[4:6] = [256, -0.0 if dtype[0] == "f" else 0x100]
    if dtype[0] == "f":
        x[6:] = [0.5, np.finfo(dtype).smallest_normal]
    out = np.full(8, 0xAA, np.uint8)
    launch(store_truth, (1,), x, Typed(out, "bool"), 7, N=8)
    assert out.tolist() == [*(x[:7] != 0).astype(int).tolist(), 0xAA]


@triton.jit
def count_flags(x, out, N: tl.constexpr):
    flags = tl.load(x + tl.arange(0, N))
    tl.store(out, tl.sum(flags.to(tl.int32)))
    tl.store(out + 1, tl.sum(tl.where(flags, 10, 0)))
    tl.store(out + 2, tl.max(flags.to(tl.int8)).to(tl.int32))
    tl.store(out + 3, tl.load(x + 1).to(tl.int32))


def test_r04_a_byte_of_two_counts_once() -> None:
    x, out = np.array([0, 2, 255, 1, 0, 128, 0, 0], np.uint8), np.zeros(4, np.int32)
    launch(count_flags, (1,), Typed(x, "bool"), out, N=8)
    assert out.tolist() == [4, 40, 1, 1]


# --- R12: strides that are not positive ------------------------------------------------------------------------


@triton.jit
def walk(x, out, stride, turns, N: tl.constexpr):
    at = x + tl.arange(0, N) * stride
    for turn in range(turns):
        tl.store(out + turn * N + tl.arange(0, N), tl.load(at))
        at += stride * N


@pytest.mark.parametrize("dtype", ["int8", "float16", "int64"])
@pytest.mark.parametrize("stride", [-1, -3, 0, 1, 2])
def test_r12_pointers_that_walk(dtype: str, stride: int) -> None:
    """A tensor of pointers moves by a stride that is not positive, around a loop."""
    buffer, out = random(512, dtype), np.zeros((3, 16), dtype)
    base = 400 if stride < 0 else 0
    launch(walk, (1,), Pointer(buffer[base:].ctypes.data, dtype), out, stride, 3, N=16)
    np.testing.assert_array_equal(out.ravel(), buffer[base + np.arange(48) * stride])


@triton.jit
def copy_view(x, out, row_stride, column_stride, n, m, R: tl.constexpr, C: tl.constexpr):
    rows, columns = tl.arange(0, R)[:, None], tl.arange(0, C)[None, :]
    inside = (rows < n) & (columns < m)
    value = tl.load(x + rows * row_stride + columns * column_stride, mask=inside, other=-1)
    tl.store(out + rows * C + columns, value)


@triton.jit
def copy_view_constant(
    x, out, ROW: tl.constexpr, COLUMN: tl.constexpr, n, m, R: tl.constexpr, C: tl.constexpr
):
    copy_view(x, out, ROW, COLUMN, n, m, R, C)


VIEWS = {
    "flipped rows": lambda x: x[::-1],
    "flipped columns": lambda x: x[:, ::-1],
    "flipped twice": lambda x: x[::-1, ::-1],
    "every third from behind": lambda x: x[:, ::-3],
    "one row many times": lambda x: np.broadcast_to(x[:1], x.shape),
    "one column many times": lambda x: np.broadcast_to(x[:, :1], x.shape),
    "one element many times": lambda x: np.broadcast_to(x[:1, :1], x.shape),
    "transposed": lambda x: x.T[:6],
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("kernel", [copy_view, copy_view_constant], ids=["argument", "constant"])
def test_r12_views_of_the_host(kernel: Any, name: str) -> None:
    """Flipped, broadcast and transposed views as the host passes them: address of the first element, and strides."""
    x = random((7, 10))
    view = VIEWS[name](x)
    out, pointer = np.zeros((8, 16), np.float32), Pointer(view.__array_interface__["data"][0], "float32")
    launch(kernel, (1,), pointer, out, *(s // 4 for s in view.strides), *view.shape, R=8, C=16)
    expected = np.full((8, 16), -1, np.float32)
    expected[: view.shape[0], : view.shape[1]] = view
    np.testing.assert_array_equal(out, expected)


# --- R13: descriptors ------------------------------------------------------------------------------------------


@triton.jit
def add_one(source, target, start, RANK: tl.constexpr):
    if RANK == 1:
        target.store([start], source.load([start]) + 1)
    elif RANK == 2:
        target.store([start, start], source.load([start, start]) + 1)
    else:
        target.store([start, start, start], source.load([start, start, start]) + 1)


@triton.jit
def add_one_by_host(source, target, start, RANK: tl.constexpr):
    add_one(source, target, start, RANK)


@triton.jit
def add_one_by_kernel(x, out, a, b, c, pitch, start, RANK: tl.constexpr, C: tl.constexpr, PAD: tl.constexpr):
    if RANK == 1:
        source = tl.make_tensor_descriptor(x, [c], [1], [C], padding_option=PAD)
        target = tl.make_tensor_descriptor(out, [c], [1], [C])
        add_one(source, target, start, RANK)
    elif RANK == 2:
        source = tl.make_tensor_descriptor(x, [b, c], [pitch, 1], [8, C], padding_option=PAD)
        target = tl.make_tensor_descriptor(out, [b, c], [pitch, 1], [8, C])
        add_one(source, target, start, RANK)
    else:
        source = tl.make_tensor_descriptor(x, [a, b, c], [b * pitch, pitch, 1], [4, 8, C], padding_option=PAD)
        target = tl.make_tensor_descriptor(out, [a, b, c], [b * pitch, pitch, 1], [4, 8, C])
        add_one(source, target, start, RANK)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("maker", ["host", "kernel"])
@pytest.mark.parametrize(
    ("dtype", "padding"),
    [("int8", "zero"), ("int16", "zero"), ("float32", "zero"), ("float32", "nan"), ("float16", "nan")],
)
def test_r13_descriptors(dtype: str, padding: str, maker: str, rank: int) -> None:
    """Shape 3 x 5 x 6 in a pitch of 16: the inside is exact and every other cell stays -1, for starts below 0 too."""
    shape, pitch = (3, 5, 6)[3 - rank :], 16
    block = (4, 8, 16 if dtype == "int8" else 8)[3 - rank :]
    full = (*shape[:-1], pitch)
    x = (random(full, "int32") % 100).astype(dtype)
    for start in (0, 2, -2, -20, 7):
        out = np.full(full, -1, dtype)
        if maker == "host":
            strides = [int(s) // x.itemsize for s in x.strides]
            source = TensorDescriptor(on_device(x), list(shape), strides, list(block), padding)
            target = TensorDescriptor(on_device(out), list(shape), strides, list(block))
            launch(add_one_by_host, (1,), source, target, start, RANK=rank)
        else:
            options = {"RANK": rank, "C": block[-1], "PAD": padding}
            launch(add_one_by_kernel, (1,), x, out, 3, 5, 6, pitch, start, **options)
        expected = np.full(full, -1, dtype)
        inside = tuple(
            slice(max(start, 0), max(0, min(n, start + b))) for n, b in zip(shape, block, strict=True)
        )
        expected[inside] = x[inside] + 1
        np.testing.assert_array_equal(out, expected)


@triton.jit
def read_outside(source, out, row, column, R: tl.constexpr, C: tl.constexpr):
    tile = source.load([row, column])
    tl.store(out + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :], tile)


@triton.jit
def read_outside_by_kernel(x, out, rows, columns, pitch, row, column, R: tl.constexpr, C: tl.constexpr, PAD: tl.constexpr):  # fmt: skip
    source = tl.make_tensor_descriptor(x, [rows, columns], [pitch, 1], [R, C], padding_option=PAD)
    read_outside(source, out, row, column, R, C)


@pytest.mark.parametrize("maker", ["host", "kernel"])
@pytest.mark.parametrize("padding", ["zero", "nan"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_r13_padding_values(dtype: str, padding: str, maker: str) -> None:
    """What lies outside reads as 0 or NaN, at the start, at the end and where the whole block is outside."""
    x = random((5, 16), dtype)
    for row, column in ((0, 0), (-3, -2), (3, 4), (-8, 0), (0, 6)):
        out = np.full((8, 8), 9, dtype)
        if maker == "host":
            source = TensorDescriptor(on_device(x), [5, 6], [16, 1], [8, 8], padding)
            launch(read_outside, (1,), source, out, row, column, R=8, C=8)
        else:
            launch(read_outside_by_kernel, (1,), x, out, 5, 6, 16, row, column, R=8, C=8, PAD=padding)
        at_rows, at_columns = row + np.arange(8)[:, None], column + np.arange(8)[None, :]
        inside = (at_rows >= 0) & (at_rows < 5) & (at_columns >= 0) & (at_columns < 6)
        expected = np.full((8, 8), np.nan if padding == "nan" else 0, dtype)
        expected[inside] = x[(at_rows + 0 * at_columns)[inside], (at_columns + 0 * at_rows)[inside]]
        np.testing.assert_array_equal(out, expected)


# --- R14: narrow atomics and contention ------------------------------------------------------------------------


def cells(values: list[float], dtype: str) -> Any:
    numbers = np.array(values, np.float64)
    return (
        Typed(bf16_bits(numbers.astype(np.float32)), dtype) if dtype == "bfloat16" else numbers.astype(dtype)
    )


def numbers(array: Any) -> np.ndarray:
    return bf16_values(array.bits) if isinstance(array, Typed) else array


@triton.jit
def contend(slots, old, N: tl.constexpr, KIND: tl.constexpr):
    lanes = tl.arange(0, N)
    program = tl.program_id(0)
    live = lanes % 3 != 0
    at = slots + lanes % 2
    value = (program * N + lanes + 1).to(slots.dtype.element_ty)
    if KIND == "add":
        before = tl.atomic_add(at, tl.full([N], 1, slots.dtype.element_ty), mask=live)
    elif KIND == "max":
        before = tl.atomic_max(at, value, mask=live)
    elif KIND == "min":
        before = tl.atomic_min(at, -value, mask=live)
    else:
        before = tl.atomic_xchg(at, value, mask=live)
    tl.store(old + program * N + lanes, before, mask=live)


def run_contended(kind: str, dtype: str, programs: int) -> tuple[list[float], list[list[float]]]:
    """The two slots at the end, and for each the old values that its lanes have seen, sorted; dead lanes are checked."""
    slots, old = cells([0, 0], dtype), cells([-7] * 32 * programs, dtype)
    launch(contend, (programs,), slots, old, N=32, KIND=kind)
    lanes = np.arange(32 * programs) % 32
    live = lanes % 3 != 0
    seen = numbers(old)
    assert (seen[~live] == -7).all()
    return numbers(slots).tolist(), [sorted(seen[live & (lanes % 2 == slot)].tolist()) for slot in (0, 1)]


@pytest.mark.parametrize("programs", [3, 1000])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64", "float16", "bfloat16"])
def test_r14_contended_add(dtype: str, programs: int) -> None:
    """10 and 11 adds of 1 a program. Each old value is seen once, as long as the type can count that far."""
    skip_if_refused(dtype)
    slots, old = run_contended("add", dtype, programs)
    largest = {"float16": 2048, "bfloat16": 256}.get(dtype, 2**31)
    totals = [10 * programs, 11 * programs]
    assert slots == [min(total, largest) for total in totals]
    for total, seen in zip(totals, old, strict=True):
        assert seen == [min(count, largest) for count in range(total)]


@pytest.mark.parametrize("kind", ["max", "min", "xchg"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_r14_contended_extremes_and_exchange(dtype: str, kind: str) -> None:
    """The slot ends with the extreme; old values never go past it, and an exchange loses and repeats none."""
    programs = 50
    slots, old = run_contended(kind, dtype, programs)
    lanes = np.arange(32)
    for slot in (0, 1):
        values = np.array(
            [p * 32 + lane + 1 for p in range(programs) for lane in lanes if lane % 3 and lane % 2 == slot]
        )
        if kind == "xchg":
            assert sorted([*old[slot], slots[slot]]) == [0, *values.tolist()]
            continue
        extreme = values.max() if kind == "max" else -values.max()
        assert slots[slot] == extreme
        assert set(old[slot]) <= {0, *(values if kind == "max" else -values).tolist()}
        assert old[slot].count(0) >= 1


@triton.jit
def count_with_cas(counter, turns):
    for _ in range(turns):
        seen = tl.atomic_add(counter, tl.full([], 0, counter.dtype.element_ty))
        done = False
        while not done:
            found = tl.atomic_cas(counter, seen, seen + tl.full([], 1, counter.dtype.element_ty))
            done = found == seen
            seen = found


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_r14_compare_and_swap_counts(dtype: str) -> None:
    """A counter made of compare-and-swap, 100 programs."""
    counter = np.zeros(1, dtype)
    launch(count_with_cas, (100,), counter, 5)
    assert counter[0] == 500


@triton.jit
def swap_narrow(slots, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    ty = slots.dtype.element_ty
    expected = (lanes % 2).to(ty)
    tl.store(out + lanes, tl.atomic_cas(slots + lanes, expected, tl.full([N], 7, ty)))


@pytest.mark.parametrize("dtype", ["int16", "float16", "bfloat16", "float32", "float64"])
def test_r14_compare_and_swap_of_every_width(dtype: str) -> None:
    """Slots hold 0, 0, 1, 1; lanes expect 0, 1, 0, 1. Neighbours in the same word keep their values."""
    slots, out = cells([0, 0, 1, 1] * 4, dtype), cells([0] * 16, dtype)
    launch(swap_narrow, (1,), slots, out, N=16)
    assert numbers(out).tolist() == [0, 0, 1, 1] * 4
    assert numbers(slots).tolist() == [7, 0, 1, 7] * 4


@triton.jit
def scalar_pointer(slots, old, KIND: tl.constexpr):
    program = tl.program_id(0)
    value = (program + 1).to(slots.dtype.element_ty)
    if KIND == "add":
        before = tl.atomic_add(slots, value)
    elif KIND == "max":
        before = tl.atomic_max(slots, value)
    elif KIND == "min":
        before = tl.atomic_min(slots, -value)
    else:
        before = tl.atomic_xchg(slots, value)
    tl.store(old + program, before)


@pytest.mark.parametrize("kind", ["add", "max", "min", "xchg"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_r14_scalar_pointer(dtype: str, kind: str) -> None:
    """One cell, 1000 programs, each once. With the old values the order of all the programs can be told."""
    slots, old = cells([0], dtype), cells([0] * 1000, dtype)
    launch(scalar_pointer, (1000,), slots, old, KIND=kind)
    values = np.arange(1, 1001)
    if kind == "xchg":
        assert sorted([*old.tolist(), slots[0]]) == list(range(1001))
    elif kind == "add":
        assert slots[0] == values.sum()
        order = np.argsort(old)
        np.testing.assert_array_equal(old[order], np.cumsum(values[order]) - values[order])
    else:
        assert slots[0] == (1000 if kind == "max" else -1000)


@triton.jit
def add_to(x):
    tl.atomic_add(x + tl.arange(0, 4), tl.full([4], 1, x.dtype.element_ty))


@triton.jit
def extreme_of(x):
    tl.atomic_max(x + tl.arange(0, 4), tl.full([4], 1, x.dtype.element_ty))


@pytest.mark.parametrize(
    ("kernel", "dtype", "named"),
    [
        (add_to, "int8", "int8"),
        (add_to, "bool", "int1"),
        (add_to, "int16", "int16"),
        (add_to, "float8_e5m2", "fp8e5"),
        (extreme_of, "float16", "fp16"),
        (extreme_of, "bfloat16", "bf16"),
    ],
)
def test_r14_unsupported_types_are_named(kernel: Any, dtype: str, named: str) -> None:
    width = np.dtype(STORAGE.get(dtype, dtype)).itemsize
    with pytest.raises(triton.CompilationError) as caught:
        launch(kernel, (1,), memory(np.zeros(4, f"uint{8 * width}"), dtype))
    assert f"does not support {named}" in f"{caught.value} {caught.value.__cause__}"
