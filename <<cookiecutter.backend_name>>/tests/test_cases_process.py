"""Public failures of processes and of benchmarking: fork, spawn, pools and test workers (R28), and autotuning where
nothing is CUDA (R31).

FULL_ROUNDS=1 in the environment repeats as often as the cases ask for.
"""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import launch
from native import run_python
from rounds import rounds
from test_cache import EXPECTED, forget_kernels, run_variants

from <<cookiecutter.package_name>>.runtime.array import DeviceArray
from <<cookiecutter.package_name>>.target import PACKAGE_NAME

TESTS = os.path.dirname(__file__)
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")

# --- R28: processes --------------------------------------------------------------------------------------------


@triton.jit
def scaled_sum(x, out, C: tl.constexpr, N: tl.constexpr):
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    tl.atomic_add(out, tl.sum(tl.load(x + lanes)) * C)


def scaled(constant: int) -> int:
    """One launch over eight programs (so that threads share it) of the kernel for this constant."""
    x, out = np.ones(256, np.int32), np.zeros(1, np.int32)
    launch(scaled_sum, (8,), x, out, C=constant, N=32)
    return int(out[0])


def in_forked_child(turn: int, pause: float = 0.0) -> int:
    """Fork; the child launches a kernel that the parent has compiled, and compiles and launches one of its own. Its id."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # a deadlock ends the child
        status = 1
        try:
            time.sleep(pause)
            status = 0 if scaled(1) == 256 and scaled(1000 + turn) == 256 * (1000 + turn) else 2
        finally:
            os._exit(status)
    return child


def wait_for(child: int) -> None:
    """The child ends well, within ten seconds (twenty where the machine is slow)."""
    assert os.waitpid(child, 0)[1] == 0


@needs_fork
def test_r28_fork_again_and_again(fresh_cache: Path) -> None:
    """The parent has pools and a JIT engine; children launch old and new kernels, and so does the parent, meanwhile
    and after."""
    assert scaled(1) == 256
    for turn in range(rounds(12, 200)):
        child = in_forked_child(turn)
        assert scaled(1) == 256
        if turn % 4 == 0:
            assert scaled(5000 + turn) == 256 * (5000 + turn), "the parent compiles while the child does"
        wait_for(child)


@needs_fork
def test_r28_fork_while_other_threads_compile_and_launch(fresh_cache: Path) -> None:
    """The child has only the thread that forked; what the others held at that moment must not block it."""
    assert scaled(1) == 256
    stop = False

    def work(first: int) -> None:
        constant = first
        while not stop:
            constant += 1
            assert scaled(constant) == 256 * constant

    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        busy = [executor.submit(work, first) for first in (10_000, 20_000)]
        try:
            for turn in range(rounds(6, 60)):
                time.sleep(0.01 * (turn % 5))
                wait_for(in_forked_child(turn))
        finally:
            stop = True
        for future in busy:
            future.result()


@needs_fork
def test_r28_the_child_exits_first_and_the_parent_exits_first() -> None:
    """The parent goes on after the child is gone; a child goes on after its parent is gone."""
    assert scaled(1) == 256
    wait_for(in_forked_child(1))
    assert scaled(1) == 256 and scaled(77) == 256 * 77
    ours, theirs = os.pipe()
    parent = os.fork()
    if parent == 0:
        if os.fork() == 0:
            signal.alarm(20)
            time.sleep(0.1)  # by now its parent is gone
            os.write(theirs, b"fine" if scaled(1) == 256 and scaled(78) == 256 * 78 else b"wrong")
        os._exit(0)
    assert os.waitpid(parent, 0)[1] == 0
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        assert pipe.read() == b"fine"


def answer(turn: int) -> list[float]:
    return [float(scaled(turn)), *run_variants(2)]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_r28_process_pools(method: str, fresh_cache: Path) -> None:
    """`concurrent.futures` over each way to start a process; the parent launches before, meanwhile and after."""
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} on this system")
    assert scaled(1) == 256
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor:
        answers = executor.map(answer, range(1, 7), timeout=200)
        assert scaled(1) == 256
        for turn, found in enumerate(answers, 1):
            assert found == [256.0 * turn, *EXPECTED[:2]]
    forget_kernels()
    assert run_variants(2) == EXPECTED[:2]


def test_r28_parallel_test_workers(tmp_path: Path) -> None:
    """pytest-xdist: two workers, one cache folder."""
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
        "-p",
        "no:cacheprovider",
        "test_language_atomics.py",
    ]
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(command, cwd=TESTS, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout and "failed" not in done.stdout


# --- R31: benchmarking without CUDA ----------------------------------------------------------------------------

AUTOTUNE = f"""
import sys, time
PREPARE
import {PACKAGE_NAME}
{PACKAGE_NAME}.activate()
import numpy as np, triton, triton.language as tl
from triton.testing import do_bench
from harness import launch
from test_cases_process import tuned_add, prepared
x, y, out = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32), np.full(1000, 5, np.float32)
start = time.perf_counter()
launch(tuned_add, lambda meta: (triton.cdiv(1000, meta["BLOCK"]),), x, y, out, 1000)
assert time.perf_counter() - start < 60
assert (out == x + 1).all(), out
assert tuned_add.best_config.kwargs["BLOCK"] in (64, 256), tuned_add.best_config
assert {{64, 256}} <= set(prepared), prepared
low, middle, high = do_bench(lambda: None, warmup=1, rep=5, quantiles=[0.1, 0.5, 0.9])
assert 0 < low <= middle <= high
assert do_bench(lambda: None, warmup=1, rep=5) > 0
assert PROOF
print("fine")
"""

prepared: list[int] = []


def prepare(arguments: dict[str, object]) -> None:
    """A hook that resets what the kernel adds to."""
    block = arguments["BLOCK"]
    assert isinstance(block, int)
    prepared.append(block)
    out = arguments["out"]
    assert isinstance(out, DeviceArray)
    out.zero_()
    if block == 1024:
        raise triton.runtime.errors.OutOfResources(2**30, 2**20, "shared memory")


@triton.autotune(
    configs=[triton.Config({"BLOCK": block}, pre_hook=prepare) for block in (1024, 64, 256)], key=["n"]
)
@triton.jit
def tuned_add(x, y, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < n
    total = tl.load(x + lanes, mask=inside) + tl.load(y + lanes, mask=inside)
    tl.atomic_add(out + lanes, total, mask=inside)


GPU_VISIBLE = """
import torch
def touched(*args, **kwargs): raise AssertionError("the GPU was used")
torch.cuda.is_available = lambda: True
torch.cuda.device_count = lambda: 1
for name in ("Event", "synchronize", "current_stream", "set_device", "get_device_capability", "_lazy_init"):
    setattr(torch.cuda, name, touched)
"""


NO_TORCH = """
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch": raise ModuleNotFoundError("No module named 'torch'")
sys.meta_path.insert(0, NoTorch())
"""


@pytest.mark.parametrize(
    ("prepare", "proof"),
    [
        ("", "True"),
        (GPU_VISIBLE, "torch.cuda.is_available()"),
        (NO_TORCH, "'torch' not in sys.modules"),
    ],
    ids=["no GPU", "a GPU that is not asked for", "no torch"],
)
def test_r31_autotune(prepare: str, proof: str) -> None:
    """Three configurations, one of which is out of resources; inputs are reset by a hook; `do_bench`, with quantiles."""
    if "import torch" in prepare:
        pytest.importorskip("torch", reason="torch is not installed")
    code = AUTOTUNE.replace("PREPARE", prepare).replace("PROOF", proof)
    done = run_python(code, PYTHONPATH=TESTS)
    assert done.stdout == "fine\n", done.stderr
