"""Is Triton's cache folder usable? Asked before Triton uses it, which would only report the errno."""

from __future__ import annotations

import functools
import os
import warnings

from ..errors import InstallationError
from ..target import BACKEND_NAME, DISTRIBUTION_NAME


def require_cache_folder() -> None:
    """Raise InstallationError if the cache folder is not there and cannot be made; warn if it cannot be written.

    A read-only folder may hold every kernel that is needed (a container image, say), so it is no error yet.
    Looks once at each folder. A cache manager of the user's own (TRITON_CACHE_MANAGER) may do without the
    folder: nothing is checked.
    """
    from triton import knobs

    if knobs.cache.manager_class is None:
        _require(str(knobs.cache.dir or ""))


@functools.cache
def _require(folder: str) -> None:
    way_out = (
        f"set TRITON_CACHE_DIR to a folder that this user can write (`{DISTRIBUTION_NAME} doctor` tells more)"
    )
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise InstallationError(
            f"{BACKEND_NAME}: Triton's cache folder {folder!r} cannot be made ({error.strerror}): {way_out}"
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        warnings.warn(
            f"{BACKEND_NAME}: Triton's cache folder {folder!r} is read-only; kernels that it does not hold yet "
            f"cannot be compiled: {way_out}",
            stacklevel=2,
        )
