"""``tt.scan``: an inclusive scan, vector by vector.

Along the last dimension a vector is scanned in itself, by combining each lane with the one 1, 2, 4, ... lanes before
it, and then combined with what came before the vector. Along another dimension the lanes lie across the scan, and there
is only the latter to do. Like a reduction's, the combine function must be associative; it need not be commutative.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ..dialects import tt
from ..target import VECTOR_LANES
from .combine import Combine
from .elementwise import byte_width
from .evaluate import Evaluator, Index, Lanes
from .kernel import KernelLowering
from .nest import Contents, make_plan
from .tiles import Buffer


def scan(k: KernelLowering, op: tt.ScanOp) -> None:
    k.consume(op)
    sources = [k.dense(operand) for operand in op.srcs]
    combine = Combine(op.combiner, k.scalar)
    results = [k.allocate(result) for result in op.results]
    Scan(k, op.axis_index, sources, results, combine, backwards=op.is_reverse).emit()
    for result, buffer in zip(op.results, results, strict=True):
        k.set_buffer(result, buffer)


class Scan:
    """Emits the loops: over the other dimensions, then along the axis with the running totals in registers."""

    def __init__(
        self,
        k: KernelLowering,
        axis: int,
        sources: Sequence[Buffer],
        results: Sequence[Buffer],
        combine: Combine,
        *,
        backwards: bool,
    ) -> None:
        self.b = k.b
        self.axis = axis
        self.sources = sources
        self.results = results
        self.combine = combine
        self.backwards = backwards
        self.shape = sources[0].shape
        self.along_lanes = axis == len(self.shape) - 1
        if self.along_lanes:
            widest = max(byte_width(source.element) for source in sources)
            self.width = min(self.shape[axis], max(1, VECTOR_LANES * 4 // widest))
            self.lanes: list[Lanes] = [None] * axis
            self.lanes.append(tuple(range(self.width)) if self.width > 1 else None)
            self.steps = [1] * axis + [self.width]
        else:
            plan = make_plan(tuple(1 if d == axis else n for d, n in enumerate(self.shape)), Contents(), None)
            self.width, self.lanes, self.steps = plan.width, plan.lanes, plan.steps
        self.e = Evaluator(k.b, self.width, k.b.depth)
        self.point = [self.e.zero] * len(self.shape)

    def emit(self) -> None:
        self._loops(0)

    def _loops(self, dim: int) -> None:
        b = self.b
        if dim == len(self.shape):
            self._along()
        elif dim == self.axis:
            self._loops(dim + 1)
        elif self.shape[dim] <= self.steps[dim]:
            self.point[dim] = Index(b.const(0, i64), self.lanes[dim])
            self._loops(dim + 1)
        else:
            index, _ = b.open_loop()
            self.point[dim] = Index(index, self.lanes[dim])
            self._loops(dim + 1)
            b.close_loop(
                b.const(0, i64), b.const(self.shape[dim], i64), b.const(self.steps[dim], i64), [], []
            )

    def _along(self) -> None:
        b, extent, step = self.b, self.shape[self.axis], self.steps[self.axis]
        self._at(b.const(0, i64))
        totals = self._within(self._read())
        self._write(totals)
        if extent <= step:
            return
        before = self._last(totals)
        index, carried = b.open_loop([total.type for total in before])
        self._at(index)
        totals = self.combine(b, carried, self._within(self._read()))
        self._write(totals)
        b.close_loop(b.const(step, i64), b.const(extent, i64), b.const(step, i64), before, self._last(totals))

    def _at(self, position: SSAValue) -> None:
        """Moves to the vector whose first element in the order of the scan is `position`."""
        step = self.steps[self.axis]
        if self.backwards:
            position = self.b.subi(self.b.const(self.shape[self.axis] - step, i64), position)
        self.point[self.axis] = Index(position, self.lanes[self.axis])

    def _read(self) -> list[SSAValue]:
        return [self.e.vector_value(source, tuple(self.point)) for source in self.sources]

    def _write(self, values: Sequence[SSAValue]) -> None:
        for buffer, value in zip(self.results, values, strict=True):
            self.e.write(buffer, tuple(self.point), value)

    def _within(self, values: list[SSAValue]) -> list[SSAValue]:
        """The scan of the lanes of each vector, where they lie along the axis."""
        b, width = self.b, self.width
        distance = 1
        while self.along_lanes and distance < width:
            sources = [lane + distance if self.backwards else lane - distance for lane in range(width)]
            has_source = [0 <= source < width for source in sources]
            moved = [source if has else 0 for source, has in zip(sources, has_source, strict=True)]
            sums = self.combine(b, [b.shuffle(value, value, moved) for value in values], values)
            picked = [lane + width if has else lane for lane, has in enumerate(has_source)]
            values = [b.shuffle(value, total, picked) for value, total in zip(values, sums, strict=True)]
            distance *= 2
        return values

    def _last(self, totals: Sequence[SSAValue]) -> list[SSAValue]:
        """What the next vector starts from: the total of the last lane in every lane."""
        if not self.along_lanes or self.width == 1:
            return list(totals)
        last = 0 if self.backwards else self.width - 1
        return [self.b.shuffle(total, total, [last] * self.width) for total in totals]
