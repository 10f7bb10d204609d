"""Prints the polynomials of ``formulas/f32_*.py`` and ``formulas/bessel.py``.

A script, not a test.

Each is the minimax fit of a weighted error, found with the Remez exchange algorithm in 40-digit arithmetic. For f32 the
coefficients are rounded one by one, lowest power first, and the rest is fitted anew after each rounding, so that
later coefficients make up for earlier roundings.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import numpy as np
from mpmath import mp, mpf

mp.dps = 40
PIECES = 32
Function = Callable[[mpf], mpf]


def remez(values: list[mpf], weights: list[mpf], degree: int, points: list[mpf]) -> tuple[list[mpf], mpf]:
    """Coefficients c with the least ``max |weight * (value - sum c_j x^j)|`` over `points`, and that maximum."""
    n = degree + 2
    last = len(points) - 1
    chosen = sorted({round(last * (1 - np.cos(np.pi * i / (n - 1))) / 2) for i in range(n)})
    rows = [[x**p for p in range(degree + 1)] for x in points]
    for _ in range(30):
        system = mp.matrix([[*rows[k], (-1) ** i / weights[k]] for i, k in enumerate(chosen)])
        solution = mp.lu_solve(system, mp.matrix([values[k] for k in chosen]))
        c, level = list(solution[: n - 1]), abs(solution[n - 1])
        errors = [w * (v - mp.fdot(c, row)) for v, w, row in zip(values, weights, rows, strict=True)]
        peaks: list[int] = []  # the largest error of each run of one sign
        for k, error in enumerate(errors):
            if peaks and (error > 0) == (errors[peaks[-1]] > 0):
                if abs(error) > abs(errors[peaks[-1]]):
                    peaks[-1] = k
            else:
                peaks.append(k)
        while (
            len(peaks) > n
        ):  # drop the smallest; in the middle with a neighbour, so that signs go on alternating
            least = min(range(len(peaks)), key=lambda i: abs(errors[peaks[i]]))
            if len(peaks) == n + 1 or least in (0, len(peaks) - 1):
                del peaks[0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1]
            else:
                left, right = abs(errors[peaks[least - 1]]), abs(errors[peaks[least + 1]])
                start = least - 1 if left < right else least
                del peaks[start : start + 2]
        worst = max(abs(e) for e in errors)
        if len(peaks) < n or peaks == chosen or worst < level * mpf("1.0001"):
            break
        chosen = peaks
    return c, worst


def coefficients(
    f: Function, weight: Function, degree: int, low: float, high: float, *,
    single: bool = True, given: Sequence[float] = (), count: int = 1500,
) -> tuple[list[float], mpf]:  # fmt: skip
    """A polynomial fitted to `f`, and its largest error; the lowest coefficients may be `given`."""
    middle, half = mpf(low + high) / 2, mpf(high - low) / 2
    points = [middle - half * mp.cos(mp.pi * (k + mpf(1) / 2) / count) for k in range(count)]
    weights = [weight(x) for x in points]
    rest = [f(x) for x in points]
    out: list[float] = []
    while len(out) <= degree:
        if len(out) < len(given):
            value = given[len(out)]
        else:
            c, error = remez(rest, weights, degree - len(out), points)
            if not single:
                out += [float(v) for v in c]
                break
            value = float(np.float32(float(c[0])))
        out.append(value)
        # What the other coefficients have to fit, as a polynomial from x^0 on again.
        rest = [v - mpf(value) for v in rest]
        error = max(abs(w * v) for v, w in zip(rest, weights, strict=True))
        rest = [v / x for v, x in zip(rest, points, strict=True)]
        weights = [w * abs(x) for w, x in zip(weights, points, strict=True)]
    return out, error


def fit(
    name: str, f: Function, weight: Function, degree: int, low: float, high: float, *,
    single: bool = True, given: Sequence[float] = (), count: int = 1500,
) -> None:  # fmt: skip
    """Prints `coefficients`."""
    found, error = coefficients(f, weight, degree, low, high, single=single, given=given, count=count)
    print(
        f"# {name}: error 2^{float(mp.log(error, 2)):.1f}",
        f"{name} = (",
        *(f"    {c!r}," for c in found),
        ")",
        sep="\n",
    )


def print_pieces(name: str, rows: list[list[float]], worst: mpf) -> None:
    """Prints a table of ``formulas/f32_tables.py``: a row for each piece, as bits."""
    print(f"# {name}: error 2^{float(mp.log(worst, 2)):.1f}", f'{name} = """', sep="\n")
    for row in rows:
        print("    " + " ".join(f"{int(np.float32(c).view(np.uint32)):08x}" for c in row))
    print('"""')


