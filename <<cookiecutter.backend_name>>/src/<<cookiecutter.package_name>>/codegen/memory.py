"""Loads and stores. Lanes that are masked off never touch memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from xdsl.ir import Operation, SSAValue

from ..dialects.isa import memory as isa
from ..dialects.locations import location_of
from ..errors import CompileError
from .control import program_of
from .emission import Emitter, emits
from .registers import RegisterType, fill, mangle, spell

WORD_BITS: Final = 32
"""The smallest element that CPUs gather."""

CACHE_LINE: Final = 64

PAST_CACHES: Final = "!nontemporal !{i32 1}"

PREFETCH_INTENT: Final = {"read": "0", "write": "1"}
PREFETCH_INTO: Final = "3"
"""``llvm.prefetch``'s locality: all caches. (Rows for the second-level cache only were half as much help.)"""

BYTES: Final = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "float": 4, "double": 8}
"""LLVM type -> its size in memory."""


@emits(isa.ScratchAddress)
def scratch_address(e: Emitter, op: isa.ScratchAddress) -> None:
    base = program_of(e, op).scratch
    offset = op.offset.value.data
    e.bind(op.result, e.let(f"add i64 {base}, {offset}") if offset else base)


def stored_type(e: Emitter, op: Operation, value: SSAValue) -> RegisterType:
    """The type of a register that goes to or comes from memory."""
    ty = e.type(value)
    if ty.bits % 8:
        raise CompileError(
            f"{op.name} of {value.type}: memory holds whole bytes (a bug of this backend)",
            location=location_of(op),
        )
    return ty


def pointer(e: Emitter, address: SSAValue) -> str:
    """An i64 address as an LLVM pointer."""
    return e.let(f"inttoptr i64 {e.ref(address)} to ptr")


@emits(isa.Load)
def load(e: Emitter, op: isa.Load) -> None:
    ty = stored_type(e, op, op.result)
    e.result(op, f"load {ty.text}, ptr {pointer(e, op.address)}, align {ty.bytes}")


@emits(isa.Store)
def store(e: Emitter, op: isa.Store) -> None:
    ty = stored_type(e, op, op.value)
    e.do(f"store {e.typed(op.value)}, ptr {pointer(e, op.address)}, align {ty.bytes}")


@emits(isa.StoreStreaming)
def store_streaming(e: Emitter, op: isa.StoreStreaming) -> None:
    """Past the caches in whole lines only: memory would have to read the rest of a line that is written in part.

    Rows of a matrix often begin in the middle of a line. The first and the last half line then go through the caches.
    """
    ty = stored_type(e, op, op.value)
    address, value = pointer(e, op.address), e.typed(op.value)
    size = ty.lanes * ty.bytes
    if size % CACHE_LINE:
        e.do(f"store {value}, ptr {address}, align {ty.bytes}")
        return
    offset = e.let(f"and i64 {e.ref(op.address)}, {CACHE_LINE - 1}")
    past, through, after = e.label("past"), e.label("through"), e.label("stored")
    lines, halves, parts = e.label("lines"), e.label("halves"), e.label("parts")
    e.branch(e.ref(op.bypass), past, through)
    e.begin(past)
    e.branch(e.let(f"icmp eq i64 {offset}, 0"), lines, halves)
    e.begin(lines)
    e.do(f"store {value}, ptr {address}, align {CACHE_LINE}, {PAST_CACHES}")
    e.jump(after)
    e.begin(halves)
    half = CACHE_LINE // 2
    e.branch(e.let(f"icmp eq i64 {offset}, {half}"), parts, through)
    e.begin(parts)
    lanes = half // ty.bytes
    for first in range(0, ty.lanes, lanes):
        picked = ", ".join(f"i32 {lane}" for lane in range(first, first + lanes))
        part = e.let(f"shufflevector {value}, {ty.text} poison, <{lanes} x i32> <{picked}>")
        place = e.let(f"getelementptr i8, ptr {address}, i64 {first * ty.bytes}")
        hint = f", {PAST_CACHES}" if 0 < first < ty.lanes - lanes else ""
        e.do(f"store {spell(ty.element, lanes)} {part}, ptr {place}, align {half}{hint}")
    e.jump(after)
    e.begin(through)
    e.do(f"store {value}, ptr {address}, align {ty.bytes}")
    e.jump(after)
    e.begin(after)


