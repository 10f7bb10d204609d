"""Constants and cross-lane instructions."""

from __future__ import annotations

import sys
from collections.abc import Callable

from ..dialects.isa import lanes as isa
from .division import prepare_divisor
from .emission import Emitter, emits, spelled_constant
from .registers import RegisterType, mangle, spell


@emits(isa.Const)
def const(e: Emitter, op: isa.Const) -> None:
    e.bind(op.result, spelled_constant(op.value, e.type(op.result)))
    prepare_divisor(e, op.result)


@emits(isa.LaneConst)
def lane_const(e: Emitter, op: isa.LaneConst) -> None:
    ty = e.type(op.result)
    lanes = op.values.get_values()
    if ty.lanes == 1:
        e.bind(op.result, str(lanes[0]))
    else:
        e.bind(op.result, "<" + ", ".join([f"{ty.element} {lane}" for lane in lanes]) + ">")


@emits(isa.Lookup)
def lookup(e: Emitter, op: isa.Lookup) -> None:
    index, result = e.type(op.index), e.type(op.result)
    values = op.values.get_values()
    if e.host.has("avx512f") and e.vector_bits == 512:
        bits = by_parts(e, index, 16, _permutation(e, values), e.ref(op.index))
        e.bind(op.result, bits if result == index else e.let(f"bitcast {index.text} {bits} to {result.text}"))
        return
    table = e.module.constant(_words(values))

    def loaded(scalars: list[str]) -> str:
        element = e.let(f"and i32 {scalars[0]}, {len(values) - 1}")
        address = e.let(f"getelementptr i32, ptr {table}, i32 {element}")
        return e.let(f"load {result.element}, ptr {address}, align 1")

    e.bind(op.result, e.by_lane(result, [(index, e.ref(op.index))], loaded))


def _permutation(e: Emitter, values: tuple[int, ...]) -> Callable[[str], str]:
    """Elements of a table, as i32, by the low bits of 16 indices. Floats' shuffles, since floats come of it.

    The table is loaded where the function begins, and again only where registers run out: constants in place would
    take LLVM a millisecond more to read.
    """
    vector, integers = "<16 x float>", "<16 x i32>"
    repeated = values * (32 // len(values))
    first, second = (
        e.once(f"load {vector}, ptr {e.module.constant(_words(half))}, align 1, !invariant.load !{{}}")
        for half in (repeated[:16], repeated[16:])
    )

    def permuted(index: str) -> str:
        if len(values) <= 16:
            picked = e.call(vector, "llvm.x86.avx512.permvar.sf.512", (vector, first), (integers, index))
        else:
            name = "llvm.x86.avx512.vpermi2var.ps.512"
            picked = e.call(vector, name, (vector, first), (integers, index), (vector, second))
        return e.let(f"bitcast {vector} {picked} to {integers}")

    return permuted


def _words(values: tuple[int, ...]) -> bytes:
    return b"".join([value.to_bytes(4, sys.byteorder) for value in values])


@emits(isa.Splat)
def splat(e: Emitter, op: isa.Splat) -> None:
    ty = e.type(op.result)
    e.bind(op.result, e.broadcast(e.ref(op.source), ty.element, ty.lanes))
    prepare_divisor(e, op.result)


@emits(isa.Extract)
def extract(e: Emitter, op: isa.Extract) -> None:
    if e.type(op.source).lanes == 1:
        e.bind(op.result, e.ref(op.source))
    else:
        e.result(op, f"extractelement {e.typed(op.source)}, i64 {op.lane.value.data}")


@emits(isa.Shuffle)
def shuffle(e: Emitter, op: isa.Shuffle) -> None:
    source, result = e.type(op.lhs), e.type(op.result)
    lanes = op.lanes.get_values()
    lhs, rhs = e.ref(op.lhs), e.ref(op.rhs)
    if source.lanes == 1:
        e.bind(op.result, _gather_scalars(e, [lhs, rhs], lanes, result.element))
    elif result.lanes == 1:
        lane = max(lanes[0], 0)
        vector = lhs if lane < source.lanes else rhs
        e.result(op, f"extractelement {source.text} {vector}, i64 {lane % source.lanes}")
    else:
        mask = ", ".join(["i32 poison" if lane < 0 else f"i32 {lane}" for lane in lanes])
        e.result(op, f"shufflevector {source.text} {lhs}, {source.text} {rhs}, <{len(lanes)} x i32> <{mask}>")


@emits(isa.AnyTrue)
def any_true(e: Emitter, op: isa.AnyTrue) -> None:
    ty = e.type(op.source)
    source = e.ref(op.source)
    if ty.lanes == 1:
        e.bind(op.result, source)
        return
    bits = e.let(f"bitcast {ty.text} {source} to i{ty.lanes}")
    e.result(op, f"icmp ne i{ty.lanes} {bits}, 0")


def _gather_scalars(e: Emitter, scalars: list[str], lanes: tuple[int, ...], element: str) -> str:
    """The vector whose lanes are picked from `scalars`."""
    if len(lanes) == 1:
        return scalars[max(lanes[0], 0)]
    vector = f"<{len(lanes)} x {element}>"
    value = "poison"
    for i, lane in enumerate(lanes):
        if lane >= 0:
            value = e.let(f"insertelement {vector} {value}, {element} {scalars[lane]}, i64 {i}")
    return value


# --- pieces of vectors ----------------------------------------------------------------------------------------------


def part_of(e: Emitter, value: str, element: str, lanes: int, first: int, count: int) -> str:
    """`count` lanes, from `first` on, of a vector of `lanes` lanes; a scalar where `count` is 1."""
    if lanes == count:
        return value
    if count == 1:
        return e.let(f"extractelement {spell(element, lanes)} {value}, i64 {first}")
    name = f"llvm.vector.extract.{mangle(element, count)}.{mangle(element, lanes)}"
    return e.call(spell(element, count), name, (spell(element, lanes), value), ("i64", str(first)))


def with_part(e: Emitter, value: str, element: str, lanes: int, first: int, part: str, count: int) -> str:
    """A vector of `lanes` lanes with `part`, which has `count`, in the place of those from `first` on."""
    if lanes == count:
        return part
    whole = spell(element, lanes)
    if count == 1:
        return e.let(f"insertelement {whole} {value}, {element} {part}, i64 {first}")
    name = f"llvm.vector.insert.{mangle(element, lanes)}.{mangle(element, count)}"
    return e.call(whole, name, (whole, value), (spell(element, count), part), ("i64", str(first)))


def by_parts(e: Emitter, ty: RegisterType, lanes: int, compute: Callable[..., str], *values: str) -> str:
    """Applies `compute`, which works on exactly `lanes` lanes, to registers of type `ty`, in pieces or padded."""
    if ty.lanes < lanes:
        padded = [with_part(e, "poison", ty.element, lanes, 0, value, ty.lanes) for value in values]
        return part_of(e, compute(*padded), ty.element, lanes, 0, ty.lanes)
    result = "poison"
    for first in range(0, ty.lanes, lanes):
        pieces = [part_of(e, value, ty.element, ty.lanes, first, lanes) for value in values]
        result = with_part(e, result, ty.element, ty.lanes, first, compute(*pieces), lanes)
    return result
