"""The doctor on Triton's cache folder: can it be used, and is there anything broken of ours in it?

Triton keeps one folder a compilation in TRITON_CACHE_DIR, or else in ``.triton/cache`` of TRITON_HOME or of
the home folder. It creates the folders it needs, and takes every file it finds there for whole.
"""

from __future__ import annotations

import json
import os
import pwd
import shlex
import shutil
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ..target import BACKEND_NAME
from .environment import Environment
from .report import Finding, fail, ok, warn

LITTLE = 1024 * 1024 * 1024
"""Bytes of free space below which the doctor warns."""

TOO_LITTLE = 16 * 1024 * 1024
"""Bytes of free space below which compiling is likely to fail."""

MOST_SECONDS = 2.0
"""A shared cache can hold a million folders: looking for leftovers ends after this time."""

OUR_FILES = (f".{BACKEND_NAME}ir", ".obj")
"""Endings of the files that only this backend stores."""


def cache_folder(environment: Environment) -> tuple[str, str]:
    """Triton's cache folder as it is written (may be relative or empty) and the variable or rule that it
    comes from.
    """
    environ = environment.environ
    if "TRITON_CACHE_DIR" in environ:
        return environ["TRITON_CACHE_DIR"], "TRITON_CACHE_DIR"
    if "TRITON_HOME" in environ:
        return os.path.join(environ["TRITON_HOME"], ".triton", "cache"), "TRITON_HOME"
    return os.path.join(os.path.expanduser("~/"), ".triton", "cache"), "the home folder"


def _elsewhere() -> tuple[str, str]:
    """Advice for a folder that cannot be used."""
    folder = os.path.join(tempfile.gettempdir(), f"triton-cache-{os.geteuid()}")
    return (
        "Point TRITON_CACHE_DIR at a folder you can write.",
        f"export TRITON_CACHE_DIR={shlex.quote(folder)}",
    )


def folder(environment: Environment) -> Iterator[Finding]:
    text, origin = cache_folder(environment)
    if manager := environment.environ.get("TRITON_CACHE_MANAGER"):
        yield warn(
            "cache.manager",
            f"TRITON_CACHE_MANAGER={manager}: another cache than the one described here is used.",
            "Unset it, unless you know that manager.",
            "unset TRITON_CACHE_MANAGER",
        )
    if not text:
        yield fail(
            "cache.empty-name",
            f"{origin} is set, and empty: Triton stops with 'Could not create or locate cache dir'.",
            "Unset it.",
            f"unset {origin}",
        )
        return
    if text.startswith("~"):
        why = (
            "HOME is not set and this user has no home folder"
            if origin == "the home folder"
            else f"{origin}={text!r}"
        )
        yield fail(
            "cache.no-home",
            f"{why}: Triton would make a folder called '~' wherever it is started.",
            *_elsewhere(),
        )
        return
    if not os.path.isabs(text):
        yield warn(
            "cache.relative",
            f"{text} (from {origin}) is relative: there is one cache for each folder that Triton is started "
            "in.",
            "Use an absolute path.",
            f"export TRITON_CACHE_DIR={shlex.quote(os.path.abspath(text))}",
        )
    path = Path(text).absolute()
    if trouble := why_not_writable(path):
        yield fail("cache.not-writable", f"{path} (from {origin}): {trouble}.", *_elsewhere())
        return
    if full := _space(path):
        yield full
    yield from _ownership(path)
    if full and full.status == "FAIL":
        return
    state = "" if path.is_dir() else ", made when needed"
    yield ok("cache", f"{path} (from {origin}{state})")


def existing_parent(path: Path) -> Path:
    """The innermost folder of ``path`` that is there, a dangling link or a file counting as there."""
    while not os.path.lexists(path):
        path = path.parent
    return path


def why_not_writable(path: Path) -> str:
    """Why files cannot be made in the folder, in words; '' if they can. Tries it where the folder is there
    already.
    """
    try:
        there = existing_parent(path)
    except OSError as error:
        return f"it cannot be looked at ({error.strerror})"
    if not there.is_dir():
        return f"{there} is not a folder"
    if not os.access(there, os.W_OK | os.X_OK):
        owner, me = _user(there.stat().st_uid), _user(os.geteuid())
        return f"{there} belongs to {owner}, and {me} may not write there"
    if there != path:
        return ""
    try:
        with tempfile.TemporaryFile(dir=path) as probe:
            probe.write(b"\0" * 65536)
            probe.flush()
    except OSError as error:
        return f"a file cannot be written there ({error.strerror})"
    return ""


