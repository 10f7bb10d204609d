"""``tt.dot`` on the matrix unit: operands as dense scratchpad tiles, one ``mma`` per tile of the accumulator.

For a machine without the unit ``passes/expand_matrix.py`` turns them into vector multiply-adds.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import Float64Type, IntegerAttr, IntegerType, f32, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects.isa import matrix
from .aliasing import disturbs, overlap
from .elementwise import byte_width, is_float, round_to
from .kernel import Handler, KernelLowering
from .scheduler import walk
from .tiles import Buffer, Elementwise, Node, Tile, is_row_major


def dot(k: KernelLowering, op: Operation) -> None:
    """``d = a x b + c``, for a batch of matrices if the tiles have rank 3.

    f16, bf16 and fp8 products are exact in f32.
    """
    result = op.results[0]
    a, b, c = (k.tile(operand) for operand in op.operands)
    k.consume(op)
    operand_type, acc_type = compute_types(k, op, a.element, b.element, c.element)
    left, right = k.dense_tile(converted(a, operand_type)), k.dense_tile(converted(b, operand_type))
    acc = accumulator(k, op, converted(c, acc_type), left, right)
    multiply(k, left, right, acc, operand_type, acc_type)
    acc = Buffer(acc.shape, acc.element, acc.offset, acc.strides, owner=result)
    k.set_tile(result, converted(acc, c.element, value=result))


def compute_types(
    k: KernelLowering, op: Operation, a: Attribute, b: Attribute, c: Attribute
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
    """A dense buffer that holds `c` and may be overwritten: `c`'s own, if nothing else needs it, or a fresh one.

    `left` and `right` are the factors, one of which `c` may be.
    """
    home = reusable(k, op, c)
    if home is None or disturbs(home, c) or overlap(home, left) or overlap(home, right):
        home = k.scratch.allocate(c.shape, c.element)
    current = c.buffer if isinstance(c, Node) else c
    if not (isinstance(current, Buffer) and current.offset == home.offset):
        k.scheduler.write([(c, home)])
    k.scheduler.flush()
    return home


def reusable(k: KernelLowering, op: Operation, c: Tile) -> Buffer | None:
    """The buffer that `c` is, or is computed from element by element, if its old contents die here.

    It must belong to the same block: one from outside of a loop is needed in the next iteration.
    """
    identity = tuple(range(len(c.shape)))
    candidates = [c] if isinstance(c, Buffer) else []
    if isinstance(c, Node):
        if c.buffer is not None:
            candidates = [c.buffer]
        else:
            for node, dims in walk(c):
                parts = node.operands if isinstance(node, Elementwise) and dims == identity else ()
                candidates.extend(part for part in parts if isinstance(part, Buffer))
                candidates.extend(p.buffer for p in parts if isinstance(p, Node) and p.buffer is not None)
    for buffer in candidates:
        owner = buffer.owner
        if (
            owner is None
            or buffer.element != c.element
            or buffer.shape != c.shape
            or not is_row_major(buffer)
        ):
            continue
        block = owner.block if hasattr(owner, "block") else owner.owner.parent  # pyright: ignore
        if block is op.parent and not k.liveness.is_live(owner):
            return buffer
    return None


def multiply(
    k: KernelLowering, a: Buffer, c: Buffer, acc: Buffer, operand_type: Attribute, acc_type: Attribute
) -> None:
    """``acc += a x c`` in tiles of the matrix unit."""
    b = k.b
    *batch, rows, depth = a.shape
    columns = c.shape[-1]
    tile_m, tile_n, _ = matrix.tile_of(str(acc_type))
    size, acc_size = byte_width(operand_type), byte_width(acc_type)
    addresses = [b.scratch(buffer.offset) for buffer in (acc, a, c)]
    steps = [rows * columns * acc_size, rows * depth * size, depth * columns * size]
    count = prod(batch)
    if count > 1:
        index, _ = b.open_loop()
        addresses = [
            b.addi(x, b.muli(index, b.const(step, i64))) for x, step in zip(addresses, steps, strict=True)
        ]
    inner = [(columns, tile_n, (acc_size, 0, size)), (rows, tile_m, (columns * acc_size, depth * size, 0))]
    opened: list[tuple[int, int]] = []
    for extent, tile, pitches in inner:
        if extent <= tile:
            continue
        index, _ = b.open_loop()
        opened.append((extent, tile))
        addresses = [
            b.addi(x, b.muli(index, b.const(pitch, i64))) if pitch else x
            for x, pitch in zip(addresses, pitches, strict=True)
        ]
    numbers = {
        "m": min(rows, tile_m),
        "n": min(columns, tile_n),
        "k": depth,
        "lda": depth,
        "ldb": columns,
        "ldc": columns,
    }
    properties: dict[str, Attribute] = {name: IntegerAttr(number, i64) for name, number in numbers.items()}
    b.effect(matrix.Mma, addresses, {**properties, "operand_type": operand_type, "acc_type": acc_type})
    for extent, tile in reversed(opened):
        b.close_loop(b.const(0, i64), b.const(extent, i64), b.const(tile, i64), [], [])
    if count > 1:
        b.close_loop(b.const(0, i64), b.const(count, i64), b.const(1, i64), [], [])


HANDLERS: dict[str, Handler] = {"tt.dot": dot}
