"""Arguments: what the launcher writes into the slots that a kernel reads, and what it refuses."""

from __future__ import annotations

import collections
import ctypes
import struct
from typing import Any

import numpy as np
import pytest
from native import NEVER, copying_kernel, counting_kernel

from <<cookiecutter.package_name>>.errors import LaunchError
from <<cookiecutter.package_name>>.rounding import bfloat16_bits
from <<cookiecutter.package_name>>.runtime import device_memory
from <<cookiecutter.package_name>>.runtime.array import DeviceArray
from <<cookiecutter.package_name>>.runtime.elf import undefined_symbols
from <<cookiecutter.package_name>>.runtime.loader import LoadError, load_image

ONE = (1, 1, 1)
Pair = collections.namedtuple("Pair", "left right")


def slots_of(signature: dict[str, Any], *args: Any) -> list[bytes]:
    """The 8-byte slots that a kernel of this signature is given; the first parameter is added."""
    out = DeviceArray.zeros(64, "uint64")
    copying_kernel({"out": "*i64", **signature})(ONE, out, *args)
    raw = out.numpy().tobytes()
    assert struct.unpack_from("Q", raw)[0] == out.data_ptr()
    return [raw[at : at + 8] for at in range(8, len(raw), 8)]


@pytest.mark.parametrize(
    ("kind", "value", "packed"),
    [
        ("i8", -128, "b"),
        ("i16", -32768, "h"),
        ("i32", -(2**31), "i"),
        ("i32", 2**31 - 1, "i"),
        ("i64", 2**31, "q"),
        ("i64", -(2**63), "q"),
        ("u8", 255, "B"),
        ("u16", 65535, "H"),
        ("u32", 2**32 - 1, "I"),
        ("u64", 2**63, "Q"),
        ("u64", 2**64 - 1, "Q"),
        ("u1", True, "?"),
        ("i1", False, "?"),
        ("fp16", 1.5, "e"),
        ("fp32", 0.1, "f"),
        ("fp32", 7, "f"),
        ("fp64", 0.1, "d"),
        ("f32", -0.0, "f"),
        ("i32", np.int64(5), "i"),
        ("fp32", np.float64(0.3), "f"),
        ("fp16", 1e6, "e"),
        ("fp32", -1e300, "f"),
    ],
)
def test_scalars(kind: str, value: Any, packed: str) -> None:
    slot = slots_of({"x": kind}, value)[0]
    too_large = isinstance(value, float) and abs(value) >= 1e6
    expected = struct.pack("<" + packed, np.copysign(np.inf, value) if too_large else value)
    assert slot[: len(expected)] == expected


@pytest.mark.parametrize(
    ("value", "bits"),
    [
        (1.0, 0x3F80),
        (1.00390625, 0x3F80),
        (1.01171875, 0x3F82),
        (3.4e38, 0x7F80),
        (-0.0, 0x8000),
        (float("-inf"), 0xFF80),
    ],
)
def test_bfloat16_is_rounded_to_nearest_even(value: float, bits: int) -> None:
    assert bfloat16_bits(value) == bits
    assert struct.unpack_from("<H", slots_of({"x": "bf16"}, value)[0])[0] == bits


def test_bfloat16_nan() -> None:
    bits = bfloat16_bits(float("nan"))
    assert bits & 0x7F80 == 0x7F80 and bits & 0x7F


def test_constexprs_have_no_slot_and_tuples_are_flattened() -> None:
    x = DeviceArray.zeros(1)
    signature = {
        "pointers": ("*fp32", "constexpr"),
        "A": "constexpr",
        "sizes": ("i32", ("i64", ("fp32",))),
        "pair": ("u8", "*fp32"),
        "none": (),
        "n": "i32",
    }
    slots = slots_of(signature, (x, None), "anything", [1, (2, (0.5,))], Pair(3, x), (), 4)
    pointer = struct.pack("Q", x.data_ptr())
    assert slots[0] == pointer
    assert struct.unpack_from("i", slots[1]) == (1,)
    assert struct.unpack_from("q", slots[2]) == (2,)
    assert struct.unpack_from("f", slots[3]) == (0.5,)
    assert slots[4][0] == 3
    assert slots[5] == pointer
    assert struct.unpack_from("i", slots[6]) == (4,)
    assert slots[7] == bytes(8)


