"""How large the host's caches are. Nothing heavy is imported here: the key of every cached kernel asks."""

from __future__ import annotations

import functools
import os
from typing import Final

from .file_memory import read

FIRST_CPU: Final = "/sys/devices/system/cpu/cpu0/cache"
UNITS: Final = {"K": 2**10, "M": 2**20, "G": 2**30}


@functools.cache
def last_level_bytes(folder: str = FIRST_CPU) -> int:
    """Size of the first processor's largest cache; 0 where the system does not tell (it is no Linux, say)."""
    try:
        caches = [name for name in os.listdir(folder) if name.startswith("index")]
    except OSError:
        return 0
    return max((_size(os.path.join(folder, name, "size")) for name in caches), default=0)


def _size(file: str) -> int:
    """``32768K`` -> 33554432; 0 for what cannot be read or understood."""
    try:
        text = read(file).decode("ascii").strip()
        return int(text[:-1]) * UNITS[text[-1]] if text[-1:] in UNITS else int(text)
    except (OSError, ValueError):
        return 0
