"""A Triton backend. Importing this package imports nothing else and changes nothing.

Select it with ``TRITON_DEFAULT_BACKEND`` in the environment, or in a program with `activate`.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["activate", "deactivate"]


def activate() -> None:
    """Make this backend the active one of this process, whatever was active before. Does nothing if it is already.

    Raises InstallationError, in one sentence, if Triton or the compiler's toolchain is missing or unsupported.
    """
    from .requirements_check import require_toolchain

    require_toolchain()
    from .backend.driver import Driver
    from .compat import activate_driver

    activate_driver(Driver)


def deactivate() -> None:
    """Undo `activate`: Triton goes on with the driver from before, or chooses one when it next needs one."""
    from .backend.driver import Driver
    from .compat import deactivate_driver

    if deactivate_driver(Driver):
        cache_manager = sys.modules.get(f"{__name__}.backend.cache_manager")
        if cache_manager is not None:
            cache_manager.uninstall()


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        from .target import DISTRIBUTION_NAME

        return version(DISTRIBUTION_NAME)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
