"""Which memory of the kernel's arguments two accesses may share, by what their pointers are derived from."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import BlockArgument, SSAValue

from ..dialects import tt
from .tiles import Affine, Tile


class PointerRoots:
    """The kernel argument that a pointer is derived from; None where it comes from memory or several places."""

    def __init__(self) -> None:
        self._roots: dict[SSAValue, SSAValue | None] = {}

    def of(self, pointer: SSAValue | None) -> SSAValue | None:
        if pointer is None:
            return None
        if pointer not in self._roots:
            self._roots[pointer] = self._find(pointer)
        return self._roots[pointer]

    def _carried(self, pointer: BlockArgument, loop: scf.ForOp) -> SSAValue | None:
        """Of a pointer that a loop carries: what it starts as, if every iteration passes on one derived from that."""
        number = pointer.index - 1
        start = self.of(loop.iter_args[number])
        last = pointer.block.last_op
        if start is None or last is None:
            return None
        before = dict(self._roots)
        self._roots[pointer] = start  # assumed, for what is derived from it
        if self.of(last.operands[number]) is start:
            return start
        self._roots = before  # what followed from the assumption goes with it
        return None

    def _find(self, pointer: SSAValue) -> SSAValue | None:
        if isinstance(pointer, BlockArgument):
            parent = pointer.block.parent_op()
            if parent is None or isinstance(parent, tt.FuncOp):
                return pointer if pointer.block.prev_block is None else None
            if isinstance(parent, scf.ForOp) and pointer.index > 0:
                return self._carried(pointer, parent)
            return None
        match pointer.owner:
            case tt.AddPtrOp(ptr=origin) | tt.BitcastOp(src=origin):
                return self.of(origin)
            case (
                tt.SplatOp() | tt.BroadcastOp() | tt.ExpandDimsOp() | tt.ReshapeOp() | tt.TransOp() as view_op
            ):
                return self.of(view_op.src)
            case _:
                return None


def stepped_alike(a: Tile, c: Tile) -> bool:
    """Whether two pointer tiles step through memory in the same way, as far as their strides are known.

    Strides known at run time count as equal, unless both tiles have the same ones in another order (a transposition).
    """
    if not isinstance(a, Affine) or not isinstance(c, Affine):
        return type(a) is type(c)
    if len(a.terms) != len(c.terms) or any(x is not y for x, y in zip(a.terms, c.terms, strict=True)):
        return False
    steps = [(s, t) for s, t, n in zip(a.strides, c.strides, a.shape, strict=True) if n > 1]
    if any(s != t and (isinstance(s, int) and isinstance(t, int)) for s, t in steps):
        return False
    return all(s == t or t not in [s for s, _ in steps] for s, t in steps if not isinstance(t, int))


def same_addresses(a: Tile, c: Tile) -> bool:
    """Whether two pointer tiles certainly hold the same address at every index."""
    if a is c:
        return True
    return (
        isinstance(a, Affine)
        and isinstance(c, Affine)
        and a.base is c.base
        and a.strides == c.strides
        and len(a.terms) == len(c.terms)
        and all(x is y for x, y in zip(a.terms, c.terms, strict=True))
    )
