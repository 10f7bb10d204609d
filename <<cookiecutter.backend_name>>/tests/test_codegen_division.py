"""A loop that divides by one number multiplies instead: every bit must be that of the division."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from isa_kernels import HOSTS, IsaKernel

ROWS, COLUMNS = 512, 512

# Divides the row of %x by the number of %s that the program's number selects, or by a constant.
BODY = """
    %program = isa.program_id 0
    %row = isa.extu %program : i32 -> i64
    %four = isa.const 4 : i64 : i64
    %pitch = isa.const {pitch} : i64 : i64
    %zero = isa.const 0 : i64 : i64
    %bytes = isa.const {bytes} : i64 : i64
    %from_s = isa.muli %row, %four : i64
    %at_s = isa.addi %s, %from_s : i64
    {number}
    %from = isa.muli %row, %pitch : i64
    %x_row = isa.addi %x, %from : i64
    %o_row = isa.addi %o, %from : i64
    scf.for %i = %zero to %pitch step %bytes : i64 {{
      %at_x = isa.addi %x_row, %i : i64
      %dividend = isa.load %at_x : vector<{lanes}xf32>
      %quotient = isa.divf %dividend, %divisor : vector<{lanes}xf32>
      %at_o = isa.addi %o_row, %i : i64
      isa.store %quotient, %at_o : vector<{lanes}xf32>
    }}
    isa.return"""
SPREAD = """%number = isa.load %at_s : f32
    %divisor = isa.splat %number : f32 -> vector<{lanes}xf32>"""
CONSTANT = "%divisor = isa.const {constant} : f32 : vector<{lanes}xf32>"


def divider(host: str, lanes: int, constant: str = "") -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """What divides the rows of a matrix by numbers."""
    number = CONSTANT.format(constant=constant, lanes=lanes) if constant else SPREAD.format(lanes=lanes)
    body = BODY.format(pitch=4 * COLUMNS, bytes=4 * lanes, lanes=lanes, number=number)
    kernel = IsaKernel({"x": "i64", "s": "i64", "o": "i64"}, body, HOSTS[host])
    assert ("llvm.fma" in kernel.llir) == (HOSTS[host].vector_bits == 512 and 32 * lanes >= 512)

    def divide(x: np.ndarray, s: np.ndarray) -> np.ndarray:
        out = np.zeros_like(x)
        assert kernel(x, s, out, grid=(ROWS, 1, 1)) == 0
        return out

    return divide


def floats(fraction: np.ndarray, exponent: np.ndarray, sign: np.ndarray | int = 0) -> np.ndarray:
    """Numbers from their 23, 8 and 1 bits."""
    return (fraction | exponent <<'<<'>> 23 | sign <<'<<'>> 31).astype(np.uint32).view(np.float32)


def any_bits(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x, s = (rng.integers(0, 2**32, shape, dtype=np.uint32) for shape in ((ROWS, COLUMNS), ROWS))
    return x.view(np.float32), s.view(np.float32)


def usual_divisors(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return any_bits(rng)[0], floats(rng.integers(0, 2**23, ROWS), 127 + rng.integers(-101, 27, ROWS))


def near_halves(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Quotients next to the middle between two floats."""
    _, s = usual_divisors(rng)
    middle = 1 + (2.0 * rng.integers(0, 2**23, (ROWS, COLUMNS)) + 1) * 2**-24
    return (middle * s[:, None].astype(np.float64)).astype(np.float32), s


def odd_fractions(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Fractions of few bits and of nearly all, with any exponent: zeros, denormal numbers, infinities, NaN, too."""
    fractions = np.array([0, 1, 2, 3, 0x7FFFFF, 0x7FFFFE, 0x7FFFFD, 0x400000, 0x3FFFFF, 0x555555, 0x2AAAAA])
    shape = (ROWS, COLUMNS)
    s = floats(rng.choice(fractions, ROWS), 127 + rng.integers(-102, 28, ROWS))
    return floats(rng.choice(fractions, shape), rng.integers(0, 256, shape), rng.integers(0, 2, shape)), s


INPUTS = [any_bits, usual_divisors, near_halves, odd_fractions]


def expect_quotients(got: np.ndarray, x: np.ndarray, s: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        want = x / s[:, None]
    same = (got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))
    row, column = np.argwhere(~same)[0] if not same.all() else (0, 0)
    assert same.all(), f"{x[row, column]!r} / {s[row]!r}: {got[row, column]!r}, not {want[row, column]!r}"


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("lanes", [8, 16, 64])
@pytest.mark.parametrize("host", HOSTS)
def test_rows_by_numbers(host: str, lanes: int, inputs: Callable[..., tuple[np.ndarray, np.ndarray]]) -> None:
    divide = divider(host, lanes)
    for seed in range(3):
        x, s = inputs(np.random.default_rng(seed))
        expect_quotients(divide(x, s), x, s)


@pytest.mark.parametrize(
    "s", [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3e38, -3.0, 2.0**-100, 2.0**25, 1.0, 4.0]
)
def test_zeros_keep_their_sign(s: float) -> None:
    x = np.zeros((ROWS, COLUMNS), np.float32)
    x[:, ::2] = -0.0
    numbers = np.full(ROWS, s, np.float32)
    expect_quotients(divider("native", 16)(x, numbers), x, numbers)


@pytest.mark.parametrize("constant", ["3.0", "255.0", "0.1", "1.0e-38", "-7.0"])
def test_rows_by_a_constant(constant: str) -> None:
    divide = divider("native", 16, constant)
    for inputs in INPUTS:
        x, s = inputs(np.random.default_rng(0))
        expect_quotients(divide(x, s), x, np.full_like(s, float(constant)))