@emits(isa.LoadMasked)
def load_masked(e: Emitter, op: isa.LoadMasked) -> None:
    ty = stored_type(e, op, op.result)
    address = pointer(e, op.address)
    if e.constant(op.mask) == 1:
        e.result(op, f"load {ty.text}, ptr {address}, align {ty.bytes}")
    elif ty.lanes == 1:
        e.bind(op.result, load_if(e, e.ref(op.mask), address, ty.element, ty.bytes, e.ref(op.other)))
    else:
        value = e.call(
            ty.text,
            f"llvm.masked.load.{ty.mangled}.p0",
            ("ptr", address),
            ("i32", str(ty.bytes)),
            (ty.of("i1"), e.ref(op.mask)),
            (ty.text, e.ref(op.other)),
        )
        e.bind(op.result, value)


@emits(isa.StoreMasked)
def store_masked(e: Emitter, op: isa.StoreMasked) -> None:
    ty = stored_type(e, op, op.value)
    address = pointer(e, op.address)
    if e.constant(op.mask) == 1:
        e.do(f"store {e.typed(op.value)}, ptr {address}, align {ty.bytes}")
    elif ty.lanes == 1:
        with e.when(e.ref(op.mask)):
            e.do(f"store {e.typed(op.value)}, ptr {address}, align {ty.bytes}")
    else:
        mask = e.ref(op.mask)
        if ty.element not in NEVER_CUT and e.host.has("avx512f"):
            mask = hidden(e, mask, ty.lanes)
        e.call(
            "void",
            f"llvm.masked.store.{ty.mangled}.p0",
            (ty.text, e.ref(op.value)),
            ("ptr", address),
            ("i32", str(ty.bytes)),
            (ty.of("i1"), mask),
        )


NEVER_CUT: Final = frozenset({"float", "double", "i64"})
"""Elements that no wider integer is cut to."""


def hidden(e: Emitter, mask: str, lanes: int) -> str:
    """`mask`, of which LLVM does not know a single lane.

    A masked store of integers that are cut (i32 to i8) is one instruction of AVX-512. Where LLVM knows that exactly one
    lane is stored, it makes a scalar store of it, and forgets to cut: the lanes after it are overwritten
    (``reduceMaskedStoreToScalarStore``, seen in LLVM 22). It finds out by itself what a mask is, in unrolled loops and
    after comparisons, too. No instruction is made of this one.
    """
    most = 64 if e.host.has("avx512bw") else 16
    if lanes > most:
        half = lanes // 2
        halves = [_picked(e, mask, lanes, range(start, start + half)) for start in (0, half)]
        low, high = (hidden(e, part, half) for part in halves)
        return _picked(e, low, half, range(lanes), high)
    held = max(lanes, 8)  # the smallest mask register that inline assembly knows
    wide = mask if lanes == held else _picked(e, mask, lanes, [min(i, lanes) for i in range(held)])
    wide = e.let(f'call <{held} x i1> asm "", "=^Yk,0"(<{held} x i1> {wide})')
    return wide if lanes == held else _picked(e, wide, held, range(lanes))


def _picked(e: Emitter, mask: str, lanes: int, order: Sequence[int], other: str = "zeroinitializer") -> str:
    """The lanes `order` of a mask and, after them, of an `other` one."""
    ty, picks = f"<{lanes} x i1>", ", ".join(f"i32 {lane}" for lane in order)
    return e.let(f"shufflevector {ty} {mask}, {ty} {other}, <{len(order)} x i32> <{picks}>")


