"""Control flow: loops, branches, early returns, functions."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import launch, random


@triton.jit
def early_return(out, n):
    program = tl.program_id(0)
    if program * 8 >= n:
        return
    if program == 1:
        tl.store(out + program, 100)
        return
    tl.store(out + program, program + 1)


def test_early_return() -> None:
    """R15: a return in the middle of a kernel, twice."""
    out = np.zeros(6, np.int32)
    launch(early_return, (6,), out, 30)
    assert out.tolist() == [1, 100, 3, 4, 0, 0]


@triton.jit
def early_return_with_tiles(x, out, n, N: tl.constexpr):
    program = tl.program_id(0)
    lanes = tl.arange(0, N)
    value = tl.load(x + program * N + lanes)
    if tl.max(value) > n:
        tl.store(out + program * N + lanes, value)
        return
    for _ in range(program):
        value += 1
    tl.store(out + program * N + lanes, -value)


def test_early_return_with_tiles() -> None:
    """R15: tensors live across the branch; a loop follows it."""
    x, out = np.arange(128, dtype=np.int32).reshape(4, 32), np.zeros((4, 32), np.int32)
    launch(early_return_with_tiles, (4,), x, out, 70, N=32)
    np.testing.assert_array_equal(out, [-x[0], -(x[1] + 1), x[2], x[3]])


@triton.jit
def nested_while(lengths, base, out, segments, N: tl.constexpr):
    total = tl.zeros([N], tl.int32)
    segment = 0
    position = 0
    pointer = base
    while segment < segments:
        length = tl.load(lengths + segment)
        step = 0
        while step < length:
            total += tl.load(pointer) + step
            pointer += 1
            position += 1
            step += 1
        segment += 1
    tl.store(out + tl.arange(0, N), total)
    tl.store(out + N, position)


@pytest.mark.parametrize(
    ("lengths", "each", "position"), [([2, 0, 3], 10, 5), ([0, 0, 0], 0, 0), ([1], 1, 1)]
)
def test_nested_while(lengths: list[int], each: int, position: int) -> None:
    """R17: a tensor, two scalars and a pointer carried through two levels of while, with bounds from memory."""
    base = np.array([1, 1, 2, 1, 1], np.int32)  # plus steps 0, 1, 0, 1, 2
    out = np.zeros(17, np.int32)
    launch(nested_while, (1,), np.array(lengths, np.int32), base, out, len(lengths), N=16)
    assert out.tolist() == [each] * 16 + [position]


@triton.jit
def runtime_loop(x, out, first, last, step, N: tl.constexpr):
    total = tl.zeros([N], tl.float32)
    for index in range(first, last, step):
        total = total * 0.5 + tl.load(x + index * N + tl.arange(0, N))
    tl.store(out + tl.arange(0, N), total)


@triton.jit
def unrolled_loop(x, out, FIRST: tl.constexpr, LAST: tl.constexpr, STEP: tl.constexpr, N: tl.constexpr):
    total = tl.zeros([N], tl.float32)
    for index in tl.static_range(FIRST, LAST, STEP):
        total = total * 0.5 + tl.load(x + index * N + tl.arange(0, N))
    tl.store(out + tl.arange(0, N), total)


@pytest.mark.parametrize("bounds", [(0, 5, 1), (1, 8, 3), (3, 3, 1), (5, 2, 1)])
def test_loop_with_runtime_bounds(bounds: tuple[int, int, int]) -> None:
    """R17: a loop over arguments does what its unrolled twin does, zero trips included."""
    x = random((8, 16))
    looped, unrolled = np.full(16, 9, np.float32), np.full(16, 8, np.float32)
    launch(runtime_loop, (1,), x, looped, *bounds, N=16)
    launch(unrolled_loop, (1,), x, unrolled, *bounds, N=16)
    expected = np.zeros(16, np.float32)
    for index in range(*bounds):
        expected = expected * np.float32(0.5) + x[index]
    np.testing.assert_allclose(looped, expected, rtol=1e-6)
    np.testing.assert_array_equal(looped, unrolled)


@triton.jit
def backward_loop(out, n):
    at = 0
    for index in range(n, -1, -2):
        tl.store(out + at, index)
        at += 1


def test_loop_with_negative_step() -> None:
    out = np.full(6, -1, np.int32)
    launch(backward_loop, (1,), out, 7)
    assert out.tolist() == [7, 5, 3, 1, -1, -1]


@triton.jit
def first_defined_in_loop(x, out, n):
    found = -1
    for index in range(n):
        value = tl.load(x + index)
        if value > 10:
            if found < 0:
                found = index
    tl.store(out, found)


@pytest.mark.parametrize(("values", "found"), [([1, 2, 30, 40], 2), ([1, 2], -1), ([50], 0)])
def test_branch_in_loop(values: list[int], found: int) -> None:
    """R17: a value first defined inside the loop, and nested ifs that yield a carried scalar."""
    out = np.zeros(1, np.int32)
    launch(first_defined_in_loop, (1,), np.array(values, np.int32), out, len(values))
    assert out[0] == found


@triton.jit
def branches_with_tiles(x, out, which, N: tl.constexpr):
    lanes = tl.arange(0, N)
    value = tl.load(x + lanes)
    scale = 1.0
    if which == 0:
        value = value + 1
        scale = 2.0
    elif which == 1:
        value = tl.sum(value, axis=0) + tl.zeros([N], tl.float32)
    else:
        for _ in range(which):
            value = value * 2
    tl.store(out + lanes, value * scale)


@pytest.mark.parametrize("which", [0, 1, 2, 3])
def test_branches_that_yield_tiles(which: int) -> None:
    x, out = random(32), np.zeros(32, np.float32)
    launch(branches_with_tiles, (1,), x, out, which, N=32)
    expected = [(x + 1) * 2, np.full(32, x.sum()), x * 4, x * 8][which]
    np.testing.assert_allclose(out, expected, rtol=1e-5)


@triton.jit
def conditional_expression(x, out, n):
    program = tl.program_id(0)
    factor = 3 if program < n else -1
    both = (program > 0) and (program < 3)
    either = (program == 0) or (not both)
    tl.store(out + program, tl.load(x + program) * factor + (100 if both else 0) + (1000 if either else 0))


def test_conditional_expressions() -> None:
    x, out = np.arange(1, 5, dtype=np.int32), np.zeros(4, np.int32)
    launch(conditional_expression, (4,), x, out, 2)
    assert out.tolist() == [1003, 106, 97, 996]


@triton.jit
def poly(x, A: tl.constexpr, B: tl.constexpr):
    return A * x + B


@triton.jit
def two_values(x):
    return x + 1, (x * 2, x * 3)


@triton.jit
def twice(x, FUNCTION: tl.constexpr):
    return FUNCTION(FUNCTION(x, 2, 1), 2, 1)


@triton.jit
def functions(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    value = tl.load(x + lanes)
    first, others = two_values(value)
    tl.store(out + lanes, poly(first, 3, B=others[0].shape[0]) + others[0] * others[1])
    tl.store(out + N + lanes, twice(value, poly))


def test_functions() -> None:
    """Nested calls, nested tuples, keywords, a function as compile-time argument."""
    x, out = random(16, "int32") % 100, np.zeros((2, 16), np.int32)
    launch(functions, (1,), x, out, N=16)
    np.testing.assert_array_equal(out, [3 * (x + 1) + 16 + 6 * x * x, 2 * (2 * x + 1) + 1])


@triton.jit(noinline=True)
def scalar_callee(x, y):
    return x * y + 1


@triton.jit(noinline=True)
def tile_callee(pointer, factor, N: tl.constexpr):
    lanes = tl.arange(0, N)
    value = tl.load(pointer + lanes) * factor
    tl.store(pointer + lanes, value)
    return tl.sum(value, axis=0), pointer + N


@triton.jit
def noinline_calls(x, out, n, N: tl.constexpr):
    total = 0
    pointer = x
    for index in range(n):
        sum_of_tile, pointer = tile_callee(pointer, index + 2, N)
        total = scalar_callee(total, 3) + sum_of_tile
    tl.store(out, total)


def test_noinline_calls() -> None:
    """Calls that stay calls (``tt.call``): scalars and pointers both ways, tensors inside, in a loop."""
    x, out = np.arange(48, dtype=np.int32).reshape(3, 16), np.zeros(1, np.int32)
    start = x.copy()
    launch(noinline_calls, (1,), x, out, 2, N=16)
    np.testing.assert_array_equal(x, [start[0] * 2, start[1] * 3, start[2]])
    assert out[0] == (1 + start[0].sum() * 2) * 3 + 1 + start[1].sum() * 3


@triton.jit
def early_return_value(x, limit):
    if x > limit:
        return limit
    return x * 2


@triton.jit
def calls_with_early_return(x, out, limit):
    program = tl.program_id(0)
    tl.store(out + program, early_return_value(tl.load(x + program), limit))


def test_early_return_from_a_function() -> None:
    """R15: a helper with two returns."""
    x, out = np.array([1, 5, 50], np.int32), np.zeros(3, np.int32)
    launch(calls_with_early_return, (3,), x, out, 10)
    assert out.tolist() == [2, 10, 10]


@triton.jit
def static_things(out, N: tl.constexpr, SHAPES: tl.constexpr):
    tl.static_assert(N == 4)
    at = 0
    for index in tl.static_range(len(SHAPES)):
        tl.store(out + at, SHAPES[index] * 10 + index)
        at += 1
    if N > 100:
        tl.store(out + 1000, 1)  # dropped while compiling: it would write out of bounds


def test_static_range_over_a_tuple() -> None:
    out = np.zeros(3, np.int32)
    launch(static_things, (1,), out, N=4, SHAPES=(7, 8, 9))
    assert out.tolist() == [70, 81, 92]


@triton.jit
def program_ids(out, width, height):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    counts = tl.num_programs(0) * 10000 + tl.num_programs(1) * 100 + tl.num_programs(2)
    tl.store(out + (z * height + y) * width + x, counts)


@pytest.mark.parametrize("grid", [(1,), (5,), (3, 4), (2, 3, 4), (1, 1, 7), (7, 1, 3)])
def test_grids(grid: tuple[int, ...]) -> None:
    """One to three dimensions: each program runs exactly once and knows the grid."""
    x, y, z = (*grid, 1, 1)[:3]
    out = np.zeros(x * y * z, np.int32)
    launch(program_ids, grid, out, x, y)
    assert out.tolist() == [x * 10000 + y * 100 + z] * (x * y * z)


@triton.jit
def carried_tiles(x, out, n, R: tl.constexpr, C: tl.constexpr):
    at = tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :]
    previous = tl.zeros((R, C), tl.int32)
    current = tl.load(x + at)
    pointers = out + at
    for _ in range(n):
        previous, current = current, previous + current
        tl.store(pointers, current)
        pointers += R * C


def test_swapped_tiles_carried_by_a_loop() -> None:
    """Fibonacci by tiles: two tensors swap roles each turn, and a tensor of pointers moves on."""
    x, out = random((4, 32), "int32") % 100, np.zeros((6, 4, 32), np.int32)
    launch(carried_tiles, (1,), x, out, 6, R=4, C=32)
    for turn, factor in enumerate([1, 2, 3, 5, 8, 13]):
        np.testing.assert_array_equal(out[turn], x * factor)
