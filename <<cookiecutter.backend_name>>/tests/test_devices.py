"""Which device runs a kernel is decided by its binary, however a vendor wires the stages; what cannot work says so."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import launch

from <<cookiecutter.package_name>>.backend import compiler
from <<cookiecutter.package_name>>.backend.driver import Utilities
from <<cookiecutter.package_name>>.compat import BinaryStage
from <<cookiecutter.package_name>>.device_kinds import EMULATOR, KINDS, REFERENCE, kind_of_image, runtime_of
from <<cookiecutter.package_name>>.emulator.profile import PROFILES
from <<cookiecutter.package_name>>.errors import LaunchError
from <<cookiecutter.package_name>>.runtime import device_memory
from <<cookiecutter.package_name>>.runtime.array import DeviceArray
from <<cookiecutter.package_name>>.runtime.loader import LoadError


@triton.jit
def double(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i))


@pytest.fixture
def assembled(monkeypatch: pytest.MonkeyPatch, fresh_cache: Any) -> None:
    """A package whose `add_stages` always goes to the assembler, whatever device was asked for."""
    monkeypatch.setattr(compiler, "make_llir", lambda isa, metadata, options: isa)
    monkeypatch.setattr(
        compiler,
        "make_object",
        lambda isa, metadata, options: compiler.make_program(
            compiler.make_assembly(isa, metadata, options), metadata, options
        ),
    )
    double.device_caches.clear()


def run_double() -> Any:
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    kernel = launch(double, (1,), x, y, BLOCK=64, device_kind=REFERENCE)
    np.testing.assert_array_equal(y, 2 * x)
    return kernel


def test_the_binary_decides(assembled: None) -> None:
    """Asked for the reference device, made for the emulator: it runs there, also from the cache."""
    PROFILES.clear()
    kernel = run_double()
    assert kernel.metadata.device_kind == REFERENCE and kernel.metadata.image_kind == EMULATOR
    double.device_caches.clear()
    run_double()
    assert PROFILES["double"].launches == 2
    double.device_caches.clear()


def test_each_kind_has_a_runtime(fresh_cache: Any) -> None:
    for kind in KINDS:
        double.device_caches.clear()
        x, y = DeviceArray.full(64, 3.0), DeviceArray.zeros(64)
        kernel = double[(1,)](x, y, BLOCK=64, device_kind=kind)
        assert kernel.metadata.image_kind == kind == kind_of_image(kernel.kernel)
        assert y.numpy()[0] == 6
        if kind != REFERENCE:
            assert callable(runtime_of(kind).load) and callable(runtime_of(kind).make_launcher)


@triton.jit
def mark(out):
    tl.store(out + tl.program_id(0) + tl.program_id(1) * tl.num_programs(0), 1)


class Whole:
    """An integer that is no int."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("integer", [np.int64, np.int32, np.uint8, np.int8, Whole, int])
def test_sizes_of_grids_are_integers_of_any_class(kind: str, integer: Any) -> None:
    """Their product is not one of theirs: 100 times 2 is -56 in 8 bits."""
    out = DeviceArray.zeros(256, "int32")
    mark[(integer(100), integer(2))](out, device_kind=kind)
    assert (out.numpy() == (np.arange(256) < 200)).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ((1.0,), "along x must be an integer, not 1.0"),
        ((1, np.float32(2)), "along y must be an integer"),
        ((1, 1, -1), "along z must be between 0 and"),
        ((np.int64(2**31),), "along x must be between 0 and"),
    ],
)
def test_sizes_that_no_device_takes(kind: str, grid: Any, message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        mark[grid](DeviceArray.zeros(8, "int32"), device_kind=kind)


def test_a_stages_hook_sees_a_binary_stage() -> None:
    """The last stage keeps its name, which also answers Triton's question for binaries."""
    stages: dict[str, Any] = {}
    backend = compiler.Backend(SimpleNamespace(backend=compiler.BACKEND_NAME, arch="a", warp_size=32))
    backend.add_stages(stages, SimpleNamespace(device_kind=REFERENCE))
    *_, last = stages
    assert isinstance(last, BinaryStage) and isinstance(stages[last], partial)


@pytest.mark.parametrize("kind", KINDS)
def test_another_device_s_binary(kind: str) -> None:
    """As by an override file: the launcher was made for one device, the binary is for another."""
    x, y = DeviceArray.full(64, 3.0), DeviceArray.zeros(64)
    double.device_caches.clear()
    kernel = double.warmup(x, y, BLOCK=64, grid=(1,), device_kind=kind)
    other = next(other for other in KINDS if other != kind)
    foreign = double.warmup(x, y, BLOCK=64, grid=(1,), device_kind=other)
    assert (kernel.metadata.image_kind, foreign.metadata.image_kind) == (kind, other)
    run = kernel.run
    foreign.run  # loads it
    with pytest.raises(
        LaunchError, match=r"kernel double: load_binary gave .* launcher_cls of backend/driver\.py"
    ):
        run(1, 1, 1, 0, foreign.function, (), None, None, None, x, y, 64)


def test_a_binary_that_nobody_knows() -> None:
    with pytest.raises(LoadError, match=r"binary of k begins with b'VEND'.* RUNTIMES in device_kinds\.py"):
        Utilities().load_binary("k", b"VENDOR code" * 9, 64, 0)


class Tensor:
    """A tensor of a vendor's own device, as torch makes them."""

    dtype = "float32"

    def __init__(self, memory: DeviceArray, place: str) -> None:
        self.memory = memory
        self.device = SimpleNamespace(type=place)
        setattr(self, f"is_{place}", True)

    def data_ptr(self) -> int:
        return self.memory.data_ptr()


@pytest.mark.parametrize("flag", [True, False], ids=["with its attribute", "without"])
def test_a_device_that_torch_knows(flag: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """`TENSOR_DEVICE` and `FLAG` (which follows from it) are all that decides which tensors are taken."""
    from native import copying_kernel

    monkeypatch.setattr(device_memory, "TENSOR_DEVICE", "vendor")
    monkeypatch.setattr(device_memory, "FLAG", "is_vendor" if flag else "is_unknown")
    x, y = DeviceArray.full(64, 3.0), DeviceArray.zeros(64)
    out = DeviceArray.zeros(2, "int64")
    kernel = copying_kernel({"out": "*i64", "x": "*fp32"})
    kernel((1, 1, 1), out, Tensor(x, "vendor"))
    assert list(out.numpy()) == [out.data_ptr(), x.data_ptr()]
    with pytest.raises(
        LaunchError, match=r"parameter x: the tensor is on device .*move it with \.to\('vendor'\)"
    ):
        kernel((1, 1, 1), out, Tensor(y, "cpu"))


def test_the_active_torch_device(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from triton.runtime import driver

    monkeypatch.setattr(device_memory, "TENSOR_DEVICE", "meta")
    assert driver.active.get_active_torch_device() == torch.device("meta")
