"""What the numbers of `target.py` must be. A kernel compiled for a machine that breaks these rules would be wrong."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from . import target
from .errors import InstallationError

COMPUTED_TYPES: Final = {"i8": True, "i16": True, "i32": True, "i64": True, "f32": True, "f64": False}
"""Element types that a vector unit computes in, and whether a machine must have them."""

EXPANDABLE: Final = frozenset("ldexp sqrt rsqrt exp exp2 log log2 sin cos tanh erf remf".split())
"""Instructions that a machine may lack: `passes/expand_special.py` has a formula for each, but for ldexp, which the
formulas do without."""


def power_of_two(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and least <= value <= most and value & (value - 1) == 0


def broken_rules() -> list[str]:
    """One sentence for each number of `target.py` that cannot be."""
    found: list[str] = []
    if not power_of_two(target.VECTOR_LANES, 4, 256):
        found.append(f"VECTOR_LANES must be a power of two from 4 to 256, not {target.VECTOR_LANES!r}")
    tile: object = target.MATRIX_TILE
    if tile is not None and not (
        isinstance(tile, tuple) and len(tile) == 3 and all(power_of_two(n, 4, 256) for n in tile)
    ):
        found.append(
            "MATRIX_TILE must be three powers of two from 4 to 256 (M, N, K), or None on a machine without a matrix "
            f"unit, not {tile!r}"
        )
    size: object = target.SCRATCHPAD_BYTES
    if not (isinstance(size, int) and size > 0 and size % 64 == 0):
        found.append(f"SCRATCHPAD_BYTES must be a positive multiple of 64, not {size!r}")
    if not isinstance(target.SCRATCHPAD_OVERFLOWS, bool):
        found.append(f"SCRATCHPAD_OVERFLOWS must be True or False, not {target.SCRATCHPAD_OVERFLOWS!r}")
    found += rules_of_sets()
    for name in ("SCALAR_REGISTERS", "VECTOR_REGISTERS", "PREDICATE_REGISTERS"):
        count: object = getattr(target, name)
        if not (isinstance(count, int) and 1 <= count <= 256):
            found.append(f"{name} must be a number from 1 to 256, not {count!r}")
    return found


def rules_of_sets() -> list[str]:
    """One sentence for each set of names that is none, names what there is not, or lacks what must be there."""
    found: list[str] = []
    for name, known in (("VECTOR_TYPES", frozenset(COMPUTED_TYPES)), ("SPECIAL_FUNCTIONS", EXPANDABLE)):
        names: object = getattr(target, name)
        if not isinstance(names, frozenset):
            found.append(f"{name} must be a frozenset of names, not {names!r}")
        elif names - known:
            found.append(f"{name} names {_list(names - known)}; there are {_list(known)}")
    if isinstance(target.VECTOR_TYPES, frozenset):
        missing = {name for name, needed in COMPUTED_TYPES.items() if needed} - target.VECTOR_TYPES
        if missing:
            found.append(
                f"VECTOR_TYPES lacks {_list(missing)}, for which there is no expansion; only f64 may be missing"
            )
    return found


def _list(names: Iterable[object]) -> str:
    return ", ".join(sorted(map(str, names)))


def check_target() -> None:
    """Raises InstallationError with the first broken rule."""
    for sentence in broken_rules():
        raise InstallationError(f"{target.BACKEND_NAME}: {sentence} ({target.PACKAGE_NAME}/target.py)")
