"""Loads, stores and atomics: contents, and that masked-off lanes never touch memory (they point into guard pages)."""

from __future__ import annotations

import ctypes
import mmap
import threading
from typing import Any

import numpy as np
import pytest
from isa_kernels import HOSTS, NATIVE, TYPES, IsaKernel, parse_kernel, vector

from <<cookiecutter.package_name>>.codegen.llvm import emit_module
from <<cookiecutter.package_name>>.errors import BackendError

_SHAPES = (
    ("native", 1),
    ("native", 8),
    ("native", 16),
    ("native", 64),
    ("avx2", 16),
    ("avx2", 1),
    ("sse2", 8),
)
SHAPES = [pytest.param(HOSTS[host], lanes, id=f"{host}-{lanes}") for host, lanes in _SHAPES if host in HOSTS]
ELEMENTS = ["i8", "i16", "i32", "i64", "f16", "f32", "f64"]
PAGE = mmap.PAGESIZE
RNG = np.random.default_rng(4)


class GuardedPage:
    """One page of memory between two that trap on every access."""

    def __init__(self) -> None:
        self._map = mmap.mmap(-1, 3 * PAGE)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        protect = ctypes.CDLL(None).mprotect
        protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        for guard in (base, base + 2 * PAGE):
            assert protect(guard, PAGE, 0) == 0
        self.start, self.end = base + PAGE, base + 2 * PAGE
        self.bytes = np.frombuffer(self._map, np.uint8)[PAGE : 2 * PAGE]

    def array(self, dtype: Any) -> np.ndarray:
        return self.bytes.view(dtype)


def random_array(dtype: Any, size: int) -> np.ndarray:
    return RNG.integers(0, 100, size).astype(dtype)


def load_mask(lanes: int) -> str:
    """Instructions that load ``%mask`` from the bytes at ``%m``."""
    bytes_type = vector("i8", lanes)
    return f"""%mask_bytes = isa.load %m : {bytes_type}
    %zero = isa.const 0 : i8 : {bytes_type}
    %mask = isa.cmpi ne, %mask_bytes, %zero : {bytes_type} -> {vector("i1", lanes)}
    """


