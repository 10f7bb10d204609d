"""Constants and cross-lane instructions."""

from __future__ import annotations

from collections.abc import Callable

from ..dialects.isa import lanes as isa
from .emission import Emitter, emits, spelled_constant
from .registers import RegisterType, mangle, spell


@emits(isa.Const)
def const(e: Emitter, op: isa.Const) -> None:
    e.bind(op.result, spelled_constant(op.value, e.type(op.result)))


@emits(isa.LaneConst)
def lane_const(e: Emitter, op: isa.LaneConst) -> None:
    ty = e.type(op.result)
    lanes = op.values.get_values()
    if ty.lanes == 1:
        e.bind(op.result, str(lanes[0]))
    else:
        e.bind(op.result, "<" + ", ".join([f"{ty.element} {lane}" for lane in lanes]) + ">")


@emits(isa.Splat)
def splat(e: Emitter, op: isa.Splat) -> None:
    ty = e.type(op.result)
    e.bind(op.result, broadcast(e, e.ref(op.source), ty.element, ty.lanes))


def broadcast(e: Emitter, scalar: str, element: str, lanes: int) -> str:
    """`scalar` in every lane of a vector of `lanes` elements."""
    if lanes == 1:
        return scalar
    if not scalar.startswith("%"):
        return f"splat ({element} {scalar})"
    vector = f"<{lanes} x {element}>"
    first = e.let(f"insertelement {vector} poison, {element} {scalar}, i64 0")
    return e.let(f"shufflevector {vector} {first}, {vector} poison, <{lanes} x i32> zeroinitializer")


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
