"""What this backend is called. Imports nothing: `import triton` reads this file on every host."""

from typing import Final

from ..target import BACKEND_NAME, ENV_PREFIX

GPU_BACKEND_NAME: Final = f"{BACKEND_NAME}_gpu"
"""Entry point, ``GPUTarget.backend`` and value of TRITON_DEFAULT_BACKEND. Its own, so that Triton's ``nvidia`` backend,
whose target is called ``cuda``, can be installed and compared beside it."""

WARP_SIZE: Final = 32

DISABLE_VARIABLE: Final = f"{ENV_PREFIX}_GPU_DISABLE_PASSES"
"""Environment variable: comma-separated names of passes that are left out, Triton's own included."""

ENABLE_VARIABLE: Final = f"{ENV_PREFIX}_GPU_ENABLE_PASSES"
"""Environment variable: comma-separated names of passes of this package that run only where they are asked for."""
