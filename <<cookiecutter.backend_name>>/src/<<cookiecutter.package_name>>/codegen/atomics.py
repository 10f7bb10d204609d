"""Atomic read-modify-write and compare-and-swap, lane by lane in ascending order."""

from __future__ import annotations

from typing import Final

from ..dialects.isa import memory as isa
from ..dialects.locations import location_of
from ..errors import UnsupportedOperation
from .convert import NARROW, narrow, widen
from .emission import Emitter, emits
from .memory import stored_type
from .registers import RegisterType

FAILURE_ORDERINGS: Final = {
    "monotonic": "monotonic",
    "acquire": "acquire",
    "release": "monotonic",
    "acq_rel": "acquire",
    "seq_cst": "seq_cst",
}
"""Ordering -> what a compare-and-swap that does not store may have at most. Its keys are the orderings there are."""


@emits(isa.AtomicRmw)
def atomic_rmw(e: Emitter, op: isa.AtomicRmw) -> None:
    ty = stored_type(e, op, op.result)
    kind, ordering = op.kind.data, op.ordering.data
    _check(op, kind in isa.ATOMICS, f"no atomic operation called {kind!r}")
    _check(op, ordering in FAILURE_ORDERINGS, f"no memory ordering called {ordering!r}")
    _check(op, (kind == "fadd") <= (ty.is_float or ty.format in NARROW), f"no fadd of {ty.format}")
    e.drain()

    def one(scalars: list[str]) -> str:
        address, value, mask = scalars
        with e.when(mask) as before:
            pointer = e.let(f"inttoptr i64 {address} to ptr")
            old = (
                _add_narrow(e, ty, pointer, value, ordering)
                if kind == "fadd" and not ty.is_float
                else (e.let(f"atomicrmw {kind} ptr {pointer}, {ty.element} {value} {ordering}"))
            )
            then = e.block
        phi = e.phi(ty.element)
        phi.add(old, then)
        phi.add("0.0" if ty.is_float else "0", before)
        return phi.name

    operands = [(e.type(operand), e.ref(operand)) for operand in (op.addresses, op.value, op.mask)]
    e.bind(op.result, e.by_lane(ty, operands, one))


@emits(isa.AtomicCas)
def atomic_cas(e: Emitter, op: isa.AtomicCas) -> None:
    ty = stored_type(e, op, op.result)
    ordering = op.ordering.data
    _check(op, ordering in FAILURE_ORDERINGS, f"no memory ordering called {ordering!r}")
    e.drain()

    def one(scalars: list[str]) -> str:
        address, *values = scalars
        pointer = e.let(f"inttoptr i64 {address} to ptr")
        bits = f"i{ty.bits}"
        if ty.is_float:
            values = [e.let(f"bitcast {ty.element} {value} to {bits}") for value in values]
        old, _ = _compare_and_swap(e, pointer, bits, values[0], values[1], ordering)
        return e.let(f"bitcast {bits} {old} to {ty.element}") if ty.is_float else old

    operands = [(e.type(operand), e.ref(operand)) for operand in (op.addresses, op.expected, op.desired)]
    e.bind(op.result, e.by_lane(ty, operands, one))


@emits(isa.Deadline)
def deadline(e: Emitter, op: isa.Deadline) -> None:
    total = e.call("i64", "llvm.uadd.sat.i64", ("i64", _nanoseconds(e)), ("i64", e.ref(op.budget)))
    e.bind(op.result, total)


@emits(isa.AtomicPoll)
def atomic_poll(e: Emitter, op: isa.AtomicPoll) -> None:
    ty = stored_type(e, op, op.result)
    ordering, until = op.ordering.data, e.ref(op.deadline)
    _check(op, ordering in isa.LOAD_ORDERINGS, f"no memory ordering of loads called {ordering!r}")
    bits = f"i{ty.bits}"

    def as_bits(value: str) -> str:
        return e.let(f"bitcast {ty.element} {value} to {bits}") if ty.is_float else value

    def one(scalars: list[str]) -> str:
        address, expected, mask = scalars
        with e.when(mask) as before:
            pointer, wanted = e.let(f"inttoptr i64 {address} to ptr"), as_bits(expected)
            again, late, done = e.label("poll"), e.label("late"), e.label("polled")
            e.jump(again)
            e.begin(again)
            found = e.let(f"load atomic {ty.element}, ptr {pointer} {ordering}, align {ty.bytes}")
            e.branch(e.let(f"icmp eq {bits} {as_bits(found)}, {wanted}"), done, late)
            e.begin(late)
            e.branch(e.let(f"icmp uge i64 {_nanoseconds(e)}, {until}"), done, again)
            e.begin(done)
        last = e.phi(ty.element)
        last.add(found, done)
        last.add("0.0" if ty.is_float else "0", before)
        return last.name

    operands = [(e.type(operand), e.ref(operand)) for operand in (op.addresses, op.expected, op.mask)]
    e.bind(op.result, e.by_lane(ty, operands, one))


CLOCK_MONOTONIC: Final = 1


def _nanoseconds(e: Emitter) -> str:
    """The time of POSIX's monotonic clock, from a struct of seconds and nanoseconds."""
    time = e.stack("[2 x i64]", "time")
    e.call("i32", "clock_gettime", ("i32", str(CLOCK_MONOTONIC)), ("ptr", time))
    seconds = e.let(f"load i64, ptr {time}")
    rest = e.let(f"load i64, ptr {e.let(f'getelementptr i64, ptr {time}, i64 1')}")
    return e.let(f"add i64 {e.let(f'mul i64 {seconds}, 1000000000')}, {rest}")


def _compare_and_swap(
    e: Emitter, pointer: str, bits: str, expected: str, desired: str, ordering: str
) -> tuple[str, str]:
    """The old value, and whether it was `expected`."""
    pair = e.let(
        f"cmpxchg ptr {pointer}, {bits} {expected}, {bits} {desired} {ordering} {FAILURE_ORDERINGS[ordering]}"
    )
    fields = f"{{ {bits}, i1 }} {pair}"
    return e.let(f"extractvalue {fields}, 0"), e.let(f"extractvalue {fields}, 1")


def _add_narrow(e: Emitter, ty: RegisterType, pointer: str, value: str, ordering: str) -> str:
    """fadd of a format in which no CPU adds: computed in f32, exchanged as an integer until nobody came between."""
    form = NARROW[ty.format]
    addend = widen(e, value, 1, form)
    seen = e.let(f"load atomic {ty.element}, ptr {pointer} monotonic, align {ty.bytes}")
    before, again, done = e.block, e.label("again"), e.label("added")
    e.jump(again)
    e.begin(again)
    old = e.phi(ty.element)
    old.add(seen, before)
    total = e.let(f"fadd float {widen(e, old.name, 1, form)}, {addend}")
    current, swapped = _compare_and_swap(
        e, pointer, ty.element, old.name, narrow(e, total, 1, form, "rtne"), ordering
    )
    old.add(current, e.block)
    e.branch(swapped, done, again)
    e.begin(done)
    return old.name


def _check(op: isa.AtomicRmw | isa.AtomicCas | isa.AtomicPoll, condition: bool, message: str) -> None:
    if not condition:
        raise UnsupportedOperation(message, location=location_of(op), add_support_in="codegen/atomics.py")
