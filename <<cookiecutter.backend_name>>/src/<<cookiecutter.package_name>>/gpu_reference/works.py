"""What is measured on a real GPU: the examples at sizes that fill it, launches, compilations. Needs torch with CUDA."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl

from ..examples import (
    cases,
    dropout,
    fused_attention,
    fused_softmax,
    grouped_gemm,
    layer_norm,
    libdevice,
    matmul,
    persistent_matmul,
    vector_add,
)
from ..examples.arrays import from_list
from .empty_kernels import no_arguments, twelve_arguments, two_arguments

Work = Callable[[], object]


class GpuData(cases.Data):
    """The examples' random arrays, on the GPU; for NumPy the very same values, bfloat16 as float32."""

    def _both(self, values: Any, dtype: str) -> tuple[Any, Any]:
        tensor = torch.from_numpy(np.ascontiguousarray(values)).cuda().to(getattr(torch, dtype))
        return tensor, to_numpy(tensor)

    def normal(self, shape: Any, dtype: str) -> tuple[Any, Any]:
        return self._both(self.generator.standard_normal(tuple(shape), np.float32), dtype)

    def between(self, low: float, high: float, shape: Any, dtype: str) -> tuple[Any, Any]:
        return self._both(self.generator.uniform(low, high, tuple(shape)), dtype)


class GpuArray:
    """What the examples need of `DeviceArray`, giving tensors on the GPU."""

    @staticmethod
    def empty(shape: Any, dtype: str = "float32") -> Any:
        return torch.empty(tuple(shape), dtype=getattr(torch, str(dtype)), device="cuda")


def to_numpy(array: Any) -> Any:
    """Of an array on any device; bfloat16 as float32."""
    if not isinstance(array, torch.Tensor):
        return array.numpy()
    return (array.float() if array.dtype is torch.bfloat16 else array).cpu().numpy()


def put_cases_on_gpu() -> None:
    """From here on `examples.cases` makes its data on the GPU."""
    cases.Data = GpuData  # type: ignore[misc]
    setattr(cases, "DeviceArray", GpuArray)  # noqa: B010 (a name that the module imports)


def error_of(case: cases.Case) -> float:
    """`Case.error` for arrays on any device: the largest error of a value, relative to ``max(1, |value|)``."""
    worst = 0.0
    for got, right in zip(case.run(), case.expected(), strict=True):
        wide = right.astype(np.float64)
        off = np.abs(to_numpy(got).astype(np.float64) - wide) / np.maximum(1, np.abs(wide))
        worst = max(worst, float(np.nan_to_num(off, nan=np.inf).max(initial=0.0)))
    return worst


def random(*shape: int, dtype: torch.dtype) -> Any:
    values = torch.randn(shape, device="cuda")
    return (values if dtype.is_floating_point else 10 * values).to(dtype)


def add(count: int, dtype: torch.dtype = torch.float32) -> Work:
    a, b, out = (random(count, dtype=dtype) for _ in range(3))
    return lambda: vector_add.run(a, b, out, block=1024)


def softmax(rows: int, columns: int) -> Work:
    x = random(rows, columns, dtype=torch.float32)
    out = torch.empty_like(x)
    return lambda: fused_softmax.run(x, out)


def softmax_launch(rows: int, columns: int) -> Work:
    """Without the example's question to the device at each call, which takes longer than the launch."""
    x = random(rows, columns, dtype=torch.float32)
    out = torch.empty_like(x)
    return lambda: fused_softmax.fused_softmax[(rows,)](
        out, columns, x, columns, rows, columns, BLOCK=triton.next_power_of_2(columns), STAGES=2
    )


def product(size: int) -> Work:
    a, b, out = (random(size, size, dtype=torch.float16) for _ in range(3))
    return lambda: matmul.run(a, b, out)


def drop(count: int) -> Work:
    x, out = (random(count, dtype=torch.float32) for _ in range(2))
    return lambda: dropout.run(x, 0.25, 1234, out)


def apply(function: str, count: int) -> Work:
    x, out = (random(count, dtype=torch.float32) for _ in range(2))
    return lambda: libdevice.run(x, function, out)


def norm(rows: int, columns: int, backward: bool = False) -> Work:
    x, y = (random(rows, columns, dtype=torch.float16) for _ in range(2))
    weight, bias = (random(columns, dtype=torch.float16) for _ in range(2))
    forward = layer_norm.run_forward(x, weight, bias, y=y)
    if backward:
        return lambda: layer_norm.run_backward(y, x, weight, forward)
    return lambda: layer_norm.run_forward(x, weight, bias, y=y)


def attention(batch: int, heads: int, length: int, causal: bool) -> Work:
    q, k, v, out = (random(batch, heads, length, 64, dtype=torch.float16) for _ in range(4))
    return lambda: fused_attention.run(q, k, v, causal=causal, out=out)


def grouped(size: int) -> Work:
    """The example's kernel at a GPU's block sizes; its lists of addresses and sizes are made once."""
    groups = [[random(size, size, dtype=torch.float16) for _ in range(4)] for _ in range(3)]
    like = groups[0][0]
    lists = [from_list([matrix.data_ptr() for matrix in group], "int64", like=like) for group in groups]
    lists += [from_list([size] * 12, "int32", like=like) for _ in range(2)]
    programs = multiprocessors()

    def launch(keep: object = groups) -> None:
        grouped_gemm.grouped_gemm[(programs,)](
            *lists, 4, DTYPE=tl.float16, PROGRAMS=programs, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, num_warps=8,
        )  # fmt: skip

    return launch


