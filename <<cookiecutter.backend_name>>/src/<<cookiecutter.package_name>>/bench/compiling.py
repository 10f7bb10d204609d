"""Compile times: CPU milliseconds of this thread for each stage, with an empty kernel cache, in a warm process."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import triton

from ..backend import compiler
from ..backend.options import Options

if TYPE_CHECKING:
    from .works import Work

REPEATS = 5
STAGES = {"TTIR": "make_ttir", "ISA": "make_isa", "LLVM IR": "make_llir", "object": "make_object"}
"""Heading -> the function of `backend.compiler` that is the stage. The rest of a compilation is Triton's front end."""


def compile_times(work: Work) -> list[dict[str, Any]]:
    """For each kernel that `work` launches: its ``name`` and the medians of ``total`` and each stage, in CPU ms."""
    pair = work.pair(small=False)
    pair.ours()
    return [{"name": kernel.src.name, **measure(kernel)} for jit in work.kernels for kernel in _compiled(jit)]


def _compiled(jit: Any) -> list[Any]:
    """What was compiled for a ``@triton.jit`` function, autotuned or not: one a specialisation, the first if tuned."""
    function = getattr(jit, "fn", jit)
    function = function if hasattr(function, "device_caches") else jit
    caches = list(function.device_caches.values())
    return [kernel for cache in caches for kernel in cache[0].values()][:1]


def measure(kernel: Any, *, repeats: int = REPEATS) -> dict[str, float]:
    """Medians of ``total`` and each stage, in CPU ms, of compiling a compiled kernel again."""
    known = kernel.metadata._asdict()
    options = {field.name: known[field.name] for field in fields(Options) if field.name in known}
    runs: list[dict[str, float]] = []
    for _ in range(repeats + 1):
        with empty_cache(), timed_stages() as spent:
            start = time.thread_time()
            triton.compile(kernel.src, target=known["target"], options=options)
            total = time.thread_time() - start
        runs.append({"total": total, **spent})
    middle = repeats // 2
    return {name: 1e3 * sorted(run.get(name, 0.0) for run in runs[1:])[middle] for name in ("total", *STAGES)}


@contextmanager
def empty_cache() -> Generator[None]:
    before = os.environ.get("TRITON_CACHE_DIR")
    with tempfile.TemporaryDirectory(prefix="triton-bench-") as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ["TRITON_CACHE_DIR"]
            else:
                os.environ["TRITON_CACHE_DIR"] = before


@contextmanager
def timed_stages() -> Generator[dict[str, float]]:
    """Seconds that each stage takes while the ``with`` block runs."""
    spent: dict[str, float] = {}
    originals = {function: getattr(compiler, function) for function in STAGES.values()}

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **keywords: Any) -> Any:
            start = time.thread_time()
            result = function(*arguments, **keywords)
            spent[name] = time.thread_time() - start
            return result

        return run

    for name, function in STAGES.items():
        setattr(compiler, function, timed(name, originals[function]))
    try:
        yield spent
    finally:
        for function, original in originals.items():
            setattr(compiler, function, original)
