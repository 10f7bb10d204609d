"""Device memory without torch: a thin wrapper over a NumPy array that Triton takes as a kernel argument.

Triton refuses NumPy arrays themselves; of an argument it wants ``dtype`` and ``data_ptr()``. Everything else here has
torch's name and meaning, so that host code that sets up a launch reads the same for both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..target import BACKEND_NAME
from .dtypes import DType, dtype_of

ALIGNMENT = 64
"""Of every allocation, in bytes: a whole vector register, a whole cache line."""


def extents(shape: Any) -> tuple[int, ...]:
    """A shape as `DeviceArray.empty` takes it: one extent or several. Raises TypeError and ValueError."""
    try:
        sizes = (index(shape),) if hasattr(shape, "__index__") else tuple(map(index, shape))
    except TypeError:
        raise TypeError(f"a shape is a whole number or a sequence of whole numbers, not {shape!r}") from None
    if any(size < 0 for size in sizes):
        raise ValueError(f"a shape cannot have negative extents: {shape!r}")
    return sizes


class DeviceArray:
    """An n-dimensional array in memory that kernels can read and write.

    ``dtype`` is a `DType`; ``shape`` and strides count elements. Make one with `empty`, `zeros`, `full`, `from_numpy`
    or `wrap`; look at it with `numpy`.
    """

    __slots__ = ("_address", "_storage", "dtype", "grad")

    is_cpu = True  # `device_memory.FLAG`: the launcher asks where a tensor's memory may be elsewhere
    is_cuda = False
    device = BACKEND_NAME

    def __init__(self, storage: NDArray[Any], dtype: DType) -> None:
        if storage.dtype != dtype.storage:
            raise TypeError(f"elements of {dtype} are stored as {dtype.storage}, not {storage.dtype}")
        if any(stride % dtype.itemsize for stride in storage.strides):
            raise ValueError(
                f"strides {storage.strides} (bytes) are not multiples of the {dtype.itemsize}-byte elements"
            )
        self._storage = storage
        self._address: int = storage.__array_interface__["data"][0]
        self.dtype = dtype
        self.grad: Any = None  # `do_bench` may reset it

    @staticmethod
    def empty(shape: int | Sequence[int], dtype: object = "float32") -> DeviceArray:
        """Contiguous, `ALIGNMENT`-aligned, contents undefined. ``dtype`` as for `dtype_of`."""
        kind = dtype_of(dtype)
        dimensions = extents(shape)
        size = math.prod(dimensions) * kind.itemsize
        memory = np.empty(size + ALIGNMENT, np.uint8)
        start = -memory.__array_interface__["data"][0] % ALIGNMENT
        return DeviceArray(memory[start : start + size].view(kind.storage).reshape(dimensions), kind)

    @staticmethod
    def zeros(shape: int | Sequence[int], dtype: object = "float32") -> DeviceArray:
        return DeviceArray.empty(shape, dtype).zero_()

    @staticmethod
    def full(shape: int | Sequence[int], value: float, dtype: object = "float32") -> DeviceArray:
        return DeviceArray.empty(shape, dtype).fill_(value)

    @staticmethod
    def from_numpy(values: Any, dtype: object = None) -> DeviceArray:
        """A contiguous copy of anything NumPy can make an array of; converted (to nearest even) if ``dtype``
        is given."""
        array = np.asarray(values)
        result = DeviceArray.empty(array.shape, array.dtype if dtype is None else dtype)
        result._storage[...] = result.dtype.encode(array)
        return result

    @staticmethod
    def wrap(memory: NDArray[Any], dtype: object = None) -> DeviceArray:
        """The same memory as a NumPy array, strides and all. ``dtype`` if the elements are bits of a type
        NumPy lacks."""
        return DeviceArray(memory, dtype_of(memory.dtype if dtype is None else dtype))

    def data_ptr(self) -> int:
        """Address of the first element."""
        return self._address

    @property
    def shape(self) -> tuple[int, ...]:
        return self._storage.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """In elements; may be zero or negative."""
        return tuple(stride // self.dtype.itemsize for stride in self._storage.strides)

    @property
    def ndim(self) -> int:
        return self._storage.ndim

    @overload
    def stride(self) -> tuple[int, ...]: ...
    @overload
    def stride(self, axis: int) -> int: ...
    def stride(self, axis: int | None = None) -> int | tuple[int, ...]:
        """One stride, or all of them, in elements."""
        return self.strides if axis is None else self.strides[axis]

    def size(self, axis: int | None = None) -> int | tuple[int, ...]:
        """One extent, or all of them."""
        return self.shape if axis is None else self.shape[axis]

    def numel(self) -> int:
        return self._storage.size

    def element_size(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize

    def is_contiguous(self) -> bool:
        return bool(self._storage.flags.c_contiguous)

    def __len__(self) -> int:
        return len(self._storage)

    def numpy(self) -> NDArray[Any]:
        """The values: the memory itself, or for types that NumPy lacks a float32 copy."""
        return self.dtype.decode(self._storage)

    def bits(self) -> NDArray[Any]:
        """The memory as it is; bfloat16 as uint16 and float8 as uint8."""
        return self._storage

    def item(self) -> Any:
        """The value of an array of one element, as a Python number."""
        return self.numpy().item()

    def __getitem__(self, index: Any) -> DeviceArray:
        """A view: same memory. Integers, slices and ellipses only (anything else would silently be a copy)."""
        parts = index if isinstance(index, tuple) else (index,)
        if not all(map(_is_index, parts)):
            raise TypeError("device arrays are indexed by integers and slices")
        # An Ellipsis keeps NumPy from turning a single element into a copied scalar.
        whole = parts if any(part is Ellipsis for part in parts) else (*parts, Ellipsis)
        return DeviceArray(self._storage[whole], self.dtype)

    def __setitem__(self, index: Any, values: Any) -> None:
        self[index].copy_(values)

    def reshape(self, *shape: Any) -> DeviceArray:
        """A view; raises ValueError where one is impossible without a copy."""
        dimensions = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        view = self._storage.reshape(dimensions)
        if self.numel() and not np.shares_memory(view, self._storage):
            raise ValueError(
                f"an array of shape {self.shape} and strides {self.strides} has no view of shape {dimensions}"
            )
        return DeviceArray(view, self.dtype)

    @property
    def T(self) -> DeviceArray:
        """The transposed view."""
        return DeviceArray(self._storage.T, self.dtype)

    def flip(self, axis: int) -> DeviceArray:
        """A view with one axis reversed: its stride is negative."""
        return DeviceArray(np.flip(self._storage, axis), self.dtype)

    def zero_(self) -> DeviceArray:
        self._storage.fill(0)
        return self

    def fill_(self, value: float) -> DeviceArray:
        self._storage[...] = self.dtype.encode(np.asarray(value))
        return self

    def copy_(self, values: Any) -> DeviceArray:
        """Copy from an array or number, converted to this dtype and broadcast."""
        if isinstance(values, DeviceArray):
            same = values.dtype is self.dtype
            self._storage[...] = values._storage if same else self.dtype.encode(values.numpy())
        else:
            self._storage[...] = self.dtype.encode(np.asarray(values))
        return self

    def clone(self) -> DeviceArray:
        """A contiguous copy."""
        return DeviceArray.empty(self.shape, self.dtype).copy_(self)

    def to(self, dtype: object) -> DeviceArray:
        """A contiguous copy in another element type."""
        return DeviceArray.empty(self.shape, dtype).copy_(self)

    def __repr__(self) -> str:
        return f"DeviceArray({self.numpy()!r}, dtype={self.dtype})"


def _is_index(part: object) -> bool:
    """Whether it picks a view. Booleans are masks, although Python's is an int."""
    return part is Ellipsis or (isinstance(part, slice | int | np.integer) and not isinstance(part, bool))