def masks(lanes: int) -> list[np.ndarray]:
    """All, none, one lane, prefixes, random ones."""
    lane = np.arange(lanes)
    return [
        lane >= 0, lane < 0, lane == 0, lane == lanes - 1, lane < lanes // 2, lane >= lanes // 2, lane % 3 == 1,
        *(RNG.random((4, lanes)) < 0.5),
    ]  # fmt: skip


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize(("host", "lanes"), SHAPES)
def test_unaligned_loads_and_stores(host: Any, lanes: int, element: str) -> None:
    ty = vector(element, lanes)
    kernel = IsaKernel(
        {"x": "i64", "o": "i64"}, f"%v = isa.load %x : {ty}\nisa.store %v, %o : {ty}\nisa.return", host
    )
    page, out = GuardedPage(), GuardedPage()
    page.bytes[:] = RNG.integers(0, 256, PAGE)
    size = lanes * np.dtype(TYPES[element]).itemsize
    for source, target in (
        (page.start, out.start),
        (page.end - size, out.end - size),
        (page.start + 1, out.start + 3),
    ):
        out.bytes[:] = 0
        assert kernel(source, target) == 0
        i, o = source - page.start, target - out.start
        np.testing.assert_array_equal(out.bytes[o : o + size], page.bytes[i : i + size])
        assert np.count_nonzero(out.bytes) <= size


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize(("host", "lanes"), SHAPES)
def test_masked_loads_and_stores(host: Any, lanes: int, element: str) -> None:
    ty, predicate = vector(element, lanes), vector("i1", lanes)
    body = f"""{load_mask(lanes)}
    %other = isa.load %e : {ty}
    %v = isa.load.masked %x, %mask, %other : {predicate}, {ty}
    isa.store %v, %o : {ty}
    isa.store.masked %v, %s, %mask : {ty}, {predicate}
    isa.return"""
    kernel = IsaKernel(dict.fromkeys(("x", "m", "e", "o", "s"), "i64"), body, host)
    dtype = np.dtype(TYPES[element])
    page, stores = GuardedPage(), GuardedPage()
    memory, stored = page.array(dtype), stores.array(dtype)
    memory[:] = random_array(dtype, len(memory))
    other, out = random_array(dtype, lanes), np.zeros(lanes, dtype)
    for mask in masks(lanes):
        # As far into the guard pages as the mask allows: the first, then the last set lane is the page's.
        used = np.flatnonzero(mask)
        low = -int(used[0]) if len(used) else -lanes
        high = len(memory) - 1 - int(used[-1]) if len(used) else len(memory)
        for first in (low, high):
            stored[:] = 0
            assert kernel(page.start + first * dtype.itemsize, mask.astype(np.uint8), other, out,
                          stores.start + first * dtype.itemsize) == 0  # fmt: skip
            expected = np.array([memory[first + i] if mask[i] else other[i] for i in range(lanes)], dtype)
            np.testing.assert_array_equal(out, expected)
            image = np.zeros_like(stored)
            image[first + used] = expected[used]
            np.testing.assert_array_equal(stored, image)


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize(("host", "lanes"), SHAPES)
def test_gather_and_scatter(host: Any, lanes: int, element: str) -> None:
    ty, predicate, addresses = vector(element, lanes), vector("i1", lanes), vector("i64", lanes)
    body = f"""{load_mask(lanes)}
    %other = isa.load %e : {ty}
    %from = isa.load %f : {addresses}
    %to = isa.load %t : {addresses}
    %v = isa.gather %from, %mask, %other : {addresses}, {predicate}, {ty}
    isa.store %v, %o : {ty}
    isa.scatter %v, %to, %mask : {ty}, {addresses}, {predicate}
    isa.return"""
    kernel = IsaKernel(dict.fromkeys(("m", "e", "f", "t", "o"), "i64"), body, host)
    dtype = np.dtype(TYPES[element])
    page, stores = GuardedPage(), GuardedPage()
    memory, stored = page.array(dtype), stores.array(dtype)
    memory[:] = random_array(dtype, len(memory))
    other, out = random_array(dtype, lanes), np.zeros(lanes, dtype)
    for mask in masks(lanes):
        index = RNG.integers(0, len(memory), lanes)
        index[-1] = len(memory) - 1  # an access past the element would trap
        index[0] = 0
        target = RNG.integers(0, 7, lanes)  # lanes collide: the last one stays
        wild = RNG.integers(0, 2**62, lanes)
        sources = np.where(mask, page.start + index * dtype.itemsize, wild)
        targets = np.where(mask, stores.start + target * dtype.itemsize, wild)
        stored[:] = 0
        assert kernel(mask.astype(np.uint8), other, sources, targets, out) == 0
        expected = np.where(mask, memory[index], other)
        np.testing.assert_array_equal(out, expected)
        image = np.zeros_like(stored)
        for lane in np.flatnonzero(mask):
            image[target[lane]] = expected[lane]
        np.testing.assert_array_equal(stored, image)


def test_predicates_cannot_be_stored() -> None:
    module = parse_kernel(
        {"o": "i64"}, "%c = isa.const true : i1\nisa.store %c, %o : i1\nisa.return", verify=False
    )
    with pytest.raises(BackendError, match="whole bytes"):
        emit_module(module)


def test_scratchpad_addresses() -> None:
    body = """%a = isa.scratch 0
    %b = isa.scratch 4096
    %x = isa.load %p : i64
    isa.store %x, %b : i64
    %y = isa.load %b : i64
    isa.store %y, %o : i64
    %d = isa.subi %b, %a : i64
    isa.store %d, %q : i64
    isa.return"""
    source, out, distance = np.array([77]), np.zeros(1, np.int64), np.zeros(1, np.int64)
    IsaKernel({"p": "i64", "o": "i64", "q": "i64"}, body)(source, out, distance)
    assert (out[0], distance[0]) == (77, 4096)


# --- atomics ----------------------------------------------------------------------------------------------------

KINDS = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "add": lambda a, b: a + b,
    "max": max,
    "min": min,
    "umax": max,
    "umin": min,
    "xchg": lambda a, b: b,
}


