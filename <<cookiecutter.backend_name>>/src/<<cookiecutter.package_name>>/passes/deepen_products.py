"""Products that a loop adds up are made several iterations at a time, where sums in registers make that faster.

    total = tl.dot(tl.load(a), tl.load(b), total)

in a loop over k reads and writes all sums in each iteration. On a host with tile registers that takes as long as four
steps of k do, and an iteration may have no more than one or two of them. Each iteration brings its tiles to a slot of
its own instead; when all slots are full, and after the loop, what they hold is multiplied in one go. The order
in which products are added up is the same.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence, Set
from dataclasses import dataclass
from typing import Final

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from ..codegen import matrix_amx
from ..codegen.matrix_tiles import Tile
from ..codegen.tile_loops import Product, product_of
from ..dialects.isa import alu, control, matrix, memory
from ..dialects.isa.addresses import accesses_through, known, sum_of
from ..dialects.walk import operations_in
from ..formulas.formula import Formula
from ..host_features import HostFeatures
from ..machine import TARGET, machine_of
from ..target import SCRATCHPAD_BYTES, SCRATCHPAD_OVERFLOWS
from .expansion import Constants, InsertionPoint
from .registry import register_pass

FEWEST_SUMS: Final = 32 * 1024
"""Bytes. Fewer stay in the first-level cache, where the tiles of one iteration should stay, too."""

ALIGNMENT: Final = 64
SKEW: Final = 5 * ALIGNMENT
"""Bytes between slots, so that the same elements of each are not in the same set of a cache."""


@register_pass(stage="isa", name="deepen-products", after="expand-matrix")
def deepen_products(module: ModuleOp, options: object = None) -> None:
    """Gathers the factors of several iterations before they are multiplied."""
    if machine_of(options) is not TARGET:
        deepen_for(HostFeatures.current(), module)


def deepen_for(host: HostFeatures, module: ModuleOp) -> None:
    for kernel in module.ops:
        if isinstance(kernel, control.Kernel):
            products = [op for op in operations_in(kernel) if isinstance(op, matrix.Mma)]
            for running in [found for op in products if (found := running_product(op, host)) is not None]:
                deepened = _Deepened(kernel, running)
                if SCRATCHPAD_OVERFLOWS or deepened.scratch_bytes <= SCRATCHPAD_BYTES:
                    deepened.emit()


@dataclass(frozen=True)
class Running:
    """A ``loop`` over k, and the ``nest`` in it that adds a product of two tiles, made by the same iteration."""

    loop: scf.ForOp
    nest: Operation
    product: Product
    places: tuple[memory.ScratchAddress, ...]
    """Where the sums, A and B are."""
    slots: int


def running_product(op: matrix.Mma, host: HostFeatures) -> Running | None:
    """The product that `op` is a tile of, if a loop adds it up, and making it later is allowed and faster."""
    product: Product | None = None
    nest: Operation = op
    loop = op.parent_op()
    while isinstance(loop, scf.ForOp) and (wider := product_of(loop)) is not None:
        product, nest, loop = wider, loop, loop.parent_op()
    if product is None or product.slices is not None or not isinstance(loop, scf.ForOp):
        return None
    if not matrix_amx.suits(host, product.tile):
        return None
    tile = product.tile
    slots = min(matrix_amx.slices_at_once(tile), most_rounds(loop))
    if slots < 2 or tile.m * tile.n * tile.acc.bytes < FEWEST_SUMS:
        return None
    counters = {each.body.block.args[0] for each in product.loops}
    places = tuple(p for address in (op.acc, op.a, op.b) if (p := place_of(address, counters)) is not None)
    if len({place.offset.value.data for place in places}) != 3:
        return None
    sums, *factors = places
    inside = set(operations_in(loop))
    if seen_in_part(places, tile, inside) or sum(isinstance(other, matrix.Mma) for other in inside) > 1:
        return None
    accesses = accesses_through(sums)
    # A buffer that is accessed nowhere else may share its memory with others of the loop.
    if [access for access in accesses if access in inside] != [op] or len(accesses) == 1:
        return None
    for factor in factors:
        accesses = accesses_through(factor)
        if not inside.issuperset(accesses) or not any(is_store(access) for access in accesses):
            return None
        if any(is_store(access) and not comes_before(access, nest) for access in accesses):
            return None
    return Running(loop, nest, product, places, slots)


def most_rounds(loop: scf.ForOp) -> int:
    """How often a loop runs at most, as far as that is known."""
    first, end, step = (known(bound) for bound in (loop.lb, loop.ub, loop.step))
    if first is None or end is None or step is None or step <= 0:
        return sys.maxsize
    return max(-(-(end - first) // step), 0)


def seen_in_part(places: Sequence[memory.ScratchAddress], tile: Tile, inside: Set[Operation]) -> bool:
    """Whether operations `inside` access one of a product's buffers from somewhere else than its start on."""
    kernel = control.kernel_of(places[0])
    assert kernel is not None
    addresses = [op for op in operations_in(kernel) if isinstance(op, memory.ScratchAddress)]
    sizes = (
        ((tile.m - 1) * tile.ldc + tile.n) * tile.acc.bytes,
        ((tile.m - 1) * tile.lda + tile.k) * tile.operand.bytes,
        ((tile.k - 1) * tile.ldb + tile.n) * tile.operand.bytes,
    )
    for place, size in zip(places, sizes, strict=True):
        start = place.offset.value.data
        for other in addresses:
            if other is not place and start <= other.offset.value.data < start + size:
                if not inside.isdisjoint(accesses_through(other)):
                    return True
    return False


