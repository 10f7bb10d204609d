"""The examples against NumPy: every type that they are for, sizes that fit no block."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from <<cookiecutter.package_name>>.examples import (
    cases,
    causal_conv,
    demo,
    dropout,
    fused_attention,
    layer_norm,
    libdevice,
    matmul,
    persistent_matmul,
    quantized_linear,
    vector_add,
)
from <<cookiecutter.package_name>>.runtime.array import DeviceArray
from <<cookiecutter.package_name>>.target import BACKEND_NAME, ENV_PREFIX, PACKAGE_NAME

FLOATS = ["float32", "float16", "bfloat16"]
LENGTHS = [1, 2, 127, 4096, 10007]


def check(case: cases.Case) -> None:
    error = case.error()
    assert error <= case.tolerance, f"error {error:.2e} is above {case.tolerance:.2e}"


@pytest.mark.parametrize("count", LENGTHS)
@pytest.mark.parametrize("dtype", [*FLOATS, "float64"])
def test_vector_add(dtype: str, count: int) -> None:
    check(cases.vector_add_case(count, dtype))


@pytest.mark.parametrize("shape", [(1, 1), (3, 781), (64, 16), (5, 1024), (100, 33)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_fused_softmax(dtype: str, shape: tuple[int, int]) -> None:
    check(cases.softmax_case(*shape, dtype))


@pytest.mark.parametrize("shape", [(128, 128, 128), (1, 1, 1), (65, 33, 17), (100, 200, 70)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_matmul(dtype: str, shape: tuple[int, int, int]) -> None:
    check(cases.matmul_case(*shape, dtype))


def test_matmul_with_activation() -> None:
    check(cases.matmul_case(70, 50, 90, "float32", "leaky_relu"))


def test_matmul_of_strided_matrices() -> None:
    """Transposed inputs and a transposed output: only strides differ."""
    generator = np.random.default_rng(0)
    a, b = (
        generator.uniform(-1, 1, (40, 70)).astype(np.float32),
        generator.uniform(-1, 1, (30, 40)).astype(np.float32),
    )
    out = DeviceArray.zeros((30, 70), "float32")
    matmul.run(DeviceArray.from_numpy(a).T, DeviceArray.from_numpy(b).T, out.T)
    np.testing.assert_allclose(out.numpy().T, a.T @ b.T, rtol=1e-4, atol=1e-5)


def test_matmul_refuses_shapes_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="3 is not 4"):
        matmul.run(DeviceArray.zeros((2, 3)), DeviceArray.zeros((4, 5)))


@pytest.mark.parametrize("how", [{}, {"on_device": True}, {"flatten": False, "specialize": True}], ids=str)
@pytest.mark.parametrize("shape", [(128, 128, 64), (1, 16, 8), (200, 88, 72)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_persistent_matmul(dtype: str, shape: tuple[int, int, int], how: dict[str, bool]) -> None:
    check(cases.persistent_matmul_case(*shape, dtype, **how))


def test_persistent_matmul_refuses_shapes_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="3 is not 4"):
        persistent_matmul.run(DeviceArray.zeros((2, 3)), DeviceArray.zeros((4, 5)))


@pytest.mark.parametrize("count", [1, 1000, 4097])
@pytest.mark.parametrize("dtype", FLOATS)
def test_dropout(dtype: str, count: int) -> None:
    check(cases.dropout_case(count, dtype))


def test_dropout_depends_on_the_seed_only() -> None:
    x = DeviceArray.full(1000, 1.0)
    first, again, other = (dropout.run(x, 0.5, seed).numpy() for seed in (7, 7, 8))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert 400 < (first == 0).sum() < 600


@pytest.mark.parametrize("shape", [(1, 1), (7, 100), (33, 1024), (4, 2500)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_layer_norm(dtype: str, shape: tuple[int, int]) -> None:
    check(cases.layer_norm_case(*shape, dtype))


@pytest.mark.parametrize("shape", [(2, 16), (7, 100), (100, 64), (33, 1000)])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_layer_norm_backward(dtype: str, shape: tuple[int, int]) -> None:
    """Fewer rows than groups, as many, and more; locks under a parallel grid."""
    check(cases.layer_norm_backward_case(*shape, dtype))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", [(1, 1, 1, 16), (2, 3, 100, 32), (1, 2, 128, 64)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_fused_attention(dtype: str, shape: tuple[int, int, int, int], causal: bool) -> None:
    check(cases.attention_case(*shape, dtype, causal=causal))


def test_attention_takes_no_lane_one_by_one() -> None:
    """Weights are summed along the rows of scores that the matrix unit left; keys are turned in registers."""
    x = DeviceArray.zeros((1, 1, 128, 64))
    kernel = fused_attention.fused_attention.warmup(
        x, x, x, x, x, 0.125, 1, 128, *4 * (8192, 8192, 64), QUERIES=64, KEYS=32, WIDTH=64, CAUSAL=True, grid=(1,)
    )  # fmt: skip
    text = kernel.asm[f"{BACKEND_NAME}ir"]
    assert f"{BACKEND_NAME}.mma" in text or f"{BACKEND_NAME}.fma" in text
    assert f"{BACKEND_NAME}.gather" not in text
    assert f"{BACKEND_NAME}.scatter" not in text


def test_attention_to_equal_values() -> None:
    """Whatever the weights are, an average of ones is one."""
    q, k = (cases.Data(seed).normal([1, 1, 50, 16], "float32")[0] for seed in (0, 1))
    ones = DeviceArray.full((1, 1, 50, 16), 1.0)
    np.testing.assert_allclose(fused_attention.run(q, k, ones, causal=True).numpy(), 1, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", libdevice.FUNCTIONS)
def test_libdevice(function: str, dtype: str) -> None:
    check(cases.libdevice_case(function, 1000, dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_grouped_gemm(dtype: str) -> None:
    """More tiles than programs, one-tile products, a product with no rows."""
    check(cases.grouped_gemm_case([(130, 200, 64), (1, 1, 1), (0, 5, 7), (64, 64, 33), (300, 17, 20)], dtype))


@pytest.mark.parametrize("shape", [(64, 64, 64), (1, 1, 1), (65, 33, 17), (100, 200, 70)])
def test_quantized_linear(shape: tuple[int, int, int]) -> None:
    case = cases.quantized_linear_case(*shape)
    check(case)
    (got,), (right,) = case.run(), case.expected()
    assert (got.numpy() != right).mean() < 0.01, "only values in the middle of two may differ"


@pytest.mark.parametrize("shape", [(1, 1, 1), (61, 64, 4), (200, 70, 4), (130, 3, 7), (2, 5, 4)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_causal_conv(dtype: str, shape: tuple[int, int, int]) -> None:
    """Lengths of one block, of several, and of less than the taps."""
    check(cases.causal_conv_case(*shape, dtype))


def test_the_others_refuse_shapes_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="3 is not 4"):
        quantized_linear.run(*[DeviceArray.zeros(shape, "int8") for shape in ((2, 3), (4, 5), (5,), (5,))])
    with pytest.raises(ValueError, match="x has 3 channels, but weight has 4"):
        causal_conv.run(*[DeviceArray.zeros(shape) for shape in ((2, 3), (2, 4), (3,))])


def test_torch_tensors() -> None:
    """The same functions take and give torch tensors."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torch.manual_seed(0)
    x, y = torch.randn(1000), torch.randn(1000)
    torch.testing.assert_close(vector_add.run(x, y), x + y)
    a, b = torch.randn(65, 40).to(torch.bfloat16), torch.randn(40, 70).to(torch.bfloat16)
    torch.testing.assert_close(matmul.run(a, b), a @ b, rtol=2e-2, atol=2e-2)
    q, k, v = (torch.randn(1, 2, 70, 32) for _ in range(3))
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(fused_attention.run(q, k, v, causal=True), expected, rtol=1e-4, atol=1e-5)