@emits(isa.Prefetch)
def prefetch(e: Emitter, op: isa.Prefetch) -> None:
    is_data = "1"
    hints = [("i32", PREFETCH_INTENT[op.intent.data]), ("i32", PREFETCH_INTO), ("i32", is_data)]
    base = pointer(e, op.address)
    for offset in range(0, op.size.value.data, CACHE_LINE):
        line = e.let(f"getelementptr i8, ptr {base}, i64 {offset}")
        e.call("void", "llvm.prefetch.p0", ("ptr", line), *hints)


def load_if(e: Emitter, condition: str, address: str, element: str, align: int, other: str) -> str:
    """A scalar from `address` if `condition` is set, else `other`."""
    with e.when(condition) as before:
        loaded = e.let(f"load {element}, ptr {address}, align {align}")
        then = e.block
    phi = e.phi(element)
    phi.add(loaded, then)
    phi.add(other, before)
    return phi.name


@emits(isa.Gather)
def gather(e: Emitter, op: isa.Gather) -> None:
    ty = stored_type(e, op, op.result)
    if ty.lanes == 1:
        address = e.let(f"inttoptr {e.typed(op.addresses)} to ptr")
        e.bind(op.result, load_if(e, e.ref(op.mask), address, ty.element, ty.bytes, e.ref(op.other)))
        return
    read = gather_by_words if ty.bits < WORD_BITS and e.host.gathers else gather_elements
    e.bind(op.result, read(e, ty.element, ty.lanes, e.ref(op.addresses), e.ref(op.mask), e.ref(op.other)))


def gather_elements(e: Emitter, element: str, lanes: int, addresses: str, mask: str, other: str) -> str:
    """LLVM's gather from a vector of i64 addresses."""
    ty, pointers = spell(element, lanes), spell("ptr", lanes)
    return e.call(
        ty,
        f"llvm.masked.gather.{mangle(element, lanes)}.{mangle('p0', lanes)}",
        (pointers, e.let(f"inttoptr {spell('i64', lanes)} {addresses} to {pointers}")),
        ("i32", str(BYTES[element])),
        (spell("i1", lanes), mask),
        (ty, other),
    )


def gather_by_words(e: Emitter, element: str, lanes: int, addresses: str, mask: str, other: str) -> str:
    """Elements smaller than a word: gathers the aligned words they are in, which CPUs can, and shifts.

    An aligned word is never partly on another page than an element in it, so no access traps that would not have.
    """
    wide, word, predicate = (spell(t, lanes) for t in ("i64", "i32", "i1"))
    aligned = e.let(f"and {wide} {addresses}, {fill('i64', lanes, -(WORD_BITS // 8))}")
    words = gather_elements(e, "i32", lanes, aligned, mask, fill("i32", lanes, 0))
    offset = e.let(f"trunc {wide} {addresses} to {word}")
    offset = e.let(f"and {word} {offset}, {fill('i32', lanes, WORD_BITS // 8 - 1)}")
    offset = e.let(f"shl {word} {offset}, {fill('i32', lanes, 3)}")
    shifted = e.let(f"lshr {word} {words}, {offset}")
    ty = spell(element, lanes)
    value = e.let(f"trunc {word} {shifted} to {ty}")
    return e.let(f"select {predicate} {mask}, {ty} {value}, {ty} {other}")


@emits(isa.Scatter)
def scatter(e: Emitter, op: isa.Scatter) -> None:
    ty = stored_type(e, op, op.value)
    if ty.lanes == 1:
        with e.when(e.ref(op.mask)):
            address = e.let(f"inttoptr {e.typed(op.addresses)} to ptr")
            e.do(f"store {e.typed(op.value)}, ptr {address}, align {ty.bytes}")
        return
    addresses = e.let(f"inttoptr {e.typed(op.addresses)} to {ty.of('ptr')}")
    e.call(
        "void",
        f"llvm.masked.scatter.{ty.mangled}.{mangle('p0', ty.lanes)}",
        (ty.text, e.ref(op.value)),
        (ty.of("ptr"), addresses),
        ("i32", str(ty.bytes)),
        (ty.of("i1"), e.ref(op.mask)),
    )
