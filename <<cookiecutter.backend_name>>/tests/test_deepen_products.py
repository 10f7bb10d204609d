"""Products that a loop adds up, made several iterations at a time (`passes/deepen_products.py`)."""

from __future__ import annotations

from typing import Any

import emulated_kernels
import isa_kernels
import numpy as np
import pytest
import triton
import triton.language as tl
from harness import Typed, bf16, bf16_values, launch
from isa_kernels import MATRIX_HOSTS, NATIVE, IsaKernel, parse_kernel
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64

from <<cookiecutter.package_name>>.codegen import matrix_amx
from <<cookiecutter.package_name>>.dialects.isa import control, matrix
from <<cookiecutter.package_name>>.dialects.walk import operations_in
from <<cookiecutter.package_name>>.host_features import HostFeatures
from <<cookiecutter.package_name>>.passes import deepen_products
from <<cookiecutter.package_name>>.target import BACKEND_NAME, MATRIX_TILE

RNG = np.random.default_rng(7)
WITH_TILES = HostFeatures(NATIVE.name, "+amx-tile,+amx-int8,+amx-bf16,+amx-fp16", NATIVE.triple)
"""A host that has tile registers, for what is decided before machine code is made."""

pytestmark = pytest.mark.skipif(
    MATRIX_TILE is None, reason="a machine without a matrix unit has no such products"
)

HAS_TILES = all(
    NATIVE.has(feature) for feature in ("amx-tile", *(f for f, _ in matrix_amx.PRODUCTS.values()))
)

# --- kernels written in Triton ------------------------------------------------------------------------------------


