"""libdevice: every name resolves, every function against exact arithmetic, and through Triton.

Values are checked on registers, function by function, with references in 50 digits; the tests at the end go
through Triton's front end. Directed rounding and integers have a file of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import launch
from lane_functions import MEMORY, LaneFunction
from libdevice_functions import BITS, RNG, SIGNATURES, arity, function
from triton.language.extra import libdevice as stubs
from triton.language.extra.cuda import libdevice as cuda
from triton.language.extra.cuda.libdevice import pow as cuda_pow
from triton.language.extra.hip import libdevice as hip

from <<cookiecutter.package_name>>.errors import UnsupportedOperation
from <<cookiecutter.package_name>>.language import libdevice
from <<cookiecutter.package_name>>.language.extern import TYPES, extern_function
from <<cookiecutter.package_name>>.lowering.extern_elementwise import lower_extern

pytest.importorskip("mpmath", reason="mpmath is not installed: it computes the references")
from mpmath import mp, mpf

mp.dps = 50

# --- names ---------------------------------------------------------------------------------------------------


def test_every_function_of_triton_is_there() -> None:
    theirs = {name for name, value in vars(stubs).items() if callable(value)}
    assert theirs == set(libdevice.NAMES)
    for name in theirs:
        ours = getattr(libdevice, name)
        assert tl.core.is_builtin(ours), name
        assert (ours.__name__, ours.__module__) == (name, libdevice.__name__)


def test_the_signatures_are_those_of_the_other_backends() -> None:
    """Types that Triton's CUDA functions take, so that kernels move over unchanged."""
    from triton.language.extra.cuda import libdevice as cuda

    seen: list[Any] = []

    class Recorder:
        @staticmethod
        def to(*args: Any, **kwargs: Any) -> None: ...

    def record(lib: str, path: str, args: Any, table: Any, **kwargs: Any) -> Any:
        seen.append({types: result for types, (_, result) in table.items()})
        return Recorder

    original, cuda.core.extern_elementwise = cuda.core.extern_elementwise, record
    try:
        for name in libdevice.NAMES:
            if not hasattr(cuda, name):
                continue
            getattr(cuda, name)(*[None] * arity(name), _semantic=object())
            theirs = seen.pop()
            ours = {
                tuple(TYPES[c] for c in signature.split(">")[0]): TYPES[signature[-1]]
                for other, signature in SIGNATURES
                if other == name
            }
            assert ours.keys() == theirs.keys(), name
            for types, result in ours.items():
                # They give an int32 and convert it; the kernel sees a boolean in both cases.
                assert result == theirs[types] or (result, theirs[types]) == (tl.int1, tl.int32), name
    finally:
        cuda.core.extern_elementwise = original


@pytest.mark.parametrize(("name", "signature"), SIGNATURES)
def test_every_signature_compiles(name: str, signature: str) -> None:
    arguments, result = signature.split(">")
    inputs = [np.ones(3, MEMORY[letter]) for letter in arguments]
    single, many = (function(name, signature, count)(*inputs) for count in (1, 8))
    assert single.dtype == MEMORY[result]
    np.testing.assert_array_equal(single, many)


