"""``tt.dot`` on the matrix unit: operands as dense scratchpad tiles, one ``mma`` per tile of the accumulator.

For a machine without the unit ``passes/expand_matrix.py`` turns them into vector multiply-adds.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from math import prod
from typing import Final

from xdsl.dialects.builtin import Float64Type, IntegerAttr, IntegerType, f32, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects import tt
from ..dialects.isa import matrix
from ..dialects.tt_enums import InputPrecision
from .aliasing import disturbs, overlap
from .builder import Builder
from .elementwise import byte_width, is_float, round_to
from .kernel import Handler, KernelLowering
from .tiles import Buffer, Elementwise, Node, Tile, buffer_of, is_matrix, walk


def dot(k: KernelLowering, op: tt.DotOp) -> None:
    """``d = a x b + c``, for a batch of matrices if the tiles have rank 3.

    f16, bf16 and fp8 products are exact in f32; those of f32 are what the kernel asks for, or better.
    """
    result = op.d
    a, b, c = k.tile(op.a), k.tile(op.b), k.tile(op.c)
    k.consume(op)
    operand_type, acc_type = compute_types(k, op, a.element, b.element, c.element)
    left, right = (k.matrix_tile(converted(factor, operand_type)) for factor in (a, b))
    acc = accumulator(k, op, converted(c, acc_type), left, right)
    multiply(k, left, right, acc, operand_type, acc_type, parts_of(k, op, operand_type))
    acc = Buffer(acc.shape, acc.element, acc.offset, acc.strides, owner=result)
    k.set_tile(result, converted(acc, c.element, value=result))


PARTS: Final = {
    InputPrecision.IEEE: 1,
    InputPrecision.TF32: 2,
    InputPrecision.BF16X3: 2,
    InputPrecision.TF32X3: 3,
    InputPrecision.BF16X6: 3,
}
"""How many bf16 numbers an f32 factor may be taken as the sum of, to be at least as precise as asked. A factor of
tf32 has 11 bits, of tf32x3 22, of the sums 16 and 24."""


def parts_of(k: KernelLowering, op: tt.DotOp, operand_type: Attribute) -> int:
    """What ``parts`` of `Mma` is for a product of `operand_type`.

    A kernel that says nothing about the precision arrives here as one that says tf32: Triton's front end writes that
    wherever it is allowed, and never asks for the default.
    """
    if operand_type != f32:
        return 1
    precision = op.input_precision
    return PARTS[k.dot_precision if precision is InputPrecision.TF32 else precision]


def compute_types(
    k: KernelLowering, op: tt.DotOp, a: Attribute, b: Attribute, c: Attribute
) -> tuple[Attribute, Attribute]:
    """What the matrix unit multiplies and accumulates in."""
    if is_float(a) and is_float(b) and is_float(c):
        if a == b and (str(a), "f32") in matrix.TYPES and matrix.has_unit_for("f32"):
            return a, f32
        wide = Float64Type() if isinstance(a, Float64Type) else f32
        return wide, wide
    if a == b and isinstance(a, IntegerType) and isinstance(c, IntegerType) and c == i32:
        if a.width.data == 8 or a == i32:
            return a, i32
        if a.width.data == 16:
            return i32, i32
    raise k.unsupported(op, f"tt.dot of {a} x {b} into {c}", "lowering/dot.py")


def converted(tile: Tile, element: Attribute, *, value: SSAValue | None = None) -> Tile:
    """`tile` in another format; the conversion is part of whatever loop evaluates it."""
    if tile.element == element:
        return tile
    if is_float(element):
        return Elementwise(
            tile.shape,
            element,
            "convert",
            (tile,),
            lambda b, args: round_to(b, args[0], element),
            2,
            value=value,
        )
    return Elementwise(
        tile.shape, element, "convert", (tile,), lambda b, args: b.resize(args[0], element), 1, value=value
    )


def accumulator(k: KernelLowering, op: Operation, c: Tile, left: Buffer, right: Buffer) -> Buffer:
    """A buffer that holds `c` and may be overwritten: `c`'s own, if nothing else needs it, or a fresh one.

    `left` and `right` are the factors, one of which `c` may be.
    """
    buffer = reusable(k, op, c)
    if buffer is None or disturbs(buffer, c) or overlap(buffer, left) or overlap(buffer, right):
        buffer = k.scratch.allocate(c.shape, c.element, matrix=True)
    current = buffer_of(c)
    if current is None or current.offset != buffer.offset:
        k.scheduler.write([(c, buffer)])
    k.scheduler.flush()
    return buffer


def reusable(k: KernelLowering, op: Operation, c: Tile) -> Buffer | None:
    """The buffer that `c` is, or is computed from element by element, if its old contents die here.

    It must belong to the same block: one from outside of a loop is needed in the next iteration.
    """
    identity = tuple(range(len(c.shape)))
    known = buffer_of(c)
    candidates = [] if known is None else [known]
    if known is None and isinstance(c, Node):
        for node, dims in walk(c):
            parts = node.operands if isinstance(node, Elementwise) and dims == identity else ()
            candidates.extend(buffer for part in parts if (buffer := buffer_of(part)) is not None)
    for buffer in candidates:
        owner = buffer.owner
        if owner is None or buffer.element != c.element or buffer.shape != c.shape or not is_matrix(buffer):
            continue
        block = owner.block if hasattr(owner, "block") else owner.owner.parent  # pyright: ignore
        if block is op.parent and not k.liveness.is_live(owner):
            return buffer
    return None


def multiply(
    k: KernelLowering,
    a: Buffer,
    c: Buffer,
    acc: Buffer,
    operand_type: Attribute,
    acc_type: Attribute,
    parts: int = 1,
) -> None:
    """``acc += a x c`` in tiles of the matrix unit."""
    b = k.b
    *batch, rows, depth = a.shape
    columns = c.shape[-1]
    tile_m, tile_n, tile_k = matrix.tile_of(str(acc_type))
    size, acc_size = byte_width(operand_type), byte_width(acc_type)
    addresses = [b.scratch(buffer.offset) for buffer in (acc, a, c)]
    ldc, lda, ldb = (pitch_of(buffer) for buffer in (acc, a, c))
    per_matrix = (rows * ldc * acc_size, rows * lda * size, depth * ldb * size)
    per_step = (0, size, ldb * size)
    steps = min(depth, tile_k or depth)
    numbers = {
        "m": min(rows, tile_m),
        "n": min(columns, tile_n),
        "k": steps,
        "lda": lda,
        "ldb": ldb,
        "ldc": ldc,
        "parts": parts,
    }
    properties: dict[str, Attribute] = {name: IntegerAttr(number, i64) for name, number in numbers.items()}
    properties |= {"operand_type": operand_type, "acc_type": acc_type}
    with (
        repeated(b, addresses, prod(batch), 1, per_matrix) as addresses,
        repeated(b, addresses, columns, tile_n, (acc_size, 0, size)) as addresses,
        repeated(b, addresses, rows, tile_m, (ldc * acc_size, lda * size, 0)) as addresses,
    ):
        with repeated(b, addresses, depth - depth % steps, steps, per_step) as here:
            b.effect(matrix.Mma, here, properties)
        if depth % steps:
            rest = [
                b.addi(x, b.const((depth - depth % steps) * step, i64))
                for x, step in zip(addresses, per_step, strict=True)
            ]
            b.effect(matrix.Mma, rest, {**properties, "k": IntegerAttr(depth % steps, i64)})


@contextmanager
def repeated(
    b: Builder, addresses: list[SSAValue], extent: int, tile: int, pitches: tuple[int, ...]
) -> Generator[list[SSAValue]]:
    """A loop over tiles of an extent, in which `addresses` are those of the tile: they move by ``pitches`` bytes for
    each element. No loop where one tile is enough."""
    if extent <= tile:
        yield addresses
        return
    index, _ = b.open_loop()
    yield [
        b.addi(x, b.muli(index, b.const(pitch, i64))) if pitch else x
        for x, pitch in zip(addresses, pitches, strict=True)
    ]
    b.close_loop(b.const(0, i64), b.const(extent, i64), b.const(tile, i64), [], [])


def pitch_of(buffer: Buffer) -> int:
    """The distance of a matrix's rows in elements; of one row it does not matter, if it is long enough."""
    return max(buffer.strides[-2], buffer.shape[-1])


HANDLERS: dict[str, Handler] = {"tt.dot": dot}
