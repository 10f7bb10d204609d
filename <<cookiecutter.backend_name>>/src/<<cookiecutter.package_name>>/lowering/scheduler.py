"""Decides what runs together: collects roots of one shape into a group and emits it as one loop nest.

Evaluating a tile is postponed until a root needs it, and then happens inside of that root's loop. Three things bring
a tile into the scratchpad instead: it is still needed after the nest that evaluates it, and is not cheap to evaluate
again; a nest would evaluate it over and over (an expensive row under a broadcast); or memory is about to change
under a load.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue

from ..dialects.isa import alu
from ..dialects.tt import accessed_pointer
from .builder import Builder
from .costs import Costs
from .fold import Unwrapping
from .liveness import Liveness
from .nest import Nest
from .pointer_roots import PointerRoots, same_addresses, stepped_alike
from .roots import AtomicUpdate, BufferStore, Reduction, Root, Store
from .scratch import Scratch
from .tiles import Affine, Buffer, DimMap, Loaded, Node, Tile, View, buffer_of, parts, view, walk


class Scheduler:
    """The group under construction, and the loads that wait to be evaluated."""

    def __init__(self, builder: Builder, scratch: Scratch, liveness: Liveness) -> None:
        self.b = builder
        self.scratch = scratch
        self.liveness = liveness
        self.pointer_roots = PointerRoots()
        self._group: list[Root] = []
        self._loads: list[Loaded] = []
        self._costs = Costs()
        self._materialised: list[list[Node]] = [[]]
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

    def materialise(self, tile: Tile, *, matrix: bool = False) -> Buffer:
        """The buffer that holds `tile`, made now if there is none (as `Scratch.allocate` does)."""
        self.flush()
        known = buffer_of(tile)
        if known is not None:
            return known
        if isinstance(tile, View) and (source := buffer_of(tile.source)) is not None:
            seen = view(source, tile.shape, tile.dims)
            assert isinstance(seen, Buffer)
            return seen
        store = self._materialisation(tile, matrix=matrix)
        if isinstance(tile, Node):
            self.liveness.finish_value(tile.value)
        self._emit([store])
        return store.buffer

    def materialise_in(self, tile: Tile, buffer: Buffer) -> None:
        """Writes `tile` to a given buffer, which nothing else may be written to. It is read from there from now on."""
        self.flush()
        if not isinstance(tile, Node) or tile.buffer is not None:
            self.write([(tile, buffer)])
            return
        self.liveness.finish_value(tile.value)
        self._emit([BufferStore(tile.shape, None, tile, buffer)])

    def write(self, pairs: Iterable[tuple[Tile, Buffer]]) -> None:
        """Writes tiles to given buffers: one nest per shape."""
        self.flush()
        groups: dict[tuple[int, ...], list[Root]] = {}
        for tile, buffer in pairs:
            groups.setdefault(tile.shape, []).append(
                BufferStore(tile.shape, None, tile, buffer, materialises=False)
            )
        for group in groups.values():
            self._emit(group)

    def settle_loads(self) -> None:
        """Evaluates every pending load that is still needed: memory is about to change in unknown ways."""
        self.flush()
        loads, self._loads = self._loads, []
        self._materialise_all([tile for tile in loads if self._pending(tile)])

    def settle(self, values: Iterable[SSAValue], tiles: dict[SSAValue, Tile]) -> None:
        """Before a region: materialises the tiles of `values` that are not cheap to evaluate in it."""
        self.settle_loads()
        nodes: list[Node] = []
        for value in values:
            tile = tiles.get(value)
            if tile is not None:
                nodes.extend(node for node, _ in walk(tile) if self._expensive_source(node))
        self._materialise_all(nodes)

    def settle_terms(self, tile: Affine) -> None:
        """Keeps the opaque terms of an index tile that a loop is about to carry."""
        self._costs = Costs()
        sources = [term.source if isinstance(term, View) else term for term in tile.terms]
        self._materialise_all(
            [node for node in sources if isinstance(node, Node) and not self._costs.is_cheap(node)]
        )

    # --- control flow -------------------------------------------------------------------------------------------

    @contextmanager
    def region(self) -> Generator[None]:
        """A region that may not run, or run again: what it brings into the scratchpad is not there after it."""
        self._materialised.append([])
        yield
        self._forget(self._materialised.pop())

    @contextmanager
    def block(self, block: Block) -> Generator[None]:
        """A block of several: only its own values stay in the scratchpad, for the blocks that it dominates."""
        self._materialised.append([])
        yield
        materialised = self._materialised.pop()
        for node in materialised:
            owner = node.value.owner if node.value is not None else None
            if isinstance(owner, Operation) and owner.parent is block:
                self._materialised[-1].append(node)
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
        self._costs = Costs()
        self._settle_for(roots)
        self._emit_nest(roots)
        for root in roots:
            if isinstance(root, BufferStore) and root.materialises:
                root.done()
                if isinstance(root.tile, Node):
                    self._materialised[-1].append(root.tile)

    def _settle_for(self, roots: list[Root]) -> None:
        """Materialises what has to be: in nests before that of `roots`, or by roots that it adds to them."""
        reached = nodes_of(roots)
        early = [
            *self._broadcast_too_often(roots),
            *self._about_to_change(roots, reached),
            *self._combined_from_the_first(roots),
        ]
        done = {id(node) for node in early}
        done |= {id(root.tile) for root in roots if isinstance(root, BufferStore) and root.materialises}
        stores: list[BufferStore] = []
        for node, same in reached:
            if id(node) in done or self._costs.is_cheap(node) or not self.liveness.is_live(node.value):
                continue
            if same:
                stores.append(self._materialisation(node))
                self.liveness.finish_value(node.value)
            else:
                early.append(node)
        if early:
            self._materialise_all(early)
        roots[:0] = stores

    def _broadcast_too_often(self, roots: Sequence[Root]) -> Iterator[Node]:
        """Nodes smaller than the nest that would be computed once per element of a broadcast dimension."""
        shape = roots[0].shape
        for root in roots:
            for tile in root.inputs():
                for node, dims in walk(tile):
                    repeated = any(extent > 1 and d not in dims for d, extent in enumerate(shape))
                    if repeated and not self._costs.may_be_repeated(node):
                        yield node

    def _about_to_change(self, roots: Sequence[Root], reached: Sequence[tuple[Node, bool]]) -> Iterator[Node]:
        """Loads from memory that `roots` may write: those that the nest evaluates, and those that still wait."""
        writes = [root for root in roots if isinstance(root, Store | AtomicUpdate)]
        if not writes:
            return
        for node, same in reached:
            if isinstance(node, Loaded) and any(self._may_change(w, node, same=same) for w in writes):
                yield node
        here = {id(node) for node, _ in reached}
        self._loads = [load for load in self._loads if self._pending(load)]
        yield from (load for load in self._loads if id(load) not in here)

    def _combined_from_the_first(self, roots: Sequence[Root]) -> Iterator[Node]:
        """What a reduction without neutral element runs over: stored operands only."""
        if any(map(starts_itself, roots)):
            for root in roots:
                for tile in root.operands if isinstance(root, Reduction) else ():
                    yield from (node for node, _ in walk(tile) if not self._costs.is_cheap(node))

    def _materialise_all(self, nodes: Iterable[Node]) -> None:
        """Brings nodes into the scratchpad, one nest per shape."""
        groups: dict[tuple[int, ...], dict[int, Node]] = {}
        for node in nodes:
            groups.setdefault(node.shape, {})[id(node)] = node
        for group in groups.values():
            needed = [node for node in group.values() if node.buffer is None]
            stores: list[Root] = [self._materialisation(node) for node in needed]
            for node in needed:
                self.liveness.finish_value(node.value)
            if stores:
                self._emit(stores)

    def _materialisation(self, tile: Tile, *, matrix: bool = False) -> BufferStore:
        owner = tile.value if isinstance(tile, Node) else None
        source = owner.owner if owner is not None and isinstance(owner.owner, Operation) else None
        buffer = self.scratch.allocate(tile.shape, tile.element, owner=owner, matrix=matrix)
        return BufferStore(tile.shape, source, tile, buffer)

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

    def _expensive_source(self, node: Node) -> bool:
        """Whether `node` should be materialised before a region that uses it."""
        self._costs = Costs()
        return not self._costs.is_cheap(node) and self.liveness.is_live(node.value)

    def _pending(self, tile: Loaded) -> bool:
        return tile.buffer is None and self.liveness.is_live(tile.value)

    def _overlaps(self, later: Store, earlier: Root) -> bool:
        """Whether two stores may write one address from different lanes, so that their order across lanes matters."""
        if not isinstance(earlier, Store) or later.source is None or earlier.source is None:
            return False
        roots = [self.pointer_roots.of(accessed_pointer(store.source)) for store in (later, earlier)]
        if None not in roots and roots[0] is not roots[1]:
            return False
        return not same_addresses(later.pointer, earlier.pointer)

    def _may_change(self, root: Store | AtomicUpdate, load: Loaded, *, same: bool) -> bool:
        """Whether `root` may write, before the lane that needs it reads it, memory that `load` reads.

        Within one argument of the kernel, only equal addresses are safe. Two arguments may be one buffer (in-place
        kernels): that is safe if both are stepped through alike, element by element. It is assumed that they are not
        one buffer shifted by less than a tile, nor one with other strides that are known at run time only: on a GPU
        that is a race, too. docs/kernel-functions.md tells the authors of kernels.
        """
        written = self.pointer_roots.of(accessed_pointer(root.source))
        read = self.pointer_roots.of(accessed_pointer(load.source))
        if written is not None and read is not None and written is not read:
            return not (same and stepped_alike(root.pointer, load.pointer))
        return isinstance(root, AtomicUpdate) or not (same and same_addresses(root.pointer, load.pointer))


def nodes_of(roots: Sequence[Root]) -> list[tuple[Node, bool]]:
    """The nodes that a nest of `roots` evaluates, and whether each only at the nest's own points."""
    shape = roots[0].shape
    identity: DimMap = tuple(range(len(shape)))
    reached: dict[int, tuple[Node, bool]] = {}
    for root in roots:
        for tile in root.inputs():
            for node, dims in walk(tile):
                _, before = reached.get(id(node), (node, True))
                reached[id(node)] = node, before and dims == identity and node.shape == shape
    return list(reached.values())


def starts_itself(root: Root) -> bool:
    """Whether `root` is a reduction whose total starts with its first elements."""
    return isinstance(root, Reduction) and root.combine.identities() is None


def unwrapped(root: Root, unwrap: Unwrapping) -> Root:
    """`root` with its tiles rebuilt by `unwrap`."""
    match root:
        case Store():
            mask = None if root.mask is None else unwrap(root.mask)
            return replace(root, pointer=unwrap(root.pointer), value=unwrap(root.value), mask=mask)
        case BufferStore():
            return root if buffer_of(root.tile) is not None else replace(root, tile=unwrap(root.tile))
        case Reduction():
            return replace(root, operands=[unwrap(tile) for tile in root.operands])
        case _:
            return root
