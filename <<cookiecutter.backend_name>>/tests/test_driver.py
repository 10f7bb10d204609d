"""Everything that Triton's core reads from a driver without declaring it, and benchmarking with it."""

from __future__ import annotations

import time

import pytest
from native import NEVER, counting_kernel, run_python

from <<cookiecutter.package_name>>.backend.driver import Driver
from <<cookiecutter.package_name>>.compat import BinaryStage
from <<cookiecutter.package_name>>.device_kinds import DEVICE
from <<cookiecutter.package_name>>.errors import InstallationError
from <<cookiecutter.package_name>>.runtime.array import DeviceArray
from <<cookiecutter.package_name>>.target import ARCH, BACKEND_NAME, PACKAGE_NAME, SCRATCHPAD_BYTES

DRIVER_ATTRIBUTES = (  # read by triton.{compiler,runtime,testing,language,tools} of 3.7.1, 3.8.0 and 3.9.0
    "allocate_default_profile_scratch",  # 3.8 on
    "clear_cache",
    "get_active_torch_device",
    "get_benchmarker",
    "get_current_device",
    "get_current_stream",
    "get_current_target",
    "get_device_capability",  # read by torch's Inductor
    "get_device_interface",
    "get_empty_cache_for_benchmark",
    "is_active",
    "launcher_cls",
    "map_python_to_cpp_type",
    "set_current_device",
    "utils",
)
UTILITIES = ("get_device_properties", "load_binary", "set_printf_fifo_size", "unload_module")
PROPERTIES = (
    "max_num_regs",
    "max_shared_mem",
    "mem_bus_width",
    "mem_clock_rate",
    "multiprocessor_count",
    "sm_clock_rate",
    "warpSize",
)
DEVICE_INTERFACE = ("Event", "current_device", "synchronize")


@pytest.fixture
def driver() -> Driver:
    return Driver()


@pytest.mark.parametrize("name", DRIVER_ATTRIBUTES)
def test_driver_attributes(driver: Driver, name: str) -> None:
    import triton.backends.driver

    if name == "allocate_default_profile_scratch" and not hasattr(triton.backends.driver.DriverBase, name):
        pytest.skip("this Triton release does not have it")
    assert callable(getattr(driver, name)) or name == "utils"


@pytest.mark.parametrize("name", UTILITIES)
def test_utilities(driver: Driver, name: str) -> None:
    assert callable(getattr(driver.utils, name))


@pytest.mark.parametrize("device", [DEVICE, 0, None])
def test_properties(driver: Driver, device: object) -> None:
    properties = driver.utils.get_device_properties(device)
    assert set(PROPERTIES) <= set(properties)
    assert all(isinstance(properties[name], int) and properties[name] > 0 for name in PROPERTIES)
    assert properties["max_shared_mem"] == SCRATCHPAD_BYTES


@pytest.mark.parametrize("name", DEVICE_INTERFACE)
def test_device_interface(driver: Driver, name: str) -> None:
    assert callable(getattr(driver.get_device_interface(), name))


def test_facts(driver: Driver) -> None:
    target = driver.get_current_target()
    assert (target.backend, target.arch) == (BACKEND_NAME, ARCH)
    assert driver.get_current_device() == driver.get_device_interface().current_device() == DEVICE
    assert driver.get_current_stream(DEVICE) == 0
    assert driver.get_device_capability() == (0, 0)
    assert driver.map_python_to_cpp_type("*fp16") == "void*"
    assert driver.map_python_to_cpp_type("u32") == "uint32_t"
    with pytest.raises(ValueError, match="cannot take an argument of type 'complex'"):
        driver.map_python_to_cpp_type("complex")


def test_load_and_unload(driver: Driver) -> None:
    from <<cookiecutter.package_name>>.codegen.object_code import compile_llvm

    image = compile_llvm("define i32 @k() {\n ret i32 0\n}")
    module, function, registers, spills, threads = driver.utils.load_binary("k", image, 0, DEVICE)
    assert module is not None and function and registers > 0 and spills == 0 and threads >= 32 * 1024
    driver.utils.unload_module(module)


def test_torch_device(driver: Driver) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    assert driver.get_active_torch_device() == torch.device("cpu")


def test_torch_device_without_torch(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InstallationError, match="torch is not installed.*DeviceArray"):
        driver.get_active_torch_device()


def test_events_count_milliseconds(driver: Driver) -> None:
    interface = driver.get_device_interface()
    start, end = interface.Event(enable_timing=True), interface.Event(enable_timing=True)
    start.record()
    time.sleep(0.02)
    end.record()
    interface.synchronize()
    assert 19 < start.elapsed_time(end) < 500
    assert start.elapsed_time(start) > 0, "do_bench divides by it"


def test_do_bench(driver: Driver) -> None:
    kernel, out = counting_kernel(), DeviceArray.zeros(4, "int32")
    quantiles = driver.get_benchmarker()(
        lambda: kernel((4, 1, 1), out, 100, NEVER), quantiles=(0.5, 0.2, 0.8), rep=30
    )
    assert 0 < quantiles[1] <= quantiles[0] <= quantiles[2] < 1000


def test_do_bench_without_torch() -> None:
    code = f"""
        import sys
        sys.modules["torch"] = None
        import {PACKAGE_NAME}, triton
        {PACKAGE_NAME}.activate()
        print(triton.testing.do_bench(lambda: None, warmup=1, rep=5) > 0)
    """
    done = run_python(code)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_binary_stage_keeps_its_name() -> None:
    stage = BinaryStage("obj")
    assert stage in ("cubin", "hsaco", "json"), "kept under TRITON_STORE_BINARY_ONLY"
    assert stage != "cubin", "Triton would disassemble it"
    assert stage == "obj" and f"k.{stage}" == "k.obj" and {stage: 1}["obj"] == 1 and {"obj": 1}[stage] == 1
