"""The examples with data: what the demo runs and the tests check.

A case launches a kernel on arrays of the device and knows what NumPy makes of the same values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..runtime.array import DeviceArray
from . import (
    causal_conv,
    dropout,
    fused_attention,
    fused_softmax,
    grouped_gemm,
    layer_norm,
    libdevice,
    matmul,
    persistent_matmul,
    quantized_linear,
    vector_add,
)
from .arrays import Array

Values = NDArray[Any]

ROUNDING = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3, "bfloat16": 1.6e-2}
"""Tolerated error of one value: an accumulated sum's for the wide types, the rounding of the result for the narrow."""


@dataclass
class Case:
    """One example on one set of data.

    ``run`` launches and gives the device's arrays, ``expected`` gives the right values, and ``peer`` is NumPy doing
    the same work, for the clock. The error of a value is relative to ``max(1, |value|)``. ``portable``: Triton's own
    functions are all that it uses, so that every backend can run it.
    """

    kernel: str
    shape: str
    dtype: str
    run: Callable[[], Sequence[Array]]
    expected: Callable[[], Sequence[Values]]
    peer: Callable[[], object]
    tolerance: float = field(default=0.0)
    portable: bool = True

    def __post_init__(self) -> None:
        self.tolerance = self.tolerance or ROUNDING[self.dtype]

    def error(self) -> float:
        """Largest error over all outputs of one launch; infinite if a value is NaN."""
        worst = 0.0
        for got, right in zip(self.run(), self.expected(), strict=True):
            wide = right.astype(np.float64)
            off = np.abs(got.numpy().astype(np.float64) - wide) / np.maximum(1, np.abs(wide))
            worst = max(worst, float(np.nan_to_num(off, nan=np.inf).max(initial=0.0)))
        return worst


class Data:
    """Random arrays, the same ones at every run."""

    def __init__(self, seed: int = 0) -> None:
        self.generator = np.random.default_rng(seed)

    def normal(self, shape: Sequence[int], dtype: str) -> tuple[DeviceArray, Values]:
        """On the device, and the very same (rounded) values for NumPy; bfloat16 as float32."""
        array = DeviceArray.from_numpy(self.generator.standard_normal(tuple(shape), np.float32), dtype)
        return array, array.numpy()

    def between(
        self, low: float, high: float, shape: Sequence[int], dtype: str
    ) -> tuple[DeviceArray, Values]:
        array = DeviceArray.from_numpy(self.generator.uniform(low, high, tuple(shape)), dtype)
        return array, array.numpy()


def by(*shape: int) -> str:
    return " x ".join(map(str, shape))


def vector_add_case(count: int, dtype: str) -> Case:
    data = Data()
    (left, a), (right, b) = data.normal([count], dtype), data.normal([count], dtype)
    out, peer_out = DeviceArray.empty([count], dtype), np.empty_like(a)
    return Case(
        "vector_add", by(count), dtype,
        run=lambda: [vector_add.run(left, right, out)],
        expected=lambda: [vector_add.reference(a, b)],
        peer=lambda: np.add(a, b, out=peer_out),
    )  # fmt: skip


def softmax_case(rows: int, columns: int, dtype: str) -> Case:
    x, values = Data().normal([rows, columns], dtype)
    out = DeviceArray.empty(x.shape, dtype)
    return Case(
        "fused_softmax", by(rows, columns), dtype,
        run=lambda: [fused_softmax.run(x, out)],
        expected=lambda: [fused_softmax.reference(values.astype(np.float32))],
        peer=lambda: fused_softmax.reference(values),
    )  # fmt: skip


def matmul_case(m: int, n: int, k: int, dtype: str, activation: str = "") -> Case:
    data = Data()
    # Scaled, so that elements of the product are of the size of 1.
    (a, left), (b, right) = data.between(-1, 1, [m, k], dtype), data.between(-1, 1, [k, n], dtype)
    out = DeviceArray.empty([m, n], dtype)
    return Case(
        "matmul" + (f" + {activation}" if activation else ""), by(m, n, k), dtype,
        run=lambda: [matmul.run(a, b, out, activation=activation)],
        expected=lambda: [matmul.reference(left, right, activation)],
        # NumPy multiplies narrow types one element at a time; in float32 it calls its BLAS.
        peer=lambda: matmul.reference(left, right, activation).astype(left.dtype, copy=False),
        tolerance=ROUNDING[dtype] * (10 if dtype == "float32" else 1),
    )  # fmt: skip


