"""Whole random kernels against an oracle of ours (`program_oracle.py`), element by element and to the last bit.

Environment: ``RANDOM_PROGRAMS`` is how many to run, ``RANDOM_PROGRAMS_SEED`` the first seed. A failure prints its seed:
``RANDOM_PROGRAMS=1 RANDOM_PROGRAMS_SEED=<seed> pytest tests/test_random_programs.py`` repeats it.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import launch
from program_generator import make_program
from program_oracle import GRID, REGION, OutOfBounds, Program, execute, size_of, source_of, without_range

from <<cookiecutter.package_name>>.passes import streaming_stores
from <<cookiecutter.package_name>>.target import BACKEND_NAME

COUNT = int(os.environ.get("RANDOM_PROGRAMS", "60"))
FIRST = int(os.environ.get("RANDOM_PROGRAMS_SEED", "0"))
BATCH = 10
LINE = 64
"""Bytes of a cache line."""
OFFSETS = (0, 0, 32, 16, 1)
"""Bytes behind the start of a line at which a program's buffers begin, or an element of theirs if that is more."""
SHRINK_SECONDS = 60.0


class Mismatch(AssertionError):
    """The kernel and the oracle disagree."""


def initial_memory(program: Program, seed: int) -> dict[str, np.ndarray]:
    """Small numbers and large ones, so that integers wrap; outputs too, to see what a kernel leaves alone."""
    generator = np.random.default_rng(seed)
    memory: dict[str, np.ndarray] = {}
    for name, dtype in program.buffers.items():
        if dtype == "bool":
            memory[name] = generator.integers(0, 2, GRID * REGION).astype(bool)
        elif dtype.startswith("float"):
            memory[name] = (generator.integers(-64, 64, GRID * REGION) / 4).astype(dtype)
        else:
            limits = np.iinfo(dtype)
            small = generator.integers(max(limits.min, -9), 10, GRID * REGION)
            large = generator.integers(limits.min, limits.max, GRID * REGION, dtype=dtype, endpoint=True)
            memory[name] = np.where(generator.random(GRID * REGION) < 0.7, small.astype(dtype), large)
    return memory


def kernel_of(source: str, folder: Path) -> Any:
    """The kernel of a source text: Triton reads it from a file."""
    path = folder / f"program_{abs(hash(source))}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


def placed(values: np.ndarray, offset: int) -> np.ndarray:
    """A copy that begins so many bytes behind a boundary of cache lines."""
    memory = np.zeros(values.nbytes + 2 * LINE, np.uint8)
    start = -memory.ctypes.data % LINE + offset
    copy = memory[start : start + values.nbytes].view(values.dtype)
    copy[:] = values
    return copy


@contextmanager
def streaming(*, everything: bool) -> Iterator[None]:
    """Past the caches goes what large launches would store there."""
    with pytest.MonkeyPatch.context() as patch:
        if everything:
            patch.setattr(streaming_stores, "large", lambda machine: 1)
        yield


def check(program: Program, seed: int, folder: Path) -> None:
    """Runs `program` both ways; raises `Mismatch`, or what the compiler raises."""
    expected = initial_memory(program, seed)
    offset = OFFSETS[seed // 2 % len(OFFSETS)]
    actual = {name: placed(array, max(offset, offset and array.itemsize)) for name, array in expected.items()}
    execute(program, expected)
    kernel = kernel_of(source_of(program), folder)
    with streaming(everything=seed % 2 == 0):
        launch(kernel, (GRID,), *actual.values(), *program.scalars.values())
    for name, values in expected.items():
        same = (values == actual[name]) | ((values != values) & (actual[name] != actual[name]))
        if not same.all():
            at = np.flatnonzero(~same)
            region, index = divmod(int(at[0]), REGION)
            raise Mismatch(
                f"{name}: {len(at)} elements differ, the first in instance {region} at {index}: "
                f"{actual[name][at[0]]!r} instead of {values[at[0]]!r}"
            )


def failure_of(program: Program, seed: int, folder: Path) -> Exception | None:
    """What goes wrong with `program`; None also where shrinking made a program that is not valid."""
    try:
        check(program, seed, folder)
    except OutOfBounds:
        return None
    except Exception as error:
        return error
    return None


def kind_of(error: Exception) -> str:
    """Shrinking must not turn one failure into another."""
    return type(error).__name__


def shrunk(program: Program, seed: int, error: Exception, folder: Path) -> tuple[Program, Exception]:
    """A smaller program that still fails in the same way: large pieces are dropped first."""
    deadline = time.monotonic() + SHRINK_SECONDS
    step = size_of(program) // 2
    while step:
        before, first = size_of(program), 0
        while first < size_of(program):
            if time.monotonic() > deadline:
                return program, error
            candidate = without_range(program, first, first + step)
            other = failure_of(candidate, seed, folder)
            if other is not None and kind_of(other) == kind_of(error):
                program, error = candidate, other
            else:
                first += step
        if step > 1 or size_of(program) == before:
            step //= 2
    return program, error


def instructions_of(program: Program, folder: Path) -> str:
    """The ISA text of a program that compiles."""
    memory = initial_memory(program, 0)
    try:
        compiled = launch(
            kernel_of(source_of(program), folder), (GRID,), *memory.values(), *program.scalars.values()
        )
    except Exception as error:
        return f"no instructions: {error}"
    return str(compiled.asm[f"{BACKEND_NAME}ir"])


def describe(seed: int, program: Program, error: Exception, folder: Path) -> str:
    return (
        f"seed {seed}: {type(error).__name__}: {error}\n\n{source_of(program)}\n"
        f"{program.buffers} {program.scalars}\n\n{instructions_of(program, folder)}"
    )


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="random-programs-") as path:
        yield Path(path)


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, BATCH))
def test_random_programs(first: int, folder: Path) -> None:
    for seed in range(first, min(first + BATCH, FIRST + COUNT)):
        program = make_program(seed)
        error = failure_of(program, seed, folder)
        if error is not None:
            small, small_error = shrunk(program, seed, error, folder)
            pytest.fail(describe(seed, small, small_error, folder), pytrace=False)
