"""Conversions bit for bit: all numbers of the narrow formats, edge values and random bits of the wide ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from isa_kernels import HOSTS, TYPES, map_lanes, vector

_SHAPES = (("native", 1), ("native", 16), ("native", 64), ("avx2", 8), ("avx2", 1), ("sse2", 16), ("sse2", 1))
SHAPES = [pytest.param(HOSTS[host], lanes, id=f"{host}-{lanes}") for host, lanes in _SHAPES if host in HOSTS]
RNG = np.random.default_rng(3)

MANTISSA_AND_BIAS = {"f16": (10, 15), "bf16": (7, 127), "f8E5M2": (2, 15), "f8E4M3FN": (3, 7)}
LARGEST = {"f16": 0x7BFF, "bf16": 0x7F7F, "f8E5M2": 0x7B, "f8E4M3FN": 0x7E}


def bits_of(form: str) -> int:
    return 16 if form in ("f16", "bf16") else 8


def decode(codes: np.ndarray, form: str) -> np.ndarray:
    """The numbers that `codes` of a narrow format stand for, as f64; infinity counts as what would be the next number."""
    mantissa, bias = MANTISSA_AND_BIAS[form]
    size = codes.astype(np.int64) % 2 ** (bits_of(form) - 1)
    exponent, fraction = size // 2**mantissa, size % 2**mantissa
    normal = (1 + fraction / 2**mantissa) * np.exp2(exponent - float(bias))
    return np.where(exponent == 0, fraction * np.exp2(1.0 - bias - mantissa), normal)


def widened(codes: np.ndarray, form: str) -> np.ndarray:
    """All numbers of a format, signs, infinities and NaNs included, as f64."""
    size = codes.astype(np.int64) % 2 ** (bits_of(form) - 1)
    value = decode(codes, form)
    beyond = size - LARGEST[form]
    has_infinity = form != "f8E4M3FN"
    value = np.where(beyond > 0, np.inf if has_infinity else np.nan, value)
    value = np.where(beyond > has_infinity, np.nan, value)
    return np.where(codes.astype(np.int64) >= 2 ** (bits_of(form) - 1), -value, value)


def narrowed(values: np.ndarray, form: str, rounding: str) -> np.ndarray:
    """Codes of `values` (f64, exact) in a narrow format, found by searching the table of its numbers; -1 for NaN."""
    fp8 = bits_of(form) == 8
    table = decode(np.arange(LARGEST[form] + 2), form)  # with what the next number would be
    size = np.abs(np.where(np.isnan(values), 0, values))
    below = np.clip(np.searchsorted(table, size, side="right") - 1, 0, LARGEST[form])
    code = below
    if rounding == "rtne":
        # Comparing differences is exact: the neighbours are short numbers, and f64 has bits to spare around them.
        middle = (table[below] + table[below + 1]) / 2
        code = below + ((size > middle) | ((size == middle) & (below % 2 == 1)))
    code = np.where(np.isinf(values), LARGEST[form] + 1, code)
    if fp8:
        code = np.minimum(code, LARGEST[form])
    code = code + np.signbit(values) * 2 ** (bits_of(form) - 1)
    return np.where(np.isnan(values), -1, code)


def single_precision_samples() -> np.ndarray:
    """f32: every number of every narrow format, halfway points, their neighbours, edges and random bits; both signs."""
    values = [np.array([0, np.inf, np.nan, 1e-45, 3.4028235e38, 1.1754944e-38, 1e-40], np.float32)]
    for form in LARGEST:
        step = 1 if bits_of(form) == 8 else 13
        table = decode(np.arange(0, LARGEST[form] + 2, step), form).astype(np.float32)
        with np.errstate(over="ignore"):
            middle = ((table[1:].astype(np.float64) + table[:-1]) / 2).astype(np.float32)
        values += [table, middle]
    all_values = np.concatenate(values)
    near = [all_values, np.nextafter(all_values, np.float32(0)), np.nextafter(all_values, np.float32(np.inf))]
    near.append(RNG.integers(0, 256, 4 * 8192, np.uint8).view(np.float32))
    together = np.concatenate(near)
    together = np.concatenate([together, -together])
    return padded(together)


def padded(values: np.ndarray) -> np.ndarray:
    """Cut to a multiple of the longest vector."""
    return np.concatenate([values, np.ones(-len(values) % 64, values.dtype)])


def assert_codes(actual: np.ndarray, expected: np.ndarray, form: str, what: str) -> None:
    """Codes as expected, where -1 stands for any NaN."""
    nan = expected == -1
    codes = actual.view(f"u{actual.itemsize}")
    np.testing.assert_array_equal(np.isnan(widened(codes, form)), nan, what)
    np.testing.assert_array_equal(codes[~nan], expected[~nan], what)


def test_the_reference_agrees_with_numpy() -> None:
    codes = np.arange(2**16, dtype=np.uint16)
    np.testing.assert_array_equal(widened(codes, "f16"), codes.view(np.float16).astype(np.float64))
    x = single_precision_samples()
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16)
    assert_codes(expected.view(np.uint16), narrowed(x.astype(np.float64), "f16", "rtne"), "f16", "NumPy")


@pytest.mark.parametrize(("host", "lanes"), SHAPES)
def test_narrow_floats_to_single_and_double(host: Any, lanes: int) -> None:
    for form in LARGEST:
        codes = np.arange(2 ** bits_of(form), dtype=np.uint16).astype(f"u{bits_of(form) // 8}")
        stored = f"i{bits_of(form)}"
        code = {
            "narrow": (stored, f"%# = isa.bitcast %x : {vector(stored, lanes)} -> {vector(form, lanes)}"),
        }
        single, double = vector("f32", lanes), vector("f64", lanes)
        source = f"%s_# = isa.bitcast %x : {vector(stored, lanes)} -> {vector(form, lanes)}"
        code = {
            "single": ("f32", f"{source}\n%# = isa.extf %s_# : {vector(form, lanes)} -> {single}"),
            "double": ("f64", f"{source}\n%# = isa.extf %s_# : {vector(form, lanes)} -> {double}"),
        }
        results = map_lanes({"x": (stored, codes)}, code, lanes, host)
        expected = widened(codes, form)
        np.testing.assert_array_equal(results["single"], expected.astype(np.float32), form)
        np.testing.assert_array_equal(results["double"], expected, form)
        zeros = expected == 0
        np.testing.assert_array_equal(np.signbit(results["single"][zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize("rounding", ["rtne", "rtz"])
@pytest.mark.parametrize(("host", "lanes"), SHAPES)
def test_single_to_narrow_floats(host: Any, lanes: int, rounding: str) -> None:
    x = single_precision_samples()
    code = {
        form: (form, f'%# = isa.truncf "{rounding}", %x : {vector("f32", lanes)} -> {vector(form, lanes)}')
        for form in LARGEST
    }
    results = map_lanes({"x": ("f32", x)}, code, lanes, host)
    for form in LARGEST:
        assert_codes(results[form], narrowed(x.astype(np.float64), form, rounding), form, form)


@pytest.mark.parametrize("rounding", ["rtne", "rtz"])
@pytest.mark.parametrize(("host", "lanes"), SHAPES)
def test_double_to_narrower_floats(host: Any, lanes: int, rounding: str) -> None:
    """Rounded once: neighbours of halfway points that a detour through f32 would round to the halfway point."""
    single = single_precision_samples().astype(np.float64)
    with np.errstate(invalid="ignore"):
        x = np.concatenate([single, np.nextafter(single, 0), np.nextafter(single, np.inf)])
    x = padded(np.concatenate([x, [1e300, -1e300, 1e-300, -1e-300, 3.4028235677973366e38, 3.5e38]]))
    forms = ["f32", *LARGEST]
    code = {
        form: (form, f'%# = isa.truncf "{rounding}", %x : {vector("f64", lanes)} -> {vector(form, lanes)}')
        for form in forms
    }
    results = map_lanes({"x": ("f64", x)}, code, lanes, host)
    for form in LARGEST:
        assert_codes(results[form], narrowed(x, form, rounding), form, form)
    with np.errstate(over="ignore"):
        nearest = x.astype(np.float32)
    if rounding == "rtz":
        over = np.abs(nearest.astype(np.float64)) > np.abs(x)
        nearest = np.where(over, np.nextafter(nearest, np.float32(0)), nearest)
    np.testing.assert_array_equal(results["f32"], nearest)


@pytest.mark.parametrize(("host", "lanes"), SHAPES)
def test_between_narrow_floats(host: Any, lanes: int) -> None:
    """f16 and bf16 to fp8 and back, without a register of f32 in between."""
    codes = np.arange(2**16, dtype=np.uint16)
    for source in ("f16", "bf16"):
        narrow = f"%n_# = isa.bitcast %x : {vector('i16', lanes)} -> {vector(source, lanes)}"
        code = {
            form: (
                form,
                f'{narrow}\n%# = isa.truncf "rtne", %n_# : {vector(source, lanes)} -> {vector(form, lanes)}',
            )
            for form in ("f8E5M2", "f8E4M3FN")
        }
        results = map_lanes({"x": ("i16", codes)}, code, lanes, host)
        for form, result in results.items():
            assert_codes(result, narrowed(widened(codes, source), form, "rtne"), form, f"{source} to {form}")


# --- integers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["f32", "f64"])
@pytest.mark.parametrize(("host", "lanes"), SHAPES)
def test_floats_to_integers_saturate(host: Any, lanes: int, source: str) -> None:
    dtype = np.dtype(TYPES[source])
    edges = [0.0, -0.0, 0.5, -0.5, 0.99999, -0.99999, np.inf, -np.inf, np.nan, 1e30, -1e30, 1.5, -1.5]
    edges += [
        sign * 2.0**power + off
        for sign in (1, -1)
        for power in (7, 8, 15, 16, 31, 32, 63, 64)
        for off in (-1, 0, 1)
    ]
    x = np.array(edges, dtype)
    random = RNG.standard_normal(2048) * np.exp2(RNG.uniform(-2, 70, 2048))
    x = padded(np.concatenate([x, np.nextafter(x, dtype.type(0)), random.astype(dtype)]))
    code: dict[str, tuple[str, str]] = {}
    for bits in (8, 16, 32, 64):
        for op in ("ftosi", "ftoui"):
            ty = f"i{bits}"
            code[f"{op}{bits}"] = (ty, f"%# = isa.{op} %x : {vector(source, lanes)} -> {vector(ty, lanes)}")
    results = map_lanes({"x": (source, x)}, code, lanes, host)
    for name, result in results.items():
        bits, is_signed = int(name[5:]), name[4] == "i" and name[:5] == "ftosi"
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1)
        expected = [
            0 if np.isnan(v) else low if v < low else high if v > high else min(int(v), high)
            for v in x.tolist()
        ]
        unsigned = np.dtype(f"u{bits // 8}")
        np.testing.assert_array_equal(
            result.view(unsigned), np.array([v % 2**bits for v in expected], unsigned), name
        )


@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize(("host", "lanes"), SHAPES)
def test_integers_to_floats_and_other_widths(host: Any, lanes: int, element: str) -> None:
    bits = int(element[1:])
    unsigned = np.dtype(f"u{bits // 8}")
    edges = [0, 1, 2**bits - 1, 2 ** (bits - 1), 2 ** (bits - 1) - 1, 2 ** (bits - 1) + 1, 2**bits - 2]
    numbers = edges + [
        int.from_bytes(RNG.bytes(8), "little") % 2 ** int(RNG.integers(1, bits + 1)) for _ in range(2041)
    ]
    if bits == 64:  # around the places where f32 and f64 round
        numbers += [2**p + o for p in (24, 25, 53, 54, 62) for o in range(-3, 4)]
        numbers += [2**63 + 2**39 + 1, 2**63 + 2**39 - 1, 2**63 + 2**39, 2**62 + 2**38 + 1]
    x = padded(np.array(numbers, unsigned))
    code: dict[str, tuple[str, str]] = {}
    for target in ("f32", "f64"):
        for op in ("sitof", "uitof"):
            code[op + target] = (
                target,
                f"%# = isa.{op} %x : {vector(element, lanes)} -> {vector(target, lanes)}",
            )
    for width in (8, 16, 32, 64):
        for op in ("exts", "extu") if width > bits else ("trunci",) if width < bits else ():
            ty = f"i{width}"
            code[f"{op}{width}"] = (ty, f"%# = isa.{op} %x : {vector(element, lanes)} -> {vector(ty, lanes)}")
    results = map_lanes({"x": (element, x)}, code, lanes, host)
    views = {"s": x.view(TYPES[element]), "u": x}
    for name, result in results.items():
        if name.startswith("trunc"):
            np.testing.assert_array_equal(
                result.view(f"u{result.itemsize}"), x.astype(f"u{result.itemsize}"), name
            )
        else:
            view = views[name[3] if name.startswith("ext") else name[0]]
            np.testing.assert_array_equal(result, view.astype(result.dtype), name)


@pytest.mark.parametrize("lanes", [1, 16])
def test_bits_are_kept(lanes: int) -> None:
    x = RNG.integers(-(2**31), 2**31, 256).astype(np.int32)
    ints, single = vector("i32", lanes), vector("f32", lanes)
    code = {"there": ("f32", f"%# = isa.bitcast %x : {ints} -> {single}")}
    code["back"] = ("i32", f"%# = isa.bitcast %there : {single} -> {ints}")
    results = map_lanes({"x": ("i32", x)}, code, lanes)
    np.testing.assert_array_equal(results["there"].view(np.int32), x)
    np.testing.assert_array_equal(results["back"], x)


@pytest.mark.parametrize("lanes", [1, 16])
def test_predicates_convert(lanes: int) -> None:
    x = RNG.integers(0, 2, 256).astype(np.uint8)
    code = {
        op: (ty, f"%# = isa.{op} %x : {vector('i1', lanes)} -> {vector(ty, lanes)}")
        for op, ty in (("exts", "i64"), ("extu", "i16"), ("sitof", "f32"), ("uitof", "f64"))
    }
    code["trunci"] = ("i1", f"%# = isa.trunci %extu : {vector('i16', lanes)} -> {vector('i1', lanes)}")
    results = map_lanes({"x": ("i1", x)}, code, lanes)
    for op, sign in (("exts", -1), ("extu", 1), ("sitof", -1), ("uitof", 1), ("trunci", 1)):
        np.testing.assert_array_equal(results[op], sign * x.astype(np.int8), op)