@triton.jit
def running(a, b, c, out, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    at = rows[:, None] * N + columns[None, :]
    total = tl.load(c + at)
    for start in range(0, k, K):
        left = k - start
        x = tl.load(a + rows[:, None] * k + start + inner[None, :], mask=inner[None, :] < left, other=0)
        y = tl.load(b + (start + inner[:, None]) * N + columns[None, :], mask=inner[:, None] < left, other=0)
        total = tl.dot(x, y, total, out_dtype=c.dtype.element_ty)
    tl.store(out + at, total)


@triton.jit
def two_in_a_row(a, b, out, count, tiles, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """An outer loop around the one over k, whose sums start anew each time."""
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    for tile in range(tiles):
        total = tl.zeros((M, N), tl.float32)
        for step in range(count):
            x = tl.load(a + (tile * count + step) * M * K + rows[:, None] * K + inner[None, :])
            y = tl.load(b + step * K * N + inner[:, None] * N + columns[None, :])
            total = tl.dot(x, y, total)
        tl.store(out + tile * M * N + rows[:, None] * N + columns[None, :], total)


@triton.jit
def scaled_between(a, b, out, count, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Sums that the loop also changes itself: no product may come later."""
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for step in range(count):
        x = tl.load(a + step * M * K + rows[:, None] * K + inner[None, :])
        y = tl.load(b + step * K * N + inner[:, None] * N + columns[None, :])
        total = tl.dot(x, y, total * 0.5)
    tl.store(out + rows[:, None] * N + columns[None, :], total)


@triton.jit
def seen_in_the_loop(a, b, out, sums, count, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Sums that the loop also stores."""
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    at = rows[:, None] * N + columns[None, :]
    total = tl.zeros((M, N), tl.float32)
    for step in range(count):
        x = tl.load(a + step * M * K + rows[:, None] * K + inner[None, :])
        y = tl.load(b + step * K * N + inner[:, None] * N + columns[None, :])
        total = tl.dot(x, y, total)
        tl.store(sums + step * M * N + at, total)
    tl.store(out + at, total)


@triton.jit
def half_seen_in_the_loop(a, b, halves, count, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Sums of which the loop stores every second one: it reads the buffer from its second element on."""
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for step in range(count):
        x = tl.load(a + step * M * K + rows[:, None] * K + inner[None, :])
        y = tl.load(b + step * K * N + inner[:, None] * N + columns[None, :])
        total = tl.dot(x, y, total)
        _, odd = tl.split(tl.reshape(total, (M, N // 2, 2)))
        at = step * M * N // 2 + rows[:, None] * (N // 2) + tl.arange(0, N // 2)[None, :]
        tl.store(halves + at, odd)
    tl.store(halves + count * M * N // 2 + rows[:, None] * N + columns[None, :], total)


def integers(shape: tuple[int, ...], dtype: str) -> Typed | np.ndarray:
    """Small ones: their products and sums are exact in every format."""
    values = RNG.integers(-8, 8, shape).astype(np.float32)
    return bf16(values) if dtype == "bfloat16" else values.astype(dtype)


def exact(array: Typed | np.ndarray) -> np.ndarray:
    return (bf16_values(array.bits) if isinstance(array, Typed) else array).astype(np.float64)


def deepened(kernel: Any) -> bool:
    """Whether a compiled kernel multiplies slots, in the loop and after it."""
    return kernel.asm[f"{BACKEND_NAME}ir"].count(f"{BACKEND_NAME}.mma") == 2


@pytest.mark.parametrize("shape", [(128, 128, 32), (64, 256, 64), (256, 32, 16)])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "float32"])
def test_running_products(dtype: str, shape: tuple[int, int, int]) -> None:
    """No iteration, one, fewer and more than fill the slots, whole ones and parts; sums that do not start at zero."""
    m, n, block = shape
    for k in (0, 1, block, 3 * block - 5, 8 * block, 11 * block + 7):
        a, b = integers((m, k), dtype), integers((k, n), dtype)
        c = RNG.integers(-99, 99, (m, n)).astype(np.int32 if dtype == "int8" else np.float32)
        out = np.zeros_like(c)
        kernel = launch(running, (1,), a, b, c, out, k, m, n, block)
        np.testing.assert_array_equal(out, exact(a) @ exact(b) + c, f"k = {k}")
        if HAS_TILES and k > block:
            assert deepened(kernel) == (dtype != "float32")


def test_loop_around_the_loop() -> None:
    m, n, k, tiles = 64, 128, 32, 3
    for count in (0, 1, 5, 16):
        a, b = integers((tiles, count, m, k), "float16"), integers((count, k, n), "float16")
        out = np.ones((tiles, m, n), np.float32)
        launch(two_in_a_row, (1,), a, b, out, count, tiles, m, n, k)
        expected = np.einsum("tsmk,skn->tmn", exact(a), exact(b))
        np.testing.assert_array_equal(out, expected, f"{count} iterations")


@pytest.mark.parametrize("count", [1, 6])
def test_sums_that_the_loop_needs(count: int) -> None:
    m, n, k = 128, 64, 32
    a, b = integers((count, m, k), "float16"), integers((count, k, n), "float16")
    out, sums = np.zeros((m, n), np.float32), np.zeros((count, m, n), np.float32)
    products = exact(a) @ exact(b)
    kernel = launch(seen_in_the_loop, (1,), a, b, out, sums, count, m, n, k)
    assert not deepened(kernel)
    np.testing.assert_array_equal(sums, np.cumsum(products, axis=0))
    np.testing.assert_array_equal(out, products.sum(axis=0))
    kernel = launch(scaled_between, (1,), a, b, out, count, m, n, k)
    assert not deepened(kernel)
    halves = 0.5 ** np.arange(count - 1, -1, -1)
    np.testing.assert_array_equal(out, np.einsum("s,smn->mn", halves, products))


def test_part_of_the_sums_that_the_loop_needs() -> None:
    m, n, k, count = 128, 64, 32, 6
    a, b = integers((count, m, k), "float16"), integers((count, k, n), "float16")
    halves = np.zeros((count + 2) * m * n // 2, np.float32)
    assert not deepened(launch(half_seen_in_the_loop, (1,), a, b, halves, count, m, n, k))
    sums = np.cumsum(exact(a) @ exact(b), axis=0)
    np.testing.assert_array_equal(halves, np.append(sums[:, :, 1::2].reshape(-1), sums[-1]))


def test_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums are rounded in the same order as without the pass."""
    m, n, block, k = 128, 128, 64, 700
    a, b = (bf16(RNG.standard_normal(shape)) for shape in ((m, k), (k, n)))
    c = RNG.standard_normal((m, n)).astype(np.float32)
    results = []
    for passes in ("", "deepen-products"):
        monkeypatch.setenv(f"{BACKEND_NAME.upper()}_DISABLE_PASSES", passes)
        running.device_caches.clear()
        results.append(np.zeros_like(c))
        launch(running, (1,), a, b, c, results[-1], k, m, n, block)
    np.testing.assert_array_equal(*results)


# --- kernels written in the instruction set -------------------------------------------------------------------------

COPY = """
  scf.for %{name} = %zero to %{end} step %line : i64 {{
    %{name}_from = isa.addi %{source}, %{name} : i64
    %{name}_to = isa.addi %{target}, %{name} : i64
    %{name}_value = isa.load %{name}_from : vector<64xi8>
    isa.store %{name}_value, %{name}_to : vector<64xi8>
  }}"""
PRODUCT = """
  scf.for %j = %zero to %side step %unit : i64 {{
    %j4 = isa.muli %j, %four : i64
    %j2 = isa.muli %j, %two : i64
    %c_j = isa.addi %c, %j4 : i64
    %b_j = isa.addi %b, %j2 : i64
    scf.for %i = %zero to %side step %unit : i64 {{
      %i_c = isa.muli %i, %pitch_c : i64
      %i_a = isa.muli %i, %pitch_a : i64
      %c_ij = isa.addi %c_j, %i_c : i64
      %a_i = isa.addi %{a}, %i_a : i64
      scf.for %k = %zero to %side step %unit_k : i64 {{
        %a_k = isa.muli %k, %two : i64
        %b_k = isa.muli %k, %line : i64
        %a_ik = isa.addi %a_i, %a_k : i64
        %b_kj = isa.addi %b_j, %b_k : i64
        isa.mma %c_ij, %a_ik, %b_kj tile({unit}, {unit}, {unit_k}) pitch(32, 32, 32) : bf16 -> f32
      }}
    }}
  }}"""
CONSTANTS = {
    "zero": 0, "one": 1, "two": 2, "four": 4, "side": 32, "line": 64, "unit": min(*MATRIX_TILE[:2], 32) if MATRIX_TILE else 1,
    "unit_k": min(MATRIX_TILE[2], 32) if MATRIX_TILE else 32,
    "pitch_a": 64, "pitch_c": 128, "factor": 2048, "sums": 4096,
}  # fmt: skip
SCRATCH_BYTES = 12288
ARGUMENTS = {"x": "i64", "y": "i64", "z": "i64", "count": "i64"}


def body_of(*, end: str = "count", before: str = "", between: str = "", after: str = "", a: str = "a") -> str:
    """Adds the products of 32 x 32 tiles that lie one after the other at x and y to the sums at z."""
    constants = "".join(f"\n  %{name} = isa.const {n} : i64 : i64" for name, n in CONSTANTS.items())
    places = "".join(
        f"\n  %{n} = isa.scratch {at}" for n, at in (("c", 0), ("a", 4096), ("b", 6144), ("d", 8192))
    )
    return f"""{constants}{places}
  {COPY.format(name="first", end="sums", source="z", target="c")}{before}
  scf.for %s = %zero to %{end} step %one : i64 {{
    %moved = isa.muli %s, %factor : i64
    %x_s = isa.addi %x, %moved : i64
    %y_s = isa.addi %y, %moved : i64
    {COPY.format(name="p", end="factor", source="x_s", target="a")}
    {COPY.format(name="q", end="factor", source="y_s", target="b")}{between}
    {PRODUCT.format(unit=CONSTANTS["unit"], unit_k=CONSTANTS["unit_k"], a=a)}{after}
  }}
  {COPY.format(name="last", end="sums", source="c", target="z")}
  isa.return"""


def deepened_module(arguments: dict[str, str], body: str, *, verify: bool = True) -> ModuleOp:
    module = parse_kernel(arguments, body, verify=verify)
    kernel_of(module).scratch_bytes = IntegerAttr(
        SCRATCH_BYTES, i64
    )  # with slots, too, less than a test's workspace
    deepen_products.deepen_for(WITH_TILES, module)
    module.verify()
    return module


def kernel_of(module: ModuleOp) -> control.Kernel:
    (kernel,) = (op for op in module.ops if isinstance(op, control.Kernel))
    return kernel


@pytest.fixture(autouse=True)
def small_sums(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """In tests of instructions tiles are small."""
    if "isa" in request.node.name:
        monkeypatch.setattr(deepen_products, "FEWEST_SUMS", 0)


def products_in(module: ModuleOp) -> int:
    return sum(isinstance(op, matrix.Mma) for op in operations_in(module))


def tiles_and_sum(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """x, y and z as bits, and what z should become."""
    x, y = (RNG.integers(-8, 8, (count, 32, 32)).astype(np.float32) for _ in range(2))
    z = RNG.integers(-99, 99, (32, 32)).astype(np.float32)
    bits = [np.append(bf16(v).bits.reshape(-1), np.zeros(1, np.uint16)) for v in (x, y)]
    return *bits, z, z + np.einsum("smk,skn->mn", x, y)


@pytest.mark.parametrize("host", ["emulator", *MATRIX_HOSTS])
def test_isa_products(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On hosts without tile registers, too. An address that was made outside of the loop moves with the slot."""
    monkeypatch.setattr(emulated_kernels, "parse_kernel", deepened_module)
    monkeypatch.setattr(isa_kernels, "parse_kernel", deepened_module)
    behind = """
  %a_again = isa.addi %a, %zero : i64"""
    plain, moved = body_of(), body_of(before=behind, a="a_again")
    for body in (plain, moved):
        assert products_in(deepened_module(ARGUMENTS, body)) == 2
        kernel = (
            emulated_kernels.EmulatedKernel(ARGUMENTS, body)
            if host == "emulator"
            else IsaKernel(ARGUMENTS, body, MATRIX_HOSTS[host])
        )
        for count in (0, 1, 3, 4, 5, 13):
            x, y, z, expected = tiles_and_sum(count)
            assert kernel(x, y, z, count) == 0
            np.testing.assert_array_equal(z, expected, f"{count} iterations")


def test_isa_memory_grows() -> None:
    module = deepened_module(ARGUMENTS, body_of())
    assert kernel_of(module).scratch_bytes.value.data >= SCRATCH_BYTES + 4 * 2 * 2048


@pytest.mark.parametrize(
    ("what", "changes"),
    [
        ("one iteration", {"end": "one"}),
        ("the sums are read", {"after": COPY.format(name="o", end="sums", source="c", target="d")}),
        ("the sums are changed", {"between": COPY.format(name="o", end="sums", source="d", target="c")}),
        ("a factor is made after it", {"after": COPY.format(name="o", end="factor", source="d", target="a")}),
        ("a factor is made before", {"before": COPY.format(name="o", end="factor", source="x", target="a")}),
        ("both factors are one", {"a": "b"}),
        ("a factor starts within", {"between": "\n  %a_in = isa.addi %a, %two : i64", "a": "a_in"}),
        ("a second product", {"after": PRODUCT.format(unit=CONSTANTS["unit"], unit_k=CONSTANTS["unit_k"], a="a").replace("%", "%s_")
            .replace("%s_zero", "%zero").replace("%s_side", "%side").replace("%s_unit", "%unit")
            .replace("%s_four", "%four").replace("%s_two", "%two").replace("%s_line", "%line").replace("%s_pitch", "%pitch")
            .replace("%s_c,", "%c,").replace("%s_b,", "%b,").replace("%s_a,", "%a,")}),
    ],
)  # fmt: skip
def test_isa_left_as_it_is(what: str, changes: dict[str, str]) -> None:
    left = deepened_module(ARGUMENTS, body_of(**changes))
    assert kernel_of(left).scratch_bytes.value.data == SCRATCH_BYTES, what


def test_isa_without_tile_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that has none makes each product when its factors are there; so it is where sums are few."""
    module = parse_kernel(ARGUMENTS, body_of())
    before = str(module)
    deepen_products.deepen_for(HostFeatures(NATIVE.name, "+avx2", NATIVE.triple), module)
    assert str(module) == before
    monkeypatch.setattr(deepen_products, "FEWEST_SUMS", 4097)
    deepen_products.deepen_for(WITH_TILES, module)
    assert str(module) == before


@pytest.mark.parametrize("overflows", [False, True])
def test_isa_scratchpad_that_is_full(overflows: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deepen_products, "SCRATCHPAD_BYTES", SCRATCH_BYTES + 1024)
    monkeypatch.setattr(deepen_products, "SCRATCHPAD_OVERFLOWS", overflows)
    assert products_in(deepened_module(ARGUMENTS, body_of())) == (2 if overflows else 1)
