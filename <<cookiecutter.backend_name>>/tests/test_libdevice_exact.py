"""libdevice with directed rounding against rationals, and on integers and bits against Python's integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from lane_functions import MEMORY
from libdevice_functions import BITS, RNG, SIGNATURES, arity, function, integers, numbers

INF, NAN = math.inf, math.nan


# --- directed rounding ----------------------------------------------------------------------------------------------


def rounded(exact: Fraction, mode: str, letter: str) -> float:
    """`exact` (not 0) as a number of the format, down, up or towards zero."""
    precision, least, greatest = BITS[letter]
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    unit = Fraction(2) ** (max(exponent, least) - precision + 1)
    steps = exact / unit
    whole = math.floor(steps) if mode == "rd" or (mode == "rz" and exact > 0) else math.ceil(steps)
    result, sign = whole * unit, 1 if exact > 0 else -1
    largest = (2 - Fraction(2) ** (1 - precision)) * Fraction(2) ** greatest
    if abs(result) > largest:
        outwards = mode != "rz" and (result > 0) == (mode == "ru")
        result = math.inf if outwards else largest
        return math.copysign(float(result), sign)
    return math.copysign(float(result), sign)


EXACT: dict[str, Callable[..., Fraction | None]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b if b else None,
    "rcp": lambda a: 1 / a if a else None,
    "fma": lambda a, b, c: a * b + c,
}


@pytest.mark.parametrize("letter", ["f", "d"])
@pytest.mark.parametrize("mode", ["rd", "ru", "rz"])
@pytest.mark.parametrize("operation", EXACT)
def test_arithmetic_with_directed_rounding(operation: str, mode: str, letter: str) -> None:
    name = f"{operation}_{mode}"
    signature = f"{letter * arity(name)}>{letter}"
    inputs = [numbers(letter, 500) for _ in range(arity(name))]
    size = min(map(len, inputs))
    inputs = [column[:size] for column in inputs]
    # Half of the sums and quotients with operands of similar size, where roundings are interesting.
    for column in inputs[1:]:
        with np.errstate(over="ignore"):
            column[: size // 2] = inputs[0][: size // 2] * RNG.uniform(-2, 2, size // 2).astype(
                MEMORY[letter]
            )
    inputs = [np.where(np.isfinite(column), column, 1) for column in inputs]
    got = function(name, signature)(*inputs)
    checked = 0
    for value, *operands in zip(got.tolist(), *(column.tolist() for column in inputs), strict=True):
        exact = EXACT[operation](*map(Fraction, operands))
        if exact:
            assert value == rounded(exact, mode, letter), f"{name}{tuple(operands)}: {exact}"
            checked += 1
    assert checked > 900


@pytest.mark.parametrize("letter", ["f", "d"])
@pytest.mark.parametrize("mode", ["rd", "ru", "rz"])
def test_multiply_add_where_it_cancels(mode: str, letter: str) -> None:
    """c is about -a * b, or far from it, at every size of either; a * b and the sum may leave the format."""
    count, (_, least, greatest), dtype = 6000, BITS[letter], MEMORY[letter]
    exponents = RNG.integers(least, greatest, (2, count)) // 2
    a, b = (np.ldexp(RNG.uniform(-2, 2, count), each).astype(dtype) for each in exponents)
    b[::7], a[::11] = RNG.choice([0, np.finfo(dtype).tiny, np.finfo(dtype).smallest_subnormal, 1, 3]), 0.75
    with np.errstate(over="ignore"):
        c = -a * b
        off = np.ldexp(RNG.choice([0, 1, -1], count), RNG.integers(-110, 10, count))
        c += (c * off).astype(dtype)
        far = RNG.random(count) < 0.3
        c[far] = np.ldexp(RNG.choice([1, -1, 1.5], count), RNG.integers(least - 20, greatest, count))[far]
    c = np.where(np.isfinite(c), c, 1).astype(dtype)
    got = function(f"fma_{mode}", f"{letter * 3}>{letter}")(a, b, c)
    for value, *operands in zip(got.tolist(), a.tolist(), b.tolist(), c.tolist(), strict=True):
        exact = EXACT["fma"](*map(Fraction, operands))
        if exact:
            assert value == rounded(exact, mode, letter), f"fma_{mode}{tuple(operands)}: {exact}"
        elif any(operands):
            assert math.copysign(1, value) == (-1 if mode == "rd" else 1) or 0 in operands


@pytest.mark.parametrize("letter", ["f", "d"])
@pytest.mark.parametrize("mode", ["rd", "ru", "rz"])
def test_square_root_with_directed_rounding(mode: str, letter: str) -> None:
    x = np.abs(numbers(letter, 500))
    x = np.concatenate([x, (np.arange(1, 200) ** 2).astype(MEMORY[letter])])
    got = function(f"sqrt_{mode}", f"{letter}>{letter}")(x)
    up = np.nextafter(got, np.array(np.inf, got.dtype))
    down = np.nextafter(got, np.array(0, got.dtype))
    for value, root, above, below in zip(
        *(map(Fraction, v.tolist()) for v in (x, got, up, down)), strict=True
    ):
        if mode == "ru":
            assert below**2 < value <= root**2 or value == 0
        else:
            assert root**2 <= value < above**2 or value == 0


@pytest.mark.parametrize("letter", ["f", "d"])
def test_directed_rounding_at_the_limits(letter: str) -> None:
    big = float(np.finfo(MEMORY[letter]).max)
    cases: dict[str, list[tuple[tuple[float, ...], float]]] = {
        "add_rd": [
            ((1.0, -1.0), -0.0),
            ((0.0, 0.0), 0.0),
            ((-0.0, 0.0), -0.0),
            ((big, big), big),
            ((-big, -big), -INF),
            ((INF, 1.0), INF),
        ],
        "add_ru": [
            ((1.0, -1.0), 0.0),
            ((-0.0, 0.0), 0.0),
            ((-0.0, -0.0), -0.0),
            ((big, big), INF),
            ((-big, -big), -big),
        ],
        "add_rz": [
            ((big, big), big),
            ((-big, -big), -big),
            ((INF, -INF), NAN),
            ((NAN, 1.0), NAN),
            ((-INF, 3.0), -INF),
        ],
        "sub_rd": [((1.0, 1.0), -0.0), ((0.0, -0.0), 0.0), ((big, -big), big)],
        "mul_rd": [
            ((big, 2.0), big),
            ((big, -2.0), -INF),
            ((INF, 0.0), NAN),
            ((-0.0, 3.0), -0.0),
            ((INF, -1.0), -INF),
        ],
        "mul_ru": [((big, 2.0), INF), ((big, -2.0), -big), ((0.0, 3.0), 0.0)],
        "fma_rd": [
            ((1.0, 1.0, -1.0), -0.0),
            ((0.0, 1.0, 0.0), 0.0),
            ((0.0, -1.0, 0.0), -0.0),
            ((big, big, 0.0), big),
            ((big, -big, big), -INF),
            ((INF, 1.0, -INF), NAN),
            ((INF, 0.0, 1.0), NAN),
            ((NAN, 1.0, 1.0), NAN),
            ((1.0, 1.0, INF), INF),
        ],
        "fma_ru": [((big, big, -big), INF), ((big, -big, -big), -big), ((2.0, 2.0, -4.0), 0.0)],
        "fma_rz": [((big, big, big), big), ((-big, big, 1.0), -big), ((-0.0, 1.0, -0.0), -0.0)],
        "div_rz": [
            ((big, 0.5), big),
            ((1.0, 0.0), INF),
            ((-1.0, 0.0), -INF),
            ((0.0, 0.0), NAN),
            ((1.0, INF), 0.0),
            ((INF, 2.0), INF),
        ],
        "div_ru": [((big, -0.5), -big), ((big, 0.5), INF), ((0.0, -1.0), -0.0)],
        "rcp_rd": [((0.0,), INF), ((-INF,), -0.0), ((NAN,), NAN), ((4.0,), 0.25)],
        "sqrt_ru": [
            ((0.0,), 0.0),
            ((-0.0,), -0.0),
            ((-1.0,), NAN),
            ((INF,), INF),
            ((4.0,), 2.0),
            ((NAN,), NAN),
        ],
    }
    for name, table in cases.items():
        got = function(name, f"{letter * arity(name)}>{letter}")(
            *np.array([operands for operands, _ in table], MEMORY[letter]).T.copy()
        )
        for value, (operands, expected) in zip(got.tolist(), table, strict=True):
            same = (
                math.isnan(value)
                if math.isnan(expected)
                else (value, math.copysign(1, value)) == (expected, math.copysign(1, expected))
            )
            assert same, f"{name}{operands} = {value}, not {expected}"


@pytest.mark.parametrize("mode", ["rn", "rd", "ru", "rz"])
@pytest.mark.parametrize("source", ["int", "uint", "ll", "ull"])
@pytest.mark.parametrize("target", ["float", "double"])
def test_integers_to_floats(source: str, target: str, mode: str) -> None:
    name = f"{source}2{target}_{mode}"
    signature = next((s for n, s in SIGNATURES if n == name), None)
    if signature is None:
        assert (target, source[-3:]) == ("double", "int"), "an i32 fits into f64"
        return
    x = integers(signature[0])
    got = function(name, signature)(x)
    for value, number in zip(got.tolist(), x.tolist(), strict=True):
        if mode == "rn":
            assert value == (float(np.float32(number)) if target == "float" else float(number))
        elif number:
            assert value == rounded(Fraction(number), mode, signature[-1]), number


@pytest.mark.parametrize("mode", ["rn", "rd", "ru", "rz"])
@pytest.mark.parametrize("target", ["int", "uint", "ll", "ull"])
@pytest.mark.parametrize("source", ["float", "double"])
def test_floats_to_integers(source: str, target: str, mode: str) -> None:
    """Saturated; NaN gives 0."""
    letter, width, unsigned = source[0], 32 if target.endswith("int") else 64, target.startswith("u")
    x = numbers(letter, 300)
    x = np.concatenate(
        [
            x,
            (RNG.normal(size=500) * 1e9).astype(x.dtype),
            np.array([0.5, 1.5, 2.5, -0.5, INF, -INF, NAN], x.dtype),
        ]
    )
    got = function(f"{source}2{target}_{mode}", f"{letter}>{'i' if width == 32 else 'l'}")(x)
    low, high = (0, 2**width - 1) if unsigned else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)
    to_integer: Callable[[float], int] = {"rn": round, "rd": math.floor, "ru": math.ceil, "rz": math.trunc}[
        mode
    ]
    for value, number in zip(got.tolist(), x.tolist(), strict=True):
        if math.isnan(number):
            expected = 0
        elif math.isinf(number):
            expected = high if number > 0 else low
        else:
            expected = min(max(to_integer(number), low), high)
        assert value % 2**width == expected % 2**width, f"{number}: {value}, not {expected}"


@pytest.mark.parametrize("mode", ["rn", "rd", "ru", "rz"])
def test_double_to_float(mode: str) -> None:
    x = np.concatenate([numbers("d", 300), numbers("f", 500).astype(np.float64) * (1 + 2**-30)])
    got = function(f"double2float_{mode}", "d>f")(x)
    if mode == "rn":
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(got, x.astype(np.float32))
        return
    for value, number in zip(got.tolist(), x.tolist(), strict=True):
        assert number == 0 or value == rounded(Fraction(number), mode, "f"), number


# --- integers and bits --------------------------------------------------------------------------------------------------


def of_bytes(x: int, y: int, selector: int) -> int:
    data = (x % 2**32).to_bytes(4, "little") + (y % 2**32).to_bytes(4, "little")
    return sum(data[selector // 16**i % 8] * 256**i for i in range(4))


def low_24_signed(x: int) -> int:
    return (x + 2**23) % 2**24 - 2**23


def unsigned(x: int, signature: str) -> int:
    return x % 2 ** (64 if signature[0] in "lv" else 32)


def width(signature: str) -> int:
    return 64 if signature[0] in "lv" else 32


BITWISE: dict[str, Callable[..., int]] = {
    "abs": lambda s, x: abs(x),
    "brev": lambda s, x: int(format(unsigned(x, s), f"0{width(s)}b")[::-1], 2),
    "byte_perm": lambda s, x, y, z: of_bytes(x, y, z % 2**32),
    "clz": lambda s, x: width(s) - unsigned(x, s).bit_length(),
    "ffs": lambda s, x: (x & -x).bit_length(),
    "hadd": lambda s, x, y: (x + y) // 2,
    "mul24": lambda s, x, y: (
        low_24_signed(x) * low_24_signed(y) if s[0] == "i" else (x % 2**24) * (y % 2**24)
    ),
    "mulhi": lambda s, x, y: x * y // 2 ** width(s),
    "popc": lambda s, x: unsigned(x, s).bit_count(),
    "rhadd": lambda s, x, y: (x + y + 1) // 2,
    "sad": lambda s, x, y, z: abs(x - y) + z,
}


@pytest.mark.parametrize(
    ("name", "signature"), [(n, s) for n, s in SIGNATURES if n in BITWISE and s[0] in "iluv"]
)
def test_integer_functions(name: str, signature: str) -> None:
    arguments, result = signature.split(">")
    inputs = [RNG.permutation(integers(letter)) for letter in arguments]
    got = function(name, signature)(*inputs)
    modulus = 2 ** (8 * np.dtype(MEMORY[result]).itemsize)
    for value, *operands in zip(got.tolist(), *(column.tolist() for column in inputs), strict=True):
        assert value % modulus == BITWISE[name](signature, *operands) % modulus, operands


def test_bit_casts() -> None:
    x, y = numbers("f", 99), numbers("d", 99)
    for name in ("float_as_int", "float_as_uint"):
        np.testing.assert_array_equal(function(name, "f>i")(x), x.view(np.int32))
    np.testing.assert_array_equal(function("double_as_longlong", "d>l")(y), y.view(np.int64))
    np.testing.assert_array_equal(function("int_as_float", "i>f")(x.view(np.int32)), x)
    np.testing.assert_array_equal(function("uint_as_float", "u>f")(x.view(np.uint32)), x)
    np.testing.assert_array_equal(function("longlong_as_double", "l>d")(y.view(np.int64)), y)
    halves = y.view(np.int32).reshape(-1, 2)
    low, high = np.ascontiguousarray(halves[:, 0]), np.ascontiguousarray(halves[:, 1])
    np.testing.assert_array_equal(function("double2loint", "d>i")(y), low)
    np.testing.assert_array_equal(function("double2hiint", "d>i")(y), high)
    np.testing.assert_array_equal(function("hiloint2double", "ii>d")(high, low), y)
    reciprocal = function("rcp64h", "d>d")(np.array([3.0, -0.125, INF]))
    np.testing.assert_allclose(reciprocal, [1 / 3, -8, 0], rtol=2**-20)
    assert not (reciprocal.view(np.int64) % 2**32).any()


@pytest.mark.parametrize("letter", ["f", "d"])
def test_classification(letter: str) -> None:
    x = np.concatenate([numbers(letter, 99), np.array([0.0, -0.0, INF, -INF, NAN, -NAN], MEMORY[letter])])
    np.testing.assert_array_equal(function("isnan", f"{letter}>b")(x), np.isnan(x))
    np.testing.assert_array_equal(function("isinf", f"{letter}>b")(x), np.isinf(x))
    np.testing.assert_array_equal(
        function("finitef" if letter == "f" else "isfinited", f"{letter}>b")(x), np.isfinite(x)
    )
    np.testing.assert_array_equal(function("signbit", f"{letter}>i")(x) != 0, np.signbit(x))
    np.testing.assert_array_equal(function("abs", f"{letter}>{letter}")(x), np.abs(x))
    exponents = function("ilogb", f"{letter}>i")(x)
    ordinary = np.isfinite(x) & (x != 0)
    np.testing.assert_array_equal(exponents[ordinary], np.frexp(x[ordinary])[1] - 1)
    assert set(exponents[np.isnan(x) | (x == 0)].tolist()) == {-(2**31)}
    assert set(exponents[np.isinf(x)].tolist()) == {2**31 - 1}
