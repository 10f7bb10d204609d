"""What the numbers of `target.py` must be. A kernel compiled for a machine that breaks these rules would be wrong."""

from __future__ import annotations

from . import target
from .errors import InstallationError


def power_of_two(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and least <= value <= most and value & (value - 1) == 0


def broken_rules() -> list[str]:
    """One sentence for each number of `target.py` that cannot be."""
    found: list[str] = []
    if not power_of_two(target.VECTOR_LANES, 4, 256):
        found.append(f"VECTOR_LANES must be a power of two from 4 to 256, not {target.VECTOR_LANES!r}")
    tile: object = target.MATRIX_TILE
    if not (isinstance(tile, tuple) and len(tile) == 3 and all(power_of_two(n, 4, 256) for n in tile)):
        found.append(f"MATRIX_TILE must be three powers of two from 4 to 256 (M, N, K), not {tile!r}")
    size: object = target.SCRATCHPAD_BYTES
    if not (isinstance(size, int) and size > 0 and size % 64 == 0):
        found.append(f"SCRATCHPAD_BYTES must be a positive multiple of 64, not {size!r}")
    for name in ("SCALAR_REGISTERS", "VECTOR_REGISTERS", "PREDICATE_REGISTERS"):
        count: object = getattr(target, name)
        if not (isinstance(count, int) and 1 <= count <= 256):
            found.append(f"{name} must be a number from 1 to 256, not {count!r}")
    return found


def check_target() -> None:
    """Raises InstallationError with the first broken rule."""
    for sentence in broken_rules():
        raise InstallationError(f"{target.BACKEND_NAME}: {sentence} ({target.PACKAGE_NAME}/target.py)")