def tanh_pieces(step: float, degree: int) -> None:
    """tanh(i step + r) = c_0 + c_1 r + ...; in the first piece c_0 = 0 and c_1 = 1."""
    near_zero = lambda r: (mp.tanh(r) / r - 1) / r  # noqa: E731
    row, worst = coefficients(near_zero, lambda r: r * r / mp.tanh(r), degree - 2, 1e-6, step / 2, count=100)
    rows = [[0.0, 1.0, *row]]
    for i in range(1, PIECES - 1):
        f = functools.partial(lambda i, r: mp.tanh(i * step + r), i)
        weight = functools.partial(lambda f, r: 1 / f(r), f)
        row, error = coefficients(f, weight, degree, -step / 2, step / 2, count=100)
        rows.append(row)
        worst = max(worst, error)
    # The last one ends at 1, and is within an ulp of it from the start.
    print_pieces("TANH", [*rows, [1.0, 3e-7, *[0.0] * (degree - 1)]], worst)


def erf_pieces(step: float, degree: int, cut: float, slope: float) -> None:
    """erf(a) = (slope min(a, cut) + c_0) + c_1 r + c_2 r^2 + ... for a = i step + r.

    What is left for r is little where the result is small, and c_0 is known to more bits than the result has. The slope is
    about that at 0: with a smaller one the difference would be rounded as a number of the next binade where the result
    is not there yet.
    """
    rows, worst = [], mpf(0)
    for i in range(PIECES - 1):
        inside = i * step < cut
        start = slope * min(i * step, cut)
        first = float(np.float32(float(mp.erf(i * step) - start)))

        def rest(
            r: mpf, i: int = i, base: mpf = mpf(start) + mpf(first), slope: float = slope * inside
        ) -> mpf:
            return (mp.erf(i * step + r) - base - slope * r) / r

        def weight(r: mpf, i: int = i) -> mpf:
            return abs(r) / mp.erf(i * step + r)

        row, error = coefficients(rest, weight, degree - 1, -step / 2 if i else 1e-6, step / 2, count=100)
        rows.append([first, *row])
        worst = max(worst, error)
    print_pieces("ERF", [*rows, [1 - slope * cut, 9e-7, *[0.0] * (degree - 1)]], worst)


def split(name: str, value: mpf, parts: int, *, bits: int = 24) -> None:
    """Prints `value` as an unevaluated sum of f32 numbers, each of at most `bits` bits."""
    out = []
    for _ in range(parts):
        exponent = int(mp.floor(mp.log(abs(value), 2)))
        scale = mpf(2) ** (bits - 1 - exponent)
        part = mp.nint(value * scale) / scale
        out.append(float(part))
        value -= part
    print(f"{name} = ({', '.join(repr(c) for c in out)})")


def erf_tail(x: mpf) -> mpf:
    return mp.log(mp.erfc(x), 2)


def scaled_erfc(x: mpf) -> mpf:
    return mp.exp(x * x) * mp.erfc(x)


