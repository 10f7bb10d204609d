"""Decides what runs together: collects roots of one shape into a group and emits it as one loop nest.

Evaluating a tile is postponed until a root needs it, and then happens inside of that root's loop. Three things bring
a tile into the scratchpad instead: it is still needed after the nest that evaluates it, and is not cheap to evaluate
again; a nest would evaluate it over and over (an expensive row under a broadcast); or memory is about to change
under a load.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from ..dialects.isa import alu
from .builder import Builder
from .fold import Unwrapping
from .liveness import Liveness
from .nest import Nest
from .roots import AtomicUpdate, Keep, Reduction, Root, Store
from .scratch import Scratch
from .tiles import Buffer, DimMap, Elementwise, Linear, Loaded, Node, Tile, View, inputs_of, parts, view

KEEP_COST = 8
"""A tile that takes fewer instructions than this is evaluated again rather than kept in the scratchpad."""
BROADCAST_COST = 10
"""A tile that takes more instructions than this is not evaluated once per row of a broadcast."""
LOAD_COST = 1000


class Scheduler:
    """The group under construction, and the loads that wait to be evaluated."""

    def __init__(self, builder: Builder, scratch: Scratch, liveness: Liveness) -> None:
        self.b = builder
        self.scratch = scratch
        self.liveness = liveness
        self.pointer_roots = PointerRoots()
        self._group: list[Root] = []
        self._loads: list[Loaded] = []
        self._costs: dict[int, tuple[int, int]] = {}
        self._homed: list[list[Node]] = [[]]
        """The nodes that each open region or block brought into the scratchpad, outermost first."""

    # --- entry points -------------------------------------------------------------------------------------

    def add(self, root: Root) -> None:
        """Appends `root` to the open group, or starts a new one."""
        if self._group and not self._joins(root):
            self.flush()
        self._group.append(root)

    def note_load(self, tile: Loaded) -> None:
        """A load was made: it must see the stores before it, through whatever pointers."""
        if any(isinstance(root, Store | AtomicUpdate) for root in self._group):
            self.flush()
        self._loads.append(tile)

    def flush(self) -> None:
        """Emits the open group."""
        group, self._group = self._group, []
        if group:
            for root in group:
                self.liveness.finish(root.source)
            self._emit(group)

    def materialise(
        self, tile: Tile, *, order: tuple[int, ...] | None = None, matrix: bool = False
    ) -> Buffer:
        """The buffer that holds `tile`, made now if there is none (as `Scratch.allocate` does)."""
        self.flush()
        home = tile.buffer if isinstance(tile, Node) else tile
        if isinstance(tile, View) and isinstance(tile.source, Node) and tile.source.buffer is not None:
            home = view(tile.source.buffer, tile.shape, tile.dims)
        if isinstance(home, Buffer):
            return home
        keep = self._keep(tile, order, matrix=matrix)
        if isinstance(tile, Node):
            self.liveness.finish_value(tile.value)
        self._emit([keep])
        return keep.buffer

    def keep_in(self, tile: Tile, buffer: Buffer) -> None:
        """Writes `tile` to a given buffer, which nothing else may be written to. It is read from there from now on."""
        self.flush()
        if not isinstance(tile, Node) or tile.buffer is not None:
            self.write([(tile, buffer)])
            return
        self.liveness.finish_value(tile.value)
        self._emit([Keep(tile.shape, None, tile, buffer)])

    def write(self, pairs: Iterable[tuple[Tile, Buffer]]) -> None:
        """Writes tiles to given buffers: one nest per shape."""
        self.flush()
        groups: dict[tuple[int, ...], list[Root]] = {}
        for tile, buffer in pairs:
            groups.setdefault(tile.shape, []).append(Keep(tile.shape, None, tile, buffer, adopt=False))
        for group in groups.values():
            self._emit(group)

    def settle_loads(self) -> None:
        """Evaluates every pending load that is still needed: memory is about to change in unknown ways."""
        self.flush()
        loads, self._loads = self._loads, []
        self._keep_all([tile for tile in loads if self._pending(tile)])

    def settle(self, values: Iterable[SSAValue], tiles: dict[SSAValue, Tile]) -> None:
        """Before a region: keeps the tiles of `values` that are not cheap to evaluate in it."""
        self.settle_loads()
        nodes: list[Node] = []
        for value in values:
            tile = tiles.get(value)
            if tile is not None:
                nodes.extend(node for node, _ in walk(tile) if self._expensive_source(node))
        self._keep_all(nodes)

    def settle_terms(self, tile: Linear) -> None:
        """Keeps the opaque terms of an index tile that a loop is about to carry."""
        self._costs = {}
        sources = [term.source if isinstance(term, View) else term for term in tile.terms]
        self._keep_all(
            [node for node in sources if isinstance(node, Node) and self._cost(node)[0] > KEEP_COST]
        )

    # --- control flow -------------------------------------------------------------------------------------------

    @contextmanager
    def region(self) -> Generator[None]:
        """A region that may not run, or run again: what it brings into the scratchpad is not there after it."""
        self._homed.append([])
        yield
        self._forget(self._homed.pop())

    @contextmanager
    def block(self, block: Block) -> Generator[None]:
        """A block of several: only its own values stay in the scratchpad, for the blocks that it dominates."""
        self._homed.append([])
        yield
        homed = self._homed.pop()
        for node in homed:
            owner = node.value.owner if node.value is not None else None
            if isinstance(owner, Operation) and owner.parent is block:
                self._homed[-1].append(node)
            else:
                self._forget([node])

    def _forget(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            node.buffer = None
            self.liveness.reopen(node.value)

    # --- groups -------------------------------------------------------------------------------------------------

    def _joins(self, root: Root) -> bool:
        first = self._group[0]
        if root.shape != first.shape:
            return False
        axes = {r.axis for r in [*self._group, root] if isinstance(r, Reduction)}
        if len(axes) > 1:
            return False
        made = {buffer.offset for r in self._group for buffer in r.outputs()}
        reads = {part.offset for tile in root.inputs() for part in parts(tile) if isinstance(part, Buffer)}
        if made & reads:
            return False
        if any(isinstance(r, AtomicUpdate) for r in [*self._group, root]):
            return False
        if isinstance(root, Store) and any(self._overlaps(root, r) for r in self._group):
            return False
        # A reduction without neutral element runs over stored operands only, with no other roots beside it.
        return all(map(starts_itself, self._group)) == starts_itself(root)

    def _emit(self, roots: list[Root]) -> None:
        """Emits `roots` as one nest, after whatever must be in the scratchpad before it."""
        self._costs = {}
        self._settle_for(roots)
        self._emit_nest(roots)
        for root in roots:
            if isinstance(root, Keep) and root.adopt:
                root.done()
                if isinstance(root.tile, Node):
                    self._homed[-1].append(root.tile)

    def _settle_for(self, roots: list[Root]) -> None:
        """Finds tiles that need a home: in nests before this one, or kept by this one."""
        shape = roots[0].shape
        identity: DimMap = tuple(range(len(shape)))
        writes = [root for root in roots if isinstance(root, Store | AtomicUpdate)]
        reached: dict[int, tuple[Node, bool]] = {}
        for root in roots:
            for tile in root.inputs():
                for node, dims in walk(tile):
                    same = dims == identity and node.shape == shape
                    before = reached.get(id(node))
                    reached[id(node)] = (node, same and (before is None or before[1]))
        early: list[Node] = list(self._broadcast_costly(roots))
        for node, same in reached.values():
            if isinstance(node, Loaded) and any(self._may_change(w, node, same=same) for w in writes):
                early.append(node)
        if writes:
            for load in self._loads:
                if id(load) not in reached and self._pending(load):
                    early.append(load)
            self._loads = [load for load in self._loads if self._pending(load)]
        if any(map(starts_itself, roots)):
            early.extend(
                node
                for root in roots
                if isinstance(root, Reduction)
                for tile in root.operands
                for node, _ in walk(tile)
                if self._cost(node)[0] > KEEP_COST
            )
        homes: list[Keep] = []
        handled = {id(node) for node in early}
        kept_already = {id(root.tile) for root in roots if isinstance(root, Keep) and root.adopt}
        for node, same in reached.values():
            if id(node) in handled or id(node) in kept_already or self._cost(node)[0] <= KEEP_COST:
                continue
            if not self.liveness.is_live(node.value):
                continue
            if same:
                homes.append(self._keep(node, None))
                self.liveness.finish_value(node.value)
            else:
                early.append(node)
        if early:
            self._keep_all(early)
        roots[:0] = homes

    def _broadcast_costly(self, roots: Sequence[Root]) -> list[Node]:
        """Nodes smaller than the nest that would be computed once per element of a broadcast dimension."""
        shape = roots[0].shape
        costly: list[Node] = []
        for root in roots:
            for tile in root.inputs():
                for node, dims in walk(tile):
                    repeated = any(extent > 1 and d not in dims for d, extent in enumerate(shape))
                    if repeated and self._cost(node)[1] > BROADCAST_COST:
                        costly.append(node)
        return costly

    def _keep_all(self, nodes: Iterable[Node]) -> None:
        """Keeps nodes, one nest per shape."""
        groups: dict[tuple[int, ...], dict[int, Node]] = {}
        for node in nodes:
            if node.buffer is None:
                groups.setdefault(node.shape, {})[id(node)] = node
        for group in groups.values():
            keeps: list[Root] = [self._keep(node, None) for node in group.values() if node.buffer is None]
            if keeps:
                for root in keeps:
                    assert isinstance(root, Keep) and isinstance(root.tile, Node)
                    self.liveness.finish_value(root.tile.value)
                self._emit(keeps)

    def _keep(self, tile: Tile, order: tuple[int, ...] | None, *, matrix: bool = False) -> Keep:
        owner = tile.value if isinstance(tile, Node) else None
        source = owner.owner if owner is not None and isinstance(owner.owner, Operation) else None
        buffer = self.scratch.allocate(tile.shape, tile.element, order=order, owner=owner, matrix=matrix)
        return Keep(tile.shape, source, tile, buffer)

    def _emit_nest(self, roots: Sequence[Root]) -> None:
        """One nest; or two, chosen at run time, where index tiles may or may not wrap around."""
        unwrap = Unwrapping(self.b)
        straight = [unwrapped(root, unwrap) for root in roots]
        if not unwrap.guards:
            Nest(self.b, roots).emit()
            return
        condition = unwrap.guards[0]
        for guard in unwrap.guards[1:]:
            condition = self.b.emit(alu.And, [condition, guard], condition.type)
        regions: list[Region] = []
        for variant in (straight, roots):
            self.b.push(Block())
            Nest(self.b, variant).emit()
            body = self.b.pop()
            body.add_op(scf.YieldOp())
            regions.append(Region(body))
        self.b.insert(scf.IfOp.create(operands=[condition], regions=regions))

    # --- costs and memory -------------------------------------------------------------------------------------

    def _cost(self, tile: Tile) -> tuple[int, int]:
        """Instructions to evaluate an element of `tile`, with and without counting loads as expensive."""
        known = self._costs.get(id(tile))
        if known is None:
            known = self._costs[id(tile)] = self._measure(tile)
        return known

    def _measure(self, tile: Tile) -> tuple[int, int]:
        if isinstance(tile, Node) and tile.buffer is not None:
            return 1, 1
        match tile:
            case Buffer():
                return 1, 1
            case View():
                return self._cost(tile.source)
            case Linear():
                return self._sum(tile.terms, 0)
            case Elementwise():
                return self._sum(tile.operands, tile.cost)
            case Loaded():
                inputs = [t for t in (tile.pointer, tile.mask, tile.other) if t is not None]
                total, computing = self._sum(inputs, 1)
                return total + LOAD_COST, computing
            case _:
                return 0, 0

    def _sum(self, tiles: Sequence[Tile], own: int) -> tuple[int, int]:
        costs = [self._cost(tile) for tile in tiles]
        return own + sum(cost[0] for cost in costs), own + sum(cost[1] for cost in costs)

    def _expensive_source(self, node: Node) -> bool:
        """Whether `node` should be kept before a region that uses it."""
        self._costs = {}
        return self._cost(node)[0] > KEEP_COST and self.liveness.is_live(node.value)

    def _pending(self, tile: Loaded) -> bool:
        return tile.buffer is None and self.liveness.is_live(tile.value)

    def _overlaps(self, later: Store, earlier: Root) -> bool:
        """Whether two stores may write one address from different lanes, so that their order across lanes matters."""
        if not isinstance(earlier, Store) or later.source is None or earlier.source is None:
            return False
        roots = [
            self.pointer_roots.of(store.source.operands[0]) for store in (later, earlier) if store.source
        ]
        if None not in roots and roots[0] is not roots[1]:
            return False
        return not same_addresses(later.pointer, earlier.pointer)

    def _may_change(self, root: Root, load: Loaded, *, same: bool = True) -> bool:
        """Whether `root` may write, before the lane that needs it reads it, memory that `load` reads.

        Within one argument of the kernel, only equal addresses are safe. Two arguments may be one buffer (in-place
        kernels): that is safe if both are stepped through alike, element by element. It is assumed that they are not
        one buffer shifted by less than a tile, nor one with other strides that are known at run time only: on a GPU
        that is a race, too. docs/kernel-functions.md tells the authors of kernels.
        """
        if not isinstance(root, Store | AtomicUpdate):
            return False
        written = self.pointer_roots.of(root.source.operands[0] if root.source is not None else None)
        read = self.pointer_roots.of(load.source.operands[0])
        if written is not None and read is not None and written is not read:
            return not (same and stepped_alike(root.pointer, load.pointer))
        return isinstance(root, AtomicUpdate) or not (same and same_addresses(root.pointer, load.pointer))


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

    def _carried(self, pointer: BlockArgument, loop: Operation) -> SSAValue | None:
        """Of a pointer that a loop carries: what it starts as, if every iteration passes on one derived from that."""
        start = self.of(loop.operands[2 + pointer.index])
        last = pointer.block.last_op
        if start is None or last is None:
            return None
        before = dict(self._roots)
        self._roots[pointer] = start  # assumed, for what is derived from it
        if self.of(last.operands[pointer.index - 1]) is start:
            return start
        self._roots = before  # what followed from the assumption goes with it
        return None

    def _find(self, pointer: SSAValue) -> SSAValue | None:
        if isinstance(pointer, BlockArgument):
            parent = pointer.block.parent_op()
            if parent is None or parent.name == "tt.func":
                return pointer if pointer.block.prev_block is None else None
            if parent.name == "scf.for" and pointer.index > 0:
                return self._carried(pointer, parent)
            return None
        op = pointer.owner
        assert isinstance(op, Operation)
        if op.name in (
            "tt.addptr",
            "tt.splat",
            "tt.broadcast",
            "tt.expand_dims",
            "tt.reshape",
            "tt.trans",
            "tt.bitcast",
        ):
            return self.of(op.operands[0])
        return None


def stepped_alike(a: Tile, c: Tile) -> bool:
    """Whether two pointer tiles step through memory in the same way, as far as their strides are known.

    Strides known at run time count as equal, unless both tiles have the same ones in another order (a transposition).
    """
    if not isinstance(a, Linear) or not isinstance(c, Linear):
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
        isinstance(a, Linear)
        and isinstance(c, Linear)
        and a.base is c.base
        and a.strides == c.strides
        and len(a.terms) == len(c.terms)
        and all(x is y for x, y in zip(a.terms, c.terms, strict=True))
    )


def starts_itself(root: Root) -> bool:
    """Whether `root` is a reduction whose total starts with its first elements."""
    return isinstance(root, Reduction) and root.combine.identities() is None


def walk(tile: Tile) -> Iterable[tuple[Node, DimMap]]:
    """The nodes that evaluating `tile` evaluates, consumers first, with the maps from their dimensions to `tile`'s."""
    seen: set[tuple[int, DimMap]] = set()
    order: list[tuple[Node, DimMap]] = []

    def visit(current: Tile, dims: DimMap) -> None:
        if isinstance(current, View):
            visit(current.source, tuple(None if d is None else dims[d] for d in current.dims))
            return
        key = (id(current), dims)
        if key in seen:
            return
        seen.add(key)
        if isinstance(current, Node) and current.buffer is not None:
            return
        for part in inputs_of(current):
            visit(part, dims)
        if isinstance(current, Node):
            order.append((current, dims))

    visit(tile, tuple(range(len(tile.shape))))
    return reversed(order)


def unwrapped(root: Root, unwrap: Unwrapping) -> Root:
    """`root` with its tiles rebuilt by `unwrap`."""
    match root:
        case Store():
            mask = None if root.mask is None else unwrap(root.mask)
            return replace(root, pointer=unwrap(root.pointer), value=unwrap(root.value), mask=mask)
        case Keep():
            return replace(root, tile=unwrap(root.tile)) if not is_home(root.tile) else root
        case Reduction():
            return replace(root, operands=[unwrap(tile) for tile in root.operands])
        case _:
            return root


def is_home(tile: Tile) -> bool:
    return isinstance(tile, Node) and tile.buffer is not None
