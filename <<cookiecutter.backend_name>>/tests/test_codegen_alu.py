"""Every arithmetic instruction against exact arithmetic: all types, scalars and vectors of several lengths, edge values."""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from isa_kernels import HOSTS, TYPES, map_lanes, vector

from <<cookiecutter.package_name>>.dialects.isa.alu import FLOAT_PREDICATES, INTEGER_PREDICATES
from <<cookiecutter.package_name>>.target import VECTOR_LANES, VECTOR_REGISTERS

FITS = VECTOR_REGISTERS * VECTOR_LANES // 2
"""Lanes of 64 bits in all registers of the machine: no register is longer."""


def _lanes(*wanted: int) -> list[int]:
    """Those that fit, and the most that does in place of the others."""
    return sorted({min(lanes, 1 <<'<<'>> (FITS.bit_length() - 1)) for lanes in wanted})


_SHAPES = (
    *(("native", lanes) for lanes in _lanes(1, 2, 4, 16, 64)),
    *((host, lanes) for host in ("avx2", "sse2") for lanes in _lanes(1, 8, 32)),
)
SHAPES = [pytest.param(HOSTS[host], lanes, id=f"{host}-{lanes}") for host, lanes in _SHAPES if host in HOSTS]
SIZE = 2048
RNG = np.random.default_rng(2)


# --- integers: references on Python integers -----------------------------------------------------------------


def _signed(value: int, bits: int) -> int:
    return value - 2**bits if value >= 2 ** (bits - 1) else value


def _on_signed(function: Callable[[int, int], int]) -> Callable[[int, int, int], int]:
    return lambda a, b, bits: function(_signed(a, bits), _signed(b, bits))


def _divide(a: int, b: int) -> int:
    if b == 0:
        return -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int:
    return a if b == 0 else a - b * _divide(a, b)


INTEGER = {
    "addi": lambda a, b, bits: a + b,
    "subi": lambda a, b, bits: a - b,
    "muli": lambda a, b, bits: a * b,
    "mulhs": lambda a, b, bits: _signed(a, bits) * _signed(b, bits) // 2**bits,
    "mulhu": lambda a, b, bits: a * b // 2**bits,
    "divs": _on_signed(_divide),
    "divu": lambda a, b, bits: a // b if b else -1,
    "rems": _on_signed(_remainder),
    "remu": lambda a, b, bits: a % b if b else a,
    "and": lambda a, b, bits: a & b,
    "or": lambda a, b, bits: a | b,
    "xor": lambda a, b, bits: a ^ b,
    "shl": lambda a, b, bits: a * 2**b if b < bits else 0,
    "shrs": lambda a, b, bits: _signed(a, bits) // 2 ** min(b, bits),
    "shru": lambda a, b, bits: a // 2 ** min(b, bits),
    "mins": _on_signed(min),
    "maxs": _on_signed(max),
    "minu": lambda a, b, bits: min(a, b),
    "maxu": lambda a, b, bits: max(a, b),
}
INTEGER_UNARY = {
    "popc": lambda a, bits: a.bit_count(),
    "clz": lambda a, bits: bits - a.bit_length(),
}
COMPARISONS: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a == b,
    lambda a, b: a != b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
]


