"""Functions for kernels that are one instruction of this machine, element by element.

Each is a ``tt.extern_elementwise``, whose symbol carries what is no operand: the kind of an activation, the type that
numbers are saturated to. ``formulas/elementwise.py`` makes the instruction.
"""

from __future__ import annotations

from typing import Any, Final

from triton.language import core

from ..dialects.isa.alu import ACTIVATIONS
from ..function_symbols import PREFIX
from .arguments import for_this_machine, known_now, names, plain, scalar_or_block, spell, tensor_of
from .decorator import extern_elementwise, function_for_kernels

FLOATS: Final = (core.float64, core.float32, core.bfloat16, core.float16)

SIGNED: Final = (core.int8, core.int16, core.int32, core.int64)
WIDER: Final = {core.uint8: core.int16, core.uint16: core.int32, core.uint32: core.int64}
"""Unsigned type -> a signed one that holds its numbers."""

INTEGERS: Final = (*SIGNED, *WIDER, core.uint64)
NARROW: Final = {
    core.int8: "i8", core.uint8: "u8", core.int16: "i16", core.uint16: "u16", core.int32: "i32", core.uint32: "u32",
}  # fmt: skip
"""What numbers are saturated to -> its name in the symbol."""

LARGEST_FP8: Final = {core.float8e4nv: 448.0, core.float8e5: 57344.0}


@function_for_kernels
def activation(x: Any, kind: Any, scale: Any = 1.0, bias: Any = 0.0, _semantic: Any = None) -> Any:
    """``kind(x * scale + bias)``, an activation, in one instruction. The result has the type of `x`.

    ``kind``, a string known when the kernel is compiled, with t = x * scale + bias:

    - ``"linear"``: t
    - ``"relu"``: t, but at least 0
    - ``"relu6"``: t, but at least 0 and at most 6
    - ``"leaky_relu"``: t where that is above 0, else t / 100
    - ``"sigmoid"``: 1 / (1 + e^-t)
    - ``"silu"``: t sigmoid(t)
    - ``"gelu"``: t (1 + erf(t / sqrt 2)) / 2
    - ``"gelu_tanh"``: t (1 + tanh(sqrt(2 / pi) (t + 0.044715 t^3))) / 2
    - ``"tanh"``: the hyperbolic tangent of t

    `x`: a block or scalar of fp64, fp32, bf16 or fp16. The last two are computed in fp32, and the result is rounded
    once. `scale` and `bias`: numbers, scalars, or blocks that broadcast with `x` (a scale for each channel, say), of a
    type that is no wider than the one computed in.

    t is rounded once (a fused multiply-add). "linear", "relu" and "relu6" are exact functions of t, "leaky_relu" is
    rounded once more. The others are within 2e-6 (fp64: 1e-14) of the exact value, times |t| where that is above 1.
    A NaN gives NaN, whatever the kind, and so does infinity times a scale of 0. An infinite t gives the limit, which
    for -inf is -0 with "silu", "gelu" and "gelu_tanh". A t of -0 gives +0 with "relu" and "relu6".

    Raises TypeError or ValueError, where the kernel is compiled, for other types and kinds.
    """
    name = "activation"
    kind = known_now(name, "kind", kind, "a string", str)
    if kind not in ACTIVATIONS:
        raise ValueError(f"{name}: kind must be {names(ACTIVATIONS)}, not {kind!r}")
    x = tensor_of(name, "x", x, FLOATS, _semantic)
    element = core.float64 if x.dtype == core.float64 else core.float32
    operands = [
        _semantic.cast(x, element),
        scalar_or_block(name, "scale", scale, element, _semantic),
        scalar_or_block(name, "bias", bias, element, _semantic),
    ]
    return _semantic.cast(_call(f"act.{kind}", operands, element, _semantic), x.dtype)


@function_for_kernels
def saturate(x: Any, dtype: Any, _semantic: Any = None) -> Any:
    """`x` as numbers of a narrow type: the nearest (ties to even), which beyond the type's range is its nearer end.

    `x`: a block or scalar of fp64, fp32, bf16, fp16, or of integers of 8 to 64 bits, signed or unsigned. `dtype`:
    ``tl.int8``, ``tl.uint8``, ``tl.int16``, ``tl.uint16``, ``tl.int32`` or ``tl.uint32``. Infinities are beyond every
    range, and NaN gives 0. This is one instruction; ``x.to(tl.int8)`` cuts towards zero.

    Floats of at most 32 bits are also saturated to ``tl.float8e4nv`` and ``tl.float8e5``: what is beyond 448 or
    57344 in size, infinity included, becomes that, and NaN stays NaN. (``x.to(...)`` does so on some chips only.)

    Raises TypeError, where the kernel is compiled, for other types.
    """
    name, dtype = "saturate", plain(dtype)
    if dtype in LARGEST_FP8:
        return _saturate_fp8(name, x, dtype, _semantic)
    if not isinstance(dtype, core.dtype) or dtype not in NARROW:
        raise TypeError(f"{name}: dtype must be {names([*NARROW, *LARGEST_FP8])}, not {spell(dtype)}")
    x = tensor_of(name, "x", x, (*FLOATS, *INTEGERS), _semantic)
    if x.dtype in (core.bfloat16, core.float16):
        x = _semantic.cast(x, core.float32)
    elif x.dtype == core.uint64:
        most = _semantic.scalar_constant((1 << 63) - 1, core.uint64)
        x = _semantic.cast(core.minimum(x, most, _semantic=_semantic), core.int64)
    elif x.dtype in WIDER:
        x = _semantic.cast(x, WIDER[x.dtype])
    return _call(f"saturate.{NARROW[dtype]}", [x], dtype, _semantic)


def _saturate_fp8(name: str, x: Any, dtype: Any, semantic: Any) -> Any:
    x = tensor_of(name, f"x, for {dtype},", x, FLOATS[1:], semantic)
    if for_this_machine(semantic):
        return semantic.cast(x, dtype)  # `convert.TruncF` saturates
    wide = semantic.cast(x, core.float32)
    low, high = (semantic.scalar_constant(sign * LARGEST_FP8[dtype], core.float32) for sign in (-1, 1))
    if x.type.is_block():
        low, high = (semantic.splat(bound, x.type.get_block_shapes()) for bound in (low, high))
    clamped = semantic.clamp(wide, low, high, core.PropagateNan.ALL)
    return semantic.cast(clamped, dtype)


def _call(function: str, operands: list[Any], result: Any, semantic: Any) -> Any:
    types = tuple(operand.dtype for operand in operands)
    symbols = {types: (PREFIX + function, result)}
    return extern_elementwise("", "", operands, symbols, is_pure=True, _semantic=semantic)
