"""``tt.dot_scaled``: block-scaled (mx) formats are widened to f32 in the scratchpad and multiplied as f32.

Formats and scales follow the OCP Microscaling Formats (MX) specification 1.0: a scale is a power of two,
2^(byte - 127), shared by 32 elements along K; the byte 255 is NaN.
NVIDIA's nvfp4 has e4m3 scales for 16 elements instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import Float8E4M3FNType, Float8E5M2Type, f32, i8, i32
from xdsl.ir import Attribute, SSAValue

from ..dialects import tt
from ..dialects.isa import alu, convert
from ..dialects.isa.base import like
from ..dialects.tt_enums import ScaleDotElemType
from .builder import Builder
from .dot import accumulator, converted, multiply
from .elementwise import widen
from .kernel import Handler, KernelLowering
from .simple_ops import halves
from .tiles import Buffer, Elementwise, Tile, row_major, view

GROUP = 32
"""Elements that share a scale."""
NARROW: dict[ScaleDotElemType, Attribute] = {
    ScaleDotElemType.E4M3: Float8E4M3FNType(),
    ScaleDotElemType.E5M2: Float8E5M2Type(),
}


class Factor(NamedTuple):
    """One of the two factors: elements in `form`, their scales, its K dimension, and where 4-bit elements are pairs."""

    value: SSAValue
    scale: SSAValue | None
    form: ScaleDotElemType
    depth_dim: int
    packed_along_depth: bool


def dot_scaled(k: KernelLowering, op: tt.DotScaledOp) -> None:
    rank = len(k.tile(op.a).shape)
    k.consume(op)
    left = widened(k, op, Factor(op.a, op.a_scale, op.a_format, rank - 1, op.a_packed_along_k))
    right = widened(k, op, Factor(op.b, op.b_scale, op.b_format, rank - 2, op.b_packed_along_k))
    c, result = k.tile(op.c), op.d
    acc = accumulator(k, op, converted(c, f32), left, right)
    multiply(k, left, right, acc, f32, f32)
    buffer = Buffer(acc.shape, acc.element, acc.offset, acc.strides, owner=result)
    k.set_tile(result, converted(buffer, c.element, value=result))


def widened(k: KernelLowering, op: tt.DotScaledOp, factor: Factor) -> Buffer:
    """A factor as dense f32 with its scales applied."""
    form, depth_dim = factor.form, factor.depth_dim
    tile = k.tile(factor.value)
    rank = len(tile.shape)
    if form is ScaleDotElemType.E2M1:
        other = rank - 1 if depth_dim == rank - 2 else rank - 2
        wide = unpacked(k, tile, depth_dim if factor.packed_along_depth else other)
    elif form in (ScaleDotElemType.BF16, ScaleDotElemType.FP16):
        wide = k.dense_tile(converted(tile, f32))
    elif form in NARROW:
        wide = k.dense_tile(reinterpreted(tile, NARROW[form]))
    else:
        raise k.unsupported(op, f"tt.dot_scaled of format {form.name.lower()}", "lowering/dot_scaled.py")
    return wide if factor.scale is None else scaled(k, wide, k.tile(factor.scale), depth_dim)


def reinterpreted(tile: Tile, element: Attribute) -> Tile:
    """Bytes (or fp8 elements) as f32 values of the fp8 format `element`."""

    def compute(b: Builder, args: Sequence[SSAValue]) -> SSAValue:
        narrow = args[0]
        if tile.element != element:
            narrow = b.emit(convert.Bitcast, args, like(args[0].type, element))
        return widen(b, narrow)

    return Elementwise(tile.shape, f32, "widen", (tile,), compute, 2)


def unpacked(k: KernelLowering, tile: Tile, dim: int) -> Buffer:
    """Two e2m1 elements a byte, the first in the low half, spread along `dim` as f32."""
    shape = tuple(n * 2 if d == dim else n for d, n in enumerate(tile.shape))
    split = (*tile.shape[: dim + 1], 2, *tile.shape[dim + 1 :])
    bytes_ = k.dense_tile(tile)
    whole = k.scratch.allocate(shape, f32)
    pairs = Buffer(split, f32, whole.offset, row_major(split))
    # The dimension of the pair moves to the end, where `halves` expects it.
    order = [*range(dim + 1), *range(dim + 2, len(split)), dim + 1]
    moved = Buffer(tuple(split[d] for d in order), f32, whole.offset, tuple(pairs.strides[d] for d in order))
    for number, part in enumerate(halves(moved)):
        k.scheduler.write([(e2m1(bytes_, high=bool(number)), part)])
    return whole


def e2m1(tile: Tile, *, high: bool) -> Tile:
    """A 4-bit float in half of a byte as f32: its bits in place of f32's, then moved to f32's exponent range."""

    def compute(b: Builder, args: Sequence[SSAValue]) -> SSAValue:
        ty = like(args[0].type, i32)
        bits = b.resize(args[0], i32, signed=False)
        if high:
            bits = b.emit(alu.ShrU, [bits, b.const(4, ty)], ty)
        magnitude = b.emit(alu.And, [bits, b.const(7, ty)], ty)
        sign = b.emit(alu.And, [bits, b.const(8, ty)], ty)
        magnitude = b.emit(alu.Shl, [magnitude, b.const(22, ty)], ty)
        sign = b.emit(alu.Shl, [sign, b.const(28, ty)], ty)
        value = b.emit(convert.Bitcast, [b.emit(alu.Or, [magnitude, sign], ty)], like(ty, f32))
        return b.emit(alu.MulF, [value, b.const(2.0**126, like(ty, f32))], like(ty, f32))

    return Elementwise(tile.shape, f32, "e2m1", (tile,), compute, 7)


def e8m0(tile: Tile) -> Tile:
    """A scale byte as f32: 2^(byte - 127), NaN for 255."""

    def compute(b: Builder, args: Sequence[SSAValue]) -> SSAValue:
        ty = like(args[0].type, i32)
        bits = b.resize(args[0], i32, signed=False)
        shifted = b.emit(alu.Shl, [bits, b.const(23, ty)], ty)
        least = b.cmpi(0, bits, b.const(0, ty))
        shifted = b.emit(alu.Select, [least, b.const(0x00400000, ty), shifted], ty)
        invalid = b.cmpi(0, bits, b.const(255, ty))
        shifted = b.emit(alu.Select, [invalid, b.const(0x7FC00000, ty), shifted], ty)
        return b.emit(convert.Bitcast, [shifted], like(ty, f32))

    return Elementwise(tile.shape, f32, "e8m0", (tile,), compute, 6)


def scaled(k: KernelLowering, wide: Buffer, scale: Tile, depth_dim: int) -> Buffer:
    """`wide` times the scales, in place. ``scale`` is [..., rows or columns, K / 32] for either operand."""
    rank = len(wide.shape)
    other = rank - 2 if depth_dim == rank - 1 else rank - 1
    group = wide.shape[depth_dim] // scale.shape[-1]
    split = (*wide.shape[:depth_dim], scale.shape[-1], group, *wide.shape[depth_dim + 1 :])
    grouped = Buffer(split, f32, wide.offset, row_major(split))
    # Dimensions of the split operand that index the scale's: batch, rows or columns, groups.
    place = {d: d if d <= depth_dim else d + 1 for d in range(rank)}
    dims = (*(place[d] for d in range(rank - 2)), place[other], place[depth_dim])
    # A scale that is a float itself (nvfp4's e4m3) is taken as it is.
    factor = view(e8m0(scale) if scale.element == i8 else reinterpreted(scale, scale.element), split, dims)
    product = Elementwise(
        split, f32, "scale", (grouped, factor), lambda b, args: b.emit(alu.MulF, args, args[0].type), 1
    )
    k.scheduler.write([(product, grouped)])
    return wide


HANDLERS: dict[str, Handler] = {"tt.dot_scaled": dot_scaled}
