"""Loops over the tiles of one product: what the host multiplies as one tile, however large the matrix unit's are."""

from __future__ import annotations

from dataclasses import dataclass, replace

from xdsl.dialects import scf
from xdsl.dialects.builtin import i64
from xdsl.ir import Operation
from xdsl.traits import Pure

from ..dialects.isa import matrix as isa
from ..dialects.isa.addresses import known, sum_of
from .matrix_tiles import Tile
from .registers import register_type


@dataclass(frozen=True)
class Product:
    """An `Mma` and the ``loops`` around it, outermost first; ``tile`` is what they multiply together."""

    loops: tuple[scf.ForOp, ...]
    op: isa.Mma
    tile: Tile
    slices: scf.ForOp | None = None
    """The loop over slices of k, if there is one: each adds the product of a tile of A and one of B, which lie
    ``a_slice`` and ``b_slice`` bytes behind those of the slice before."""
    a_slice: int = 0
    b_slice: int = 0


def product_of(loop: Operation) -> Product | None:
    """The product that `loop` is all of: an `Mma`, or loops over neighbouring tiles of one."""
    loops: list[scf.ForOp] = []
    inner = loop
    while isinstance(inner, scf.ForOp):
        loops.append(inner)
        rest = [op for op in inner.body.block.ops if not op.has_trait(Pure)]  # a yield is pure
        if len(rest) != 1 or inner.iter_args or known(inner.lb) != 0:
            return None
        inner = rest[0]
    if not isinstance(inner, isa.Mma):
        return None
    op = inner
    tile = tile_of(op)
    m, n, k = tile.m, tile.n, tile.k
    to_columns = (tile.acc.bytes, 0, tile.operand.bytes)
    to_rows = (tile.ldc * tile.acc.bytes, tile.lda * tile.operand.bytes, 0)
    to_steps = (0, tile.operand.bytes, tile.ldb * tile.operand.bytes)
    addresses = [sum_of(address).terms for address in (op.acc, op.a, op.b)]
    for each in reversed(loops):
        end, step = known(each.ub), known(each.step)
        moves = tuple(terms.get(each.body.block.args[0], 0) for terms in addresses)
        if each is loops[0] and each.ub.type == i64 and step == 1 and moves[0] == 0 and min(moves[1:]) > 0:
            return Product(tuple(loops), op, replace(tile, m=m, n=n, k=k), each, moves[1], moves[2])
        if end is None or step is None or end % step:
            return None
        if moves == to_columns and step == n:
            n = end
        elif moves == to_rows and step == m:
            m = end
        elif moves == to_steps and step == k:
            k = end
        else:
            return None
    return Product(tuple(loops), op, replace(tile, m=m, n=n, k=k))


def tile_of(op: isa.Mma) -> Tile:
    """The tile of an `Mma`."""
    m, n, k, lda, ldb, ldc = (attr.value.data for attr in (op.m, op.n, op.k, op.lda, op.ldb, op.ldc))
    types = register_type(op.operand_type), register_type(op.acc_type)
    return Tile(m, n, k, lda, ldb, ldc, *types, op.parts.value.data)
