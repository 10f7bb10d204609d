"""What the names and numbers of `target.py` must be. A kernel compiled for a machine that breaks these rules would be
wrong. Readable by Python 3.10; the doctor reads it.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast

from . import target
from .errors import InstallationError

COMPUTED_TYPES: Final = {"i8": True, "i16": True, "i32": True, "i64": True, "f32": True, "f64": False}
"""Element types that a vector unit computes in, and whether a machine must have them."""

EXPANDABLE: Final = frozenset("ldexp lookup sqrt rsqrt exp exp2 log log2 sin cos tanh erf remf".split())
"""Instructions that a machine may lack: `passes/expand_special.py` has a formula for each except ldexp and lookup,
which the formulas do without."""

UNITS: Final = ("scalar", "vector", "special", "memory", "matrix", "control")
"""What `LATENCIES` has a line for: the values of `dialects.isa.base.Unit`."""

LEAST_SCRATCHPAD_BYTES: Final = 32 * 1024

Rule = Callable[[Any], str]
"""What is wrong with a constant, as the end of a sentence; '' where nothing is. To "must be" the value is added."""

MUST: Final = "must be"


def broken_rules() -> list[str]:
    """One sentence for each constant of `target.py` that is missing or invalid."""
    given = cast("Mapping[str, object]", vars(target))
    found: list[str] = []
    for name, rule in RULES.items():
        if name not in given:
            found.append(f"{name} is missing{_meant(name, given)}")
            continue
        wrong = rule(given[name])
        if wrong:
            found.append(f"{name} {wrong}" + (f", not {given[name]!r}" if wrong.startswith(MUST) else ""))
    if not found:
        found += scratchpad_is_too_small(given["MATRIX_TILE"], given["SCRATCHPAD_BYTES"])
        found += group_is_too_large(given["REGISTER_GROUP"], given["VECTOR_REGISTERS"])
    return found


def check_target() -> None:
    """Raises InstallationError with the first broken rule."""
    for sentence in broken_rules():
        raise InstallationError(f"{getattr(target, 'BACKEND_NAME', '')}: {sentence} ({target.__file__})")


def operand_bytes(m: int, n: int, k: int) -> int:
    """Of both operands and the accumulator of one matrix instruction, with elements of 32 bits."""
    return 4 * (m * k + k * n + m * n)


# --- the rules ----------------------------------------------------------------------------------------------------


def power_of_two(value: object, least: int, most: int) -> bool:
    return _is_whole(value, least, most) and cast(int, value) & (cast(int, value) - 1) == 0


def _is_whole(value: object, least: int, most: int | None = None) -> bool:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return is_number and least <= cast(int, value) and (most is None or cast(int, value) <= most)


def _lanes(value: object) -> str:
    return "" if power_of_two(value, 4, 256) else "must be a power of two from 4 to 256"


def _group(value: object) -> str:
    return "" if power_of_two(value, 1, 8) else "must be 1, 2, 4 or 8"


def _tile(value: object) -> str:
    fits = isinstance(value, tuple) and len(value) == 3 and all(power_of_two(side, 4, 256) for side in value)
    if value is None or fits:
        return ""
    return "must be three powers of two from 4 to 256 (M, N, K), or None on a machine without a matrix unit"


def _scratchpad(value: object) -> str:
    if _is_whole(value, LEAST_SCRATCHPAD_BYTES) and cast(int, value) % 64 == 0:
        return ""
    return f"must be a multiple of 64, and at least {LEAST_SCRATCHPAD_BYTES}"


def scratchpad_is_too_small(tile: object, scratchpad: object) -> list[str]:
    """The sentence about a scratchpad that cannot hold the operands of one matrix instruction; both are well formed."""
    if not isinstance(tile, tuple):
        return []
    m, n, k = cast("tuple[int, int, int]", tile)
    needed = operand_bytes(m, n, k)
    if cast(int, scratchpad) >= needed:
        return []
    return [
        f"SCRATCHPAD_BYTES, {scratchpad}, is too small for MATRIX_TILE: the 32-bit operands of a {m}x{n}x{k} tile need "
        f"{needed} bytes"
    ]


def group_is_too_large(group: object, registers: object) -> list[str]:
    """The sentence about a group of registers of which the machine has not one; both are well formed."""
    if cast(int, group) <= cast(int, registers):
        return []
    return [f"REGISTER_GROUP, {group}, is larger than VECTOR_REGISTERS, {registers}: no group fits"]


def _truth(value: object) -> str:
    return "" if isinstance(value, bool) else "must be True or False"


def _text(value: object) -> str:
    return "" if isinstance(value, str) and value.strip() else "must be a text"


def _identifier(value: object) -> str:
    return "" if isinstance(value, str) and value.isidentifier() else "must be an identifier"


def _registers(value: object) -> str:
    return "" if _is_whole(value, 1, 256) else "must be a number from 1 to 256"


def _positive(value: object) -> str:
    return "" if _is_whole(value, 1) else "must be a whole number above 0"


def _names(value: object, known: frozenset[str]) -> str:
    if not isinstance(value, frozenset):
        return "must be a frozenset of names"
    unknown = cast("frozenset[object]", value) - known
    return f"names {_list(unknown)}, but each must be one of {_list(known)}" if unknown else ""


def _types(value: object) -> str:
    wrong = _names(value, frozenset(COMPUTED_TYPES))
    if wrong:
        return wrong
    missing = {name for name, needed in COMPUTED_TYPES.items() if needed} - cast("frozenset[str]", value)
    return (
        f"lacks {_list(missing)}, for which there is no expansion; only f64 may be missing" if missing else ""
    )


def _special(value: object) -> str:
    return _names(value, EXPANDABLE)


def _latencies(value: object) -> str:
    """(A machine without a matrix unit has a line for it all the same, which is not read.)"""
    form = (
        f"a dict with (latency, cycles busy), two whole numbers above 0 (the matrix unit's second may be a fraction), "
        f"for each of {', '.join(UNITS)}"
    )
    if not isinstance(value, dict):
        return f"{MUST} {form}"
    lines = cast("dict[object, object]", value)
    missing = [unit for unit in UNITS if unit not in lines]
    unknown = [unit for unit in lines if unit not in UNITS]
    wrong = [f"{unit}: {line!r}" for unit, line in lines.items() if not _is_latency(unit, line)]
    for what, found in (("lacks", missing), ("has the unknown", unknown), ("has", wrong)):
        if found:
            return f"{what} {_list(found)}; it {MUST} {form}"
    return ""


def _is_latency(unit: object, line: object) -> bool:
    if not (isinstance(line, tuple) and len(line) == 2):
        return False
    latency, busy = cast("tuple[object, object]", line)
    is_part = unit == "matrix" and isinstance(busy, float) and 0 < busy < math.inf
    return _is_whole(latency, 1) and (_is_whole(busy, 1) or is_part)


RULES: Final[dict[str, Rule]] = {
    "VENDOR_NAME": _text,
    "BACKEND_NAME": _identifier,
    "DISTRIBUTION_NAME": _text,
    "PACKAGE_NAME": _identifier,
    "ENV_PREFIX": _identifier,
    "ARCH": _text,
    "VECTOR_LANES": _lanes,
    "REGISTER_GROUP": _group,
    "MATRIX_TILE": _tile,
    "SCRATCHPAD_BYTES": _scratchpad,
    "SCRATCHPAD_OVERFLOWS": _truth,
    "VECTOR_TYPES": _types,
    "SPECIAL_FUNCTIONS": _special,
    "SCALAR_REGISTERS": _registers,
    "VECTOR_REGISTERS": _registers,
    "PREDICATE_REGISTERS": _registers,
    "LATENCIES": _latencies,
    "DEVICE_BYTES_PER_CYCLE": _positive,
}
"""Every constant of `target.py`, and what it must be."""


def _meant(name: str, given: Mapping[str, object]) -> str:
    """What is there instead, if a name that nothing reads looks like the missing one."""
    others = [other for other in given if other.isupper() and other not in RULES]
    near = difflib.get_close_matches(name, others, 1)
    return f"; there is {near[0]}, which nothing reads: did you mean {name}?" if near else ""


def _list(names: Iterable[object]) -> str:
    return ", ".join(sorted(map(str, names)))
