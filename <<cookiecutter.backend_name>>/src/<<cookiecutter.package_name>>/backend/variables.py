"""The environment variables of this package, and a warning about one that is probably misspelt.

Nothing happens where a variable is not read: a kernel runs, but not as it was asked for.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable
from typing import Final

from ..target import ENV_PREFIX

PREFIX: Final = f"{ENV_PREFIX}_"

KNOWN: Final = frozenset(
    f"{PREFIX}{name}"
    for name in (
        "DEVICE",
        "DISABLE_PASSES",
        "GPU_DISABLE_PASSES",
        "GPU_ENABLE_PASSES",
        "NUM_THREADS",
        "PRINT_IR_AFTER_ALL",
        "SKIP_VERSION_CHECK",
        "TIME_PASSES",
        "VERIFY_PASSES",
    )
)
"""What some file of this package reads (`tests/test_variables.py` compares)."""


ALIKE: Final = 0.82
"""From here on, two names without the prefix are one name, misspelt: DEVISE and DEVICE are (0.83), DEVICE_ID and DEVICE
are not (0.80)."""


class UnknownVariable(UserWarning):
    """An environment variable that looks like one of ours is read by nothing."""


def warn_of_misspelt(names: Iterable[str]) -> None:
    """Warns of each name, once a process, that is not ours but looks like one that is. Others may belong to other
    software of the vendor."""
    for name in names:
        if name not in KNOWN:
            _warn(name)


def meant_by(name: str) -> str | None:
    """Which known variable a name is a misspelling of. The prefix does not count: all have it, and the longer it is,
    the more alike it would make them."""
    import difflib

    bare = sorted(one.removeprefix(PREFIX) for one in KNOWN)
    near = difflib.get_close_matches(name.removeprefix(PREFIX), bare, 1, cutoff=ALIKE)
    return PREFIX + near[0] if near else None


@functools.cache
def _warn(name: str) -> None:
    meant = meant_by(name)
    if meant is not None:
        warnings.warn(
            f"the environment variable {name} is set, but nothing reads it: did you mean {meant}?",
            UnknownVariable,
            stacklevel=2,
        )
