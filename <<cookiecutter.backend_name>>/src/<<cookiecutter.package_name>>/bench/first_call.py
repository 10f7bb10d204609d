"""What our part of a kernel's first call takes in a new process that finds the kernel in the cache.

Every method of ours that Triton calls is timed, with whatever it imports; the rest of the call is Triton's own: it
digests its libraries and imports parts of itself. No torch, so that only what this package needs is imported.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ..backend import compiler, driver


def first_call() -> dict[str, float]:
    """Milliseconds of CPU: ``ours`` and ``total``. Call it first in a process."""
    import numpy as np

    from ..examples.vector_add import vector_add
    from ..runtime.array import DeviceArray

    x, y, out = (DeviceArray.from_numpy(np.ones(1000, np.float32)) for _ in range(3))
    stopwatch = Stopwatch()
    for kind in (compiler.Backend, driver.Driver, driver.Utilities):
        stopwatch.watch(kind)
    start = time.thread_time()
    vector_add[(1,)](x, y, out, 1000, BLOCK=1024)
    total = time.thread_time() - start
    return {"ours": 1e3 * stopwatch.spent, "total": 1e3 * total}


class Stopwatch:
    """CPU seconds of this thread that were ``spent`` in functions that it wraps, nested calls counted once."""

    def __init__(self) -> None:
        self.spent = 0.0
        self._inside = False

    def watch(self, kind: type) -> None:
        """Wrap the methods and properties that `kind` itself defines."""
        for name, member in list(vars(kind).items()):
            if isinstance(member, property):
                setattr(kind, name, property(self.wrapped(member.fget)))
            elif isinstance(member, classmethod | staticmethod):
                setattr(kind, name, type(member)(self.wrapped(member.__func__)))
            elif callable(member):
                setattr(kind, name, self.wrapped(member))

    def wrapped(self, function: Any) -> Callable[..., Any]:
        """`function`, timed. A function of ours that it gives (a launcher, its maker) is wrapped, too."""

        def run(*arguments: Any, **keywords: Any) -> Any:
            if self._inside:
                return function(*arguments, **keywords)
            self._inside = True
            start = time.thread_time()
            try:
                result = function(*arguments, **keywords)
            finally:
                self.spent += time.thread_time() - start
                self._inside = False
            return self.wrapped(result) if is_function(result) else result

        return run


def is_function(thing: Any) -> bool:
    return hasattr(thing, "__code__")
