"""The two halves of a tensor exchanged along an axis of extent 2, which Triton writes with a reduction.

``tl.sort`` and ``tl.topk`` compare elements with their partners, and get the partners of ``x`` as
``x ^ xor_sum(x, axis)``, since a GPU computes that without memory. Here they are a matter of addresses: memory read
from the far end, with a negative stride. Without this a stage of a sort writes three tensors, not one, and takes twice
the time to compile.
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.ir import Operation, SSAValue

from ..dialects import tt
from ..dialects.uses import only_user
from .elementwise import byte_width, register_element, shape_of
from .kernel import KernelLowering
from .tiles import Buffer, is_integer


class Exchange(NamedTuple):
    """``result`` is ``source`` with its halves along ``axis`` exchanged; ``others`` exist only to compute it."""

    source: SSAValue
    axis: int
    result: SSAValue
    others: tuple[Operation, ...]


def exchange_of(reduce: tt.ReduceOp) -> Exchange | None:
    """The exchange that a reduction and the users of its result compute together; else None."""
    source, *others = reduce.srcs
    shape = shape_of(source.type)
    axis = reduce.axis_index
    if others or shape is None or shape[axis] != 2:
        return None
    if not is_integer(register_element(source.type)) or not combines_by_xor(reduce):
        return None
    expand = followed_by(reduce, "tt.expand_dims")
    broadcast = expand and followed_by(expand, "tt.broadcast")
    xor = broadcast and followed_by(broadcast, "arith.xori")
    if not isinstance(expand, tt.ExpandDimsOp) or expand.axis_index != axis:
        return None
    if broadcast is None or xor is None or {*xor.operands} != {source, broadcast.results[0]}:
        return None
    return Exchange(source, axis, xor.results[0], (expand, broadcast, xor))


def combines_by_xor(reduce: tt.ReduceOp) -> bool:
    ops = list(reduce.combiner.ops)
    return (
        [op.name for op in ops] == ["arith.xori", "tt.reduce.return"]
        and {*ops[0].operands} == {*reduce.combiner.args}
        and ops[1].operands[0] is ops[0].results[0]
    )


def followed_by(op: Operation, name: str) -> Operation | None:
    """The operation that uses the result of `op`, if it is the only one, in the same block, and called `name`."""
    user = only_user(op.results[0])
    return user if user is not None and user.name == name and user.parent is op.parent else None


def lower_exchange(k: KernelLowering, exchange: Exchange) -> None:
    """The result is a view of the source in the scratchpad, which stays as long as anything needs the reduction."""
    stored = exchange.source
    if isinstance(stored.owner, tt.BitcastOp):
        stored = stored.owner.src  # needed in memory for its own sake
    buffer = k.scheduler.materialise(k.tile(stored))
    element = register_element(exchange.source.type)
    step = buffer.strides[exchange.axis]
    strides = list(buffer.strides)
    strides[exchange.axis] = -step
    k.set_tile(
        exchange.result,
        Buffer(buffer.shape, element, buffer.offset + step * byte_width(element), tuple(strides)),
    )
    k.lowered.update(exchange.others)