def atomic_kernel(
    element: str, lanes: int, kind: str, host: Any = NATIVE, ordering: str = "acq_rel"
) -> IsaKernel:
    ty, predicate, addresses = vector(element, lanes), vector("i1", lanes), vector("i64", lanes)
    body = f"""{load_mask(lanes)}
    %to = isa.load %t : {addresses}
    %v = isa.load %x : {ty}
    %old = isa.atomic.rmw "{kind}", "{ordering}", %to, %v, %mask : {addresses}, {predicate}, {ty}
    isa.store %old, %o : {ty}
    isa.return"""
    return IsaKernel(dict.fromkeys(("m", "t", "x", "o"), "i64"), body, host)


@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("lanes", [1, 16])
def test_integer_atomics(lanes: int, element: str) -> None:
    dtype = np.dtype(TYPES[element])
    for kind, reference in KINDS.items():
        view = np.dtype(f"u{dtype.itemsize}") if kind.startswith("u") else dtype
        kernel = atomic_kernel(element, lanes, kind, ordering="monotonic" if kind == "add" else "acq_rel")
        memory, old = RNG.integers(-128, 128, 8).astype(dtype), np.zeros(lanes, dtype)
        for mask in masks(lanes):
            value = RNG.integers(-128, 128, lanes).astype(dtype)
            place = RNG.integers(0, 8, lanes)
            expected, expected_old = memory.copy(), np.zeros(lanes, dtype)
            for lane in np.flatnonzero(mask):
                before = expected[place[lane]]
                expected_old[lane] = before
                operands = (int(v.view(view)) for v in (before, value[lane]))
                result = int(reference(*operands)) % 2 ** (8 * dtype.itemsize)
                expected[place[lane]] = np.array(result, f"u{dtype.itemsize}").view(dtype)
            addresses = np.where(mask, memory.ctypes.data + place * dtype.itemsize, 8)
            kernel(mask.astype(np.uint8), addresses, value, old)
            np.testing.assert_array_equal(memory, expected, kind)
            np.testing.assert_array_equal(old, expected_old, kind)