def test_tensor_descriptor() -> None:
    from triton.tools.tensor_descriptor import TensorDescriptor

    base = DeviceArray.zeros((4, 16))
    descriptor = TensorDescriptor(base, [4, 9], [16, 1], [2, 8], "nan")
    slots = slots_of({"d": "tensordesc<fp32[2, 8]>", "n": "i32"}, descriptor, 77)
    numbers = [int.from_bytes(slot, "little") for slot in slots]
    shape_and_strides = [4, 9, 16, 1]
    assert numbers[:12] == [base.data_ptr(), *shape_and_strides, 1, 0, *shape_and_strides, 77]


def test_addresses_and_objects_with_data_ptr_only() -> None:
    class Bare:
        def data_ptr(self) -> int:
            return 4096

    slots = slots_of({"a": "*fp32", "b": "*i8", "c": "*i8"}, Bare(), 8192, None)
    assert [int.from_bytes(slot, "little") for slot in slots[:3]] == [4096, 8192, 0]


def test_tensor_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # As where torch is no CPU-only build.
    monkeypatch.setattr(device_memory, "tensors_may_be_elsewhere", lambda: True)

    class Device:
        type = "cuda"

        def __str__(self) -> str:
            return "cuda:1"

    class Elsewhere:
        is_cuda = True
        device = Device()

        def data_ptr(self) -> int:
            return 1

    kernel = copying_kernel({"x": "*fp32"})
    with pytest.raises(LaunchError, match="parameter x: the tensor is on device 'cuda:1'"):
        kernel(ONE, Elsewhere())


@pytest.mark.parametrize(
    ("signature", "args", "message"),
    [
        ({"x": "i32", "y": "i32"}, (1,), "missing argument for parameter y: got 1 of 2"),
        ({"x": "i32"}, (1, 2), r"got 2 arguments for 1 parameters \(x\)"),
        ({"x": "i32"}, (2**31,), r"parameter x: 2147483648 \(int\) is not a value of type i32"),
        ({"x": "u8"}, (-1,), r"parameter x: -1 \(int\) is not a value of type u8"),
        ({"x": "i64"}, (1.5,), r"parameter x: 1.5 \(float\) is not a value of type i64"),
        ({"x": "fp32"}, ("one",), r"parameter x: 'one' \(str\) is not a value of type fp32"),
        ({"x": "*fp32"}, (1.5,), r"parameter x: expected a tensor .* got 1.5"),
        ({"x": ("i32", ("i32",))}, ((1, 2),), r"parameter x\[1\]: expected a tuple of 1 values, got 2"),
        ({"x": ("i32", "*i8")}, ((1, "p"),), r"parameter x\[1\]: expected a tensor"),
        ({"d": "tensordesc<fp32[8]>"}, (3,), r"parameter d.base: expected a tensor descriptor"),
    ],
)
def test_arguments_that_do_not_fit(signature: dict[str, Any], args: tuple[Any, ...], message: str) -> None:
    kernel = copying_kernel(signature)
    with pytest.raises(ValueError, match=message) as raised:
        kernel(ONE, *args)
    assert isinstance(raised.value, LaunchError)


def test_types_that_no_kernel_can_take() -> None:
    with pytest.raises(LaunchError, match="parameter x: a kernel cannot take an argument of type 'complex'"):
        copying_kernel({"x": "complex"})


