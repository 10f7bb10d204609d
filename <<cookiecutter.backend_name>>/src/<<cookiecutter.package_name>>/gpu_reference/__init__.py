"""A second backend, complete in this folder: NVIDIA GPUs, with the passes and the tools of the installed Triton wheel.

It is two things: where a GPU vendor starts from (every stage is a list of passes in `stages.py`, open to
`passes.register_pass`), and the control with which the numerics of another device are checked on real hardware. It
sits beside Triton's own ``nvidia`` backend under a name of its own and is used only where somebody asks for it: with
``TRITON_DEFAULT_BACKEND`` in the environment, or with `activate`. To do without it, delete the folder and its
line in pyproject.toml.
"""

from __future__ import annotations

# Triton first: see ../backend/__init__.py.
import triton as triton

__all__ = ["activate", "deactivate"]


def activate() -> None:
    """Make this backend the active one of this process, whatever was active before. Does nothing if it is already.

    Raises InstallationError, in one sentence, where there is no usable GPU driver.
    """
    from ..compat import activate_driver
    from .driver import Driver

    activate_driver(Driver)


def deactivate() -> None:
    """Undo `activate`: Triton goes on with the driver from before, or chooses one when it next needs one."""
    from ..compat import deactivate_driver
    from .driver import Driver

    deactivate_driver(Driver)
