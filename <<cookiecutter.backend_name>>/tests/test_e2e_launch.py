"""Launching: grids, arguments, hooks. From our own arrays and from torch tensors."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import launch

from <<cookiecutter.package_name>>.runtime.array import DeviceArray

ToDevice = Callable[[np.ndarray], Any]


@triton.jit
def scale(x, out, n, factor, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < n
    tl.store(out + lanes, tl.load(x + lanes, mask=inside) * factor, mask=inside)


@pytest.mark.parametrize("n", [1, 15, 16, 17, 1000, 4097])
def test_awkward_sizes(to_device: ToDevice, n: int) -> None:
    x = np.arange(n, dtype=np.float32)
    out = to_device(np.zeros(n + 1, np.float32))
    scale[(triton.cdiv(n, 64),)](to_device(x), out, n, 2.0, BLOCK=64)
    np.testing.assert_array_equal(out.numpy(), np.append(x * 2, 0))


@pytest.mark.parametrize(
    "grid",
    [(2,), [2], (2, 1), (2, 1, 1), lambda meta: (triton.cdiv(100, meta["BLOCK"]),)],
    ids=["1d", "list", "2d", "3d", "callable"],
)
def test_forms_of_grid(to_device: ToDevice, grid: Any) -> None:
    x, out = np.arange(100, dtype=np.float32), to_device(np.zeros(100, np.float32))
    scale[grid](to_device(x), out, 100, 3.0, BLOCK=64)
    np.testing.assert_array_equal(out.numpy(), x * 3)


@pytest.mark.parametrize("grid", [(0,), (0, 5), (5, 0), (3, 2, 0)])
def test_empty_grid(to_device: ToDevice, grid: tuple[int, ...]) -> None:
    """No program runs, and nothing complains."""
    x, out = np.ones(4, np.float32), to_device(np.zeros(4, np.float32))
    scale[grid](to_device(x), out, 4, 3.0, BLOCK=4)
    assert not out.numpy().any()


def test_keyword_arguments(to_device: ToDevice) -> None:
    x, out = np.ones(4, np.float32), to_device(np.zeros(4, np.float32))
    scale[(1,)](BLOCK=4, factor=5.0, n=4, out=out, x=to_device(x))
    assert out.numpy().tolist() == [5, 5, 5, 5]


@triton.jit
def defaults(x, out, bias=None, factor=2, BLOCK: tl.constexpr = 4):
    lanes = tl.arange(0, BLOCK)
    value = tl.load(x + lanes) * factor
    if bias is not None:
        value += tl.load(bias + lanes)
    tl.store(out + lanes, value)


def test_none_and_defaults(to_device: ToDevice) -> None:
    """R21: an optional pointer, first None and then an array; default values."""
    x, out = to_device(np.ones(4, np.int32)), to_device(np.zeros(4, np.int32))
    defaults[(1,)](x, out)
    assert out.numpy().tolist() == [2] * 4
    defaults[(1,)](x, out, to_device(np.full(4, 100, np.int32)), 3)
    assert out.numpy().tolist() == [103] * 4
    defaults[(1,)](x, out, None, factor=1)
    assert out.numpy().tolist() == [1] * 4


@triton.jit
def scalars(out, i, j, k, f, flag):
    tl.store(out, i.to(tl.float64))
    tl.store(out + 1, j.to(tl.float64))
    tl.store(out + 2, k.to(tl.float64))
    tl.store(out + 3, f)
    tl.store(out + 4, flag.to(tl.float64))


@pytest.mark.parametrize("flag", [True, False])
def test_scalar_arguments(flag: bool) -> None:
    """R21: ints beyond 2^31 and 2^63, negative ones, a float, a bool."""
    out = np.zeros(5)
    launch(scalars, (1,), out, -5, 2**31 + 7, 2**63 + 2**12, 0.5, flag)
    assert out.tolist() == [-5, 2**31 + 7, 2**63 + 2**12, 0.5, float(flag)]


@triton.jit
def typed_floats(out, a: tl.float16, b: tl.bfloat16, c: tl.float64, d: tl.float32):
    tl.store(out, a.to(tl.float64))
    tl.store(out + 1, b.to(tl.float64))
    tl.store(out + 2, c.to(tl.float64))
    tl.store(out + 3, d.to(tl.float64))


def test_floats_of_every_width() -> None:
    """R21: one third as fp16, bf16, fp64 and fp32 parameter."""
    out = np.zeros(4)
    launch(typed_floats, (1,), out, 1 / 3, 1 / 3, 1 / 3, 1 / 3)
    assert out.tolist() == [float(np.float16(1 / 3)), 0.333984375, 1 / 3, float(np.float32(1 / 3))]


@triton.jit
def one_or_more(out, n):
    tl.store(out, n)


@pytest.mark.parametrize("n", [0, 1, 2, 16, 17])
def test_specialised_integers(n: int) -> None:
    """1 becomes a constant, multiples of 16 are promised to be so: each still arrives as itself."""
    out = np.full(1, -1, np.int32)
    launch(one_or_more, (1,), out, n)
    assert out[0] == n


@triton.jit
def tuples(pointers, sizes, optional, CONSTANTS: tl.constexpr):
    tl.store(pointers[0], sizes[0] + CONSTANTS[0])
    tl.store(pointers[1], sizes[1] + CONSTANTS[1])
    if optional is not None:
        tl.store(pointers[0], tl.load(optional))


Sizes = namedtuple("Sizes", ["rows", "columns"])


@triton.jit
def named_tuples(out, sizes, nested):
    tl.store(out, sizes.rows * 100 + sizes.columns)
    tl.store(out + 1, nested[0] + nested[1][0] * 10 + nested[1][1] * 100)


def test_tuples() -> None:
    """R21: tuples of pointers, sizes (one of them 1) and constants; an optional pointer; nested and named."""
    first, second = np.zeros(1, np.int32), np.zeros(1, np.int32)
    launch(tuples, (1,), (first, second), (7, 1), None, CONSTANTS=(10, 20))
    assert (first[0], second[0]) == (17, 21)
    launch(tuples, (1,), (first, second), (7, 1), np.full(1, 100, np.int32), CONSTANTS=(10, 20))
    assert (first[0], second[0]) == (100, 21)
    out = np.zeros(2, np.int32)
    launch(named_tuples, (1,), out, Sizes(3, 4), (1, (2, 3)))
    assert out.tolist() == [304, 321]


def test_views(to_device: ToDevice) -> None:
    """A launch starts at a view's first element, not at its buffer's."""
    buffer = to_device(np.arange(20, dtype=np.float32))
    out = to_device(np.zeros(20, np.float32))
    scale[(1,)](buffer[4:], out[8:], 5, 1.0, BLOCK=8)
    assert out.numpy().tolist() == [0] * 8 + [4, 5, 6, 7, 8] + [0] * 7


def test_flipped_view() -> None:
    """R12: a host-side view with a negative stride."""
    out, x = np.zeros(8, np.float32), np.arange(8, dtype=np.float32)
    view = DeviceArray.wrap(x).flip(0)
    strided_copy[(1,)](view, DeviceArray.wrap(out), view.stride(0), N=8)
    assert out.tolist() == x[::-1].tolist()


@triton.jit
def strided_copy(x, out, stride, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes * stride))


def test_launch_hooks() -> None:
    """Enter and exit hooks see each launch, in order, with the kernel's name."""
    seen: list[tuple[str, str]] = []

    def enter(metadata: Any) -> None:
        seen.append(("enter", metadata.get()["name"]))

    def leave(metadata: Any) -> None:
        seen.append(("exit", metadata.get()["name"]))

    runtime = triton.knobs.runtime
    runtime.launch_enter_hook.add(enter)
    runtime.launch_exit_hook.add(leave)
    try:
        launch(one_or_more, (1,), np.zeros(1, np.int32), 3)
    finally:
        runtime.launch_enter_hook.remove(enter)
        runtime.launch_exit_hook.remove(leave)
    assert seen == [("enter", "one_or_more"), ("exit", "one_or_more")]
    launch(one_or_more, (1,), np.zeros(1, np.int32), 3)
    assert len(seen) == 2


