"""Loads and stores: masks, bytes that must not be touched, strides, booleans in memory."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import Typed, bf16, bf16_bits, launch, random

DTYPES = ["int8", "int16", "int32", "int64", "float16", "float32", "float64"]


class GuardedPages:
    """Three pages of which only the middle one may be touched; any access to the others ends the process."""

    def __init__(self) -> None:
        self.page = mmap.PAGESIZE
        self._map = mmap.mmap(-1, 3 * self.page)
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        for page in (0, 2):
            forbidden = ctypes.c_void_p(self.start + page * self.page)
            assert protect(forbidden, ctypes.c_size_t(self.page), 0) == 0
        self.bytes = np.frombuffer(self._map, np.uint8)[self.page : 2 * self.page]

    def array(self, dtype: str) -> np.ndarray:
        return self.bytes.view(dtype)


class Pointer:
    """A bare address with a dtype: all that a launch needs."""

    def __init__(self, address: int, dtype: str) -> None:
        self._address = address
        self.dtype = dtype

    def data_ptr(self) -> int:
        return self._address


@pytest.fixture(scope="module")
def pages() -> GuardedPages:
    if not hasattr(ctypes.CDLL(None), "mprotect"):
        pytest.skip("no mprotect on this system")
    return GuardedPages()


@triton.jit
def load_shifted(x, out, shift, low, high, N: tl.constexpr):
    lanes = tl.arange(0, N)
    inside = (lanes >= low) & (lanes < high)
    tl.store(out + lanes, tl.load(x + (lanes - shift), mask=inside, other=7))


@triton.jit
def store_shifted(x, value, shift, low, high, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(
        x + (lanes - shift), (lanes + value).to(x.dtype.element_ty), mask=(lanes >= low) & (lanes < high)
    )


@triton.jit
def add_shifted(x, value, shift, low, high, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.atomic_add(
        x + (lanes - shift), (lanes + value).to(x.dtype.element_ty), mask=(lanes >= low) & (lanes < high)
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("end", ["lower", "upper"])
def test_masked_load_beside_forbidden_pages(pages: GuardedPages, dtype: str, end: str) -> None:
    """R01: dead lanes point into a page that may not be read. They give ``other`` and touch nothing."""
    inside = pages.array(dtype)
    inside[:] = np.arange(inside.size) % 100
    out = np.zeros(64, dtype)
    if end == "lower":  # lanes below 32 lie before the first element
        launch(load_shifted, (1,), Pointer(inside.ctypes.data, dtype), out, 32, 32, 64, N=64)
        expected = [7] * 32 + inside[:32].tolist()
    else:  # lanes from 32 on lie past the last one
        first = inside[-32:]
        launch(load_shifted, (1,), Pointer(first.ctypes.data, dtype), out, 0, 0, 32, N=64)
        expected = first.tolist() + [7] * 32
    assert out.tolist() == expected


@pytest.mark.parametrize("kernel", [store_shifted, add_shifted], ids=["store", "atomic_add"])
@pytest.mark.parametrize("dtype", ["int32", "float32", "int64"])
@pytest.mark.parametrize("end", ["lower", "upper"])
def test_masked_write_beside_forbidden_pages(
    pages: GuardedPages, kernel: object, dtype: str, end: str
) -> None:
    """R01: the same for stores and atomics; bytes beside the live lanes keep their values."""
    inside = pages.array(dtype)
    inside[:] = 0
    if end == "lower":
        launch(kernel, (1,), Pointer(inside.ctypes.data, dtype), 5, 32, 32, 60, N=64)
        expected = [lane + 5 for lane in range(32, 60)]
        assert inside[:28].tolist() == expected
        assert not inside[28:].any()
    else:
        launch(kernel, (1,), Pointer(inside[-32:].ctypes.data, dtype), 5, 0, 4, 32, N=64)
        assert inside[-28:].tolist() == [lane + 5 for lane in range(4, 32)]
        assert not inside[:-28].any()


@triton.jit
def load_rows_shifted(x, out, n_rows, n_columns, pitch, R: tl.constexpr, C: tl.constexpr):
    rows = tl.arange(0, R)
    columns = tl.arange(0, C)
    inside = (rows[:, None] < n_rows) & (columns[None, :] < n_columns)
    tile = tl.load(x + rows[:, None] * pitch + columns[None, :], mask=inside, other=-1)
    tl.store(out + rows[:, None] * C + columns[None, :], tile)


def test_masked_tile_beside_a_forbidden_page(pages: GuardedPages) -> None:
    """R01 in two dimensions: the last element of the tile is the last of the page."""
    inside = pages.array("int32")
    inside[:] = np.arange(inside.size)
    tile = inside[-35:]  # five rows of seven
    out = np.zeros((8, 16), np.int32)
    launch(load_rows_shifted, (1,), Pointer(tile.ctypes.data, "int32"), out, 5, 7, 7, R=8, C=16)
    expected = np.full((8, 16), -1, np.int32)
    expected[:5, :7] = tile.reshape(5, 7)
    np.testing.assert_array_equal(out, expected)


@triton.jit
def fill_scratch(x, out, N: tl.constexpr):
    tile = tl.load(x + tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out + tl.arange(0, N), tl.sum(tl.dot(tile, tl.trans(tile), input_precision="ieee"), axis=1))


@triton.jit
def dead_lanes(x, table, out, n, N: tl.constexpr):
    lanes = tl.arange(0, N)
    inside = lanes < n
    value = tl.load(x + lanes, mask=inside)
    tl.store(out + lanes, value)
    # Dead lanes are 0: usable as indices at once, without a mask.
    tl.store(table + value.to(tl.int32), (lanes + 1).to(tl.int32))


@pytest.mark.parametrize("dtype", ["float32", "int64", "int8", "float16", "bfloat16", "bool"])
def test_dead_lanes_are_zero(dtype: str) -> None:
    """R02: whatever ran before, lanes masked off without ``other`` are 0, the first time and the second."""
    garbage = np.full((64, 64), 1e30, np.float32)
    for _ in range(2):
        launch(fill_scratch, (2,), garbage, np.zeros(64, np.float32), N=64)
        one = Typed(np.full(8, 0x3F80, np.uint16), "bfloat16") if dtype == "bfloat16" else np.ones(8, dtype)
        out = Typed(np.full(8, 9, np.uint16), "bfloat16") if dtype == "bfloat16" else np.ones(8, dtype)
        table = np.zeros(4, np.int32)
        launch(dead_lanes, (1,), one, table, out, 5, N=8)
        bits = out.bits if isinstance(out, Typed) else out
        assert not bits[5:].any()
        assert table.tolist() == [8, 5, 0, 0]


@triton.jit
def scalar_masks(x, out, flag, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes, mask=flag > 3, other=-1.0), mask=flag > 2)
    tl.store(out + N, tl.load(x, mask=flag > 3, other=-2.0), mask=flag > 2)


@pytest.mark.parametrize("flag", [2, 3, 4])
def test_scalar_mask(flag: int) -> None:
    """One boolean for all lanes, and a masked scalar access."""
    x, out = random(16), np.zeros(17, np.float32)
    launch(scalar_masks, (1,), x, out, flag, N=16)
    loaded = np.append(x, x[0]) if flag > 3 else np.array([-1.0] * 16 + [-2.0], np.float32)
    np.testing.assert_array_equal(out, loaded if flag > 2 else np.zeros(17, np.float32))


@triton.jit
def irregular_mask(x, mask, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    live = tl.load(mask + lanes) != 0
    tl.store(out + lanes, tl.load(x + lanes, mask=live, other=3), mask=lanes % 3 != 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_irregular_mask(dtype: str) -> None:
    """Masks that are no bounds: read from memory, and every third lane."""
    x, mask, out = random(64, dtype), random(64, "bool").view(np.int8), np.zeros(64, dtype)
    launch(irregular_mask, (1,), x, mask, out, N=64)
    expected = np.where(mask != 0, x, np.array(3, dtype))
    expected[::3] = 0
    np.testing.assert_array_equal(out, expected)


@triton.jit
def load_other_tensor(x, default, out, n, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n, other=tl.load(default + lanes)))


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 31, 32])
def test_tensor_as_other(n: int) -> None:
    x, default, out = random(32), random(32, seed=1), np.zeros(32, np.float32)
    launch(load_other_tensor, (1,), x, default, out, n, N=32)
    np.testing.assert_array_equal(out, np.concatenate([x[:n], default[n:]]))


@triton.jit
def strided(x, out, stride, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes * stride))


@triton.jit
def strided_constant(x, out, STRIDE: tl.constexpr, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes * STRIDE))


@triton.jit
def strided_store(x, out, stride, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes * stride, tl.load(x + lanes))


@pytest.mark.parametrize("stride", [-1, -3, 0, 1, 2, 5])
@pytest.mark.parametrize("kernel", [strided, strided_constant], ids=["argument", "constant"])
def test_stride_of_load(kernel: object, stride: int) -> None:
    """R12: any stride, as an argument (1 is specialised) and as a constant; the base lies where all is valid."""
    buffer = random(256)
    base = -stride * 31 if stride < 0 else 0
    out = np.zeros(32, np.float32)
    launch(kernel, (1,), Pointer(buffer[base:].ctypes.data, "float32"), out, stride, N=32)
    np.testing.assert_array_equal(out, buffer[base + np.arange(32) * stride])


@pytest.mark.parametrize("stride", [-1, -3, 1, 2])
def test_stride_of_store(stride: int) -> None:
    """R12: for stores; what lies between the lanes stays."""
    buffer = np.zeros(256, np.float32)
    base = -stride * 31 if stride < 0 else 0
    x = random(32)
    launch(strided_store, (1,), x, Pointer(buffer[base:].ctypes.data, "float32"), stride, N=32)
    expected = np.zeros(256, np.float32)
    expected[base + np.arange(32) * stride] = x
    np.testing.assert_array_equal(buffer, expected)


@triton.jit
def broadcast_tile(x, out, row_stride, column_stride, R: tl.constexpr, C: tl.constexpr):
    rows = tl.arange(0, R)[:, None]
    columns = tl.arange(0, C)[None, :]
    tl.store(out + rows * C + columns, tl.load(x + rows * row_stride + columns * column_stride))


@pytest.mark.parametrize("strides", [(0, 1), (1, 0), (0, 0), (-8, 1), (8, -1), (1, 16), (9, 3)])
def test_strides_of_tile(strides: tuple[int, int]) -> None:
    """R12 in two dimensions: broadcast (stride 0), flipped (negative) and transposed inputs."""
    buffer = random(1024)
    rows, columns = np.arange(8)[:, None] * strides[0], np.arange(16)[None, :] * strides[1]
    base = -int((rows + columns).min())
    out = np.zeros((8, 16), np.float32)
    launch(broadcast_tile, (1,), Pointer(buffer[base:].ctypes.data, "float32"), out, *strides, R=8, C=16)
    np.testing.assert_array_equal(out, buffer[base + rows + columns])


@triton.jit
def count_true(x, out, N: tl.constexpr):
    flags = tl.load(x + tl.arange(0, N))
    tl.store(out, tl.sum(flags.to(tl.int32)).to(tl.int1))


@pytest.mark.parametrize("n", [128, 256, 512])
def test_boolean_from_a_sum(n: int) -> None:
    """R04: 256 is true. The byte stored is exactly 1."""
    out = np.full(2, 0xAA, np.uint8)
    launch(count_true, (1,), np.ones(n, np.int32), Typed(out, "bool"), N=n)
    assert out.tolist() == [1, 0xAA]


@triton.jit
def copy_booleans(x, out, n, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes), mask=lanes < n)


def test_boolean_bytes() -> None:
    """R04: any byte but 0 loads as true; stores write 0 or 1; masked-off bytes stay."""
    x = np.array([0, 1, 2, 255, 128, 0, 3, 1], np.uint8)
    out = np.full(8, 0xAA, np.uint8)
    launch(copy_booleans, (1,), Typed(x, "bool"), Typed(out, "bool"), 6, N=8)
    assert out.tolist() == [0, 1, 1, 1, 1, 0, 0xAA, 0xAA]


@triton.jit
def chase(start, out, steps):
    pointer = start
    for _ in range(steps):
        pointer = tl.load(pointer).to(tl.pointer_type(tl.int64))
    tl.store(out, tl.load(pointer + 1))


def test_pointers_from_memory() -> None:
    """A linked list: pointers are data."""
    cells = np.zeros((4, 2), np.int64)
    for index in range(3):
        cells[index, 0] = cells[index + 1].ctypes.data
    cells[:, 1] = [10, 20, 30, 40]
    out = np.zeros(1, np.int64)
    launch(chase, (1,), Pointer(cells.ctypes.data, "int64"), out, 3)
    assert out[0] == 40


@triton.jit
def gather_scatter(x, index, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    at = tl.load(index + lanes)
    tl.store(out + at, tl.load(x + at * 2))


@pytest.mark.parametrize("dtype", DTYPES)
def test_indices_from_memory(dtype: str) -> None:
    index = np.random.default_rng(0).permutation(64).astype(np.int32)
    x, out = random(128, dtype), np.zeros(64, dtype)
    launch(gather_scatter, (1,), x, index, out, N=64)
    np.testing.assert_array_equal(out, x[::2])


@triton.jit
def large_offsets(x, out, offset, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + offset + lanes))


def test_offset_past_32_bits() -> None:
    """An i64 argument as offset, far beyond what 32 bits hold; the pointer lies as far below the data."""
    buffer = random(64)
    far = 2**40
    out = np.zeros(16, np.float32)
    launch(large_offsets, (1,), Pointer(buffer.ctypes.data - 4 * far, "float32"), out, far, N=16)
    np.testing.assert_array_equal(out, buffer[:16])


@triton.jit
def read_after_write(x, N: tl.constexpr):
    lanes = tl.arange(0, N)
    before = tl.load(x + lanes)
    tl.store(x + lanes, before + 1)
    after = tl.load(x + (N - 1 - lanes))
    tl.store(x + lanes, before * 100 + after)


def test_order_of_loads_and_stores() -> None:
    """In place: a load sees the stores before it and none after it, also where addresses overlap in reverse."""
    x = np.arange(64, dtype=np.int32)
    launch(read_after_write, (1,), x, N=64)
    before = np.arange(64)
    np.testing.assert_array_equal(x, before * 100 + before[::-1] + 1)


@triton.jit
def uneven_tile(x, out, rows, columns, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)[:, None]
    c = tl.program_id(1) * C + tl.arange(0, C)[None, :]
    inside = (r < rows) & (c < columns)
    tl.store(out + c * rows + r, tl.load(x + r * columns + c, mask=inside), mask=inside)


@pytest.mark.parametrize("shape", [(1, 1), (1, 100), (100, 1), (17, 33), (64, 64)])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_transposing_copy(shape: tuple[int, int], dtype: str) -> None:
    """Tiles of 16 x 32 over an uneven matrix, written transposed."""
    rows, columns = shape
    x, out = random(shape, dtype), np.zeros((columns, rows), dtype)
    launch(uneven_tile, (triton.cdiv(rows, 16), triton.cdiv(columns, 32)), x, out, rows, columns, R=16, C=32)
    np.testing.assert_array_equal(out, x.T)


@triton.jit
def store_one_lane(x, out, N: tl.constexpr, LANE: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty), mask=i == LANE)


@triton.jit
def store_one_lane_where_it_is_known(x, out, n, N: tl.constexpr):
    i = tl.arange(0, N)
    values = tl.load(x + i)
    if n == 1:
        tl.store(out + i, (values + tl.sum(values, 0)).to(out.dtype.element_ty), mask=i < n)


@pytest.mark.parametrize("lanes", [2, 4, 8, 16, 32, 64, 128, 256])
@pytest.mark.parametrize(
    "dtypes", [("int64", "int8"), ("int32", "int8"), ("int32", "int16"), ("int64", "int32")]
)
def test_one_known_lane_of_what_is_cut(dtypes: tuple[str, str], lanes: int) -> None:
    """LLVM 22 stores such a lane before it is cut, over the lanes behind."""
    wide, narrow = dtypes
    x = np.arange(1, lanes + 1, dtype=wide)
    for lane in {0, 1, lanes // 2, lanes - 1}:
        out = np.full(lanes + 64, 99, narrow)
        launch(store_one_lane, (1,), x, out, lanes, lane)
        expected = np.full_like(out, 99)
        expected[lane] = x[lane].astype(narrow)
        np.testing.assert_array_equal(out, expected)
    out = np.full(lanes + 64, 99, narrow)
    launch(store_one_lane_where_it_is_known, (1,), x, out, 1, lanes)
    assert out[0] == (1 + x.sum()).astype(narrow)
    assert (out[1:] == 99).all()


@pytest.mark.parametrize("lanes", [4, 16, 64])
def test_one_known_lane_of_bf16(lanes: int) -> None:
    x = np.arange(1, lanes + 1, dtype=np.float32)
    for lane in (0, 1, lanes - 1):
        out = bf16(np.full(lanes + 64, 99, np.float32))
        before = out.bits.copy()
        launch(store_one_lane, (1,), x, out, lanes, lane)
        before[lane] = bf16_bits(x)[lane]
        np.testing.assert_array_equal(out.bits, before)


# --- the order of loads and stores ----------------------------------------------------------------------------


@triton.jit
def visit(seen, fresh, N: tl.constexpr):
    lanes = tl.arange(0, N)
    before = tl.load(seen + lanes)
    tl.store(seen + lanes, 1)
    tl.store(fresh + lanes, 1, mask=before == 0)


@triton.jit
def follow(following, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    place = tl.load(following + lanes)
    tl.store(following + lanes, 0)
    tl.store(out + place, lanes)


@triton.jit
def raise_and_count(levels, counts, N: tl.constexpr):
    lanes = tl.arange(0, N)
    level = tl.load(levels + lanes)
    tl.store(levels + lanes, level + 1)
    tl.atomic_add(counts + lanes, level, mask=level > 2)


@pytest.mark.parametrize("lanes", [4, 16, 256, 1024])
def test_masks_and_addresses_of_memory_that_is_overwritten(lanes: int) -> None:
    """What a store reads to find out where and whether to store is read before an earlier store of the same loop."""
    seen, fresh = np.arange(lanes, dtype=np.int32) % 2, np.zeros(lanes, np.int32)
    launch(visit, (1,), seen, fresh, N=lanes)
    np.testing.assert_array_equal(fresh, 1 - np.arange(lanes) % 2)
    np.testing.assert_array_equal(seen, 1)

    order = np.random.default_rng(0).permutation(lanes).astype(np.int32)
    following, out = order.copy(), np.full(lanes, -1, np.int32)
    launch(follow, (1,), following, out, N=lanes)
    np.testing.assert_array_equal(out[order], np.arange(lanes))

    levels, counts = np.arange(lanes, dtype=np.int32) % 5, np.zeros(lanes, np.int32)
    launch(raise_and_count, (1,), levels, counts, N=lanes)
    np.testing.assert_array_equal(counts, np.where(np.arange(lanes) % 5 > 2, np.arange(lanes) % 5, 0))


@triton.jit
def shift_by_turns(first, second, rounds, N: tl.constexpr):
    lanes = tl.arange(0, N)
    to, source = first, second
    for _ in range(rounds):
        tl.store(to + lanes + 1, tl.load(source + lanes))
        to = source


def test_a_loop_may_carry_another_pointer_on() -> None:
    """In the second round both pointers are the same argument's."""
    first, second = np.zeros(1025, np.int32), np.arange(1025, dtype=np.int32)
    launch(shift_by_turns, (1,), first, second, 2, N=1024)
    np.testing.assert_array_equal(first[1:], np.arange(1024))
    np.testing.assert_array_equal(second, [0, *range(1024)])


@triton.jit
def add_first_row(x, y, N: tl.constexpr):
    row, column = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    total = tl.load(x + N * row + column) + tl.load(x + column)
    tl.store(y + N * row + column, total)


@triton.jit
def transpose_by_strides(x, y, down, across, N: tl.constexpr):
    row, column = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    value = tl.load(x + row * down + column * across)
    tl.store(y + row * across + column * down, value)


def test_two_arguments_that_are_one_tensor() -> None:
    """In place, with other elements read than written."""
    start = np.arange(64 * 64, dtype=np.int32).reshape(64, 64)
    x = start.copy()
    launch(add_first_row, (1,), x, x, N=64)
    np.testing.assert_array_equal(x, start + start[0])
    x = start.copy()
    launch(transpose_by_strides, (1,), x, x, 64, 1, N=64)
    np.testing.assert_array_equal(x, start.T)
