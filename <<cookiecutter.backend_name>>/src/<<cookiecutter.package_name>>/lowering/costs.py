"""What it takes to evaluate a tile: by that the scheduler decides which to materialise and which to evaluate again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from .tiles import Affine, Elementwise, Loaded, Tile, View, buffer_of, inputs_of

RECOMPUTE_COST: Final = 8
"""A tile that takes fewer instructions than this is evaluated again rather than materialised."""

BROADCAST_COST: Final = 10
"""A tile that takes more instructions than this is not evaluated once per row of a broadcast."""

LOAD_COST: Final = 1000


class Cost(NamedTuple):
    """Instructions to evaluate one element."""

    total: int
    """Each load counts as `LOAD_COST` of them."""
    computing: int


class Costs:
    """The costs of tiles as they are: to be made anew when one was materialised or may have died."""

    def __init__(self) -> None:
        self._known: dict[int, Cost] = {}

    def is_cheap(self, tile: Tile) -> bool:
        """Whether to evaluate it again wherever it is needed."""
        return self._of(tile).total <= RECOMPUTE_COST

    def may_be_repeated(self, tile: Tile) -> bool:
        """Whether to evaluate it for each element of a dimension along which it is broadcast."""
        return self._of(tile).computing <= BROADCAST_COST

    def _of(self, tile: Tile) -> Cost:
        known = self._known.get(id(tile))
        if known is None:
            known = self._known[id(tile)] = self._measure(tile)
        return known

    def _measure(self, tile: Tile) -> Cost:
        if buffer_of(tile) is not None:
            return Cost(1, 1)
        match tile:
            case View():
                return self._of(tile.source)
            case Affine():
                return self._sum(tile.terms, 0)
            case Elementwise():
                return self._sum(tile.operands, tile.cost)
            case Loaded():
                total, computing = self._sum(inputs_of(tile), 1)
                return Cost(total + LOAD_COST, computing)
            case _:
                return Cost(0, 0)

    def _sum(self, tiles: Sequence[Tile], own: int) -> Cost:
        costs = [self._of(tile) for tile in tiles]
        return Cost(own + sum(cost.total for cost in costs), own + sum(cost.computing for cost in costs))
