"""Loads and stores. Lanes that are masked off never touch memory."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from ..dialects.isa import memory as isa
from ..errors import CompileError
from ..frontend.locations import location_of
from .control import program_of
from .emission import Emitter, emits
from .registers import RegisterType, mangle


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
            f"{op.name} of {value.type}: memory holds whole bytes (a bug of this backend)", location=location_of(op)
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
        e.call(
            "void",
            f"llvm.masked.store.{ty.mangled}.p0",
            (ty.text, e.ref(op.value)),
            ("ptr", address),
            ("i32", str(ty.bytes)),
            (ty.of("i1"), e.ref(op.mask)),
        )


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
    addresses = e.let(f"inttoptr {e.typed(op.addresses)} to {ty.of('ptr')}")
    value = e.call(
        ty.text,
        f"llvm.masked.gather.{ty.mangled}.{mangle('p0', ty.lanes)}",
        (ty.of("ptr"), addresses),
        ("i32", str(ty.bytes)),
        (ty.of("i1"), e.ref(op.mask)),
        (ty.text, e.ref(op.other)),
    )
    e.bind(op.result, value)


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
