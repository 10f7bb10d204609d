"""A bit of everything, on one machine of `targets.py`: ``python tests/target_checks.py NAME`` prints what holds.

`test_targets.py` runs it for each machine. The tests of the language say more: ``python tests/targets.py NAME``.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import targets

if __name__ == "__main__":
    # Before the package is imported.
    _holders = [targets.become(sys.argv[1]), tempfile.TemporaryDirectory(prefix="target-checks-")]
    os.environ["TRITON_CACHE_DIR"] = _holders[1].name

import numpy as np
import triton
import triton.language as tl
from harness import Typed, bf16, bf16_bits, bf16_values, launch, random
from program_generator import make_program
from program_oracle import GRID, source_of
from test_random_programs import check as check_program
from test_random_programs import initial_memory, kernel_of

from <<cookiecutter.package_name>>.dialects.op_table import use_library_dialects
from <<cookiecutter.package_name>>.emulator import emulated
from <<cookiecutter.package_name>>.examples import cases
from <<cookiecutter.package_name>>.target import BACKEND_NAME, ENV_PREFIX

CHECKS: list[Callable[[], None]] = []
COUNT = 200


def check(function: Callable[[], None]) -> Callable[[], None]:
    CHECKS.append(function)
    return function


@triton.jit
def arithmetic(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a = tl.load(x + i, mask=i < n, other=1)
    b = tl.load(y + i, mask=i < n, other=1)
    total = tl.where(a > b, a * b + a, a - b)
    tl.store(out + i, tl.maximum(total, b).to(out.dtype.element_ty), mask=i < n)


@check
def elementwise_over_types() -> None:
    for dtype in ("int8", "int16", "int32", "int64", "float16", "float32", "float64", "bfloat16"):
        floats = "float" in dtype
        a, b = (
            np.random.default_rng(seed)
            .integers(-9, 10, COUNT)
            .astype("float32" if dtype == "bfloat16" else dtype)
            for seed in (0, 1)
        )
        a, b = (a / 4, b / 4) if floats else (a, b)
        expected = np.maximum(np.where(a > b, a * b + a, a - b), b)
        if dtype == "bfloat16":
            out = Typed(np.zeros(COUNT, np.uint16), dtype)
            launch(arithmetic, (1,), bf16(a), bf16(b), out, COUNT, 256)
            np.testing.assert_array_equal(bf16_values(out.bits), bf16_values(bf16_bits(expected)))
            continue
        a, b = a.astype(dtype), b.astype(dtype)
        got = np.zeros(COUNT, dtype)
        launch(arithmetic, (1,), a, b, got, COUNT, 256)
        np.testing.assert_array_equal(got, expected.astype(dtype), dtype)


@triton.jit
def functions(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    a = tl.abs(v) + 0.5
    tl.store(out + i, tl.exp(v))
    tl.store(out + N + i, tl.exp2(v))
    tl.store(out + 2 * N + i, tl.log(a))
    tl.store(out + 3 * N + i, tl.log2(a))
    tl.store(out + 4 * N + i, tl.sin(v))
    tl.store(out + 5 * N + i, tl.cos(v))
    tl.store(out + 6 * N + i, tl.sqrt(a))
    tl.store(out + 7 * N + i, tl.rsqrt(a))
    tl.store(out + 8 * N + i, v % 0.75)
    tl.store(out + 9 * N + i, tl.math.erf(v))


@check
def special_functions() -> None:
    from math import erf

    for dtype, tolerance in (("float32", 2e-6), ("float64", 1e-14)):
        x = random(256, dtype) * 3
        out = np.zeros((10, 256), dtype)
        launch(functions, (1,), x, out, 256)
        v, a = x.astype(np.float64), np.abs(x).astype(np.float64) + 0.5
        rows = [
            np.exp(v),
            np.exp2(v),
            np.log(a),
            np.log2(a),
            np.sin(v),
            np.cos(v),
            np.sqrt(a),
            1 / np.sqrt(a),
        ]
        rows += [np.fmod(v, 0.75), np.array([erf(float(value)) for value in v])]
        for number, (row, got) in enumerate(zip(rows, out, strict=True)):
            np.testing.assert_allclose(got, row, rtol=tolerance, atol=tolerance, err_msg=f"{dtype} {number}")


@triton.jit
def conversions(x, wide, doubles, halves, back, quotients, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(wide + i, v.to(tl.float32))
    tl.store(doubles + i, v.to(tl.float64))
    tl.store(halves + i, v.to(tl.float16))
    tl.store(back + i, (v.to(tl.float64) * 0.5).to(tl.int64))
    tl.store(quotients + i, v // (i + 1) + v % (i + 3))


@check
def conversions_of_int64() -> None:
    x = random(128, "int64") >> np.arange(128) % 62
    outs = [np.zeros(128, dtype) for dtype in ("float32", "float64", "float16", "int64", "int64")]
    launch(conversions, (1,), x, *outs, 128)
    with np.errstate(over="ignore"):
        rows = [x.astype(np.float32), x.astype(np.float64), x.astype(np.float16)]
    rows.append((x.astype(np.float64) * 0.5).astype(np.int64))
    d, e = np.arange(1, 129), np.arange(3, 131)
    rows.append(np.sign(x) * (np.abs(x) // d) + np.sign(x) * (np.abs(x) % e))
    for row, got in zip(rows, outs, strict=True):
        np.testing.assert_array_equal(got, row)


@triton.jit
def reductions(x, sums, most, where, running, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + at)
    tl.store(sums + tl.arange(0, N), tl.sum(v, axis=0))
    tl.store(most + tl.arange(0, M), tl.max(v, axis=1))
    tl.store(where + tl.arange(0, M), tl.argmin(v, axis=1))
    tl.store(running + at, tl.cumsum(v, axis=1))


@triton.jit
def sorting(x, out, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.sort(tl.load(x + at)))


@check
def reductions_scans_and_sorts() -> None:
    for dtype in ("float32", "float64", "int8"):
        x = np.random.default_rng(3).permutation(32 * 64).reshape(32, 64).astype(np.float64)
        x = (x % 100 if dtype == "int8" else x / 4).astype(dtype)
        sums, most, where = np.zeros(64, dtype), np.zeros(32, dtype), np.zeros(32, np.int32)
        running = np.zeros_like(x)
        launch(reductions, (1,), x, sums, most, where, running, 32, 64)
        np.testing.assert_array_equal(
            sums, x.sum(0, dtype=np.int64 if dtype == "int8" else None).astype(dtype)
        )
        np.testing.assert_array_equal(most, x.max(1))
        np.testing.assert_array_equal(where, x.argmin(1))
        np.testing.assert_array_equal(running, x.cumsum(1, dtype=dtype))
    numbers = random((4, 32), "int32")
    ordered = np.zeros_like(numbers)
    launch(sorting, (1,), numbers, ordered, 4, 32)
    np.testing.assert_array_equal(ordered, np.sort(numbers, 1))


@triton.jit
def product(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    x = tl.load(a + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :])
    y = tl.load(b + tl.arange(0, K)[:, None] * N + tl.arange(0, N)[None, :])
    total = tl.dot(x, y, input_precision="ieee", out_dtype=out.dtype.element_ty)
    tl.store(out + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], total)


@check
def products_of_matrices() -> None:
    """Small integers: exact in every type."""
    for dtype in ("float32", "float16", "bfloat16", "float8_e5m2", "float64", "int8"):
        for m, n, k in ((32, 64, 16), (1, 2, 8)) if dtype != "float64" else ((16, 16, 8),):
            values = [
                np.random.default_rng(seed).integers(-3, 4, s) for seed, s in ((0, (m, k)), (1, (k, n)))
            ]
            total = {"int8": np.int32, "float64": np.float64}.get(dtype, np.float32)
            if dtype == "bfloat16":
                operands: list[Any] = [bf16(v.astype(np.float32)) for v in values]
            elif dtype == "float8_e5m2":
                # e5m2 is the upper half of f16.
                operands = [
                    Typed((v.astype(np.float16).view(np.uint16) >> 8).astype(np.uint8), dtype) for v in values
                ]
            else:
                operands = [v.astype(dtype) for v in values]
            out = np.zeros((m, n), total)
            launch(product, (1,), *operands, out, m, n, k)
            np.testing.assert_array_equal(out, values[0] @ values[1], f"{dtype} {m} x {n} x {k}")


@triton.jit
def scaled_product(a, a_scale, b, b_scale, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    g = tl.arange(0, K // 32)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n[None, :])
    xs = tl.load(a_scale + m[:, None] * (K // 32) + g[None, :])
    ys = tl.load(b_scale + n[:, None] * (K // 32) + g[None, :])
    tl.store(out + m[:, None] * N + n[None, :], tl.dot_scaled(x, xs, "e5m2", y, ys, "e5m2"))


@check
def scaled_products() -> None:
    generator = np.random.default_rng(5)
    a, b = generator.integers(-3, 4, (16, 64)), generator.integers(-3, 4, (64, 32))
    left, right = generator.integers(125, 130, (16, 2)), generator.integers(125, 130, (32, 2))
    narrow = [(v.astype(np.float16).view(np.uint16) >> 8).astype(np.uint8) for v in (a, b)]
    out = np.zeros((16, 32), np.float32)
    launch(
        scaled_product,
        (1,),
        narrow[0],
        left.astype(np.uint8),
        narrow[1],
        right.astype(np.uint8),
        out,
        16,
        32,
        64,
    )
    wide_a = a * np.exp2(np.repeat(left - 127, 32, axis=1))
    wide_b = b * np.exp2(np.repeat(right - 127, 32, axis=1)).T
    np.testing.assert_array_equal(out, wide_a @ wide_b)


@triton.jit
def histogram(x, counts, sums, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    tl.atomic_add(counts + v, 1, mask=i < n)
    tl.atomic_add(sums + v % 2, v.to(tl.float32), mask=i < n)
    tl.atomic_max(counts + 8 + v * 0, v, mask=i < n)


@check
def atomics() -> None:
    x = np.random.default_rng(7).integers(0, 8, 1000).astype(np.int32)
    counts, sums = np.zeros(9, np.int32), np.zeros(2, np.float32)
    launch(histogram, (8,), x, counts, sums, 1000, 128)
    np.testing.assert_array_equal(counts, [*np.bincount(x, minlength=8), x.max()])
    np.testing.assert_array_equal(sums, [x[x % 2 == 0].sum(), x[x % 2 == 1].sum()])


@triton.jit
def control(x, out, limit, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    if tl.sum(v, axis=0) < 0:
        return
    steps = 0
    while tl.max(v, axis=0) < limit:
        v = v * 2 + i
        steps += 1
    for step in range(0, steps):
        if step % 2 == 0:
            v += step
        else:
            v -= 1
    tl.store(out + i, v)


@check
def control_flow() -> None:
    x = np.arange(64, dtype=np.int32)
    out = np.zeros(64, np.int32)
    launch(control, (1,), x, out, 5000, 64)
    v, steps = x.copy(), 0
    while v.max() < 5000:
        v, steps = v * 2 + np.arange(64), steps + 1
    for step in range(steps):
        v = v + step if step % 2 == 0 else v - 1
    np.testing.assert_array_equal(out, v)


@check
def examples() -> None:
    for case in (
        cases.vector_add_case(1000, "float16"),
        cases.softmax_case(5, 300, "float32"),
        cases.matmul_case(65, 33, 40, "float16"),
        cases.layer_norm_case(4, 200, "float32"),
        cases.attention_case(1, 1, 64, 16, "float32", causal=True),
        cases.libdevice_case("asin", 300, "float32"),
    ):
        error = case.error()
        assert error <= case.tolerance, f"{case.kernel}: error {error:.2e} is above {case.tolerance:.2e}"


@check
def random_programs() -> None:
    with tempfile.TemporaryDirectory(prefix="random-programs-") as folder:
        for seed in range(4):
            check_program(make_program(seed), seed, Path(folder))


@check
def emulator_and_reference_device() -> None:
    """The same bits from the emulator, which runs the binary, as from the host's machine code."""
    with tempfile.TemporaryDirectory(prefix="random-programs-") as folder:
        for seed in (4, 5):
            program = make_program(seed)
            kernel = kernel_of(source_of(program), Path(folder))
            here, there = initial_memory(program, seed), initial_memory(program, seed)
            launch(kernel, (GRID,), *here.values(), *program.scalars.values())
            with emulated():
                launch(kernel, (GRID,), *there.values(), *program.scalars.values())
            for name, values in here.items():
                np.testing.assert_array_equal(there[name], values, f"seed {seed}: {name}")
    x = random(256) * 3
    here, there = np.zeros((2, 10, 256), np.float32)
    launch(functions, (1,), x, here, 256)
    with emulated():
        launch(functions, (1,), x, there, 256)
    np.testing.assert_array_equal(there, here)


def main() -> None:
    os.environ["TRITON_DEFAULT_BACKEND"] = BACKEND_NAME
    os.environ[f"{ENV_PREFIX}_VERIFY_PASSES"] = "1"
    use_library_dialects()
    for function in CHECKS:
        start = time.perf_counter()
        function()
        print(f"{function.__name__} {time.perf_counter() - start:.2f} s", flush=True)


if __name__ == "__main__":
    main()