def inverse_cube_root_bits() -> tuple[int, float]:
    """The K for which K - bits(x) // 3 comes nearest to the bits of x^(-1/3), and the largest |x y^3 - 1| then."""
    bits = np.arange(0x3F800000, 0x40800000 + 0x800000, 997)  # three binades: all remainders of the exponent
    x = bits.astype(np.uint32).view(np.float32).astype(np.float64)

    def miss(k: int) -> float:
        y = (k - bits // 3).astype(np.uint32).view(np.float32).astype(np.float64)
        return float(np.max(np.abs(x * y**3 - 1)))

    best = min(range(0x54A00000, 0x54A24000, 0x800), key=miss)
    return best, miss(best)


def bessel_scaled(n: int, x: mpf) -> mpf:
    return mp.besseli(n, x) * mp.exp(-x) * mp.sqrt(x)


if __name__ == "__main__":
    ln2 = mp.log(2)
    split("LN2", ln2, 2)
    split("LOG2_E", 1 / ln2, 2)
    split("HALF_PI", mp.pi / 2, 3)
    split("PI", mp.pi, 2)
    split("LOG2_10", mp.log(10, 2), 1)
    split("LOG10_2", mp.log(2, 10), 2)
    split("LOG10_E", 1 / mp.log(10), 2)
    h = float(ln2) / 2 * 1.0005
    fit("EXP", lambda x: (mp.exp(x) - 1 - x) / x**2, lambda x: x**2 / mp.exp(x), 4, -h, h)
    fit("EXPM1", lambda x: (mp.expm1(x) - x) / x**2, lambda x: x**2 / abs(mp.expm1(x)), 4, -h, h)
    fit("EXP2", lambda x: (mp.power(2, x) - 1) / x, lambda x: abs(x) / mp.power(2, x), 5, -0.50001, 0.50001)
    low, high = 2**-0.5 - 1, 2**0.5 - 1
    for name, base, given in (("LOG", mpf(1), (-0.5,)), ("LOG2", ln2, ()), ("LOG10", mp.log(10), ())):
        fit(
            name,
            lambda x: (mp.log1p(x) - x) / x**2 / base,
            lambda x: x**2 / abs(mp.log1p(x)) * base,
            8,
            low,
            high,
            given=given,
        )
    # In terms of t = x^2, so that only even powers are fitted.
    root = mp.sqrt
    q = (float(mp.pi) / 4 * 1.0005) ** 2
    fit(
        "SIN",
        lambda t: (mp.sin(root(t)) / root(t) - 1) / t,
        lambda t: t * root(t) / mp.sin(root(t)),
        2,
        1e-9,
        q,
    )
    fit("COS", lambda t: (mp.cos(root(t)) - 1 + t / 2) / t**2, lambda t: t**2 / mp.cos(root(t)), 2, 1e-6, q)
    fit("ERF", lambda t: mp.erf(root(t)) / root(t) - 1, lambda t: root(t) / mp.erf(root(t)), 6, 1e-12, 1.0)
    # erf = 1 - 2^p(x): an error d of p is an error of about d * ln2 * erfc(x).
    fit("ERFC_LOG2", erf_tail, lambda x: mp.erfc(x) * ln2, 5, 1.0, 4.1)
    tanh_pieces(0.28125, 5)
    erf_pieces(0.125, 5, 1.0625, 1.125)
    # The library's. A fit from far below 0.001 on would lose its digits to divisions by t.
    fit(
        "ASIN",
        lambda t: (mp.asin(root(t)) / root(t) - 1) / t,
        lambda t: t * root(t) / mp.asin(root(t)),
        4,
        1e-9,
        0.25,
    )
    fit(
        "ATAN",
        lambda t: (mp.atan(root(t)) / root(t) - 1) / t,
        lambda t: t * root(t) / mp.atan(root(t)),
        8,
        1e-3,
        1.0,
        count=600,
    )
    fit(
        "SINH",
        lambda t: (mp.sinh(root(t)) / root(t) - 1) / t,
        lambda t: t * root(t) / mp.sinh(root(t)),
        2,
        1e-3,
        1.0,
    )
    h = float(mp.log(2, 10)) / 2 * 1.0005
    fit("EXP10", lambda x: (mp.power(10, x) - 1) / x, lambda x: abs(x) / mp.power(10, x), 5, -h, h)
    start, h = inverse_cube_root_bits()
    print(f"INVERSE_CBRT_BITS = 0x{start:X}")
    fit(
        "INVERSE_CBRT",
        lambda r: (mp.power(1 + r, -mpf(1) / 3) - 1) / r,
        lambda r: abs(r) * mp.power(1 + r, mpf(1) / 3),
        1,
        -h * 1.001,
        h * 1.001,
    )
    # In f64: log2((1 + s) / (1 - s)) is odd; e^(a^2) erfc(a) with t = (a - 2) / (a + 2).
    q = float((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * 1.0005
    ratio = lambda t: mp.log((1 + root(t)) / (1 - root(t)), 2) / root(t)  # noqa: E731
    fit("LOG2_RATIO", ratio, lambda t: 1 / ratio(t), 4, 1e-12, q, single=False)
    tail = lambda t: scaled_erfc(2 * (1 + t) / (1 - t))  # noqa: E731
    fit("ERFCX", tail, lambda t: 1 / tail(t), 10, -1.0, (10.2 - 2) / (10.2 + 2), single=False, count=500)
    # Bessel functions in f64: for x < 8 in x^2, beyond, without their growth, in 16/x - 1.
    for n, divide in ((0, lambda x: mpf(1)), (1, lambda x: x)):
        near = functools.partial(lambda n, divide, t: mp.besseli(n, root(t)) / divide(root(t)), n, divide)
        fit(f"I{n}_NEAR", near, lambda t: 1 / near(t), 14, 1e-20, 64.0, single=False, count=400)
        far = functools.partial(lambda n, t: bessel_scaled(n, 16 / (t + 1)), n)
        fit(f"I{n}_FAR", far, lambda t: 1 / far(t), 23, -1.0, 1.0, single=False, count=500)
