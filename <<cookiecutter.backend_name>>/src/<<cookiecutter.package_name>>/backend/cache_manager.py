"""Triton's file cache, but that a damaged kernel counts as one that is not there, and that a folder which cannot be
used is one sentence.

Triton's own manager hands out whatever lies in the folder, and passes on the errno of the system. `install` puts
`ManagerOfKernel` in its place where the user has not chosen another (TRITON_CACHE_MANAGER): it makes a `KernelCache`
for kernels of this backend, and for everything else Triton's own. Triton compiles for many backends in one process, and
has one place for the class of all managers.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from triton import knobs
from triton.runtime.cache import FileCacheManager

from ..compat import compiling_backend
from ..errors import InstallationError
from ..target import BACKEND_NAME, DISTRIBUTION_NAME
from .compiler import BINARY_EXT, Backend

ELF: Final = b"\x7fELF"


class CacheFolderError(InstallationError, OSError):
    """A folder that Triton writes to cannot be used. ``errno`` and ``filename`` are those of the system's error."""

    def __init__(self, text: str, number: int | None = None, filename: Any = None) -> None:
        super().__init__(text)
        self.errno = number
        self.filename = filename

    def __str__(self) -> str:
        return str(self.args[0])


class KernelCache(FileCacheManager):
    """The files of one kernel. Raises CacheFolderError where Triton's own manager raises OSError."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        self.variable = (
            "TRITON_DUMP_DIR" if dump else "TRITON_OVERRIDE_DIR" if override else "TRITON_CACHE_DIR"
        )
        with self._explained():
            super().__init__(key, override=override, dump=dump)

    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        """Like Triton's, which makes a folder for each file and takes it away again: half of what it takes to compile
        a small kernel. Nobody sees a file before all of it is there, here either."""
        path = os.path.join(self.cache_dir, filename)
        with self._explained():
            try:
                self._write(path, data)
            except FileNotFoundError:  # somebody empties the cache while kernels compile
                os.makedirs(self.cache_dir, exist_ok=True)
                self._write(path, data)
        return path

    def _write(self, path: str, data: Any) -> None:
        text = not isinstance(data, bytes)
        unfinished = os.path.join(self.cache_dir, f"tmp.pid_{os.getpid()}_{uuid4()}")
        try:
            with open(unfinished, "w" if text else "wb") as file:
                file.write(str(data) if text else data)
            os.replace(unfinished, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(unfinished)
            raise

    @contextmanager
    def _explained(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            place = error.filename or getattr(self, "cache_dir", "")
            raise CacheFolderError(
                f"{BACKEND_NAME}: Triton's cache folder cannot be used ({error.strerror}: {place!r}): set "
                f"{self.variable} to a folder that this user can write (`{DISTRIBUTION_NAME} doctor` tells more)",
                error.errno,
                error.filename,
            ) from error

    def get_group(self, filename: str) -> dict[str, str] | None:
        group: dict[str, str] | None = super().get_group(filename)
        if group and any(name.endswith(f".{BINARY_EXT}") for name in group):
            return group if all(is_whole(Path(path)) for path in group.values()) else None
        return group


class ManagerOfKernel(FileCacheManager):
    """Not a manager: calling the class makes one for whoever asks."""

    def __new__(cls, key: str, override: bool = False, dump: bool = False) -> Any:
        ours = isinstance(compiling_backend(), Backend)
        return (KernelCache if ours else FileCacheManager)(key, override=override, dump=dump)


def install() -> None:
    """Make Triton use `KernelCache` for our kernels, unless the user has chosen a manager."""
    if knobs.cache.manager_class is None:
        knobs.cache.manager_class = ManagerOfKernel


def uninstall() -> None:
    """Undo `install`. The next kernel of this backend installs it again."""
    if knobs.cache.manager_class is ManagerOfKernel:
        knobs.cache.manager_class = None


def is_whole(path: Path) -> bool:
    """Whether a file of the cache is as long as it says. Object code ends with the table that its header points to, and
    metadata with a bracket; of the other files, which are for people, only emptiness shows."""
    try:
        if path.suffix == f".{BINARY_EXT}":
            return _is_whole_object(path)
        if path.suffix == ".json":
            return isinstance(json.loads(path.read_bytes()), dict)
        return path.stat().st_size > 0
    except (OSError, ValueError):
        return False


def _is_whole_object(path: Path) -> bool:
    size = path.stat().st_size
    with path.open("rb") as file:
        header = file.read(64)
    if not header.startswith(ELF):  # another system's format, or a beginning that is cut off
        return not ELF.startswith(header)
    if size < 64:
        return False
    table = struct.unpack_from("<Q", header, 0x28)[0]
    entry_size, count = struct.unpack_from("<HH", header, 0x3A)
    return bool(size >= table + entry_size * count)
