"""Products of f32 and f16 in parts, on tile registers where the host has them, and without parts elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from emulated_kernels import EmulatedKernel
from isa_kernels import MATRIX_HOSTS, NATIVE
from test_codegen_matrix import RNG, fused_product, mma_kernel
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type

from <<cookiecutter.package_name>>.codegen import matrix_parts
from <<cookiecutter.package_name>>.codegen.matrix_parts import mixed
from <<cookiecutter.package_name>>.codegen.matrix_tiles import Tile
from <<cookiecutter.package_name>>.codegen.registers import register_type

SHAPES = [
    (16, 16, 32), (16, 32, 64), (32, 16, 128), (64, 64, 64), (16, 256, 32), (256, 16, 256), (512, 32, 64),
    (32, 128, 512), (128, 64, 256), (256, 256, 64),
]  # fmt: skip
"""One panel and several, one strip, all that are packed at a time and more, one step of k, a round and several."""

OTHERS = [
    (8, 16, 32),
    (16, 8, 32),
    (16, 16, 16),
    (48, 16, 32),
    (16, 48, 32),
    (16, 16, 96),
    (13, 31, 7),
    (1, 1, 1),
]
"""Which registers do not take."""

LARGEST = np.finfo(np.float32).max
DENORMAL = np.float32(2.0**-140)

ERRORS = {1: 2.0**-18, 2: 2.0**-15, 3: 2.0**-20}
"""Parts -> the largest error of an element of a product with k up to 512, relative to the sum of its absolute products."""

takes_parts = NATIVE.has("amx-tile") and NATIVE.has("amx-bf16")
needs_tiles = pytest.mark.skipif(
    not takes_parts, reason="this host has no tile registers for bf16 (AMX), or does not allow them"
)


@pytest.fixture(autouse=True)
def small_tiles_too(monkeypatch: pytest.MonkeyPatch) -> None:
    ways = {key: replace(way, fewest_uses=0) for key, way in matrix_parts.WAYS.items()}
    monkeypatch.setattr(matrix_parts, "WAYS", ways)


def product(
    a: np.ndarray, b: np.ndarray, c: np.ndarray | None = None, *, parts: int, host: str = "native"
) -> np.ndarray:
    """c + a b, of dense matrices."""
    (m, k), n = a.shape, b.shape[1]
    result = np.zeros((m, n), np.float32) if c is None else c.copy()
    a, b = (np.ascontiguousarray(x, np.float32) for x in (a, b))
    assert mma_kernel(m, n, k, (k, n, n), "f32", "f32", MATRIX_HOSTS[host], parts)(result, a, b) == 0
    return result


@pytest.mark.parametrize("parts", [2, 3])
@pytest.mark.parametrize("host", MATRIX_HOSTS)
def test_products_of_integers(host: str, parts: int) -> None:
    """Exact, where sums are exact in f32 and factors in 16 bits or, of 24, where one of the two has 8."""
    for m, n, k in SHAPES + OTHERS if host == "native" else [*SHAPES[:4], *OTHERS]:
        lda, ldb, ldc = k + 3, n + 1, n + 2
        sides = ((-8, 8, (m, lda)), (-(2**10), 2**10, (k, ldb)), (-(2**20), 2**20, (m, ldc)))
        a, b, c = (RNG.integers(*side).astype(np.float32) for side in sides)
        a[:, k:], b[:, n:] = np.nan, np.nan
        expected = c.copy()
        expected[:, :n] += a[:, :k] @ b[:, :n]
        kernel = mma_kernel(m, n, k, (lda, ldb, ldc), "f32", "f32", MATRIX_HOSTS[host], parts)
        assert kernel(c, a, b) == 0
        np.testing.assert_array_equal(c, expected, f"{m} x {n} x {k}")


DISTRIBUTIONS = {
    "normal": lambda shape: RNG.standard_normal(shape),
    "positive": lambda shape: RNG.random(shape),
    "wide": lambda shape: RNG.standard_normal(shape) * 10.0 ** RNG.uniform(-6, 6, shape),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("shape", [(64, 64, 64), (32, 128, 512)])
def test_errors(shape: tuple[int, int, int], name: str) -> None:
    """Two parts are about as exact as 16 bits are; with three the errors are those of f32, or smaller."""
    m, n, k = shape
    a, b = (DISTRIBUTIONS[name](side).astype(np.float32) for side in ((m, k), (k, n)))
    exact, size = a.astype(np.float64) @ b, np.abs(a).astype(np.float64) @ np.abs(b)
    errors = {parts: (product(a, b, parts=parts) - exact) / size for parts in ERRORS}
    assert all(np.abs(errors[parts]).max() < bound for parts, bound in ERRORS.items())
    assert np.sqrt(np.mean(errors[3] ** 2)) <= 1.2 * np.sqrt(np.mean(errors[1] ** 2))
    assert abs(np.mean(errors[2])) < 2.0**-20, "no tendency to either side"


@needs_tiles
def test_parts_that_count() -> None:
    """What each product of parts adds, in a factor that has only these."""
    one, high, low = 1.0, 2.0**-9, 2.0**-18
    for x, y, expected in (
        (one + high, one, {2: one + high, 3: one + high}),
        (one + high + low, one, {2: one + high, 3: one + high + low}),
        (one + high, one - high, {2: one, 3: one - high**2}),
    ):
        a, b = np.zeros((16, 32)), np.zeros((32, 16))
        a[:, 5], b[5] = x, y
        for parts, wanted in expected.items():
            np.testing.assert_array_equal(product(a, b, parts=parts), np.float32(wanted))


SPECIAL = [
    np.inf, -np.inf, np.nan, LARGEST, -LARGEST, np.float32(LARGEST * (1 - 2.0**-9)), 0.0, -0.0,
    *np.array([0x7F800001, 0xFF800001, 0x7FFFFFFF, 0x7FFF8000, 0x7F7F8000, 0x7F7F7FFF], np.uint32).view(np.float32),
]  # fmt: skip
"""Among them NaN whose upper half is that of an infinity, or all ones, and numbers next to where bf16 overflows."""


@pytest.mark.parametrize("parts", [2, 3])
@pytest.mark.parametrize("host", MATRIX_HOSTS)
def test_special_factors(host: str, parts: int) -> None:
    """Each alone in a row of A or a column of B, in every lane, times several others: as in f32."""
    others = [1.0, -1.5, np.pi, 2.0**-100, 0.0, -np.inf, np.nan, 1e5]
    for special in SPECIAL:
        a, b = np.zeros((16, 32), np.float32), np.zeros((32, 16), np.float32)
        for row in range(16):
            a[row, (5 * row) % 32] = special
        b[:, : len(others)] = others
        with np.errstate(invalid="ignore", over="ignore"):
            exact = fused_product(a, b, np.zeros((16, 16), np.float32))
        for left, right, wanted in ((a, b, exact), (b.T, a.T, exact.T)):
            found = product(left, right, parts=parts, host=host)
            np.testing.assert_allclose(found, wanted, rtol=1e-4, err_msg=str(special))


def product_of_halves(a: np.ndarray, b: np.ndarray, host: str) -> np.ndarray:
    (m, k), n = a.shape, b.shape[1]
    result = np.zeros((m, n), np.float32)
    a, b = (np.ascontiguousarray(x.astype(np.float16)).view(np.uint16) for x in (a, b))
    assert mma_kernel(m, n, k, (k, n, n), "f16", "f32", MATRIX_HOSTS[host])(result, a, b) == 0
    return result


@pytest.mark.parametrize("host", MATRIX_HOSTS)
def test_every_half_times_some(host: str) -> None:
    """All 63,488 finite numbers, each on either side: a product of two has 22 bits, and is exact."""
    halves = np.arange(1 <<'<<'>> 16).astype(np.uint16).view(np.float16)
    finite = np.concatenate([halves[np.isfinite(halves)], np.zeros(1 <<'<<'>> 11, np.float16)]).astype(np.float32)
    finite = finite.reshape(2048, 32)
    factors = np.array([1, -1, 2047, 1.5 + 2**-10, 2.0**-24, 3 * 2.0**-14, 1023 * 2.0**-24, 65504], np.float32)
    for chosen in (0, 17):  # of the elements of k, in either half of a word
        for first in (finite[:, chosen], -finite[:, chosen + 1]):
            a, b = np.zeros((2048, 32), np.float32), np.zeros((32, 16), np.float32)
            a[:, chosen], b[chosen] = first, np.tile(factors, 2)
            wanted = np.outer(first, np.tile(factors, 2))
            np.testing.assert_array_equal(product_of_halves(a, b, host), wanted)
            np.testing.assert_array_equal(product_of_halves(b.T, a.T, host), wanted.T)
    for columns in (slice(0, 16), slice(16, 32)):
        picked = np.eye(32, dtype=np.float32)[:, columns]
        np.testing.assert_array_equal(product_of_halves(finite, picked, host), finite[:, columns])


@pytest.mark.parametrize("host", MATRIX_HOSTS)
def test_special_halves(host: str) -> None:
    """As `test_special_factors`; among them NaN all of whose digits are behind the first eight."""
    patterns = [0x7C00, 0xFC00, 0x7C01, 0xFC01, 0x7C07, 0x7E00, 0x7FFF, 0x7BFF, 0xFBFF, 0x0001, 0x8001, 0x8000]
    others = [1.0, -1.5, 3.140625, 2.0**-24, 0.0, -np.inf, np.nan, 65504.0]
    for special in np.array(patterns, np.uint16).view(np.float16):
        a, b = np.zeros((16, 32), np.float16), np.zeros((32, 16), np.float16)
        for row in range(16):
            a[row, (5 * row) % 32] = special
        b[:, : len(others)] = others
        zeros = np.zeros((16, 16), np.float32)
        wanted = fused_product(a.astype(np.float32), b.astype(np.float32), zeros)
        np.testing.assert_array_equal(product_of_halves(a, b, host), wanted)
        np.testing.assert_array_equal(product_of_halves(b.T, a.T, host), wanted.T)


@pytest.mark.parametrize("name", ["normal", "positive"])
def test_errors_of_halves(name: str) -> None:
    """Nothing is left out: errors are those of sums in f32, or smaller."""
    m, n, k = 32, 128, 512
    a, b = (DISTRIBUTIONS[name](side).astype(np.float16) for side in ((m, k), (k, n)))
    a64, b64 = a.astype(np.float64), b.astype(np.float64)
    size, exact = np.abs(a64) @ np.abs(b64), a64 @ b64
    fused = fused_product(a.astype(np.float32), b.astype(np.float32), np.zeros((m, n), np.float32))
    errors = (product_of_halves(a, b, "native") - exact) / size
    assert np.abs(errors).max() < ERRORS[1]
    assert np.sqrt(np.mean(errors**2)) <= 1.2 * np.sqrt(np.mean(((fused - exact) / size) ** 2))


@pytest.mark.parametrize("parts", [2, 3])
def test_overflow_is_infinite(parts: int) -> None:
    """Also where the products of lower parts overflow to the other side."""
    a, b = np.full((16, 32), 1e38, np.float32), RNG.uniform(1e5, 1e6, (32, 16)).astype(np.float32)
    np.testing.assert_array_equal(product(a, b, parts=parts), np.inf)
    np.testing.assert_array_equal(product(a, -b, parts=parts), -np.inf)
    a[:, 1:] = 0
    np.testing.assert_array_equal(product(-a, b, parts=parts), -np.inf)


@pytest.mark.parametrize("parts", [2, 3])
def test_accumulator(parts: int) -> None:
    """Infinite, NaN, huge and denormal sums stay what they are beside products that are zero."""
    a, b, c = np.zeros((32, 32)), np.ones((32, 32)), np.zeros((32, 32), np.float32)
    values = [np.inf, -np.inf, np.nan, LARGEST, DENORMAL, -DENORMAL, 1.5]
    c[: len(values)] = np.array(values, np.float32)[:, None]
    np.testing.assert_array_equal(product(a, b, c, parts=parts), c)
    assert not np.signbit(product(-a, b, parts=parts)).any()


@pytest.mark.parametrize("parts", [2, 3])
def test_tiny_factors(parts: int) -> None:
    """Parts below 2^-126 may be lost, and no more than these."""
    for scale in (1.0, 2.0**-60, 2.0**-110, 2.0**-120, 2.0**-130, 2.0**-145):
        a, b = (RNG.uniform(1, 2, (32, 32)).astype(np.float32) for _ in range(2))
        a = (a * np.float64(scale)).astype(np.float32)
        exact = a.astype(np.float64) @ b
        np.testing.assert_allclose(
            product(a, b, parts=parts), exact, rtol=2.0**-14, atol=32 * 2 * 3 * 2.0**-126
        )


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_on_the_emulator(parts: int) -> None:
    """Exact, and through text and binary; `parts` is in both."""
    body = f"isa.mma %c, %a, %b tile(1, 1, 24) pitch(24, 1, 1) parts {parts} : f32 -> f32\nisa.return"
    kernel = EmulatedKernel({"c": "i64", "a": "i64", "b": "i64"}, body, verify=False)
    a, b = RNG.standard_normal((1, 24), np.float32), RNG.standard_normal((24, 1), np.float32)
    c = np.ones((1, 1), np.float32)
    expected = fused_product(a, b, c)
    assert kernel(c, a, b) == 0
    np.testing.assert_array_equal(c, expected)
    (instruction,) = (i for block in kernel.program.blocks for i in block.code if i.name == "mma")
    assert instruction.immediates[-1] == parts


@needs_tiles
def test_which_tiles_are_multiplied_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    f32, f16, bf16 = map(register_type, (Float32Type(), Float16Type(), BFloat16Type()))

    def suits(m: int, n: int, k: int, parts: int = 3, host: str = "native", operand: object = f32) -> bool:
        tile = Tile(m, n, k, k, n, n, operand, f32, parts)  # type: ignore[arg-type]
        return matrix_parts.suits(MATRIX_HOSTS[host], tile)

    assert all(suits(*shape) for shape in SHAPES)
    assert not any(suits(*shape) for shape in OTHERS)
    assert not suits(64, 64, 64, 1)
    assert not suits(64, 64, 64, 1, operand=bf16)
    assert suits(64, 64, 64, 1, operand=f16)
    assert not any(suits(64, 64, 64, host=host) for host in MATRIX_HOSTS if host != "native")
    monkeypatch.undo()
    assert suits(64, 64, 64, 2)
    assert not suits(64, 64, 64, 3)
    assert suits(128, 64, 32, 3)
    assert not suits(16, 16, 1024, 2)
    assert suits(32, 32, 32, 1, operand=f16)
    assert not suits(16, 16, 1024, 1, operand=f16)


@needs_tiles
@pytest.mark.parametrize("parts", [2, 3])
def test_tile_registers_are_given_up(parts: int) -> None:
    text = mma_kernel(64, 64, 64, (64, 64, 64), "f32", "f32", NATIVE, parts).llir
    assert f".parts.{parts}(" in text
    assert text.count("call void @llvm.x86.ldtilecfg") == text.count("call void @llvm.x86.tilerelease") == 1
    # Three bodies of a loop at most: the first panel, and the others.
    assert text.count("call void @llvm.x86.tdpbf16ps") == 2 * 2 * {2: 3, 3: 6}[parts]


@needs_tiles
def test_halves_where_registers_take_bf16_only() -> None:
    """All four products of two parts; where registers take f16, that is one."""
    host = MATRIX_HOSTS.get("tiles-of-bf16-only", NATIVE)
    text = mma_kernel(64, 64, 64, (64, 64, 64), "f16", "f32", host).llir
    assert text.count("call void @llvm.x86.tdpbf16ps") == 2 * 2 * 4
    if NATIVE.has("amx-fp16"):
        assert "tdpbf16ps" not in mma_kernel(64, 64, 64, (64, 64, 64), "f16", "f32", NATIVE).llir


def test_other_work_is_spread() -> None:
    log: list[str] = []

    def named(names: str) -> list[matrix_parts.Piece]:
        return [lambda name=name: log.append(name) for name in names]  # type: ignore[misc]

    def order(names: str, others: str) -> str:
        log.clear()
        for piece in mixed(named(names), named(others)):
            piece()
        return "".join(log)

    assert order("abcd", "12") == "ab1cd2"
    assert order("ab", "12345") == "a12b345"
    assert order("ab", "") == "ab"


@pytest.fixture(scope="module", autouse=True)
def quiet() -> Iterator[None]:
    """NumPy on NaN and overflow, which is what is tested."""
    with np.errstate(invalid="ignore", over="ignore"):
        yield
