"""Public failures of control flow and debug operations: every variant of the cases R15, R17 and R19."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import Typed, bf16_bits, launch, random, skip_if_refused
from native import run_python

from <<cookiecutter.package_name>>.target import PACKAGE_NAME

# --- R15: early return -----------------------------------------------------------------------------------------


@triton.jit
def leave_early(out, n, limit):
    program = tl.program_id(0)
    if program * 8 >= n:
        return
    if program == 1:
        tl.store(out + program, 100)
        return
    if program > 2:
        if program == limit:
            return
        tl.store(out + program, -1)
    tl.store(out + program, program + 1)


@pytest.mark.parametrize("programs", [6, 1000])
def test_r15_returns(programs: int) -> None:
    out = np.zeros(programs, np.int32)
    launch(leave_early, (programs,), out, 30, -1)
    assert out.tolist() == [1, 100, 3, 4] + [0] * (programs - 4)
    out[:] = 0
    launch(leave_early, (programs,), out, 48, 4)
    assert out[:6].tolist() == [1, 100, 3, 4, 0, 6] and not out[6:].any()


@triton.jit
def leave_after_tiles(x, out, n, N: tl.constexpr):
    lanes = tl.arange(0, N)
    total = tl.zeros([N], tl.float32)
    for turn in range(n):
        total += tl.load(x + turn * N + lanes)
    if tl.sum(total) < 0:
        return
    scanned = tl.cumsum(total, 0)
    if n > 2:
        tl.store(out + lanes, scanned)
        return
    tl.store(out + lanes, total)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
@pytest.mark.parametrize("sign", [1, -1])
def test_r15_returns_after_loops(n: int, sign: int) -> None:
    """What was reduced and scanned before a return is still right behind it."""
    x, out = sign * np.arange(96, dtype=np.float32), np.full(32, 7, np.float32)
    launch(leave_after_tiles, (1,), x, out, n, N=32)
    total = x.reshape(3, 32)[:n].sum(0)
    expected = np.full(32, 7) if total.sum() < 0 else np.cumsum(total) if n > 2 else total
    np.testing.assert_array_equal(out, expected)


# --- R17: loop-carried values ----------------------------------------------------------------------------------


@triton.jit
def until_zero(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    at = x
    total = tl.zeros([N], tl.int32)
    steps = 0
    while tl.load(at) != 0:
        found = tl.load(at) * 10  # defined nowhere else
        total += found + lanes
        at += 1
        steps += 1
    tl.store(out + lanes, total)
    tl.store(out + N, steps)
    tl.store(out + N + 1, tl.load(at + 1))


@pytest.mark.parametrize("values", [[], [3], [1, 2, 3, 4, 5]])
def test_r17_condition_from_memory(values: list[int]) -> None:
    """Zero trips, one and some; the pointer that was carried is used behind the loop."""
    x, out = np.array([*values, 0, 77], np.int32), np.zeros(18, np.int32)
    launch(until_zero, (1,), x, out, N=16)
    assert out[:16].tolist() == [10 * sum(values) + len(values) * lane for lane in range(16)]
    assert out[16:].tolist() == [len(values), 77]


@triton.jit
def halve_until_small(x, out, limit, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tile = tl.load(x + lanes)
    rounds = 0
    while tl.max(tile, 0) > limit:
        inner = 0
        while inner < rounds:
            tile += 1.0
            inner += 1
        tile = tile * 0.25
        rounds += 1
    tl.store(out + lanes, tile)
    tl.store(out + N, rounds)


@pytest.mark.parametrize("limit", [1000.0, 10.0, 1.5])
def test_r17_condition_from_the_carried_tile(limit: float) -> None:
    x, out = np.arange(32, dtype=np.float32) * 4, np.zeros(33, np.float32)
    launch(halve_until_small, (1,), x, out, limit, N=32)
    rounds = 0
    while x.max() > limit:
        x = (x + rounds) * np.float32(0.25)
        rounds += 1
    assert out.tolist() == [*x.tolist(), rounds]


@triton.jit
def segments_looped(lengths, base, out, count, N: tl.constexpr):
    total = tl.zeros([N], tl.int32)
    at = base
    seen = 0
    for segment in range(count):
        length = tl.load(lengths + segment)
        for j in range(length):
            total += tl.load(at) + j
            at += 1
            seen += 1
    tl.store(out + tl.arange(0, N), total)
    tl.store(out + N, seen)


@triton.jit
def one_segment(at, total, LENGTH: tl.constexpr):
    for j in tl.static_range(LENGTH):
        total += tl.load(at + j) + j
    return at + LENGTH, total


@triton.jit
def segments_unrolled(base, out, N: tl.constexpr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    at, total = one_segment(base, tl.zeros([N], tl.int32), A)
    at, total = one_segment(at, total, B)
    at, total = one_segment(at, total, C)
    tl.store(out + tl.arange(0, N), total)
    tl.store(out + N, A + B + C)


@pytest.mark.parametrize("lengths", [(2, 0, 3), (0, 0, 0), (1, 0, 0), (0, 4, 1)])
def test_r17_loops_against_their_unrolled_twins(lengths: tuple[int, ...]) -> None:
    base = np.array([1, 1, 2, 1, 1], np.int32)
    looped, unrolled = np.zeros(17, np.int32), np.zeros(17, np.int32)
    launch(segments_looped, (1,), np.array(lengths, np.int32), base, looped, len(lengths), N=16)
    launch(segments_unrolled, (1,), base, unrolled, N=16, **dict(zip("ABC", lengths, strict=True)))
    offsets = [j for length in lengths for j in range(length)]
    expected = sum(offsets) + int(base[: len(offsets)].sum())
    assert looped.tolist() == unrolled.tolist() == [expected] * 16 + [len(offsets)]
    if lengths == (2, 0, 3):
        assert expected == 10


# --- R19: debug operations -------------------------------------------------------------------------------------


@triton.jit
def check_indices(index, x, out, n, N: tl.constexpr):
    lanes = tl.arange(0, N)
    at = tl.load(index + lanes)
    tl.device_assert((at >= 0) & (at < n), "index out of range, 100% sure")
    tl.store(out + tl.program_id(0) * N + lanes, tl.load(x + at, mask=(at >= 0) & (at < n), other=-1))


@pytest.mark.parametrize("bad", [None, 0, 17, 63])
@pytest.mark.parametrize("programs", [1, 40])
def test_r19_one_bad_lane(bad: int | None, programs: int) -> None:
    """Raised in the launching process with message and line; the next launch works. Without debug nothing is checked."""
    x = random(64)
    index = np.random.default_rng(0).permutation(64).astype(np.int32)
    wrong = index.copy()
    if bad is not None:
        wrong[bad] = 64
    out = np.zeros((programs, 64), np.float32)
    for _ in range(2):
        if bad is not None:
            with pytest.raises(
                RuntimeError, match="device-side assert.*index out of range, 100% sure"
            ) as caught:
                launch(check_indices, (programs,), wrong, x, out, 64, N=64, debug=True)
            assert f"{__file__}:" in str(caught.value)
        launch(check_indices, (programs,), index, x, out, 64, N=64, debug=True)
        np.testing.assert_array_equal(out, np.tile(x[index], (programs, 1)))
    kernel = launch(check_indices, (programs,), wrong, x, out, 64, N=64, debug=False)
    assert "tt.assert" not in kernel.asm["ttir"]
    np.testing.assert_array_equal(out[0], np.where(wrong < 64, x[wrong % 64], -1))


@triton.jit
def check_scalar(x, out, n):
    value = tl.load(x)
    if n > 3:
        tl.device_assert(value > 0, "not positive")
    tl.store(out, value)


def test_r19_a_scalar_condition_in_a_branch() -> None:
    out = np.zeros(1, np.int32)
    launch(check_scalar, (1,), np.array([-5], np.int32), out, 3, debug=True)
    assert out[0] == -5
    with pytest.raises(RuntimeError, match=r"device-side assert.*not positive.*program \(0, 0, 0\) of the grid \(1, 1, 1\)"):
        launch(check_scalar, (1,), np.array([-5], np.int32), out, 4, debug=True)


def test_r19_debug_by_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """TRITON_DEBUG=1 is the other way to ask for checks; Triton reads it while it is imported, and keeps it here."""
    monkeypatch.setattr(triton.knobs.runtime, "debug", True)
    with pytest.raises(RuntimeError, match="not positive"):
        launch(check_scalar, (1,), np.array([-5], np.int32), np.zeros(1, np.int32), 4)


@triton.jit
def print_scalar(x):
    tl.device_print("100% of %d, %s and %%: ", tl.load(x))


@triton.jit
def print_tile(x, R: tl.constexpr, C: tl.constexpr):
    tl.device_print(" tile ", tl.load(x + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]))


@triton.jit
def print_lanes(x, N: tl.constexpr):
    tl.device_print(" lanes: ", tl.load(x + tl.arange(0, N)))


@triton.jit
def print_hexadecimal(x, N: tl.constexpr):
    tl.device_print(" bits: ", tl.load(x + tl.arange(0, N)), hex=True)


@triton.jit
def print_two(x, y, N: tl.constexpr):
    tl.device_print(" two: ", tl.load(x + tl.arange(0, N)), tl.load(y + tl.arange(0, N)))


@triton.jit
def print_text():
    tl.device_print("no value, 5% off")


def printed(
    capfd: pytest.CaptureFixture[str], kernel: Any, *args: Any, grid: int = 1, **options: Any
) -> list[str]:
    capfd.readouterr()
    launch(kernel, (grid,), *args, num_warps=1, **options)
    out, err = capfd.readouterr()
    assert err == ""
    return out.splitlines()


def test_r19_print_a_scalar(capfd: pytest.CaptureFixture[str]) -> None:
    """Percent signs are text. A scalar is printed once per thread, as on a GPU."""
    lines = printed(capfd, print_scalar, np.array([-42], np.int32))
    assert {*lines} == {"pid (0, 0, 0) idx () 100% of %d, %s and %%: -42"}
    assert {*printed(capfd, print_text)} == {"pid (0, 0, 0) no value, 5% off"}


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float32", "float64"])
def test_r19_print_a_tile(capfd: pytest.CaptureFixture[str], dtype: str) -> None:
    """One line an element, with its index."""
    skip_if_refused(dtype)
    x = (np.arange(32) - (0 if dtype[0] == "u" else 5)).reshape(2, 16).astype(dtype)
    show = (lambda value: f"{value:f}") if dtype[0] == "f" else str
    lines = printed(capfd, print_tile, x, R=2, C=16)
    assert sorted(lines) == sorted(
        f"pid (0, 0, 0) idx ({i}, {j:2}) tile: {show(x[i, j].item())}" for i in range(2) for j in range(16)
    )


def test_r19_print_bfloat16_and_booleans(capfd: pytest.CaptureFixture[str]) -> None:
    bits = bf16_bits(np.array([1.5, -2, 0, np.inf], np.float32))
    lines = printed(capfd, print_lanes, Typed(bits, "bfloat16"), N=4)
    assert lines == [
        f"pid (0, 0, 0) idx ({i}) lanes: {v}"
        for i, v in enumerate(["1.500000", "-2.000000", "0.000000", "inf"])
    ]
    lines = printed(capfd, print_lanes, Typed(np.array([0, 1, 2, 0], np.uint8), "bool"), N=4)
    values = [line.rpartition(" ")[2].lstrip("-") for line in lines]
    assert values == ["0", "1", "1", "0"]


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint32", "int64"])
def test_r19_print_whole_numbers_in_hexadecimal(capfd: pytest.CaptureFixture[str], dtype: str) -> None:
    """As many digits as the type has; of negative numbers, too."""
    x = np.array([0, 1, 100, -1 if dtype[0] == "i" else 0x7F], dtype)
    lines = printed(capfd, print_hexadecimal, x, N=4)
    digits, mask = x.itemsize * 2, (1 <<'<<'>> 8 * x.itemsize) - 1
    assert lines == [f"pid (0, 0, 0) idx ({i}) bits: 0x{int(v) & mask:0{digits}x}" for i, v in enumerate(x)]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_r19_print_floats_in_hexadecimal(capfd: pytest.CaptureFixture[str], dtype: str) -> None:
    """As C's %a has them, which loses no bit; their bits as a whole number would not say which format they have."""
    skip_if_refused(dtype)
    numbers = [1.0, 1.5, -1.5, -0.0, np.inf, -np.inf, 6.0, 0.1]
    if dtype == "bfloat16":
        bits = bf16_bits(np.array(numbers, np.float32))
        x, exact = Typed(bits, "bfloat16"), (bits.astype(np.uint32) <<'<<'>> 16).view(np.float32)
    else:
        x = exact = np.array(numbers, dtype)
    lines = printed(capfd, print_hexadecimal, x, N=8)
    shown = [line.removeprefix(f"pid (0, 0, 0) idx ({i}) bits: ") for i, line in enumerate(lines)]
    assert all(not np.isfinite(v) or text.lstrip("-").startswith("0x") for text, v in zip(shown, exact))
    assert [float.fromhex(text).hex() for text in shown] == [float(v).hex() for v in exact]


