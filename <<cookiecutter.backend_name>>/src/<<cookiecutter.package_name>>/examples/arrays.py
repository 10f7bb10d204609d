"""The few array operations that the examples need, the same for torch tensors and for `DeviceArray`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Protocol, overload

import numpy as np
import triton.language as tl

from ..runtime.array import DeviceArray

TRITON_DTYPES = {
    "float64": tl.float64,
    "float32": tl.float32,
    "float16": tl.float16,
    "bfloat16": tl.bfloat16,
    "int64": tl.int64,
    "int32": tl.int32,
}


class Array(Protocol):
    """What a launch needs from an array; `torch.Tensor` and `DeviceArray` both have it. Strides count elements."""

    @property
    def device(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def shape(self) -> Sequence[int]: ...
    def data_ptr(self) -> int: ...
    def numel(self) -> int: ...
    @overload
    def stride(self) -> tuple[int, ...]: ...
    @overload
    def stride(self, axis: int) -> int: ...
    def numpy(self) -> Any: ...


def dtype_name(array: Array) -> str:
    """``"float32"``, ``"bfloat16"``, ..."""
    return str(array.dtype).removeprefix("torch.")


def triton_dtype(array: Array) -> Any:
    return TRITON_DTYPES[dtype_name(array)]


def empty(shape: Sequence[int], *, like: Array, dtype: str | None = None) -> Any:
    """A new contiguous array of the same kind as ``like`` (and of its dtype, if none is given)."""
    dtype = dtype or dtype_name(like)
    if isinstance(like, DeviceArray):
        return DeviceArray.empty(shape, dtype)
    torch: Any = sys.modules["torch"]  # it is loaded: `like` is one of its tensors
    return torch.empty(tuple(shape), dtype=getattr(torch, dtype), device=like.device)


def empty_like(array: Array) -> Any:
    return empty(array.shape, like=array)


def zeros(shape: Sequence[int], *, like: Array, dtype: str) -> Any:
    array = empty(shape, like=like, dtype=dtype)
    array.zero_()
    return array


def from_list(values: Sequence[int], dtype: str, *, like: Array) -> Any:
    """A one-dimensional integer array with these values."""
    if isinstance(like, DeviceArray):
        return DeviceArray.from_numpy(np.array(values, dtype=dtype))
    torch: Any = sys.modules["torch"]
    return torch.tensor(values, dtype=getattr(torch, dtype), device=like.device)