def test_compiler_and_launcher_must_agree() -> None:
    with pytest.raises(LaunchError, match=r"compiled for 2 parameters \(i64, i32\).*gives 1 \(x: i32\)"):
        copying_kernel({"x": "i32"}, parameters=["i64", "i32"])


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ((-1, 1, 1), "along x must be between 0 and"),
        ((1, -2, -3), "along y must be between 0 and"),
        ((1, 1, 2**31), "along z must be between 0 and"),
        ((1.0, 1, 1), "along x must be an integer, not 1.0"),
        ((2**31 - 1, 2**31 - 1, 4), "too many programs"),
    ],
)
def test_bad_grids(grid: tuple[Any, Any, Any], message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        counting_kernel()(grid, DeviceArray.zeros(1, "int32"), 1, NEVER)


@pytest.mark.parametrize("grid", [(0, 1, 1), (5, 0, 1), (1, 1, 0)])
def test_empty_grid_runs_nothing(grid: tuple[int, int, int]) -> None:
    out = DeviceArray.zeros(8, "int32")
    counting_kernel()(grid, out, 1, NEVER)
    assert (out.numpy() == 0).all()


def test_hooks_frame_the_launch() -> None:
    out = DeviceArray.zeros(2, "int32")
    calls: list[Any] = []
    hooks = (
        lambda note: calls.append(("enter", note, out.numpy().sum())),
        lambda note: calls.append(("exit", note, out.numpy().sum())),
    )
    kernel = counting_kernel(traps=[("assert", "no", "k.py", 3)])
    kernel((2, 1, 1), out, 1, NEVER, hooks=hooks, note="n")
    assert calls == [("enter", "n", 0), ("exit", "n", 2)]
    with pytest.raises(RuntimeError, match="device-side assert triggered: no at k.py:3"):
        kernel((2, 1, 1), out, 1, 0, hooks=hooks, note="m")
    assert [call[:2] for call in calls[2:]] == [("enter", "m"), ("exit", "m")]


def test_other_traps() -> None:
    kernel = counting_kernel(traps=[("overflow", "int32 addition", "", 0)])
    with pytest.raises(
        RuntimeError, match=r"device-side overflow check failed: int32 addition \(kernel count, program \(0, 0, 0\)"
    ):
        kernel(ONE, DeviceArray.zeros(1, "int32"), 1, 0)
    with pytest.raises(Exception, match="unknown trap code 1"):
        counting_kernel()(ONE, DeviceArray.zeros(1, "int32"), 1, 0)


def test_missing_symbol_is_named() -> None:
    from <<cookiecutter.package_name>>.codegen.object_code import compile_llvm

    image = compile_llvm(
        "declare i32 @no_such_function()\ndefine i32 @k() {\n %x = call i32 @no_such_function()\n ret i32 %x\n}"
    )
    assert undefined_symbols(image) == ["no_such_function"]
    with pytest.raises(
        LoadError, match="object code of k calls no_such_function, which no library of this process has"
    ):
        load_image(image, "k")


@pytest.mark.parametrize(
    "damage", [lambda image: b"", lambda image: b"garbage" * 9, lambda image: image[: len(image) // 2]]
)
def test_damaged_object_code(damage: Any) -> None:
    from <<cookiecutter.package_name>>.codegen.object_code import compile_llvm

    with pytest.raises(LoadError, match="damaged .* TRITON_ALWAYS_COMPILE=1"):
        load_image(damage(compile_llvm("define i32 @k() {\n ret i32 0\n}")), "k")


def test_unloading_gives_memory_back() -> None:
    from <<cookiecutter.package_name>>.codegen.object_code import compile_llvm

    image = compile_llvm(
        "@data = internal global [1000000 x i8] zeroinitializer\n"
        "define i32 @k() {\n call void @llvm.memset.p0.i64(ptr @data, i8 1, i64 1000000, i1 true)\n ret i32 0\n}\n"
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"
    )

    def resident_kib() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4

    for n in range(60):
        loaded = load_image(image, "k")
        assert ctypes.CFUNCTYPE(ctypes.c_int)(loaded.addresses["k"])() == 0
        loaded.unload()
        loaded.unload()
        if n == 9:
            before = resident_kib()
    assert resident_kib() - before < 10_000
