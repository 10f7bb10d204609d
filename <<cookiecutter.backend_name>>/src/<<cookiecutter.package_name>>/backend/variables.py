"""The environment variables of this package, and a warning about one that is probably misspelt.

Nothing happens where a variable is not read: a kernel runs, but not as it was asked for.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable
from typing import Final

from ..target import ENV_PREFIX

KNOWN: Final = frozenset(
    f"{ENV_PREFIX}_{name}"
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


class UnknownVariable(UserWarning):
    """An environment variable that looks like one of ours is read by nothing."""


def warn_of_misspelt(names: Iterable[str]) -> None:
    """Warns of each name, once a process, that is not ours but looks like one that is. Others may belong to other
    software of the vendor."""
    for name in names:
        if name not in KNOWN:
            _warn(name)


@functools.cache
def _warn(name: str) -> None:
    import difflib

    near = difflib.get_close_matches(name, sorted(KNOWN), 1, cutoff=0.9)
    if near:
        warnings.warn(
            f"the environment variable {name} is set, but nothing reads it: did you mean {near[0]}?",
            UnknownVariable,
            stacklevel=2,
        )
