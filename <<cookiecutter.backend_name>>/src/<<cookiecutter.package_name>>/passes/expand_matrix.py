"""Expands the matrix unit's instruction, for a machine without one (``MATRIX_TILE``) or one that lacks the type.

A tile becomes a loop over k whose sums stay in vector registers: each step loads one row of B, and multiplies it by one
element of A for each row, spread over the lanes.
"""

from __future__ import annotations

from typing import Final

from xdsl.dialects import scf
from xdsl.dialects.builtin import IntegerType, ModuleOp, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..dialects.isa import alu, control, convert, lanes, matrix, memory
from ..dialects.isa.base import element_of, like, vector
from ..dialects.isa.checks import bits_of
from ..dialects.walk import operations_in
from ..formulas.formula import Formula
from ..target import VECTOR_LANES
from .expansion import Constants, InsertionPoint
from .registry import register_pass

WIDENING: Final[dict[tuple[str, str], type[Operation]]] = {
    ("f16", "f32"): convert.ExtF,
    ("bf16", "f32"): convert.ExtF,
    ("i8", "i32"): convert.ExtS,
}
"""Types of operand and accumulator -> what makes one of the other."""


@register_pass(stage="isa", name="expand-matrix", before="expand-special")
def expand_matrix(module: ModuleOp, options: object = None) -> None:
    """Replaces the `Mma` that the machine has no unit for."""
    if all(matrix.has_unit_for(acc) for _, acc in matrix.TYPES):
        return
    for kernel in module.ops:
        if not isinstance(kernel, control.Kernel):
            continue
        missing = [
            op
            for op in operations_in(kernel)
            if isinstance(op, matrix.Mma) and not matrix.has_unit_for(str(op.acc_type))
        ]
        constants = Constants(kernel.body.blocks[0])
        for op in missing:
            expand(op, constants)


def expand(op: matrix.Mma, constants: Constants) -> None:
    """Replaces one `Mma`."""
    block = op.parent
    assert block is not None
    rows, columns = op.m.value.data, op.n.value.data
    most_rows, _ = matrix.VECTOR_TILE
    most_columns = 2 * lanes_of_register(op.acc_type)
    for column in range(0, columns, most_columns):
        for row in range(0, rows, most_rows):
            here = range(row, min(row + most_rows, rows)), range(column, min(column + most_columns, columns))
            _Block(op, *here, constants).emit()
    block.erase_op(op)


class _Block:
    """The product of some rows of A and some columns of B, added to the accumulator."""

    def __init__(self, op: matrix.Mma, rows: range, columns: range, constants: Constants) -> None:
        self.op = op
        self.rows = rows
        self.constants = constants
        self.pieces: list[tuple[int, Attribute]] = []
        """The first column of each register, and its type."""
        first, acc = columns.start, op.acc_type
        while first < columns.stop:
            # The largest power of two that is left and fits a register.
            width = min(lanes_of_register(acc), 1 << ((columns.stop - first).bit_length() - 1))
            self.pieces.append((first, vector(width, acc)))
            first += width

    def emit(self) -> None:
        op = self.op
        sink = InsertionPoint(op, self.constants)
        places = [
            (self._at(sink, op.acc, row * op.ldc.value.data + column, op.acc_type), register)
            for row in self.rows
            for column, register in self.pieces
        ]
        types = [register for _, register in places]
        sums = [sink.emit(memory.Load, [place], register) for place, register in places]
        body = Block(arg_types=[i64, *types])
        totals = self._step(InsertionPoint(op, self.constants, body), body.args[0], list(body.args[1:]))
        body.add_op(scf.YieldOp(*totals))
        bounds = [sink.const(number, i64) for number in (0, op.k.value.data, 1)]
        loop = scf.ForOp.create(operands=[*bounds, *sums], result_types=types, regions=[Region(body)])
        sink.insert(loop)
        for (place, _), total in zip(places, loop.results, strict=True):
            sink.insert(memory.Store.create(operands=[total, place]))

    def _step(self, sink: InsertionPoint, k: SSAValue, sums: list[SSAValue]) -> list[SSAValue]:
        """One step of k: the new sums, by rows."""
        op, f = self.op, Formula(sink)
        size = bits_of(op.operand_type) // 8
        row_of_b = f(alu.AddI, op.b, f(alu.MulI, k, op.ldb.value.data * size))
        column_of_a = f(alu.AddI, op.a, f(alu.MulI, k, size))
        factors = [self._operand(sink, row_of_b, column, register) for column, register in self.pieces]
        totals: list[SSAValue] = []
        for row in self.rows:
            element = self._operand(sink, column_of_a, row * op.lda.value.data, op.acc_type)
            for factor in factors:
                spread = element
                if factor.type != element.type:
                    spread = sink.emit(lanes.Splat, [element], factor.type)
                totals.append(multiply_add(f, spread, factor, sums[len(totals)]))
        return totals

    def _at(self, sink: InsertionPoint, base: SSAValue, elements: int, ty: Attribute) -> SSAValue:
        """The address that many elements past `base`."""
        return Formula(sink)(alu.AddI, base, elements * bits_of(ty) // 8) if elements else base

    def _operand(self, sink: InsertionPoint, base: SSAValue, elements: int, register: Attribute) -> SSAValue:
        """Elements of A or B, that many past `base`, in the accumulator's format; `register` is their register."""
        narrow, wide = self.op.operand_type, self.op.acc_type
        address = self._at(sink, base, elements, narrow)
        value = sink.emit(memory.Load, [address], like(register, narrow))
        return value if narrow == wide else sink.emit(WIDENING[str(narrow), str(wide)], [value], register)


def lanes_of_register(element: Attribute) -> int:
    """How many elements one vector register holds."""
    return max(VECTOR_LANES * 32 // bits_of(element), 1)


def multiply_add(f: Formula, x: SSAValue, y: SSAValue, total: SSAValue) -> SSAValue:
    if isinstance(element_of(total.type), IntegerType):
        return f(alu.AddI, total, f(alu.MulI, x, y))
    return f(alu.Fma, x, y, total)