@triton.jit
def of_gpus(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    total = cuda.asin(value) + cuda_pow(value, 2) + hip.tanh(value) + tl.extra.cuda.libdevice.rsqrt(value + 1)
    tl.store(out + i, total + cuda.isnan(value) + cuda.llrint(value * 10))


def test_the_modules_of_gpus_are_ours_in_kernels() -> None:
    """Kernels import them, though they mean functions that every chip has; however they spell it."""
    x, out = np.linspace(0, 1, 64, dtype=np.float32), np.zeros(64, np.float32)
    launch(of_gpus, (1,), x, out, N=64)
    expected = np.arcsin(x) + x**2 + np.tanh(x) + 1 / np.sqrt(x + 1) + np.rint(x * 10)
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    for module in (cuda, hip):
        functions = {name for name, value in vars(module).items() if tl.core.is_builtin(value)}
        assert functions and functions <= set(libdevice.NAMES), module.__name__


def test_unknown_symbols_are_refused() -> None:
    with pytest.raises(UnsupportedOperation, match=r"__nv_expf"):
        LaneFunction("f", "f", lambda sink, values: lower_extern("__nv_expf", values, values[0].type, sink))


# --- real functions ----------------------------------------------------------------------------------------------


def normal_cdf(x: mpf) -> mpf:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def inverse_erfc(y: mpf) -> mpf:
    if y > 0.5:
        return mp.erfinv(1 - y)
    start = mp.sqrt(-mp.log(y))
    return mp.findroot(lambda x: mp.log(mp.erfc(x)) - mp.log(y), start)


Spread = tuple[float, float]
REAL: dict[str, tuple[Callable[..., mpf], list[Spread], float, float]] = {
    "acos": (mp.acos, [(-1, 1)], 2, 2),
    "acosh": (mp.acosh, [(1, 50)], 2, 2),
    "asin": (mp.asin, [(-1, 1)], 2, 2),
    "asinh": (mp.asinh, [(-50, 50)], 2, 2),
    "atan": (mp.atan, [(-50, 50)], 2, 2),
    "atan2": (mp.atan2, [(-5, 5), (-5, 5)], 2, 2),
    "atanh": (mp.atanh, [(-1, 1)], 2, 2),
    "cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), [(-50, 50)], 2, 4),
    "cos": (mp.cos, [(-50, 50)], 2, 1),
    "cosh": (mp.cosh, [(-50, 50)], 2, 2),
    "cospi": (mp.cospi, [(-9, 9)], 3, 3),
    "cyl_bessel_i0": (lambda x: mp.besseli(0, x), [(-80, 80)], 1, 6),
    "cyl_bessel_i1": (lambda x: mp.besseli(1, x), [(-80, 80)], 1, 6),
    "erf": (mp.erf, [(-4, 4)], 2, 2),
    "erfc": (mp.erfc, [(-4, 9)], 4, 5),
    "erfcinv": (inverse_erfc, [(0, 2)], 1, 5),
    "erfcx": (lambda x: mp.exp(x * x) * mp.erfc(x), [(-9, 60)], 1, 6),
    "erfinv": (mp.erfinv, [(-1, 1)], 1, 5),
    "exp": (mp.exp, [(-80, 80)], 1, 1),
    "exp10": (lambda x: mp.power(10, x), [(-30, 30)], 2, 2),
    "exp2": (lambda x: mp.power(2, x), [(-99, 99)], 1, 1),
    "expm1": (mp.expm1, [(-30, 30)], 2, 2),
    "fast_cosf": (mp.cos, [(-50, 50)], 2, 0),
    "fast_dividef": (lambda x, y: x / y, [(-50, 50), (1, 9)], 1, 0),
    "fast_exp10f": (lambda x: mp.power(10, x), [(-3, 3)], 9, 0),
    "fast_expf": (mp.exp, [(-80, 80)], 1, 0),
    "fast_log10f": (mp.log10, [(1, 900)], 3, 0),
    "fast_log2f": (lambda x: mp.log(x, 2), [(0, 900)], 2, 0),
    "fast_logf": (mp.log, [(0, 900)], 2, 0),
    "fast_powf": (mp.power, [(1, 9), (-4, 4)], 20, 0),
    "fast_sinf": (mp.sin, [(-50, 50)], 2, 0),
    "fast_tanf": (mp.tan, [(-50, 50)], 6, 0),
    "fast_tanhf": (mp.tanh, [(-5, 5)], 3, 0),
    "fdim": (lambda x, y: max(x - y, mpf(0)), [(-9, 9), (-9, 9)], 0.51, 0.51),
    "fma": (lambda x, y, z: x * y + z, [(-9, 9), (-9, 9), (-9, 9)], 0.51, 0.51),
    "fma_rn": (lambda x, y, z: x * y + z, [(-9, 9), (-9, 9), (-9, 9)], 0.51, 0.51),
    "fmod": (lambda x, y: mp.sign(x) * mp.fmod(abs(x), abs(y)), [(-90, 90), (-9, 9)], 0, 0),
    "hypot": (mp.hypot, [(-9, 9), (-9, 9)], 2, 2),
    "j0": (mp.j0, [(0, 2)], 4, 10),
    "j1": (mp.j1, [(0, 3)], 4, 10),
    "lgamma": (lambda x: mp.log(abs(mp.gamma(x))), [(3, 90)], 3, 3),
    "log": (mp.log, [(0, 900)], 2, 2),
    "log10": (mp.log10, [(0, 900)], 2, 2),
    "log1p": (mp.log1p, [(-1, 9)], 2, 2),
    "log2": (lambda x: mp.log(x, 2), [(0, 900)], 2, 2),
    "nearbyint": (mp.nint, [(-50, 50)], 0, 0),
    "norm3d": (lambda *v: mp.sqrt(sum(x * x for x in v)), [(-9, 9)] * 3, 3, 3),
    "norm4d": (lambda *v: mp.sqrt(sum(x * x for x in v)), [(-9, 9)] * 4, 3, 3),
    "normcdf": (normal_cdf, [(-12, 9)], 1, 6),
    "normcdfinv": (lambda p: -mp.sqrt(2) * inverse_erfc(2 * p), [(0, 1)], 1, 5),
    "pow": (mp.power, [(0.05, 9), (-20, 20)], 2, 2),
    "rcbrt": (lambda x: mp.sign(x) / mp.cbrt(abs(x)), [(-50, 50)], 2, 4),
    "remainder": (lambda x, y: x - y * mp.nint(x / y), [(-90, 90), (1, 9)], 0, 0),
    "rhypot": (lambda x, y: 1 / mp.hypot(x, y), [(-9, 9), (-9, 9)], 3, 3),
    "rint": (mp.nint, [(-50, 50)], 0, 0),
    "rnorm3d": (lambda *v: 1 / mp.sqrt(sum(x * x for x in v)), [(-9, 9)] * 3, 3, 3),
    "rnorm4d": (lambda *v: 1 / mp.sqrt(sum(x * x for x in v)), [(-9, 9)] * 4, 3, 3),
    "round": (lambda x: mp.sign(x) * mp.floor(abs(x) + 0.5), [(-50, 50)], 0, 0),
    "rsqrt": (lambda x: 1 / mp.sqrt(x), [(0, 50)], 1.5, 1.5),
    "rsqrt_rn": (lambda x: 1 / mp.sqrt(x), [(0, 50)], 0.5, 0),
    "saturatef": (lambda x: min(max(x, mpf(0)), mpf(1)), [(-2, 2)], 0, 0),
    "sin": (mp.sin, [(-50, 50)], 2, 1),
    "sinh": (mp.sinh, [(-50, 50)], 2, 2),
    "sinpi": (mp.sinpi, [(-9, 9)], 3, 3),
    "sqrt": (mp.sqrt, [(0, 50)], 0.5, 0.5),
    "sqrt_rn": (mp.sqrt, [(0, 50)], 0.5, 0.5),
    "tan": (mp.tan, [(-50, 50)], 3.6, 2),
    "tanh": (mp.tanh, [(-5, 5)], 3, 3),
    "tgamma": (mp.gamma, [(0, 30)], 8, 10),
    "trunc": (lambda x: mp.sign(x) * mp.floor(abs(x)), [(-50, 50)], 0, 0),
    "floor": (mp.floor, [(-50, 50)], 0, 0),
    "ceil": (mp.ceil, [(-50, 50)], 0, 0),
    "y0": (mp.y0 if hasattr(mp, "y0") else lambda x: mp.bessely(0, x), [(1, 3)], 9, 9),
    "y1": (lambda x: mp.bessely(1, x), [(0, 2)], 9, 12),
    "rcp_rn": (lambda x: 1 / x, [(-9, 9)], 0.5, 0.5),
    "add_rn": (lambda x, y: x + y, [(-9, 9), (-9, 9)], 0.5, 0.5),
    "sub_rn": (lambda x, y: x - y, [(-9, 9), (-9, 9)], 0.5, 0.5),
    "mul_rn": (lambda x, y: x * y, [(-9, 9), (-9, 9)], 0.5, 0.5),
    "div_rn": (lambda x, y: x / y, [(-9, 9), (-9, 9)], 0.5, 0.5),
}
"""Function -> reference, ranges of its operands, largest error in ulp of f32 and of f64 (glibc's and ours)."""


@pytest.fixture(autouse=True)
def same_inputs_every_time() -> None:
    """Whichever tests this process ran before."""
    RNG.bit_generator.state = np.random.default_rng(8).bit_generator.state


def spread(bounds: Spread, letter: str, count: int = 150) -> np.ndarray:
    """Numbers between the bounds: evenly, and close to a bound or zero."""
    low, high = bounds
    even = RNG.uniform(low, high, count)
    small = np.exp2(RNG.uniform(-30, 0, count // 2)) * RNG.choice([-1, 1], count // 2)
    near = np.concatenate([small, low + abs(small), high - abs(small)])
    values = np.concatenate([even, near[(near > low) & (near < high)]]).astype(MEMORY[letter])
    return values[(values > low) & (values < high)]


def ulp_error(got: float, exact: mpf, letter: str) -> float:
    precision, least, _ = BITS[letter]
    if exact == 0:
        return 0.0 if got == 0 else math.inf
    unit = mpf(2) ** (max(int(mp.floor(mp.log(abs(exact), 2))), least) - precision + 1)
    return float(abs(mpf(float(got)) - exact) / unit)


def real_cases() -> Iterator[Any]:
    for name, (_, ranges, single, double) in REAL.items():
        for letter, ulps in (("f", single), ("d", double)):
            signature = f"{letter * len(ranges)}>{letter}"
            if (name, signature) in SIGNATURES:
                yield pytest.param(name, signature, ulps, id=f"{name}-{letter}")


@pytest.mark.parametrize(("name", "signature", "ulps"), list(real_cases()))
def test_real_functions(name: str, signature: str, ulps: float) -> None:
    reference, ranges, *_ = REAL[name]
    letter = signature[-1]
    columns = [spread(bounds, letter) for bounds in ranges]
    size = min(len(column) for column in columns)
    inputs = [RNG.permutation(column)[:size] for column in columns]
    got = function(name, signature)(*inputs)
    for value, *operands in zip(got, *inputs, strict=True):
        exact = reference(*[mpf(float(x)) for x in operands])
        error = ulp_error(value, exact, letter)
        assert error <= ulps, f"{name}{tuple(map(float, operands))} = {value!r}, not {exact}: {error:.2f} ulp"


def test_all_real_functions_have_a_reference() -> None:
    others = {"jn", "yn", "ldexp", "scalbn", "logb", "nextafter", "copysign", "abs", "rcp64h"}
    missing = {
        name
        for name, signature in SIGNATURES
        if set(signature) <= set("fd>") and name not in REAL and name not in others
    }
    assert {name for name in missing if name[-3:] not in ("_rd", "_ru", "_rz", "_rn")} == set()


INF, NAN = math.inf, math.nan
AT_LIMITS: dict[str, list[tuple[tuple[float, ...], float]]] = {
    "exp10": [((INF,), INF), ((-INF,), 0.0), ((0.0,), 1.0), ((400.0,), INF)],
    "cyl_bessel_i0": [((0.0,), 1.0), ((INF,), INF), ((-INF,), INF), ((NAN,), NAN), ((800.0,), INF)],
    "cyl_bessel_i1": [
        ((0.0,), 0.0),
        ((-0.0,), -0.0),
        ((INF,), INF),
        ((-INF,), -INF),
        ((NAN,), NAN),
        ((-800.0,), -INF),
    ],
    "erfinv": [
        ((1.0,), INF),
        ((-1.0,), -INF),
        ((0.0,), 0.0),
        ((-0.0,), -0.0),
        ((1.5,), NAN),
        ((NAN,), NAN),
        ((-INF,), NAN),
    ],
    "erfcinv": [((0.0,), INF), ((2.0,), -INF), ((1.0,), 0.0), ((-0.5,), NAN), ((2.5,), NAN), ((NAN,), NAN)],
    "normcdfinv": [((0.0,), -INF), ((1.0,), INF), ((-0.1,), NAN), ((1.1,), NAN), ((NAN,), NAN)],
    "normcdf": [((INF,), 1.0), ((-INF,), 0.0), ((0.0,), 0.5), ((NAN,), NAN), ((-60.0,), 0.0), ((60.0,), 1.0)],
    "erfcx": [((INF,), 0.0), ((-INF,), INF), ((0.0,), 1.0), ((NAN,), NAN), ((-40.0,), INF)],
    "sinpi": [
        ((0.0,), 0.0),
        ((-0.0,), -0.0),
        ((3.0,), 0.0),
        ((-2.0,), -0.0),
        ((0.5,), 1.0),
        ((1.5,), -1.0),
        ((INF,), NAN),
        ((1e30,), 0.0),
    ],
    "cospi": [
        ((0.0,), 1.0),
        ((1.0,), -1.0),
        ((0.5,), 0.0),
        ((1.5,), 0.0),
        ((INF,), NAN),
        ((1e30,), 1.0),
        ((NAN,), NAN),
    ],
    "saturatef": [((NAN,), 0.0), ((INF,), 1.0), ((-INF,), 0.0)],
    "round": [
        ((0.5,), 1.0),
        ((-0.5,), -1.0),
        ((2.5,), 3.0),
        ((-0.0,), -0.0),
        ((0.49999997,), 0.0),
        ((INF,), INF),
        ((NAN,), NAN),
    ],
    "rint": [((0.5,), 0.0), ((1.5,), 2.0), ((-0.5,), -0.0), ((INF,), INF)],
    "logb": [((0.0,), -INF), ((INF,), INF), ((8.0,), 3.0), ((1e-40,), -133.0)],
    "rcbrt": [((0.0,), INF), ((-0.0,), -INF), ((INF,), 0.0), ((-8.0,), -0.5)],
    "fdim": [((1.0, INF), 0.0), ((INF, 1.0), INF), ((NAN, 1.0), NAN), ((1.0, NAN), NAN), ((INF, INF), 0.0)],
    "hypot": [((INF, NAN), INF), ((NAN, 1.0), NAN)],
    "rhypot": [((0.0, 0.0), INF), ((INF, NAN), 0.0)],
    "norm3d": [((1.0, INF, NAN), INF), ((1e30, 1e30, 0.0), math.sqrt(2) * 1e30)],
    "rnorm4d": [((0.0, 0.0, 0.0, 0.0), INF), ((NAN, 1.0, 1.0, -INF), 0.0)],
    "copysign": [((3.0, -0.0), -3.0), ((-INF, 1.0), INF)],
    "nextafter": [((0.0, -1.0), -0.0), ((INF, INF), INF)],
    "fmod": [((5.5, -2.0), 1.5), ((-5.5, 2.0), -1.5), ((1.0, 0.0), NAN), ((1.0, INF), 1.0)],
    "remainder": [((5.5, 2.0), -0.5), ((5.0, 2.0), 1.0), ((1.0, 0.0), NAN)],
    "pow": [
        ((0.0, 0.0), 1.0),
        ((NAN, 0.0), 1.0),
        ((-8.0, 1 / 3), NAN),
        ((-2.0, 3.0), -8.0),
        ((0.0, -1.0), INF),
    ],
    "rsqrt": [((0.0,), INF), ((-0.0,), -INF), ((INF,), 0.0), ((-1.0,), NAN)],
    "tgamma": [((5.0,), 24.0), ((INF,), INF)],
    "lgamma": [((1.0,), 0.0), ((0.0,), INF)],
}


@pytest.mark.parametrize("name", AT_LIMITS)
def test_limits(name: str) -> None:
    cases = AT_LIMITS[name]
    for letter in "fd":
        signature = f"{letter * arity(name)}>{letter}"
        if (name, signature) not in SIGNATURES:
            continue
        got = function(name, signature)(
            *np.array([operands for operands, _ in cases], MEMORY[letter]).T.copy()
        )
        expected = np.array([value for _, value in cases], MEMORY[letter])
        tiny = name == "nextafter"
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-40 if tiny else 0, err_msg=f"{cases}")
        np.testing.assert_array_equal(
            np.signbit(got), np.signbit(expected) & ~np.isnan(expected) | np.signbit(got) & np.isnan(got)
        )


def test_rsqrt_rn_is_correctly_rounded() -> None:
    """1/sqrt(x) lies between the middles l, u of the result and its neighbours: x l^2 < 1 < x u^2, in integers."""
    x = np.arange(0x3F000000, 0x40000000, 7, dtype=np.uint32).view(np.float32)
    got = function("rsqrt_rn", "f>f", 16)(x)
    ints = (x.astype(np.float64) * 2**24).astype(np.int64).astype(object)
    units = (got.astype(np.float64) * 2**25).astype(np.int64)
    half = np.where(got >= 1, 2, 1)
    lower, upper = (units - half).astype(object), (units + half).astype(object)
    assert (lower**2 * ints < 2**74).all()
    assert (upper**2 * ints > 2**74).all()


@pytest.mark.parametrize("letter", ["f", "d"])
def test_functions_with_an_integer_operand(letter: str) -> None:
    dtype = MEMORY[letter]
    x = np.abs(RNG.normal(size=200)).astype(dtype) * 3
    n = RNG.integers(-20, 20, 200).astype(np.int32)
    for name in ("ldexp", "scalbn"):
        np.testing.assert_array_equal(function(name, f"{letter}i>{letter}")(x, n), np.ldexp(x, n))
    power = function("pow", f"{letter}i>{letter}")(x, n)
    np.testing.assert_allclose(power, x.astype(np.float64) ** n, rtol=1.2e-7 if letter == "f" else 1e-15)
    order = np.abs(n) % 5
    for name, reference in (("jn", mp.besselj), ("yn", mp.bessely)):
        got = function(name, f"i{letter}>{letter}")(order, x)
        expected = [float(reference(int(k), mpf(float(v)))) for k, v in zip(order, x, strict=True)]
        np.testing.assert_allclose(got, expected, rtol=2e-4 if letter == "f" else 1e-10)
    for name in ("llrint", "llround"):
        values = np.array([0.5, 1.5, 2.5, -2.5, -0.4, 1e15, 1e30, NAN], dtype)
        even = name == "llrint"
        expected = [
            0 if even else 1,
            2,
            2 if even else 3,
            -2 if even else -3,
            0,
            int(dtype(1e15)),
            2**63 - 1,
            0,
        ]
        np.testing.assert_array_equal(function(name, f"{letter}>l")(values), expected)


# --- through Triton ---------------------------------------------------------------------------------------------------------


@triton.jit
def tutorial(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, stubs.asin(v), mask=i < n)


@triton.jit
def by_full_name(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.extra.libdevice.asin(arg0=v), mask=i < n)


asin = stubs.asin


@triton.jit
def by_own_name(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, asin(tl.load(x + i, mask=i < n)), mask=i < n)


@pytest.mark.parametrize("kernel", [tutorial, by_full_name, by_own_name])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_ways_to_call(kernel: Any, dtype: type) -> None:
    x = np.linspace(-1, 1, 1000, dtype=dtype)
    y = np.zeros_like(x)
    launch(kernel, (8,), x, y, 1000, B=128)
    np.testing.assert_allclose(y, np.arcsin(x), rtol=1e-6 if dtype == np.float32 else 1e-15)


@triton.jit
def mixed(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=1.0)
    scalar = tl.load(x)
    tl.store(y + i, stubs.pow(v, 3), mask=i < n)
    tl.store(y + n + i, stubs.pow(v, 0.5), mask=i < n)
    tl.store(y + 2 * n + i, stubs.atan2(v, scalar), mask=i < n)
    tl.store(y + 3 * n + i, tl.where(stubs.isnan(v), 1.0, 2.0), mask=i < n)
    tl.store(y + 4 * n + i, stubs.clz(i).to(tl.float32), mask=i < n)
    tl.store(
        y + 5 * n + i,
        stubs.mulhi(i.to(tl.uint32) * 0x10000000, tl.full([B], 0xFFFFFFFF, tl.uint32)).to(tl.float32),
        mask=i < n,
    )
    tl.store(y + 6 * n + i, stubs.exp(scalar), mask=i < n)


def test_operands_broadcast_and_constants_convert() -> None:
    n = 48
    x = np.linspace(0.5, 9, n, dtype=np.float32)
    x[7] = np.nan
    y = np.zeros((7, n), np.float32)
    launch(mixed, (1,), x, y, n, B=64)
    i = np.arange(n)
    expected = [
        *(x**3, np.sqrt(x), np.arctan2(x, x[0]), np.where(np.isnan(x), 1, 2)),
        *(
            [32 - int(k).bit_length() for k in i],
            [int(k) * 0x10000000 % 2**32 * 0xFFFFFFFF // 2**32 for k in i],
            np.full(n, np.exp(x[0])),
        ),
    ]
    np.testing.assert_allclose(y, np.array(expected, np.float64), rtol=3e-7)


@triton.jit
def half_precision(x, y):
    i = tl.arange(0, 16)
    tl.store(y + i, stubs.exp(tl.load(x + i)))


def test_other_types_are_refused_with_the_line() -> None:
    x = np.zeros(16, np.float16)
    with pytest.raises(
        triton.CompilationError, match=r"exp takes \(fp32\) or \(fp64\), not \(fp16\)"
    ) as caught:
        launch(half_precision, (1,), x, x)
    assert "stubs.exp(tl.load(x + i))" in str(caught.value)


nobody_has = extern_function("nobody_has", "d>d")


@triton.jit
def unknown(x, y):
    i = tl.arange(0, 16)
    tl.store(y + i, nobody_has(tl.load(x + i)))


def test_refusals_name_the_function_and_the_line() -> None:
    x = np.zeros(16, np.float64)
    with pytest.raises(UnsupportedOperation, match=r"nobody_has") as caught:
        launch(unknown, (1,), x, x)
    assert __file__ in caught.value.location
