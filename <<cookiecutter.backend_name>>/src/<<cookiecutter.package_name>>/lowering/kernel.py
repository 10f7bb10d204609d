"""The state of lowering one kernel: what every Triton value is, and the services that handlers use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, IntAttr, StringAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ..dialects.isa import memory
from ..dialects.locations import LOC, SourceLoc, location_of
from ..dialects.tt_enums import InputPrecision
from ..errors import UnsupportedOperation
from .builder import Builder
from .elementwise import register_element, shape_of
from .evaluate import from_memory, memory_element
from .families import file_for
from .liveness import Liveness
from .scheduler import Scheduler
from .scratch import Scratch
from .tiles import Buffer, Tile, Uniform, is_matrix, is_row_major

Handler = Callable[["KernelLowering", Any], None]
"""Lowers one operation, of the class that its table has the name of."""

ACCUMULATOR = 2
"""The operand of ``tt.dot`` that products are added to."""


class KernelLowering:
    """Maps the values of a Triton function to scalars of the ISA or to tiles, operation by operation."""

    def __init__(
        self,
        body: Block,
        handlers: dict[str, Handler],
        threads: int,
        dot_precision: InputPrecision = InputPrecision.IEEE,
    ) -> None:
        self.threads = threads
        """How many threads of a GPU a program stands for: what is printed once a thread is printed as often here."""
        self.dot_precision = dot_precision
        """That of products which the kernel gives none."""
        self.b = Builder(body)
        self.scratch = Scratch()
        self.liveness = Liveness()
        self.scheduler = Scheduler(self.b, self.scratch, self.liveness)
        self.handlers = handlers
        self.functions: dict[str, Operation] = {}
        self.blocks: dict[Block, Block] = {}
        self.tiles: dict[SSAValue, Tile] = {}
        self._scalars: dict[SSAValue, SSAValue] = {}
        self._cells: dict[SSAValue, Buffer] = {}
        self.margins: dict[Operation, Buffer] = {}
        """Where the operand of a shift lies in the scratchpad, with margins (`block_functions.py`)."""
        self.lowered: set[Operation] = set()
        """Operations that an earlier one was lowered together with."""
        self.traps: list[ArrayAttr[Attribute]] = []
        self.current: Operation | None = None
        """The operation that is being lowered."""

    # --- values -------------------------------------------------------------------------------------------

    def tile(self, value: SSAValue) -> Tile:
        """The tile of a tensor."""
        return self.tiles[value]

    def scalar(self, value: SSAValue) -> SSAValue:
        """The register of a scalar. A scalar that a loop nest computes is fetched from the scratchpad here."""
        known = self._scalars.get(value)
        if known is None:
            cell = self._cells[value]
            self.scheduler.flush()
            raw = self.b.load(
                memory.Load,
                [self.b.scratch(cell.offset)],
                memory_element(cell.element),
                not_above=self.b.depth,
            )
            known = self._scalars[value] = from_memory(self.b, raw, cell.element)
        return known

    def set_scalar(self, value: SSAValue, register: SSAValue) -> None:
        self._scalars[value] = register

    def set_tile(self, value: SSAValue, tile: Tile) -> None:
        self.tiles[value] = tile

    def set_buffer(self, value: SSAValue, buffer: Buffer) -> None:
        """`value`, a tensor or a scalar, is what the scratchpad holds in `buffer`."""
        if isinstance(value.type, TensorType):
            self.tiles[value] = buffer
        else:
            self._cells[value] = buffer

    def operand_tile(self, value: SSAValue, shape: tuple[int, ...]) -> Tile:
        """The tile of an operand that may be a scalar in an operation on tensors of `shape`."""
        if shape_of(value.type) is not None:
            return self.tile(value)
        return Uniform(shape, register_element(value.type), self.scalar(value))

    def optional_tile(self, value: SSAValue | None, shape: tuple[int, ...]) -> Tile | None:
        return None if value is None else self.operand_tile(value, shape)

    def allocate(self, value: SSAValue) -> Buffer:
        """A buffer that holds `value`, a tensor or a scalar."""
        shape, element = shape_of(value.type) or (), register_element(value.type)
        matrix = any(use.operation.name == "tt.dot" and use.index == ACCUMULATOR for use in value.uses)
        return self.scratch.allocate(shape, element, owner=value, matrix=matrix)

    def dense(self, value: SSAValue) -> Buffer:
        """The tensor `value` in the scratchpad, row major."""
        return self.dense_tile(self.tile(value))

    def dense_tile(self, tile: Tile) -> Buffer:
        """`tile` in the scratchpad, row major; a buffer in another layout is copied."""
        buffer = self.scheduler.materialise(tile)
        if is_row_major(buffer):
            return buffer
        copy = self.scratch.allocate(tile.shape, tile.element)
        self.scheduler.write([(buffer, copy)])
        return copy

    def matrix_tile(self, tile: Tile) -> Buffer:
        """`tile` in the scratchpad for the matrix unit: like a dense one, but rows may be set apart."""
        buffer = self.scheduler.materialise(tile, matrix=True)
        if is_matrix(buffer):
            return buffer
        copy = self.scratch.allocate(tile.shape, tile.element, matrix=True)
        self.scheduler.write([(buffer, copy)])
        return copy

    def consume(self, op: Operation) -> None:
        """`op`, which its handler lowers next, is the last to need its operands: what runs before it runs now.

        The open group must see that `op` still needs them, or a store in it changes memory under a pending load.
        """
        self.scheduler.flush()
        self.liveness.finish(op)

    # --- operations ---------------------------------------------------------------------------------------------

    def lower_ops(self, ops: Iterable[Operation]) -> None:
        """Lowers the operations of a block, except its terminator, in order."""
        for op in ops:
            if op in self.lowered:
                continue
            handler = self.handlers.get(op.name)
            if handler is None:
                raise self.unsupported(op, f"operation '{op.name}' is not lowered")
            self.locate(op)
            handler(self, op)

    def locate(self, op: Operation) -> None:
        """Instructions made from here on come from `op`'s place in the source."""
        self.current = op
        location = op.attributes.get(LOC)
        self.b.location = location if isinstance(location, SourceLoc) else None

    def unsupported(
        self, op: Operation, message: str, add_support_in: str | None = None
    ) -> UnsupportedOperation:
        """The error of an operation; `add_support_in` is by default the file where its like are lowered."""
        where = add_support_in or file_for(op.name)
        return UnsupportedOperation(message, location=location_of(op), add_support_in=where)

    def add_trap(self, kind: str, message: str, op: Operation) -> int:
        """A trap code, from 1 on, for the launcher to report."""
        location = op.attributes.get(LOC)
        file, line = ("", 0)
        if isinstance(location, SourceLoc):
            file, line = location.file.data, location.line.data
        self.traps.append(ArrayAttr([StringAttr(kind), StringAttr(message), StringAttr(file), IntAttr(line)]))
        return len(self.traps)