def dropout_case(count: int, dtype: str, p: float = 0.25, seed: int = 1234) -> Case:
    x, values = Data().normal([count], dtype)
    out = DeviceArray.empty([count], dtype)
    generator = np.random.default_rng(seed)

    def peer() -> object:
        keep = generator.random(values.shape, np.float32) > p
        return np.where(keep, values / (1 - p), 0)

    return Case(
        "dropout", by(count), dtype,
        run=lambda: [dropout.run(x, p, seed, out)],
        expected=lambda: [dropout.reference(values.astype(np.float32), p, seed)],
        peer=peer,
    )  # fmt: skip


def layer_norm_case(rows: int, columns: int, dtype: str) -> Case:
    data = Data()
    (x, values), (weight, w), (bias, b) = (
        data.normal(shape, dtype) for shape in ([rows, columns], [columns], [columns])
    )
    y = DeviceArray.empty(x.shape, dtype)
    wide_x, wide_w, wide_b = (part.astype(np.float32) for part in (values, w, b))
    return Case(
        "layer_norm", by(rows, columns), dtype,
        run=lambda: [layer_norm.run_forward(x, weight, bias, y=y).y],
        expected=lambda: [layer_norm.reference_forward(wide_x, wide_w, wide_b)],
        peer=lambda: layer_norm.reference_forward(wide_x, wide_w, wide_b).astype(values.dtype, copy=False),
    )  # fmt: skip


def layer_norm_backward_case(rows: int, columns: int, dtype: str) -> Case:
    data = Data()
    shapes = ([rows, columns], [rows, columns], [columns], [columns])
    (x, values), (dy, upstream), (weight, w), (bias, _) = (data.normal(shape, dtype) for shape in shapes)
    forward = layer_norm.run_forward(x, weight, bias)
    wide_dy, wide_x, wide_w = (part.astype(np.float32) for part in (upstream, values, w))
    return Case(
        "layer_norm backward", by(rows, columns), dtype,
        run=lambda: layer_norm.run_backward(dy, x, weight, forward),
        expected=lambda: layer_norm.reference_backward(wide_dy, wide_x, wide_w),
        peer=lambda: layer_norm.reference_backward(wide_dy, wide_x, wide_w),
        tolerance=ROUNDING[dtype] * 5,  # sums over all rows, in an order that differs from run to run
    )  # fmt: skip


def attention_case(batch: int, heads: int, length: int, width: int, dtype: str, *, causal: bool) -> Case:
    data = Data()
    (q, a), (k, b), (v, c) = (data.normal([batch, heads, length, width], dtype) for _ in range(3))
    out = DeviceArray.empty(q.shape, dtype)
    return Case(
        "fused_attention" + (" causal" if causal else ""), by(batch, heads, length, width), dtype,
        run=lambda: [fused_attention.run(q, k, v, causal=causal, out=out)],
        expected=lambda: [fused_attention.reference(a, b, c, causal=causal)],
        peer=lambda: fused_attention.reference(a, b, c, causal=causal).astype(a.dtype, copy=False),
    )  # fmt: skip


def libdevice_case(function: str, count: int, dtype: str) -> Case:
    x, values = Data().between(-0.99, 0.99, [count], dtype)
    out, peer_out = DeviceArray.empty([count], dtype), np.empty_like(values)
    ufunc: Any = getattr(np, libdevice.NUMPY_NAMES.get(function, function))
    return Case(
        f"libdevice.{function}", by(count), dtype,
        run=lambda: [libdevice.run(x, function, out)],
        expected=lambda: [libdevice.reference(values.astype(np.float64), function)],
        peer=lambda: ufunc(values, out=peer_out),
    )  # fmt: skip


def grouped_gemm_case(sizes: Sequence[tuple[int, int, int]], dtype: str) -> Case:
    data = Data()
    left = [data.between(-1, 1, [m, k], dtype) for m, _, k in sizes]
    right = [data.between(-1, 1, [k, n], dtype) for _, n, k in sizes]
    a, b = [array for array, _ in left], [array for array, _ in right]
    values_a, values_b = [values for _, values in left], [values for _, values in right]
    out = [DeviceArray.empty([m, n], dtype) for m, n, _ in sizes]

    def peer() -> object:
        products = grouped_gemm.reference(values_a, values_b)
        return [product.astype(values_a[0].dtype, copy=False) for product in products]

    return Case(
        "grouped_gemm", f"{len(sizes)} up to " + by(*max(sizes)), dtype,
        run=lambda: grouped_gemm.run(a, b, out),
        expected=lambda: grouped_gemm.reference(values_a, values_b),
        peer=peer,
        tolerance=ROUNDING[dtype] * (10 if dtype == "float32" else 1),
    )  # fmt: skip