def test_warmup_then_launch() -> None:
    """``warmup`` compiles from dtypes alone; the compiled kernel launches by itself and tells about itself."""
    out = DeviceArray.zeros(1, "int32")
    compiled = one_or_more.warmup(out, 3, grid=(1,))
    compiled._init_handles()
    assert compiled.n_spills == 0
    assert compiled.n_regs > 0
    assert compiled.metadata.shared > 0
    compiled[(1, 1, 1)](out, 3)
    assert out.item() == 3


def test_numpy_array_is_refused() -> None:
    """Triton itself says that it cannot take one; the process goes on."""
    with pytest.raises(TypeError):
        one_or_more[(1,)](np.zeros(1, np.int32), 3)


def test_torch_dtypes() -> None:
    """Every torch type that kernels can hold, bfloat16 and bool included."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    names = ["bool", "int8", "int16", "int32", "int64", "uint8", "float16", "bfloat16", "float32", "float64"]
    for name in names:
        x = torch.tensor([0, 1, 1, 0, 1], dtype=getattr(torch, name))
        out = torch.zeros_like(x)
        copy_five[(1,)](x, out)
        assert torch.equal(x, out), name


@triton.jit
def copy_five(x, out):
    lanes = tl.arange(0, 8)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < 5), mask=lanes < 5)