def place_of(address: SSAValue, counters: Set[SSAValue]) -> memory.ScratchAddress | None:
    """The buffer in the scratchpad whose start `address` is where all `counters` of loops are 0."""
    total = sum_of(address)
    places = [term for term in total.terms if term not in counters]
    if total.constant or len(places) != 1 or total.terms[places[0]] != 1:
        return None
    owner = places[0].owner
    return owner if isinstance(owner, memory.ScratchAddress) else None


def is_store(op: Operation) -> bool:
    return isinstance(op, memory.Store | memory.StoreMasked | memory.StoreStreaming | memory.Scatter)


def comes_before(op: Operation, nest: Operation) -> bool:
    """Whether `op`, or what it is inside of, is in front of `nest` in the same block."""
    block = nest.parent
    while op.parent is not block:
        outer = op.parent_op()
        if outer is None:
            return False
        op = outer
    return block is not None and block.get_operation_index(op) < block.get_operation_index(nest)


def matrix_bytes(rows: int, length: int, pitch: int, size: int) -> int:
    """What a slot takes."""
    return -(-((rows - 1) * pitch + length) * size // ALIGNMENT) * ALIGNMENT + SKEW


class _Deepened:
    """Rewrites one loop. The slots lie behind everything else in the scratchpad."""

    def __init__(self, kernel: control.Kernel, running: Running) -> None:
        self.kernel = kernel
        self.running = running
        self.entry = kernel.body.blocks[0]
        self.constants = Constants(self.entry)
        mma = running.product.op
        self.steps = mma.n.value.data, mma.m.value.data, mma.k.value.data
        self.properties = dict(mma.properties)
        tile = running.product.tile
        size = tile.operand.bytes
        self.slot_bytes = (
            matrix_bytes(tile.m, tile.k, tile.lda, size),
            matrix_bytes(tile.k, tile.n, tile.ldb, size),
        )

    @property
    def scratch_bytes(self) -> int:
        """What the kernel needs with the slots."""
        return self.kernel.scratch_bytes.value.data + self.running.slots * sum(self.slot_bytes)

    def emit(self) -> None:
        loop, nest, slots = self.running.loop, self.running.nest, self.running.slots
        factors = [self._allocate(size * slots) for size in self.slot_bytes]
        body = self._body_with_slot(loop.body.block)
        slot, first = body.args[-1], body.first_op
        assert first is not None
        f = Formula(InsertionPoint(first, self.constants))
        for old, new, size in zip(self.running.places[1:], factors, self.slot_bytes, strict=True):
            _redirect(old.results[0], f(alu.AddI, new, f(alu.MulI, slot, size)), first)

        f = Formula(InsertionPoint(nest, self.constants))
        filled = f(alu.AddI, slot, 1)
        full = f.compare("eq", filled, slots)
        whole = Block()
        self._multiply(factors, InsertionPoint(nest, self.constants, whole), self.constants.get(slots, i64))
        whole.add_op(scf.YieldOp())
        InsertionPoint(nest, self.constants).insert(
            scf.IfOp.create(operands=[full], regions=[Region(whole), Region()])
        )
        following = f.select(full, 0, filled)
        body.erase_op(nest)

        last = body.last_op
        assert last is not None
        body.add_op(scf.YieldOp(*last.operands, following))
        body.erase_op(last)
        new_loop = scf.ForOp.create(
            operands=[*loop.operands, self.constants.get(0, i64)],
            result_types=[*(result.type for result in loop.results), i64],
            properties=loop.properties,
            attributes=loop.attributes,
            regions=[Region(body)],
        )
        InsertionPoint(loop, self.constants).insert(new_loop)
        for before, after in zip(loop.results, new_loop.results, strict=False):
            before.replace_all_uses_with(after)
        self._multiply(factors, InsertionPoint(loop, self.constants), new_loop.results[-1])
        block = loop.parent
        assert block is not None
        block.erase_op(loop)

    def _allocate(self, size: int) -> SSAValue:
        """The address of new memory in the scratchpad."""
        offset = self.kernel.scratch_bytes.value.data
        self.kernel.scratch_bytes = IntegerAttr(offset + size, i64)
        address = memory.ScratchAddress.create(
            result_types=[i64], properties={"offset": memory.scratch_offset(offset)}
        )
        first = self.entry.first_op
        assert first is not None
        self.entry.insert_op_before(address, first)
        return address.results[0]

    def _body_with_slot(self, old: Block) -> Block:
        """The loop's operations, in a block that gets the number of the slot, too."""
        new = Block(arg_types=[*(arg.type for arg in old.args), i64])
        for old_arg, new_arg in zip(old.args, new.args, strict=False):
            old_arg.replace_all_uses_with(new_arg)
        for op in list(old.ops):
            old.detach_op(op)
            new.add_op(op)
        return new

    def _multiply(self, factors: Sequence[SSAValue], sink: InsertionPoint, count: SSAValue) -> None:
        """Loops that add the products of the first `count` slots."""
        tile, place = self.running.product.tile, self.running.loop
        acc_size, size = tile.acc.bytes, tile.operand.bytes
        loops = [
            (count, 1, (0, *self.slot_bytes)),
            (self.constants.get(tile.n, i64), self.steps[0], (acc_size, 0, size)),
            (self.constants.get(tile.m, i64), self.steps[1], (tile.ldc * acc_size, tile.lda * size, 0)),
        ]
        if tile.k > self.steps[2]:
            loops.append((self.constants.get(tile.k, i64), self.steps[2], (0, size, tile.ldb * size)))
        addresses = [self.running.places[0].results[0], *factors]
        ends: list[tuple[InsertionPoint, SSAValue, int, Block]] = []
        for end, step, moves in loops:
            block = Block(arg_types=[i64])
            ends.append((sink, end, step, block))
            sink = InsertionPoint(place, self.constants, block)
            f = Formula(sink)
            addresses = [
                f(alu.AddI, address, f(alu.MulI, block.args[0], move)) if move else address
                for address, move in zip(addresses, moves, strict=True)
            ]
        sink.insert(matrix.Mma.create(operands=addresses, properties=self.properties))
        for outer, end, step, block in reversed(ends):
            block.add_op(scf.YieldOp())
            bounds = [self.constants.get(0, i64), end, self.constants.get(step, i64)]
            outer.insert(scf.ForOp.create(operands=bounds, regions=[Region(block)]))


def _redirect(old: SSAValue, new: SSAValue, first: Operation) -> None:
    """What uses `old`, or is computed from it, uses `new` from `first` on."""
    for use in list(old.uses):
        op = use.operation
        if is_inside(op, first):
            op.operands[use.index] = new
            continue
        copy = op.clone({old: new})
        block = first.parent
        assert block is not None
        block.insert_op_before(copy, first)
        _redirect(op.results[0], copy.results[0], first)
        if op.parent is not None and not op.results[0].uses.get_length():
            op.parent.erase_op(op)


def is_inside(op: Operation, first: Operation) -> bool:
    """Whether `op` is in the block of `first`, or in what is inside of it."""
    current: Operation | None = op
    while current is not None and current.parent is not first.parent:
        current = current.parent_op()
    return current is not None
