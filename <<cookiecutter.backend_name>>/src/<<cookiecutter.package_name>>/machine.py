"""What passes may know of the machine that runs what they write, beyond the target: of the reference device, which is
this host, that it does quickly; of others nothing, so that what is made for them is the same wherever it is made.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Final

from .target import SPECIAL_FUNCTIONS


@dataclass(frozen=True)
class Machine:
    looks_up: bool
    """Whether a table (`lanes.Lookup`) costs an instruction."""
    scales_by_powers: bool
    """Whether scaling by a power of two (`alu.Ldexp`) is one step."""
    cache_bytes: int
    """Size of the largest cache; 0 where there is none, or where it is not known."""


TARGET: Final = Machine("lookup" in SPECIAL_FUNCTIONS, "ldexp" in SPECIAL_FUNCTIONS, 0)
"""What `target.py` says, and nothing of the host."""


@functools.cache
def reference_device() -> Machine:
    """The target as this host stands in for it."""
    from .host_caches import last_level_bytes
    from .host_features import HostFeatures

    host = HostFeatures.current()
    return Machine(
        TARGET.looks_up and host.looks_up,
        TARGET.scales_by_powers and host.scales_by_powers,
        last_level_bytes(),
    )


def machine_of(options: Any) -> Machine:
    """Of a pass's options: what will run the kernel. `TARGET` where a pass is called without any."""
    from .device_kinds import REFERENCE

    return reference_device() if getattr(options, "device_kind", None) == REFERENCE else TARGET
