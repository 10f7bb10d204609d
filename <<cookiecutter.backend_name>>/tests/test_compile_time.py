"""Compile time follows the number of operations, not the size of blocks; a kernel in the cache costs no compiler.

Machines are busy and differ: what is asserted about time has much slack. Sizes of what is generated have little.
`<<cookiecutter.distribution_name>> bench` has the times themselves.
"""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import launch
from native import run_python

from <<cookiecutter.package_name>>.bench.compiling import STAGES, measure
from <<cookiecutter.package_name>>.lowering.scratch import SKEW
from <<cookiecutter.package_name>>.target import BACKEND_NAME, ENV_PREFIX, PACKAGE_NAME

TESTS = os.path.dirname(__file__)


@triton.jit
def softmax(x, y, n, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i, mask=i < n, other=-float("inf"))
    value = tl.exp(value - tl.max(value, 0))
    tl.store(y + i, value / tl.sum(value, 0), mask=i < n)


@triton.jit
def running(x, y, n, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.cumsum(tl.load(x + i, mask=i < n, other=0.0), 0), mask=i < n)


@triton.jit
def arg_extremes(x, y, n, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y, tl.argmax(value, 0) + tl.argmin(value, 0))


@triton.jit
def transposed(x, y, n, N: tl.constexpr):
    value = tl.reshape(tl.load(x + tl.arange(0, N)), (2, 8, N // 64, 2, 2))
    tl.store(y + tl.arange(0, N), tl.reshape(tl.trans(value, 4, 2, 0, 1, 3), (N,)))


@triton.jit
def counted(x, y, n, N: tl.constexpr):
    numbers = tl.load(x + tl.arange(0, N)).to(tl.int32)
    tl.store(y + tl.arange(0, 64), tl.histogram(numbers, 64).to(tl.float32))


@triton.jit
def square_sums(x, y, n, N: tl.constexpr):
    SIDE: tl.constexpr = 32 if N == 1024 else 256
    rows, columns = tl.arange(0, SIDE)[:, None], tl.arange(0, SIDE)[None, :]
    value = tl.load(x + rows * SIDE + columns)
    tl.store(y + tl.arange(0, SIDE), tl.sum(value, 0) + tl.max(value, 1))


@triton.jit
def product(x, y, n, N: tl.constexpr):
    SIDE: tl.constexpr = 32 if N == 1024 else 256
    at = tl.arange(0, SIDE)[:, None] * SIDE + tl.arange(0, SIDE)[None, :]
    value = tl.load(x + at)
    tl.store(y + at, tl.dot(value, value))


BLOCKS = (softmax, running, arg_extremes, transposed, counted, square_sums, product)


def compiled(kernel: Any, *arguments: Any, **constants: Any) -> Any:
    x, y = (np.ones(1 <<'<<'>> 16, np.float32) for _ in range(2))
    return launch(kernel, (1,), x, y, *arguments, **constants)


def ours(kernel: Any) -> float:
    """CPU milliseconds of our stages."""
    times = measure(kernel, repeats=3)
    return sum(times[stage] for stage in STAGES)


def sizes(kernel: Any) -> dict[str, int]:
    text = kernel.asm
    return {
        "instructions": text[f"{BACKEND_NAME}ir"].count("\n"),
        "LLVM IR": len(text["llir"]),
        "object code": len(text["obj"]),
    }


@pytest.mark.parametrize("kernel", BLOCKS, ids=lambda kernel: kernel.__name__)
def test_block_size(kernel: Any) -> None:
    """64 times the lanes: at most twice the code, either way."""
    small, large = (compiled(kernel, 1000, N=lanes) for lanes in (1024, 65536))
    before, after = sizes(small), sizes(large)
    for name, size in before.items():
        assert size / 2 <= after[name] <= 2 * size, (name, before, after)
    assert ours(large) < 4 * ours(small)


@triton.jit
def many_lines(x, y, R: tl.constexpr):
    i = tl.arange(0, 512)
    for r in tl.static_range(R):
        tl.store(y + r * 512 + i, tl.load(x + r * 512 + i) * 2 + r)


@triton.jit
def many_steps(x, y, R: tl.constexpr):
    i = tl.arange(0, 512)
    value = tl.load(x + i)
    for r in tl.static_range(R):
        value = value * 1.5 + r
    tl.store(y + i, value)


@triton.jit
def many_reductions(x, y, R: tl.constexpr):
    i = tl.arange(0, 512)
    value = tl.load(x + i)
    for _ in tl.static_range(R):
        value = value - tl.sum(value, 0)
    tl.store(y + i, value)


@triton.jit
def many_branches(x, y, n, R: tl.constexpr):
    i = tl.arange(0, 512)
    value = tl.load(x + i)
    for r in tl.static_range(R):
        if n > r:
            value = value * 2 + r
    tl.store(y + i, value)


@triton.jit
def many_products(x, y, R: tl.constexpr):
    at = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    value = tl.load(x + at)
    total = value
    for r in tl.static_range(R):
        total = tl.dot(value, tl.load(x + r * 256 + at), total)
    tl.store(y + at, total)


@triton.jit
def many_scalars(x, y, R: tl.constexpr):
    value = tl.load(x)
    for r in tl.static_range(R):
        value = value * 3 + r
    tl.store(y, value)


@triton.jit
def many_loops(x, y, n, R: tl.constexpr):
    i = tl.arange(0, 512)
    value = tl.load(x + i)
    for _ in tl.static_range(R):
        for step in range(n):
            value += tl.load(x + i + step)
    tl.store(y + i, value)


LENGTHS = (
    many_lines,
    many_steps,
    many_reductions,
    many_branches,
    many_products,
    many_scalars,
    many_loops,
)


@pytest.mark.parametrize("kernel", LENGTHS, ids=lambda kernel: kernel.__name__)
def test_number_of_operations(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the operations: twice the code, and not much more than twice the time."""
    monkeypatch.delenv(f"{ENV_PREFIX}_VERIFY_PASSES", raising=False)
    arguments = (1,) if "n" in kernel.arg_names else ()
    short, long = (compiled(kernel, *arguments, R=count) for count in (25, 50))
    before, after = sizes(short), sizes(long)
    for name, size in before.items():
        assert after[name] <= 2.2 * size, (name, before, after)
    assert ours(long) < 3.5 * ours(short)


@triton.jit
def sorted_lanes(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y + i, tl.sort(tl.load(x + i)))


@triton.jit
def nested_loops(x, y, n, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.zeros((N,), tl.float32)
    for a in range(n):
        for b in range(n):
            for c in range(n):
                for d in range(n):
                    value += tl.load(x + i + a + 2 * b + 3 * c + 5 * d)
                value = value * 2
            value = value - tl.max(value, 0)
        value = value + 1
    tl.store(y + i, value)


@triton.jit
def combine(a, b, c, d, e, f):
    return a * d, b * d + e, c + f


@triton.jit
def scan_of_three(x, y, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.load(x + i)
    a, b, c = tl.associative_scan((value, value + 1, value * 2), 0, combine)
    tl.store(y + i, a + b + c)


def test_nothing_takes_seconds() -> None:
    for kernel in (
        compiled(sorted_lanes, N=1024),
        compiled(nested_loops, 1, N=1024),
        compiled(scan_of_three, N=16384),
    ):
        assert measure(kernel, repeats=1)["total"] < 5000


def test_a_stage_of_a_sort_is_one_nest() -> None:
    """The partners of ``tl.sort`` are read, not computed (lowering/exchange.py)."""
    kernel = compiled(sorted_lanes, N=1024)
    stages = 10 * 11 // 2
    assert sizes(kernel)["instructions"] < 40 * stages
    assert kernel.metadata.scratch_bytes <= 2 * (4 * 1024 + SKEW)


# --- a second process ---------------------------------------------------------------------------------------------

SECOND = f"""
import json, sys
sys.path.insert(0, {TESTS!r})
import numpy as np
from test_elsewhere import run
before = {{*sys.modules}}
hit, right = run()
print(json.dumps({{"hit": hit, "right": right, "new": sorted({{*sys.modules}} - before)}}))
"""

ELSEWHERE = """
import numpy as np
import triton
import triton.language as tl
from PACKAGE.runtime.array import DeviceArray


@triton.jit
def scaled(x, y, n, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y + i, tl.exp(tl.load(x + i, mask=i < n)), mask=i < n)


def run():
    hits = []
    triton.knobs.compilation.listener = lambda **seen: hits.append(seen["cache_hit"])
    x, y = DeviceArray.from_numpy(np.zeros(100, np.float32)), DeviceArray.empty(100)
    scaled[(4,)](x, y, 100, N=32)
    return hits, bool((y.numpy() == 1).all())
"""

COMPILER = ("frontend", "lowering", "dialects", "passes.pipeline", "passes.expand_special", "language")
COMPILER_ON_X86 = ("codegen",)


def second_process(folder: Path, **environment: str) -> dict[str, Any]:
    (folder / "test_elsewhere.py").write_text(ELSEWHERE.replace("PACKAGE", PACKAGE_NAME))
    environment = {"TRITON_CACHE_DIR": str(folder / "cache"), **environment}
    done = run_python(SECOND.replace(TESTS, str(folder)), **environment)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_cached_kernel_needs_no_compiler(tmp_path: Path) -> None:
    first = second_process(tmp_path)
    assert first["hit"] == [False] and first["right"] and "xdsl" in first["new"]
    second = second_process(tmp_path)
    assert second["hit"] == [True] and second["right"]
    new = {*second["new"]}
    assert "xdsl" not in new
    unwanted = COMPILER
    if platform.machine() == "x86_64" and platform.system() == "Linux":
        assert "llvmlite" not in new
        unwanted += COMPILER_ON_X86
    assert not new & {f"{PACKAGE_NAME}.{name}" for name in unwanted}
    assert not [name for name in new if name.startswith(f"{PACKAGE_NAME}.cli")]


REMOTE = """
import pathlib
from triton.runtime.cache import RemoteCacheBackend


class Folder(RemoteCacheBackend):
    def __init__(self, key):
        self.folder = pathlib.Path(__file__).parent / "remote" / key
        self.folder.mkdir(parents=True, exist_ok=True)

    def get(self, filenames):
        return {name: (self.folder / name).read_bytes() for name in filenames if (self.folder / name).exists()}

    def put(self, filename, data):
        (self.folder / filename).write_bytes(data)
"""


def test_remote_cache(tmp_path: Path) -> None:
    """Triton's remote cache: what one machine compiled, another one like it does not."""
    (tmp_path / "test_remote_backend.py").write_text(REMOTE)
    remote = {
        "TRITON_CACHE_MANAGER": "triton.runtime.cache:RemoteCacheManager",
        "TRITON_REMOTE_CACHE_BACKEND": "test_remote_backend:Folder",
        "PYTHONPATH": str(tmp_path),
    }
    first = second_process(tmp_path, TRITON_CACHE_DIR=str(tmp_path / "one"), **remote)
    assert first["hit"] == [False] and first["right"]
    assert any(path.suffix == ".obj" for path in (tmp_path / "remote").rglob("*"))
    second = second_process(tmp_path, TRITON_CACHE_DIR=str(tmp_path / "other"), **remote)
    assert second["hit"] == [True] and second["right"]
    assert "xdsl" not in second["new"]
