"""Loops that compute much ask for what they will load and store a little later.

The processor's own prefetchers stop at the ends of pages, and a loop whose body fills the instruction window has few
loads of its own under way to bridge the gap. Where memory is all there is to wait for, asking costs more than it gains:
such loops are left alone. GELU of 4 million elements takes 0.9 times as long, in f32 and in bf16.
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64

from ..dialects.isa import alu, control, memory
from ..dialects.isa.addresses import known, sum_of
from ..dialects.walk import operations_in
from .expansion import Constants, InsertionPoint
from .registry import register_pass
from .spread_prefetches import computes_vector, is_scratch
from .streaming_stores import size_of

ACCESSES: Final = (memory.Load, memory.Store)

AHEAD: Final = 1024
"""Bytes between an access and what is asked for: memory's latency, at the rate at which one core streams."""

WORTH_AN_ACCESS: Final = 16
"""Arithmetic instructions on vectors for each load or store of device memory, from which on asking pays."""


@register_pass(stage="isa", name="stream-prefetches", after="spread-prefetches")
def stream_prefetches(module: ModuleOp, options: object = None) -> None:
    """Adds prefetches to innermost loops that go through device memory from end to end."""
    for kernel in module.ops:
        if isinstance(kernel, control.Kernel):
            constants = Constants(kernel.body.blocks[0])
            for loop in operations_in(kernel):
                if isinstance(loop, scf.ForOp):
                    add_prefetches(loop, constants)


def add_prefetches(loop: scf.ForOp, constants: Constants) -> None:
    block, step = loop.body.block, known(loop.step)
    if step is None or any(op.regions or isinstance(op, memory.Prefetch) for op in block.ops):
        return
    accesses = [op for op in block.ops if isinstance(op, ACCESSES) and not is_scratch(op.address)]
    if not accesses or sum(map(computes_vector, block.ops)) < WORTH_AN_ACCESS * len(accesses):
        return
    for op in accesses:
        size = size_of(op.result if isinstance(op, memory.Load) else op.value)
        if sum_of(op.address).terms.get(block.args[0], 0) * step == size:
            before = InsertionPoint(op, constants)
            later = before.emit(alu.AddI, [op.address, before.const(AHEAD, i64)], i64)
            intent = "read" if isinstance(op, memory.Load) else "write"
            properties = {"intent": StringAttr(intent), "size": IntegerAttr(size, i64)}
            before.insert(memory.Prefetch.create(operands=[later], properties=properties))