def persistent(size: int, **how: Any) -> Work:
    """``how``: keywords of `persistent_matmul.run`."""
    a, b, out = (random(size, size, dtype=torch.float16) for _ in range(3))
    blocks = persistent_matmul.Blocks(128, 256, 64)
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device="cuda", dtype=torch.int8))
    programs = multiprocessors()
    return lambda: persistent_matmul.run(
        a, b, out, blocks=blocks, programs=programs, **{"num_warps": 8, "num_stages": 3, **how}
    )


def multiprocessors() -> int:
    return int(torch.cuda.get_device_properties("cuda").multi_processor_count)


def kernel_works() -> dict[str, Callable[[], Work]]:
    """Name -> makes the data and gives the call. Numbers of the names are those of Triton's tutorials."""
    return {
        "01 vector add, 32 Mi fp32": lambda: add(2**25),
        "01 vector add, 64 Ki fp32": lambda: add(2**16),
        "02 softmax, 4096 x 4096 fp32": lambda: softmax(4096, 4096),
        "03 matmul, 4096^3 fp16": lambda: product(4096),
        "03 matmul, 512^3 fp16": lambda: product(512),
        "04 dropout, 32 Mi fp32": lambda: drop(2**25),
        "05 layer norm, 4096 x 8192 fp16": lambda: norm(4096, 8192),
        "05 layer norm backward, 4096 x 2048 fp16": lambda: norm(4096, 2048, backward=True),
        "06 attention, 4 x 16 x 4096 x 64 fp16": lambda: attention(4, 16, 4096, causal=False),
        "06 attention causal, 4 x 16 x 4096 x 64 fp16": lambda: attention(4, 16, 4096, causal=True),
        "08 grouped gemm, 4 of 2048^3 fp16": lambda: grouped(2048),
        "09 persistent matmul, 4096^3 fp16": lambda: persistent(4096),
        "09 persistent matmul, descriptors on device": lambda: persistent(4096, on_device=True),
        "09 persistent matmul, specialized warps": lambda: persistent(
            4096, on_device=True, flatten=False, specialize=True
        ),
    }


def interior_works() -> dict[str, Callable[[], Work]]:
    """Of lengths that are no multiple of 16: what the pass of `interior.py` changes."""
    odd = 2**25 + 3
    return {
        "add, 32 Mi + 3 fp32": lambda: add(odd),
        "add, 32 Mi + 3 fp16": lambda: add(odd, torch.float16),
        "add, 32 Mi + 3 bf16": lambda: add(odd, torch.bfloat16),
        "add, 32 Mi + 3 int8": lambda: add(odd, torch.int8),
        "add, 1 Mi + 3 fp16": lambda: add(2**20 + 3, torch.float16),
        "add, 64 Ki + 3 fp32": lambda: add(2**16 + 3),
        "add, 1000 fp16": lambda: add(1000, torch.float16),
        "dropout, 32 Mi + 3 fp32": lambda: drop(odd),
        "asin, 32 Mi + 3 fp32": lambda: apply("asin", odd),
        "expm1, 32 Mi + 3 fp32": lambda: apply("expm1", odd),
    }


def small_works() -> dict[str, Callable[[], Work]]:
    """Calls that take the host longer to launch than the GPU to run."""
    return {
        "add, 4096 fp32": lambda: add(4096),
        "softmax, 128 x 512 fp32": lambda: softmax_launch(128, 512),
        "layer norm, 64 x 1024 fp16": lambda: norm(64, 1024),
        "layer norm backward, 64 x 1024 fp16": lambda: norm(64, 1024, backward=True),
        "matmul, 256^3 fp16": lambda: product(256),
        "attention, 1 x 4 x 128 x 64 fp16": lambda: attention(1, 4, 128, causal=True),
        "dropout, 4096 fp32": lambda: drop(4096),
    }


def launch_works() -> dict[str, Callable[[], Work]]:
    """Name -> makes the launch of a kernel that does nothing: what is left is the host's time."""

    def launch_two() -> Work:
        x = torch.empty(16, device="cuda")
        return lambda: two_arguments[(1,)](x, 100, BLOCK=128)

    def launch_twelve() -> Work:
        t = [torch.empty(16, device="cuda") for _ in range(6)]
        return lambda: twelve_arguments[(1,)](*t, 17, 18, 19, 20, 21, 22, BLOCK=128, FLAG=True)

    return {
        "launch, no arguments": lambda: lambda: no_arguments[(1,)](),
        "launch, 1 tensor, 1 int": launch_two,
        "launch, 6 tensors, 6 ints": launch_twelve,
    }


def compile_works() -> Iterator[tuple[str, Any, Work]]:
    """Name, the kernel, a call that compiles it (and launches nothing)."""
    half = torch.empty(1024, device="cuda", dtype=torch.float16)
    yield (
        "compile vector add", vector_add.vector_add,
        lambda: vector_add.vector_add.warmup(half, half, half, 1024, BLOCK=1024, grid=(1,)),
    )  # fmt: skip
    yield (
        "compile layer norm", layer_norm.layer_norm_forward,
        lambda: layer_norm.layer_norm_forward.warmup(
            half, half, half, half, half, half, 1024, 1024, 1e-5, BLOCK=1024, grid=(1,)
        ),
    )  # fmt: skip
    product = matmul.matmul.fn
    yield (
        "compile matmul", product,
        lambda: product.warmup(
            half, half, half, 512, 512, 512, 512, 1, 512, 1, 512, 1,
            BLOCK_M=128, BLOCK_N=64, BLOCK_K=64, GROUP=8, ACTIVATION="", grid=(1,), num_stages=3,
        ),
    )  # fmt: skip