def _space(path: Path) -> Finding | None:
    there = existing_parent(path)
    free = shutil.disk_usage(there).free
    statistics = os.statvfs(there)
    if statistics.f_files and not statistics.f_favail:
        return fail(
            "cache.space",
            f"the file system of {there} has no room for another file (no inodes).",
            *_elsewhere(),
        )
    if free < LITTLE:
        level = fail if free < TOO_LITTLE else warn
        return level(
            "cache.space", f"only {free // 2**20} MiB are free on the file system of {there}.", *_elsewhere()
        )
    return None


def _ownership(path: Path) -> Iterator[Finding]:
    """Folders that another user left behind, as a run under sudo does: nothing can be added to them."""
    if not path.is_dir():
        return
    me = os.geteuid()
    foreign = [entry for entry in _entries(path) if not os.access(entry.path, os.W_OK | os.X_OK)]
    if path.stat().st_uid != me:
        yield warn(
            "cache.owner",
            f"{path} belongs to {_user(path.stat().st_uid)}, not to {_user(me)}: whoever may write there "
            "chooses the code that runs here.",
            *_elsewhere(),
        )
    if foreign:
        owner = _user(foreign[0].stat(follow_symlinks=False).st_uid)
        yield warn(
            "cache.foreign-entries",
            f"{len(foreign)} folders in {path} cannot be written, the first belongs to {owner}.",
            "Give them to yourself, or use another folder.",
            f"sudo chown -R {me} {shlex.quote(str(path))}",
        )


def leftovers(environment: Environment) -> Iterator[Finding]:
    """Stored files of this backend that are empty or cut off, as a full disk leaves them."""
    text, _ = cache_folder(environment)
    path = Path(text).absolute()
    if not text or not path.is_dir() or not os.access(path, os.R_OK | os.X_OK):
        return
    broken: dict[Path, list[str]] = {}
    for entry in _entries(path):
        if files := broken_files(Path(entry.path)):
            broken[Path(entry.path)] = files
    if broken:
        first, files = next(iter(broken.items()))
        names = [shlex.quote(str(folder)) for folder in broken]
        yield warn(
            "cache.leftovers",
            f"{len(broken)} stored compilations of {BACKEND_NAME} are damaged ({first.name}: "
            f"{', '.join(files)}).",
            "Delete them: they are compiled again when needed.",
            "\n".join(f"rm -r {' '.join(names[i : i + 4])}" for i in range(0, len(names), 4)),
        )


def _entries(path: Path) -> Iterator[os.DirEntry[str]]:
    end = time.monotonic() + MOST_SECONDS
    with os.scandir(path) as entries:
        for entry in entries:
            if time.monotonic() > end:
                return
            if entry.is_dir(follow_symlinks=False):
                yield entry


def broken_files(folder: Path) -> list[str]:
    """Names of the damaged files in one folder of the cache; empty too if the folder is not of this
    backend.
    """
    try:
        files = sorted(entry for entry in folder.iterdir() if entry.is_file())
    except OSError:  # reported by folder()
        return []
    if not any(file.name.endswith(OUR_FILES) for file in files):
        return []
    return [file.name for file in files if _is_broken(file)]


def _is_broken(file: Path) -> bool:
    try:
        if file.stat().st_size == 0:
            return file.name != "lock"
        if file.suffix == ".json":
            json.loads(file.read_bytes())
        elif file.suffix == ".obj":
            return is_cut_off(file.read_bytes())
    except ValueError:
        return True
    except OSError:
        return False
    return False


def is_cut_off(elf: bytes) -> bool:
    """Does a 64-bit ELF file end before its section headers do? Other formats are not judged."""
    if elf[:5] != b"\x7fELF\x02":
        return len(elf) < 5 and b"\x7fELF\x02".startswith(elf)
    if len(elf) < 64:
        return True
    (section_headers,) = struct.unpack_from("<Q", elf, 40)
    size, count = struct.unpack_from("<HH", elf, 58)
    end: int = section_headers + size * count
    return len(elf) < end


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