def test_r19_print_several(capfd: pytest.CaptureFixture[str]) -> None:
    """Two operands; several programs do not mix their lines."""
    x, y = np.arange(4, dtype=np.int32), np.arange(4, dtype=np.float32)
    lines = printed(capfd, print_two, x, y, N=4, grid=30)
    expected = [
        f"pid ({p}, 0, 0) idx ({i}) two: (operand {k}) {i if k == 0 else f'{i:f}'}"
        for p in range(30)
        for k in range(2)
        for i in range(4)
    ]
    assert sorted(lines) == sorted(expected)


CHILD = f"""
    import os, sys
    sys.path.insert(0, {{folder!r}})
    import {PACKAGE_NAME}
    {PACKAGE_NAME}.activate()
    import numpy as np
    from harness import launch
    from test_cases_control import print_lanes
    sys.stdout.write("before|")
    sys.stdout.flush()
    if {{forked}}:
        child = os.fork()
        if child == 0:
            launch(print_lanes, (1,), np.arange(2, dtype=np.int32), N=2)
            os._exit(0)  # without the exit handlers of C
        os.waitpid(child, 0)
    launch(print_lanes, (1,), np.arange(2, dtype=np.int32), N=2)
    sys.stdout.write("after|")
    sys.stdout.flush()
    os._exit(0)
"""


@pytest.mark.parametrize("forked", [False, True])
def test_r19_print_into_a_pipe(forked: bool) -> None:
    """In a child process whose output is a pipe: in order with Python's own, each line once, and none is lost where
    the process leaves without the exit handlers of C."""
    import os

    done = run_python(CHILD.format(folder=os.path.dirname(__file__), forked=forked))
    lines = "pid (0, 0, 0) idx (0) lanes: 0\npid (0, 0, 0) idx (1) lanes: 1\n"
    assert done.stdout == "before|" + lines * (1 + forked) + "after|", done.stderr
