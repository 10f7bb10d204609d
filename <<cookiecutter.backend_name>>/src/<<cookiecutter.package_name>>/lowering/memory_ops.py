"""Handlers of loads, stores, atomics and what orders them."""

from __future__ import annotations

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Operation, SSAValue

from ..dialects import tt
from ..dialects.isa import control, memory
from ..dialects.tt_enums import MemSemantic, RMWOp
from .elementwise import register_element, shape_of
from .evaluate import Evaluator, from_memory, memory_element, to_memory
from .kernel import Handler, KernelLowering
from .roots import AtomicUpdate, Store, atomic
from .tiles import Loaded, Uniform

RMW_KINDS: dict[RMWOp, str] = {
    RMWOp.AND: "and",
    RMWOp.OR: "or",
    RMWOp.XOR: "xor",
    RMWOp.ADD: "add",
    RMWOp.FADD: "fadd",
    RMWOp.MAX: "max",
    RMWOp.MIN: "min",
    RMWOp.UMAX: "umax",
    RMWOp.UMIN: "umin",
    RMWOp.XCHG: "xchg",
}
ORDERINGS: dict[MemSemantic, str] = {
    MemSemantic.RELAXED: "monotonic",
    MemSemantic.ACQUIRE: "acquire",
    MemSemantic.RELEASE: "release",
    MemSemantic.ACQUIRE_RELEASE: "acq_rel",
}


def load(k: KernelLowering, op: tt.LoadOp) -> None:
    pointer, mask, other, result = op.ptr, op.mask, op.other, op.result
    shape, element = shape_of(result.type), register_element(result.type)
    if shape is not None:
        tile = Loaded(
            shape,
            element,
            k.tile(pointer),
            k.optional_tile(mask, shape),
            k.optional_tile(other, shape),
            op,
            value=result,
        )
        k.scheduler.note_load(tile)
        k.set_tile(result, tile)
        return
    k.scheduler.flush()
    stored = memory_element(element)
    address = k.scalar(pointer)
    if mask is None:
        raw = k.b.load(memory.Load, [address], stored, not_above=k.b.depth)
    else:
        filler = k.b.const(0, stored) if other is None else to_memory(k.b, k.scalar(other))
        raw = k.b.load(memory.LoadMasked, [address, k.scalar(mask), filler], stored, not_above=k.b.depth)
    k.set_scalar(result, from_memory(k.b, raw, element))
    k.consume(op)


def store(k: KernelLowering, op: tt.StoreOp) -> None:
    pointer, value, mask = op.ptr, op.value, op.mask
    shape = shape_of(value.type)
    if shape is not None:
        root = Store(shape, op, k.tile(pointer), k.tile(value), k.optional_tile(mask, shape))
        k.scheduler.add(root)
        return
    k.scheduler.settle_loads()
    stored = to_memory(k.b, k.scalar(value))
    if mask is None:
        k.b.effect(memory.Store, [stored, k.scalar(pointer)])
    else:
        k.b.effect(memory.StoreMasked, [stored, k.scalar(pointer), k.scalar(mask)])
    k.consume(op)


def atomic_rmw(k: KernelLowering, op: tt.AtomicRMWOp) -> None:
    update(k, op, RMW_KINDS[op.kind], value=op.val, mask=op.mask)


def atomic_cas(k: KernelLowering, op: tt.AtomicCASOp) -> None:
    update(k, op, "cas", value=op.val, expected=op.cmp)


def atomic_load(k: KernelLowering, op: tt.AtomicLoadOp) -> None:
    update(k, op, "load", mask=op.mask, deadline=k.b.const(0, i64))


def atomic_store(k: KernelLowering, op: tt.AtomicStoreOp) -> None:
    update(k, op, "xchg", value=op.val, mask=op.mask)


def atomic_poll(k: KernelLowering, op: tt.AtomicPollOp) -> None:
    """Waits for one element after the other; the timeout is for all of them together.

    What is waited for has to come from another thread: programs of one thread run one after the other.
    """
    k.scheduler.flush()
    deadline = k.b.const(-1, i64)
    if op.timeout_ns is not None:
        clock = memory.Deadline.create(operands=[k.scalar(op.timeout_ns)], result_types=[i64])
        deadline = k.b.insert(clock).results[0]
    update(k, op, "poll", value=op.expected, deadline=deadline)


def update(
    k: KernelLowering,
    op: tt.AtomicOp,
    kind: str,
    *,
    value: SSAValue | None = None,
    mask: SSAValue | None = None,
    expected: SSAValue | None = None,
    deadline: SSAValue | None = None,
) -> None:
    """An atomic operation (see `roots.atomic`); it is ordered against every other access of the program."""
    pointer, ordering = op.ptr, ORDERINGS[op.semantic]
    result = op.results[0] if op.results else None
    element = register_element((op.results[0] if value is None else value).type)
    shape = shape_of(pointer.type)
    k.scheduler.settle_loads()
    if shape is None:
        e = Evaluator(k.b, 1, k.b.depth)
        old = atomic(
            e,
            kind,
            ordering,
            k.scalar(pointer),
            k.b.const(0, element) if value is None else k.scalar(value),
            k.scalar(mask) if mask is not None else k.b.const(1, i1),
            None if expected is None else k.scalar(expected),
            deadline,
        )
        if result is not None:
            k.set_scalar(result, old)
        k.consume(op)
        return
    wanted = k.allocate(result) if result is not None and result.uses.get_length() else None
    k.scheduler.add(
        AtomicUpdate(
            shape,
            op,
            kind,
            ordering,
            k.tile(pointer),
            Uniform(shape, element, k.b.const(0, element)) if value is None else k.tile(value),
            k.optional_tile(mask, shape),
            k.optional_tile(expected, shape),
            wanted,
            deadline,
        )
    )
    k.scheduler.flush()
    if result is not None and wanted is not None:
        k.set_buffer(result, wanted)


def barrier(k: KernelLowering, op: Operation) -> None:
    """All accesses before it happen before all after it."""
    k.scheduler.settle_loads()
    k.b.effect(control.Fence, [])


HANDLERS: dict[str, Handler] = {
    "tt.load": load,
    "tt.store": store,
    "tt.atomic_rmw": atomic_rmw,
    "tt.atomic_cas": atomic_cas,
    "tt.atomic_load": atomic_load,
    "tt.atomic_store": atomic_store,
    "tt.atomic_poll": atomic_poll,
    "ttg.barrier": barrier,
    "gpu.barrier": barrier,
    "ttg.local_barrier": barrier,
}
