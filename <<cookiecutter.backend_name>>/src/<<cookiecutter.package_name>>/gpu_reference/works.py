"""What is measured on a real GPU: the examples at sizes that fill it, launches, compilations. Needs torch with CUDA."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from ..examples import (
    cases,
    dropout,
    fused_attention,
    fused_softmax,
    grouped_gemm,
    layer_norm,
    matmul,
    vector_add,
)
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
    return torch.randn(shape, device="cuda").to(dtype)


def kernel_works() -> dict[str, Callable[[], Work]]:
    """Name -> makes the data and gives the call. Numbers are those of Triton's tutorials."""

    def add(count: int) -> Work:
        a, b, out = (random(count, dtype=torch.float32) for _ in range(3))
        return lambda: vector_add.run(a, b, out, block=1024)

    def softmax(rows: int, columns: int) -> Work:
        x = random(rows, columns, dtype=torch.float32)
        out = torch.empty_like(x)
        return lambda: fused_softmax.run(x, out)

    def product(size: int) -> Work:
        a, b, out = (random(size, size, dtype=torch.float16) for _ in range(3))
        return lambda: matmul.run(a, b, out)

    def drop(count: int) -> Work:
        x, out = (random(count, dtype=torch.float32) for _ in range(2))
        return lambda: dropout.run(x, 0.25, 1234, out)

    def norm(rows: int, columns: int, backward: bool) -> Work:
        x, y = (random(rows, columns, dtype=torch.float16) for _ in range(2))
        weight, bias = (random(columns, dtype=torch.float16) for _ in range(2))
        forward = layer_norm.run_forward(x, weight, bias, y=y)
        if backward:
            return lambda: layer_norm.run_backward(y, x, weight, forward)
        return lambda: layer_norm.run_forward(x, weight, bias, y=y)

    def attention(length: int, causal: bool) -> Work:
        q, k, v, out = (random(4, 16, length, 64, dtype=torch.float16) for _ in range(4))
        return lambda: fused_attention.run(q, k, v, causal=causal, out=out)

    def grouped(size: int) -> Work:
        a, b, out = ([random(size, size, dtype=torch.float16) for _ in range(4)] for _ in range(3))
        return lambda: grouped_gemm.run(a, b, out)

    return {
        "01 vector add, 32 Mi fp32": lambda: add(2**25),
        "01 vector add, 64 Ki fp32": lambda: add(2**16),
        "02 softmax, 4096 x 4096 fp32": lambda: softmax(4096, 4096),
        "03 matmul, 4096^3 fp16": lambda: product(4096),
        "03 matmul, 512^3 fp16": lambda: product(512),
        "04 dropout, 32 Mi fp32": lambda: drop(2**25),
        "05 layer norm, 4096 x 8192 fp16": lambda: norm(4096, 8192, False),
        "05 layer norm backward, 4096 x 2048 fp16": lambda: norm(4096, 2048, True),
        "06 attention, 4 x 16 x 4096 x 64 fp16": lambda: attention(4096, False),
        "06 attention causal, 4 x 16 x 4096 x 64 fp16": lambda: attention(4096, True),
        "08 grouped gemm, 4 of 2048^3 fp16": lambda: grouped(2048),
    }


def launch_works() -> dict[str, Work]:
    """Name -> a launch of a kernel that does nothing: what is left is the host's time."""
    t = [torch.empty(16, device="cuda") for _ in range(6)]
    return {
        "launch, no arguments": lambda: no_arguments[(1,)](),
        "launch, 1 tensor, 1 int": lambda: two_arguments[(1,)](t[0], 100, BLOCK=128),
        "launch, 6 tensors, 6 ints": lambda: twelve_arguments[(1,)](
            *t, 17, 18, 19, 20, 21, 22, BLOCK=128, FLAG=True
        ),
    }


def compile_works() -> Iterator[tuple[str, Any, Work]]:
    """Name, the kernel, a call that compiles it (and launches nothing)."""
    half = torch.empty(1024, device="cuda", dtype=torch.float16)
    yield (
        "compile vector add", vector_add.vector_add,
        lambda: vector_add.vector_add.warmup(half, half, half, 1000, BLOCK=1024, grid=(1,)),
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
