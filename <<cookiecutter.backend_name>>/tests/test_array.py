"""Device arrays: element types, views and what Triton reads from them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from <<cookiecutter.package_name>>.runtime.array import ALIGNMENT, DeviceArray
from <<cookiecutter.package_name>>.runtime.dtypes import DTYPES, dtype_of

PLAIN = [name for name, dtype in DTYPES.items() if dtype.to_bits is None]
PACKED = [name for name in DTYPES if name not in PLAIN]


@pytest.mark.parametrize("name", DTYPES)
def test_triton_knows_every_type(name: str) -> None:
    from triton._utils import canonicalize_dtype

    dtype = dtype_of(name)
    assert dtype_of(canonicalize_dtype(dtype)) is dtype
    assert dtype_of(dtype) is dtype
    assert pickle.loads(pickle.dumps(dtype)) is dtype


def test_types_by_other_names() -> None:
    import triton.language as tl

    assert dtype_of(tl.bfloat16) is dtype_of("bf16") is dtype_of("torch.bfloat16") is DTYPES["bfloat16"]
    assert dtype_of(np.float32) is dtype_of(np.dtype("f4")) is DTYPES["float32"]
    with pytest.raises(TypeError, match="no element type 'complex64'; it has bool, int8"):
        dtype_of(np.complex64)


@pytest.mark.parametrize("name", PLAIN)
def test_plain_types_come_back(name: str) -> None:
    values = (np.arange(24) % 3).astype(DTYPES[name].storage).reshape(4, 6)
    array = DeviceArray.from_numpy(values)
    assert array.dtype is DTYPES[name]
    assert array.data_ptr() % ALIGNMENT == 0
    np.testing.assert_array_equal(array.numpy(), values)
    assert array.numpy().__array_interface__["data"][0] == array.data_ptr(), "no copy"


@pytest.mark.parametrize("name", PACKED)
def test_every_bit_pattern_comes_back(name: str) -> None:
    dtype = DTYPES[name]
    bits = np.arange(256 if dtype.itemsize == 1 else 65536).astype(dtype.storage)
    values = DeviceArray.wrap(bits, name).numpy()
    again = DeviceArray.from_numpy(values, name)
    numbers = ~np.isnan(values)
    np.testing.assert_array_equal(again.bits()[numbers], bits[numbers])
    assert np.isnan(again.numpy()[~numbers]).all() and (~numbers).any()


@pytest.mark.parametrize("name", PACKED)
def test_rounding_agrees_with_torch(name: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    kind = getattr(torch, name)
    generator = np.random.default_rng(0)
    values = (generator.standard_normal(4000) * 10.0 ** generator.integers(-12, 12, 4000)).astype(np.float32)
    exact = DeviceArray.wrap(np.arange(120).astype(DTYPES[name].storage), name).numpy()
    ties = (exact[1:] + exact[:-1]) / 2
    special = np.array([0, -0.0, np.inf, -np.inf, 448, 464, 465, 57344, 61440, 61441], np.float32)
    values = np.concatenate([values, ties, -ties, special]).astype(np.float32)
    theirs = torch.from_numpy(values).to(kind).float().numpy()
    np.testing.assert_array_equal(DeviceArray.from_numpy(values, name).numpy(), theirs)


def test_views_share_memory() -> None:
    array = DeviceArray.zeros((4, 6), "int16")
    view = array[1:3, ::-2]
    assert (view.shape, view.stride(), view.stride(1)) == ((2, 3), (6, -2), -2)
    assert view.data_ptr() - array.data_ptr() == 2 * (6 + 5)
    view.fill_(7)
    assert array.numpy().sum() == 6 * 7
    assert array.T.stride() == (1, 6) and array.flip(0).stride(0) == -6
    assert array[2, 3].shape == () and array[2, 3].data_ptr() - array.data_ptr() == 2 * 15
    assert not view.is_contiguous() and view.clone().is_contiguous()
    assert array.reshape(24).data_ptr() == array.reshape(2, 12).data_ptr() == array.data_ptr()
    with pytest.raises(ValueError, match="no view of shape"):
        array.T.reshape(24)
    with pytest.raises(TypeError, match="integers and slices"):
        array[[0, 1]]


def test_filling_and_copying() -> None:
    array = DeviceArray.full((2, 3), 1.5, "bfloat16")
    array[0] = np.array([1, 2, 3])
    other = array.clone()
    array.zero_()
    np.testing.assert_array_equal(other.numpy(), [[1, 2, 3], [1.5, 1.5, 1.5]])
    np.testing.assert_array_equal(other.to("int32").numpy(), [[1, 2, 3], [1, 1, 1]])
    assert array.copy_(other).numpy().sum() == other.numpy().sum()
    assert (len(array), array.numel(), array.element_size(), array.ndim, array.size(1)) == (2, 6, 2, 2, 3)
    assert DeviceArray.full((), 5, "int64").item() == 5


@pytest.mark.parametrize("shape", [-8, (2, -1), np.int64(-1)])
def test_negative_extents(shape: Any) -> None:
    with pytest.raises(ValueError, match=r"a shape cannot have negative extents: .*-"):
        DeviceArray.empty(shape)


@pytest.mark.parametrize("shape", [3.5, "8", (2, 1.0), None, [[2]], {"a": 1}])
def test_what_is_no_shape(shape: Any) -> None:
    with pytest.raises(TypeError, match="a shape is a whole number or a sequence of whole numbers, not "):
        DeviceArray.empty(shape)


@pytest.mark.parametrize("shape", [0, 3, np.int64(3), (), (2, 0), [2, np.int32(3)], range(1, 3)])
def test_shapes(shape: Any) -> None:
    wanted = (shape,) if np.ndim(shape) == 0 else tuple(shape)
    assert DeviceArray.zeros(shape).shape == wanted


def test_empty_and_wrapped_arrays() -> None:
    assert DeviceArray.empty((0, 3)).numel() == 0
    memory = np.arange(6.0).reshape(2, 3)
    wrapped = DeviceArray.wrap(memory.T)
    assert wrapped.stride() == (1, 3) and wrapped.data_ptr() == memory.ctypes.data
    with pytest.raises(TypeError, match="elements of bfloat16 are stored as uint16"):
        DeviceArray.wrap(memory, "bfloat16")
    fields = np.zeros(4, np.dtype([("a", np.int16), ("b", np.float32)]))
    with pytest.raises(ValueError, match="not multiples of the 4-byte elements"):
        DeviceArray.wrap(fields["b"])


@pytest.mark.parametrize(
    "index", [True, False, np.True_, (0, True), (True, Ellipsis), [0], np.array([True, False]), None, 1.0]
)
def test_what_would_be_a_copy_is_no_index(index: Any) -> None:
    array = DeviceArray.zeros((2, 3))
    with pytest.raises(TypeError, match="indexed by integers and slices"):
        array[index]
    with pytest.raises(TypeError, match="indexed by integers and slices"):
        array[index] = 1
    assert (array.numpy() == 0).all()