def persistent_matmul_case(m: int, n: int, k: int, dtype: str, **how: Any) -> Case:
    """``how``: keywords of `persistent_matmul.run`."""
    data = Data()
    (a, left), (b, right) = data.between(-1, 1, [m, k], dtype), data.between(-1, 1, [k, n], dtype)
    out = DeviceArray.empty([m, n], dtype)
    return Case(
        "persistent_matmul" + "".join(f" {name}" for name, value in how.items() if value is True),
        by(m, n, k), dtype,
        run=lambda: [persistent_matmul.run(a, b, out, **how)],
        expected=lambda: [persistent_matmul.reference(left, right)],
        peer=lambda: persistent_matmul.reference(left, right).astype(left.dtype, copy=False),
        tolerance=ROUNDING[dtype] * (10 if dtype == "float32" else 1),
    )  # fmt: skip


def quantized_linear_case(m: int, n: int, k: int) -> Case:
    data = Data()
    (x, left), (w, right) = data.between(-128, 128, [m, k], "int8"), data.between(-128, 128, [k, n], "int8")
    scale, scales = data.between(0.5 / 5400 / k**0.5, 1.5 / 5400 / k**0.5, [n], "float32")
    bias, biases = data.normal([n], "float32")
    y = DeviceArray.empty([m, n], "int8")
    return Case(
        "quantized_linear", by(m, n, k), "int8",
        run=lambda: [quantized_linear.run(x, w, scale, bias, y)],
        expected=lambda: [quantized_linear.reference(left, right, scales, biases)],
        peer=lambda: quantized_linear.reference(left, right, scales, biases),
        tolerance=1.0,  # a value that lies in the middle of two may be rounded to either
        portable=False,
    )  # fmt: skip


def causal_conv_case(length: int, channels: int, taps: int, dtype: str) -> Case:
    data = Data()
    shapes = ([length, channels], [taps, channels], [channels])
    (x, values), (weight, w), (bias, b) = (data.normal(shape, dtype) for shape in shapes)
    y = DeviceArray.empty(x.shape, dtype)
    wide_x, wide_w, wide_b = (part.astype(np.float32) for part in (values, w, b))
    return Case(
        "causal_conv", by(length, channels, taps), dtype,
        run=lambda: [causal_conv.run(x, weight, bias, y)],
        expected=lambda: [causal_conv.reference(wide_x, wide_w, wide_b)],
        peer=lambda: causal_conv.reference(wide_x, wide_w, wide_b).astype(values.dtype, copy=False),
        portable=False,
    )  # fmt: skip


class Example(NamedTuple):
    """Cases that differ in types and options only, and their sizes: what they are called with first."""

    variants: Sequence[Callable[..., Case]]
    small: tuple[Any, ...]
    """For a device that takes microseconds an instruction: a few programs each, with odd sizes."""
    large: tuple[Any, ...]
    """Large enough for the clock and small enough for a short demo."""


def in_types(make: Callable[..., Case], *dtypes: str) -> list[Callable[..., Case]]:
    return [partial(make, dtype=dtype) for dtype in dtypes]


EXAMPLES: Final = (
    Example(in_types(vector_add_case, "float32", "bfloat16"), (3000,), (1_000_003,)),
    Example(in_types(softmax_case, "float32"), (5, 300), (1823, 781)),
    Example(in_types(matmul_case, "float32", "float16", "bfloat16"), (40, 70, 50), (512, 512, 512)),
    Example([partial(matmul_case, dtype="float32", activation="leaky_relu")], (30, 50, 20), (300, 500, 200)),
    Example(in_types(dropout_case, "float32"), (3000,), (1_000_003,)),
    Example(in_types(layer_norm_case, "float32", "float16"), (5, 300), (1151, 1000)),
    Example(in_types(layer_norm_backward_case, "float32"), (9, 100), (1151, 1000)),
    Example(
        [
            partial(attention_case, dtype=dtype, causal=causal)
            for dtype, causal in (("float32", False), ("float32", True), ("float16", True))
        ],
        (1, 2, 70, 16),
        (1, 4, 500, 64),
    ),
    Example(
        [partial(libdevice_case, function, dtype="float32") for function in ("asin", "cbrt")],
        (3000,),
        (1_000_003,),
    ),
    Example(
        in_types(grouped_gemm_case, "float16"),
        ([(20, 32, 16), (1, 17, 33)],),
        ([(512, 256, 128), (100, 300, 64), (256, 512, 70), (1, 17, 33)],),
    ),
    Example(in_types(persistent_matmul_case, "float16"), (40, 72, 48), (300, 520, 200)),
    Example([quantized_linear_case], (20, 30, 40), (512, 512, 512)),
    Example(in_types(causal_conv_case, "float32", "float16"), (70, 20, 3), (4096, 250, 4)),
)
"""What the demo runs, in this order."""


def cases(*, small: bool) -> Iterator[Case]:
    """Every example, with its data: made one by one, as each takes memory."""
    for example in EXAMPLES:
        for make in example.variants:
            yield make(*(example.small if small else example.large))