@pytest.mark.parametrize("element", ["f16", "bf16", "f32", "f64"])
@pytest.mark.parametrize("kind", ["fadd", "xchg"])
@pytest.mark.parametrize(("host", "lanes"), [(HOSTS[h], n) for h in HOSTS for n in (1, 16)])
def test_float_atomics(host: Any, lanes: int, element: str, kind: str) -> None:
    def pack(values: Any) -> np.ndarray:
        if element == "bf16":  # small integers are exact
            return (np.asarray(values, np.float32).view(np.uint32) // 2**16).astype(np.uint16)
        return np.array(values, {"f16": np.float16, "f32": np.float32, "f64": np.float64}[element])

    kernel = atomic_kernel(element, lanes, kind, host)
    totals = RNG.integers(0, 8, 5).astype(float)
    memory, old = pack(totals), pack(np.zeros(lanes))
    size = memory.itemsize
    for mask in masks(lanes):
        value, place = RNG.integers(0, 4, lanes).astype(float), RNG.integers(0, 5, lanes)
        expected_old = np.zeros(lanes)
        for lane in np.flatnonzero(mask):
            expected_old[lane] = totals[place[lane]]
            totals[place[lane]] = value[lane] + (totals[place[lane]] if kind == "fadd" else 0)
        kernel(mask.astype(np.uint8), np.where(mask, memory.ctypes.data + place * size, 8), pack(value), old)
        np.testing.assert_array_equal(memory, pack(totals))
        np.testing.assert_array_equal(old, pack(expected_old))


@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64", "f16", "f32"])
@pytest.mark.parametrize("lanes", [1, 16])
def test_compare_and_swap(lanes: int, element: str) -> None:
    ty, addresses = vector(element, lanes), vector("i64", lanes)
    body = f"""%to = isa.load %t : {addresses}
    %e = isa.load %x : {ty}
    %d = isa.load %y : {ty}
    %old = isa.atomic.cas "acq_rel", %to, %e, %d : {addresses}, {ty}
    isa.store %old, %o : {ty}
    isa.return"""
    kernel = IsaKernel(dict.fromkeys(("t", "x", "y", "o"), "i64"), body)
    dtype = np.dtype(TYPES[element])
    memory, old = RNG.integers(0, 3, 4).astype(dtype), np.zeros(lanes, dtype)
    for _ in range(20):
        expect, desire = (RNG.integers(0, 3, lanes).astype(dtype) for _ in range(2))
        place = RNG.integers(0, 4, lanes)
        expected, expected_old = memory.copy(), np.zeros(lanes, dtype)
        for lane in range(lanes):
            expected_old[lane] = expected[place[lane]]
            if expected[place[lane]] == expect[lane]:
                expected[place[lane]] = desire[lane]
        kernel(memory.ctypes.data + place * dtype.itemsize, expect, desire, old)
        np.testing.assert_array_equal(memory, expected)
        np.testing.assert_array_equal(old, expected_old)


def test_compare_and_swap_compares_bits() -> None:
    body = """%old = isa.atomic.cas "acq_rel", %t, %e, %d : i64, f32
    isa.return"""
    kernel = IsaKernel({"t": "i64", "e": "f32", "d": "f32"}, body)
    memory = np.array([-0.0, np.nan], np.float32)
    kernel(memory, 0.0, 5.0)
    kernel(memory.ctypes.data + 4, np.nan, 6.0)
    assert np.signbit(memory[0]) and memory[0] == 0
    assert memory[1] == 6


@pytest.mark.parametrize("element", ["i8", "f16", "bf16", "f32", "i64"])
def test_atomics_of_several_threads(element: str) -> None:
    """Neighbouring elements, so that those smaller than a word share one."""
    kind = "add" if element.startswith("i") else "fadd"
    kernel = atomic_kernel(element, 16, kind)
    dtype = np.dtype(TYPES[element])
    one = {"bf16": np.uint16(0x3F80), "f16": np.float16(1).view(np.uint16)}.get(element, dtype.type(1))
    memory = np.zeros(4, dtype)
    addresses = memory.ctypes.data + np.arange(16) % 4 * dtype.itemsize
    value, mask = np.full(16, one, dtype), np.ones(16, np.uint8)

    def work() -> None:
        kernel(mask, addresses, value, np.zeros(16, dtype), grid=(8, 1, 1))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    total = 3 * 8 * 4
    expected = {"bf16": np.float32(total).view(np.uint32) // 2**16, "f16": np.float16(total).view(np.uint16)}
    np.testing.assert_array_equal(memory, np.full(4, expected.get(element, total), dtype))


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        ('isa.atomic.rmw "nand", "acq_rel", %t, %v, %c : i64, i1, i32', "nand"),
        ('isa.atomic.rmw "add", "relaxed", %t, %v, %c : i64, i1, i32', "relaxed"),
        ('isa.atomic.rmw "fadd", "acq_rel", %t, %v, %c : i64, i1, i32', "fadd"),
    ],
)
def test_unknown_atomics_are_refused(instruction: str, message: str) -> None:
    body = f"%c = isa.const true : i1\n%v = isa.const 1 : i32 : i32\n%old = {instruction}\nisa.return"
    with pytest.raises(BackendError, match=message):
        emit_module(parse_kernel({"t": "i64"}, body, verify=False))


@pytest.mark.parametrize("offset", [0, 4, 16, 32, 60])
@pytest.mark.parametrize("bypass", [0, 1])
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize(("host", "lanes"), SHAPES)
def test_streaming_store(host: Any, lanes: int, element: str, bypass: int, offset: int) -> None:
    """All bytes, and no others, wherever in a cache line the place begins."""
    dtype = np.dtype(TYPES[element])
    kernel = IsaKernel(
        {"p": "i64", "q": "i64", "flag": "i1"},
        f"""%v = isa.load %p : {vector(element, lanes)}
        isa.store.streaming %v, %q if %flag : {vector(element, lanes)}
        isa.return""",
        host,
    )
    source, page = random_array(dtype, lanes), GuardedPage()
    size = lanes * dtype.itemsize
    page.bytes[...] = 255
    assert kernel(source.ctypes.data, page.start + offset, bypass) == 0
    assert page.bytes[offset : offset + size].tobytes() == source.tobytes()
    assert (page.bytes[:offset] == 255).all() and (page.bytes[offset + size :] == 255).all()
