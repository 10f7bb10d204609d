"""Handlers of ``tl.device_assert`` and ``tl.device_print``."""

from __future__ import annotations

from math import ceil, log10

from xdsl.dialects.builtin import IntegerAttr, StringAttr, i32, i64
from xdsl.ir import Attribute, SSAValue

from ..dialects import tt
from ..dialects.isa import control
from ..dialects.tt_types import PointerType
from .elementwise import byte_width, is_float, register_element, shape_of, widen
from .evaluate import Evaluator, Index
from .kernel import Handler, KernelLowering
from .roots import Assertion
from .tiles import Buffer


def assertion(k: KernelLowering, op: tt.AssertOp) -> None:
    condition = op.condition
    shape = shape_of(condition.type)
    code = k.add_trap("assert", op.message.data, op)
    if shape is not None:
        k.scheduler.add(Assertion(shape, op, k.tile(condition), code))
        k.scheduler.flush()
        return
    root = Assertion((), op, k.operand_tile(condition, ()), code)
    k.scheduler.flush()
    root.evaluate(Evaluator(k.b, 1, k.b.depth), ())()
    k.consume(op)


# --- printing -------------------------------------------------------------------------------------------------


def device_print(k: KernelLowering, op: tt.PrintOp) -> None:
    """One line an element, in Triton's own format: ``pid (x, y, z) idx (i, j)<prefix><value>``.

    What has no index is printed once per thread of the program, as on a GPU.
    Source: ``lib/Conversion/TritonGPUToLLVM/PrintOpToLLVM.cpp`` of Triton.
    """
    k.scheduler.settle_loads()
    b = k.b
    text = op.prefix.data.replace("%", "%%")
    pids = [
        b.emit(control.ProgramId, [], i32, {"axis": IntegerAttr(axis, i64)}, key=(axis,)) for axis in range(3)
    ]
    if not op.args:
        each_thread(k, "pid (%u, %u, %u)" + text + "\n", pids)
    for number, (operand, signed) in enumerate(zip(op.args, op.signed, strict=True)):
        label = f"{text}(operand {number}) " if len(op.args) > 1 else text
        print_operand(k, operand, label, pids, hexadecimal=op.is_hex, signed=signed)
    k.consume(op)


def print_operand(
    k: KernelLowering, operand: SSAValue, label: str, pids: list[SSAValue], *, hexadecimal: bool, signed: bool
) -> None:
    b = k.b
    shape = shape_of(operand.type)
    if shape is None:
        code, value = formatted(k, operand.type, k.scalar(operand), hexadecimal=hexadecimal, signed=signed)
        each_thread(k, f"pid (%u, %u, %u) idx (){label}{code}\n", [*pids, value])
        return
    buffer: Buffer = k.dense(operand)
    e = Evaluator(b, 1, b.depth)
    point: list[Index] = []
    for _ in shape:
        index, _ = b.open_loop()
        point.append(Index(index))
    code, value = formatted(
        k, operand.type, e.value(buffer, tuple(point)), hexadecimal=hexadecimal, signed=signed
    )
    widths = ", ".join(f"%{ceil(log10(extent))}u" for extent in shape)
    indices = [b.resize(index.scalar, i32) for index in point]
    show(k, f"pid (%u, %u, %u) idx ({widths}){label}{code}\n", [*pids, *indices, value])
    for extent in reversed(shape):
        b.close_loop(b.const(0, i64), b.const(extent, i64), b.const(1, i64), [], [])


def each_thread(k: KernelLowering, text: str, args: list[SSAValue]) -> None:
    b = k.b
    b.open_loop()
    show(k, text, args)
    b.close_loop(b.const(0, i64), b.const(k.threads, i64), b.const(1, i64), [], [])


def show(k: KernelLowering, text: str, args: list[SSAValue]) -> None:
    k.b.effect(control.Print, args, {"format": StringAttr(text)})


def formatted(
    k: KernelLowering, ty: Attribute, value: SSAValue, *, hexadecimal: bool, signed: bool
) -> tuple[str, SSAValue]:
    """The printf conversion for `value`, and `value` as C's varargs take it."""
    b = k.b
    element = register_element(ty)
    pointee = ty.element_type if hasattr(ty, "element_type") else ty  # pyright: ignore
    if isinstance(pointee, PointerType):
        return "%p", value
    if is_float(element):  # C's hexadecimal form has every bit of the number, and says where the point is
        return "%a" if hexadecimal else "%f", widen(b, value)
    bits = byte_width(element) * 8
    wide = i64 if bits == 64 else i32
    value = b.resize(value, wide, signed=signed and not hexadecimal)
    long = "ll" if bits == 64 else ""
    if hexadecimal:
        return f"0x%0{bits // 4}{long}x", value
    return f"%{long}{'i' if signed else 'u'}", value


HANDLERS: dict[str, Handler] = {"tt.assert": assertion, "tt.print": device_print}