def integers(bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of unsigned numbers: all pairs of edge values, small shift amounts, random ones of random size."""
    top = 2**bits
    edges = [
        0,
        1,
        2,
        3,
        7,
        bits - 1,
        bits,
        bits + 1,
        top // 2 - 1,
        top // 2,
        top // 2 + 1,
        top - 2,
        top - 1,
        top // 3,
    ]
    pairs = [(a, b) for a in edges for b in edges]
    pairs += [(top // 3, shift) for shift in range(bits)] + [(top - 9, shift) for shift in range(bits)]
    while len(pairs) < SIZE:
        a, b = (
            int.from_bytes(RNG.bytes(8), "little") % 2 ** int(RNG.integers(1, bits + 1)) for _ in range(2)
        )
        pairs.append((a, b))
    unsigned = np.dtype(f"u{bits // 8}")
    return tuple(np.array(column, unsigned) for column in zip(*pairs, strict=True))  # type: ignore[return-value]


@pytest.mark.parametrize("element", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize(("host", "lanes"), SHAPES)
def test_integer_arithmetic(host: Any, lanes: int, element: str) -> None:
    bits = int(element[1:])
    lhs, rhs = integers(bits)
    ty, predicate = vector(element, lanes), vector("i1", lanes)
    code = {op: (element, f"%# = isa.{op} %x, %y : {ty}") for op in INTEGER}
    code |= {op: (element, f"%# = isa.{op} %x : {ty}") for op in INTEGER_UNARY}
    code |= {
        f"cmp{n}": ("i1", f"%# = isa.cmpi {how}, %x, %y : {ty} -> {predicate}")
        for n, how in enumerate(INTEGER_PREDICATES)
    }
    results = map_lanes({"x": (element, lhs), "y": (element, rhs)}, code, lanes, host)
    a, b = [int(v) for v in lhs], [int(v) for v in rhs]
    for op, reference in INTEGER.items():
        expected = [reference(x, y, bits) % 2**bits for x, y in zip(a, b, strict=True)]
        np.testing.assert_array_equal(results[op].view(lhs.dtype), np.array(expected, lhs.dtype), op)
    for op, unary in INTEGER_UNARY.items():
        expected = [unary(x, bits) for x in a]
        np.testing.assert_array_equal(results[op].view(lhs.dtype), np.array(expected, lhs.dtype), op)
    for n in range(10):
        views = (lhs, rhs) if n >= 6 else (lhs.view(TYPES[element]), rhs.view(TYPES[element]))
        compare = COMPARISONS[n if n < 6 else n - 4]
        np.testing.assert_array_equal(results[f"cmp{n}"], compare(*views), f"predicate {n}")


@pytest.mark.parametrize("divisor", [0, 1, -1, 7, -8, 3, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("lanes", [1, 16])
def test_division_and_shifts_by_constants(lanes: int, divisor: int) -> None:
    lhs, _ = integers(32)
    ty = vector("i32", lanes)
    ops = ("divs", "divu", "rems", "remu", "shl", "shrs", "shru")
    code = {
        op: ("i32", f"%c_# = isa.const {divisor} : i32 : {ty}\n%# = isa.{op} %x, %c_# : {ty}") for op in ops
    }
    results = map_lanes({"x": ("i32", lhs)}, code, lanes)
    for op in ops:
        expected = [INTEGER[op](int(x), divisor % 2**32, 32) % 2**32 for x in lhs]
        np.testing.assert_array_equal(results[op].view(np.uint32), np.array(expected, np.uint32), op)


@pytest.mark.parametrize("lanes", _lanes(1, 16, 64))
def test_predicates(lanes: int) -> None:
    a, b = (RNG.integers(0, 2, 256).astype(np.uint8) for _ in range(2))
    ty = vector("i1", lanes)
    code = {op: ("i1", f"%# = isa.{op} %a, %b : {ty}") for op in ("and", "or", "xor")}
    code["true"] = ("i1", f"%# = isa.const true : {ty}")
    code["wide"] = ("i32", f"%# = isa.exts %a : {ty} -> {vector('i32', lanes)}")
    code["chosen"] = ("i1", f"%# = isa.select %a, %b, %true : {ty}, {ty}")
    results = map_lanes({"a": ("i1", a), "b": ("i1", b)}, code, lanes)
    np.testing.assert_array_equal(results["and"], a & b)
    np.testing.assert_array_equal(results["or"], a | b)
    np.testing.assert_array_equal(results["xor"], a ^ b)
    np.testing.assert_array_equal(results["true"], np.ones(256))
    np.testing.assert_array_equal(results["wide"], -a.astype(np.int32))
    np.testing.assert_array_equal(results["chosen"], np.where(a, b, 1))


# --- floating point ---------------------------------------------------------------------------------------------

EDGES = {
    "f32": [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, -2.5, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.1754944e-38, 3.4028235e38,
            -3.4028235e38, 8388607.5, 8388608.0, 1e10, 3.0],
    "f64": [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, -2.5, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 2.2250738585072014e-308,
            1.7976931348623157e308, -1.7976931348623157e308, 4503599627370495.5, 4503599627370496.0, 1e300, 3.0],
}  # fmt: skip


def floats(element: str, count: int = 2) -> list[np.ndarray]:
    """Columns of numbers: all pairs of edge values, random bits, ordinary numbers."""
    dtype = np.dtype(TYPES[element])
    edges = np.array(EDGES[element], dtype)
    columns = []
    for i in range(count):
        grid = np.repeat(edges, len(edges)) if i == 0 else np.tile(edges, len(edges))
        if i == 2:
            grid = RNG.permutation(grid)
        half = (SIZE - len(grid)) // 2
        random = RNG.integers(0, 256, half * dtype.itemsize, np.uint8).view(dtype)
        random = np.where(np.isnan(random), dtype.type(7), random)  # no signalling NaN
        columns.append(
            np.concatenate([grid, random, RNG.standard_normal(SIZE - len(grid) - half).astype(dtype)])
        )
    return columns


def _prefer_numbers(larger: bool) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    return lambda a, b: np.where(np.isnan(a), b, np.where(np.isnan(b), a, _extremum(a, b, larger)))


def _propagate(larger: bool) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    return lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, _extremum(a, b, larger)).astype(a.dtype)


def _extremum(a: np.ndarray, b: np.ndarray, larger: bool) -> np.ndarray:
    first = (a > b) if larger else (a < b)
    first |= (a == b) & (np.signbit(a) != larger)
    return np.where(first, a, b)


FLOAT: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "remf": np.fmod,
    "minnum": _prefer_numbers(larger=False),
    "maxnum": _prefer_numbers(larger=True),
    "minimum": _propagate(larger=False),
    "maximum": _propagate(larger=True),
    "copysign": np.copysign,
}
FLOAT_UNARY: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "negf": np.negative,
    "absf": np.abs,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "truncf.int": np.trunc,
    "roundeven": np.rint,
    "rsqrt": lambda a: a.dtype.type(1) / np.sqrt(a),
}


def assert_same_floats(actual: np.ndarray, expected: np.ndarray, what: str) -> None:
    """Equal bit for bit, but any NaN equals any other."""
    bits = f"u{expected.itemsize}"
    nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(actual), nan, what)
    np.testing.assert_array_equal(actual.view(bits)[~nan], expected.view(bits)[~nan], what)


def libm(name: str, element: str, *columns: np.ndarray) -> np.ndarray:
    """C's function on every element."""
    function = getattr(ctypes.CDLL(ctypes.util.find_library("m")), name + ("f" if element == "f32" else ""))
    scalar = ctypes.c_float if element == "f32" else ctypes.c_double
    function.restype, function.argtypes = scalar, [scalar] * len(columns)
    return np.array(
        [function(*[float(v) for v in row]) for row in zip(*columns, strict=True)], columns[0].dtype
    )


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize(("host", "lanes"), SHAPES)
@np.errstate(all="ignore")
def test_float_arithmetic(host: Any, lanes: int, element: str) -> None:
    x, y, z = floats(element, 3)
    ty, predicate = vector(element, lanes), vector("i1", lanes)
    code = {op: (element, f"%# = isa.{op} %x, %y : {ty}") for op in FLOAT}
    code |= {op.replace(".", "_"): (element, f"%# = isa.{op} %x : {ty}") for op in FLOAT_UNARY}
    code |= {
        f"cmp{n}": ("i1", f"%# = isa.cmpf {how}, %x, %y : {ty} -> {predicate}")
        for n, how in enumerate(FLOAT_PREDICATES)
    }
    code["fma"] = (element, f"%# = isa.fma %x, %y, %z : {ty}")
    code["chosen"] = (element, f"%# = isa.select %cmp2, %x, %y : {predicate}, {ty}")
    results = map_lanes({"x": (element, x), "y": (element, y), "z": (element, z)}, code, lanes, host)
    for op, reference in FLOAT.items():
        assert_same_floats(results[op], reference(x, y), op)
    for op, unary in FLOAT_UNARY.items():
        assert_same_floats(results[op.replace(".", "_")], unary(x), op)
    assert_same_floats(results["fma"], libm("fma", element, x, y, z), "fma")
    assert_same_floats(results["chosen"], np.where(x > y, x, y), "select")
    for op in ("negf", "absf"):
        sign = np.signbit(results[op][np.isnan(x)])
        np.testing.assert_array_equal(sign, op == "negf" and ~np.signbit(x[np.isnan(x)]))
    unordered = np.isnan(x) | np.isnan(y)
    for n in range(16):
        # Ordered ones first, then the same "or unordered"; bits say whether it holds for equal, greater, less.
        holds = n if n < 8 else n - 7 if n < 14 else 7 * (n - 14)
        expected = (x == y) & bool(holds & 1) | (x > y) & bool(holds & 2) | (x < y) & bool(holds & 4)
        expected |= unordered & (n >= 8)
        np.testing.assert_array_equal(results[f"cmp{n}"], expected, f"predicate {n}")


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize(("host", "lanes"), SHAPES)
@np.errstate(all="ignore")
def test_ldexp(host: Any, lanes: int, element: str) -> None:
    """Rounded once, where the result is denormal too."""
    x, y = floats(element)
    counts = np.concatenate([np.arange(-400, 400), RNG.integers(-2500, 2500, 400)])
    n = np.resize(counts, x.shape).astype(x.dtype)
    code = {"scaled": (element, f"%# = isa.ldexp %x, %n : {vector(element, lanes)}")}
    for values in (x, y):
        results = map_lanes({"x": (element, values), "n": (element, n)}, code, lanes, host)
        assert_same_floats(results["scaled"], np.ldexp(values, n.astype(np.int32)), "ldexp")
        # Any finite exponent, rounded down.
        finite = np.where(np.isfinite(y), y, 0.5).astype(y.dtype)
        results = map_lanes({"x": (element, values), "n": (element, finite)}, code, lanes, host)
        whole = np.clip(np.floor(finite), -5000, 5000).astype(np.int32)
        assert_same_floats(results["scaled"], np.ldexp(values, whole), "ldexp")
    # 2^-inf, of a finite number.
    numbers = np.where(np.isfinite(x), x, 1).astype(x.dtype)
    results = map_lanes(
        {"x": (element, numbers), "n": (element, np.full_like(x, -np.inf))}, code, lanes, host
    )
    assert_same_floats(results["scaled"], numbers * 0, "ldexp")


@pytest.mark.parametrize("element", ["f32", "f64"])
@pytest.mark.parametrize("lanes", [1, 16])
@np.errstate(all="ignore")
def test_library_functions(lanes: int, element: str) -> None:
    x, y = floats(element)
    ty = vector(element, lanes)
    special = ("exp", "exp2", "log", "log2", "sin", "cos", "tanh", "erf")
    code = {op: (element, f"%# = isa.{op} %x : {ty}") for op in special}
    code["atan2"] = (element, f'%# = isa.math "atan2"(%x, %y) : ({ty}, {ty}) -> {ty}')
    code["acos"] = (element, f'%# = isa.math "acos"(%x) : ({ty}) -> {ty}')
    results = map_lanes({"x": (element, x), "y": (element, y)}, code, lanes)
    for op in (*special, "acos"):
        assert_same_floats(results[op], libm(op, element, x), op)
    assert_same_floats(results["atan2"], libm("atan2", element, x, y), "atan2")


def test_library_function_with_an_integer_argument() -> None:
    x = np.array([1.0, -3.5, 0.1, 1e-40] * 4, np.float32)
    power = np.arange(-8, 8, dtype=np.int32)
    code = {
        "scaled": (
            "f32",
            '%# = isa.math "ldexp"(%x, %n) : (vector<16xf32>, vector<16xi32>) -> vector<16xf32>',
        )
    }
    results = map_lanes({"x": ("f32", x), "n": ("i32", power)}, code, 16)
    np.testing.assert_array_equal(results["scaled"], np.ldexp(x, power))


def test_scalar_condition_selects_a_whole_vector() -> None:
    x, y = floats("f32")
    ty = "vector<16xf32>"
    code = {
        "chosen": (
            "f32",
            f"""%zero_# = isa.const 0 : i32 : i32
            %one_# = isa.const 1 : i32 : i32
            %odd_# = isa.and %program, %one_# : i32
            %is_odd_# = isa.cmpi ne, %odd_#, %zero_# : i32 -> i1
            %# = isa.select %is_odd_#, %x, %y : i1, {ty}""",
        )
    }
    results = map_lanes({"x": ("f32", x), "y": ("f32", y)}, code, 16)
    odd = np.arange(SIZE) // 16 % 2 == 1
    assert_same_floats(results["chosen"], np.where(odd, x, y), "select")
