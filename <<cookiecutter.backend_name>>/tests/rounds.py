"""How often tests of races and leaks repeat: a little by default, in full with FULL_ROUNDS=1 in the environment."""

from __future__ import annotations

import os


def rounds(short: int, full: int) -> int:
    return full if os.environ.get("FULL_ROUNDS", "") not in ("", "0") else short
