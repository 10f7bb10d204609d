"""Functions for kernels that move the elements of a block.

Triton's passes know no such operation of ours. What carries it to `lowering/block_functions.py` is a
``tt.extern_elementwise`` that is not pure: elementwise in name only, but Triton moves, merges and drops none that may
have effects (its "reorder-broadcast" would move a pure one from after a splat to before it, where the fill gets lost).
"""

from __future__ import annotations

import math
from typing import Any, cast

from triton.language import core

from ..function_symbols import SHIFT
from .arguments import for_this_machine, is_block, known_now, plain, spell
from .decorator import function_for_kernels


@function_for_kernels
def shift(x: Any, by: Any, axis: Any = 0, fill: Any = 0, _semantic: Any = None) -> Any:
    """The block `x` moved along `axis`: ``result[i] = x[i - by]``, and `fill` where x has no such element.

    `x`: a block of any rank and of any type but pointers. `by` and `axis`: integers known when the kernel is compiled;
    a positive `by` moves towards higher indices, a negative one towards lower, and one as large as the extent leaves
    nothing but `fill`; a negative `axis` counts from the last. `fill`: a number or a scalar, converted to the type of
    `x` without loss.

    On this machine the block is written to the scratchpad once, with a margin that holds `fill`, and all its shifts are
    loads from there at an offset. Elsewhere it is a ``tl.gather``.

    Raises TypeError or ValueError, where the kernel is compiled, for arguments that are not as described.
    """
    name = "shift"
    x = plain(x)
    if not isinstance(x, core.tensor) or not is_block(x) or x.dtype.is_ptr():
        raise TypeError(f"{name}: x must be a block of numbers or booleans, not {spell(x)}")
    by = known_now(name, "by", by, "an integer", int)
    axis = known_now(name, "axis", axis, "an integer", int)
    shape = [int(plain(extent)) for extent in x.shape]
    if not -len(shape) <= axis < len(shape):
        raise ValueError(
            f"{name}: axis must be from {-len(shape)} to {len(shape) - 1} for {spell(x)}, not {axis}"
        )
    axis %= len(shape)
    filler = _fill_of(name, fill, x.dtype, _semantic)
    if by == 0:
        return x
    if not for_this_machine(_semantic):
        return _gathered(x, by, axis, shape, filler, _semantic)
    builder, kind = _semantic.builder, cast(Any, x).type
    handle = builder.create_extern_elementwise(
        "", "", f"{SHIFT}{axis}.{by}", [x.handle, filler.handle], kind.to_ir(builder), False
    )
    return core.tensor(handle, kind)


def _fill_of(name: str, fill: Any, element: Any, semantic: Any) -> Any:
    """`fill` as a scalar of type `element`."""
    fill = plain(fill)
    if isinstance(fill, core.tensor):
        if is_block(fill) or fill.dtype != element:
            raise TypeError(
                f"{name}: fill must be a number or a scalar of {element}, as x is, not {spell(fill)}"
            )
        return fill
    if not isinstance(fill, bool | int | float):
        raise TypeError(f"{name}: fill must be a number or a scalar of {element}, as x is, not {spell(fill)}")
    if element.is_floating():
        return semantic.scalar_constant(float(fill), element)
    low, high = (0, 1) if element.is_bool() else (element.get_int_min_value(), element.get_int_max_value())
    if not math.isfinite(fill) or fill != int(fill) or not low <= fill <= high:
        raise ValueError(f"{name}: fill must be an integer from {low} to {high} for {element}, not {fill!r}")
    return semantic.scalar_constant(bool(fill) if element.is_bool() else int(fill), element)


def _gathered(x: Any, by: int, axis: int, shape: list[int], fill: Any, semantic: Any) -> Any:
    """`shift` by operations that every backend has."""
    element, extent = x.dtype, shape[axis]
    if abs(by) >= extent:
        return semantic.splat(fill, shape)
    index = semantic.arange(0, extent)
    for dim in range(len(shape)):
        if dim != axis:
            index = semantic.expand_dims(index, dim)
    source = semantic.sub(index, semantic.to_tensor(by), True)
    # Taken modulo the extent, a power of two, every index is inside.
    wrapped = semantic.and_(source, semantic.to_tensor(extent - 1))
    if element.is_bool():
        x = semantic.cast(x, core.int8)
    moved = semantic.gather(x, semantic.broadcast_impl_shape(wrapped, shape), axis)
    moved = semantic.cast(moved, element)
    inside = semantic.equal(source, wrapped)
    return semantic.where(semantic.broadcast_impl_shape(inside, shape), moved, semantic.splat(fill, shape))
