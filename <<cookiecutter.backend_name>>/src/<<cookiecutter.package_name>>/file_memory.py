"""What was learnt from files, remembered in Triton's cache folder for as long as the files stay as they are.

What is remembered holds for files with the same names, sizes, inodes, and times of the last modification and of the
last *change*, to the nanosecond. The system sets the latter at every write, every rename, and every attempt to set the
former: short of setting the clock back to the nanosecond, nobody can edit a file and keep it. Where that is not so,
nothing is remembered: on systems with another notion of it (Windows), in file systems and images that know whole
seconds only or have one time for all files, and while a file is younger than `SETTLED`.
"""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import os
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final

SETTLED: Final = 3 * 10**9
"""Nanoseconds for which files must have stayed as they are before what they hold is remembered: more than the steps in
which any clock advances, so that a later edit cannot have the same time."""

END: Final = "\n"
"""Closes what is remembered: a file that does not end with it was cut off."""


def remembered(
    question: str, states: Mapping[str, os.stat_result | None], learn: Callable[[], str], memory: str | None
) -> str:
    """The answer to `question`, which depends on nothing but the files of these names and ``states`` (None: there is no
    such file): from the folder `memory`, or what `learn` finds and is remembered there.

    Without a folder, or for files whose states do not tell all, it is learnt each time.
    """
    found = [state for state in states.values() if state is not None]
    if not memory or not _tell_all(found):
        return learn()
    kept = [s and (s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for s in states.values()]
    # The fastest way from numbers to bytes. Version 2 of the format writes the same for equal values.
    key = hashlib.sha256(marshal.dumps((question, [*states], kept), 2)).hexdigest()
    place = os.path.join(memory, key, "answer.txt")
    try:
        known = read(place).decode("utf-8", "replace")
    except OSError:
        known = ""
    if known.endswith(END):
        return known.removesuffix(END)
    answer = learn()
    _write(place, answer + END)
    return answer


def _tell_all(states: list[os.stat_result]) -> bool:
    """Whether files in these states cannot have been edited since without another state."""
    changes = [state.st_ctime_ns for state in states]
    return (
        os.name == "posix"
        and max(changes, default=0) < time.time_ns() - SETTLED
        and all(change % 10**9 for change in changes)
    )


def _write(place: str, text: str) -> None:
    """Write a file that others see whole or not at all. A folder that cannot be used is no error here."""
    unfinished = f"{place}.tmp.{os.getpid()}"
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(unfinished, "wb") as file:
            file.write(text.encode())
        os.replace(unfinished, place)


def read(path: str) -> bytes:
    """The contents of a file, in a third of the time that a file object takes."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, os.fstat(descriptor).st_size)
    finally:
        os.close(descriptor)


def state_of(path: str) -> os.stat_result | None:
    """None where there is no such file, or none that can be read."""
    try:
        return os.stat(path)
    except OSError:
        return None


def digest_below(root: str, memory: str | None, without: frozenset[str] = frozenset()) -> str:
    """The digest of the Python files below `root`, remembered in the folder `memory` (Triton's cache) if there is one.

    Those below the folders `without` do not count. Reading and digesting this package takes 2 ms, looking whether it
    has been done less than half.
    """
    files = dict(sorted(python_files(root, without)))

    def learn() -> str:
        digest = hashlib.sha256()
        for name in files:
            contents = read(root + name)
            digest.update(f"{name} {len(contents)}\n".encode())
            digest.update(contents)
        return digest.hexdigest()

    states = {name: entry.stat() for name, entry in files.items()} if memory else {}
    return remembered(f"digest below {root}", states, learn, memory)


def python_files(
    root: str, without: frozenset[str], below: str = ""
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Their names, relative to the root and with slashes, and what the folder knows of them. (A third of the time that
    pathlib takes.)"""
    with os.scandir(root + below) as entries:
        for entry in entries:
            name = entry.name
            if name.endswith(".py"):
                yield f"{below}/{name}", entry
            elif "." not in name and name != "__pycache__" and f"{below}/{name}" not in without:
                if entry.is_dir():
                    yield from python_files(root, without, f"{below}/{name}")