def test_layer_norm_gradients_against_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torch.manual_seed(0)
    x, weight, bias, dy = torch.randn(37, 100), torch.randn(100), torch.randn(100), torch.randn(37, 100)
    leaves = [part.clone().requires_grad_() for part in (x, weight, bias)]
    torch.nn.functional.layer_norm(leaves[0], (100,), leaves[1], leaves[2]).backward(dy)
    gradients = layer_norm.run_backward(dy, x, weight, layer_norm.run_forward(x, weight, bias))
    for ours, leaf in zip(gradients, leaves, strict=True):
        torch.testing.assert_close(ours, leaf.grad, rtol=1e-3, atol=1e-4)


def test_table() -> None:
    """Aligned, within 100 columns, wrong results marked."""
    row = demo.Row("layer_norm backward", "1151 x 1000", "float32", 1e-7, 1e-5, 0.001, 0.0123)
    wrong = demo.Row("vector_add", "5", "float16", 0.5, 1e-3, 1.0, 2.0)
    lines = demo.table([row, wrong]).split("\n")
    assert [len(line) for line in lines] == [len(lines[0])] * 4
    assert len(lines[0]) <= 100
    assert lines[2].split()[-5:] == ["1.0e-07", "yes", "1.000", "12.300", "12.30"]
    assert lines[3].split()[-4] == "NO"


def test_demo() -> None:
    """One kernel of it, as a user starts it, with nothing selected in the environment."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_DEFAULT_BACKEND"}
    command = [sys.executable, "-m", demo.__name__, "vector_add"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 of 2 right" in done.stdout


def test_demo_on_the_emulator() -> None:
    """It counts instead of timing, in seconds instead of hours."""
    environment = {**os.environ, f"{ENV_PREFIX}_DEVICE": "emulator"}
    command = [sys.executable, "-m", demo.__name__, "vector_add", "matmul", "conv"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "on its emulator" in done.stdout and "reference device" not in done.stdout
    assert "9 of 9 right" in done.stdout and "cycles" in done.stdout and "ratio" not in done.stdout


def test_demo_stops_where_no_kernel_can_run(tmp_path: Path) -> None:
    """A cache that cannot be written is one sentence, not one for every kernel."""
    (tmp_path / "file").touch()
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "file" / "cache")}
    command = [sys.executable, "-m", f"{PACKAGE_NAME}.cli.main", "demo"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 1 and done.stdout.count("vector_add") <= 1 and "failed" not in done.stdout
    assert done.stderr.count("cache folder cannot be used") == 1 and "Traceback" not in done.stderr
