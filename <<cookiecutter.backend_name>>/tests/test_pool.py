"""The thread pool: every program exactly once, whatever the number of threads, launches and processes."""

from __future__ import annotations

import concurrent.futures
import os
import re
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from native import BARRIER, NEVER, NativeKernel, counting_kernel, run_python

from <<cookiecutter.package_name>>.runtime import pool
from <<cookiecutter.package_name>>.runtime.array import DeviceArray
from <<cookiecutter.package_name>>.runtime.launcher import DeviceAssertion
from <<cookiecutter.package_name>>.target import ENV_PREFIX


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch):
    def set_count(count: int) -> None:
        monkeypatch.setattr(pool, "_chosen_thread_count", lambda: count)

    return set_count


@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize("grid", [(1, 1, 1), (2, 1, 1), (3, 5, 7), (1000, 1, 1), (1, 1, 4099)])
def test_every_program_runs_once(threads, count: int, grid: tuple[int, int, int]) -> None:
    threads(count)
    out = DeviceArray.zeros(int(np.prod(grid)), "int32")
    kernel = counting_kernel()
    for _ in range(5):
        kernel(grid, out, 20, NEVER)
    assert (out.numpy() == 5).all()


def test_trap_of_the_lowest_program_is_reported(threads) -> None:
    threads(4)
    traps = [("assert", f"program {n}", "k.py", n) for n in range(1000)]
    kernel = counting_kernel(traps=traps)
    out = DeviceArray.zeros(1000, "int32")
    for bad in range(0, 1000, 37):
        out.zero_()
        with pytest.raises(DeviceAssertion, match=rf"program 0 at k.py:0 .*, program \({bad}, 0, 0\) of the grid"):
            kernel((1000, 1, 1), out, 5, bad)
        assert (out.numpy()[:bad] == 1).all(), "programs before the failing one have run"
    out.zero_()
    kernel((1000, 1, 1), out, 5, NEVER)
    assert (out.numpy() == 1).all(), "the launch after a failed one works"


@pytest.mark.parametrize("count", [1, 4])
def test_the_program_that_trapped_is_named(threads, count: int) -> None:
    threads(count)
    kernel = counting_kernel(traps=[("assert", "no", "k.py", 1)])
    out = DeviceArray.zeros(3 * 5 * 7, "int32")
    with pytest.raises(DeviceAssertion, match=r"kernel count, program \(2, 3, 4\) of the grid \(3, 5, 7\)"):
        kernel((np.int64(3), 5, 7), out, 5, 2 + 3 * (3 + 5 * 4))


def test_launches_from_many_threads(threads) -> None:
    threads(3)
    kernel = counting_kernel()
    arrays = [DeviceArray.zeros(64, "int32") for _ in range(6)]

    def hammer(out: DeviceArray) -> None:
        for _ in range(200):
            kernel((64, 1, 1), out, 50, NEVER)

    with concurrent.futures.ThreadPoolExecutor(6) as executor:
        list(executor.map(hammer, arrays))
    for out in arrays:
        assert (out.numpy() == 200).all()


def test_launch_releases_the_gil() -> None:
    ticks = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.wait(0.001):
            ticks += 1

    ticker = threading.Thread(target=tick)
    ticker.start()
    deadline = time.monotonic() + 20
    kernel, out = counting_kernel(), DeviceArray.zeros(1, "int32")
    before = ticks
    while ticks < before + 3 and time.monotonic() < deadline:
        kernel((1, 1, 1), out, 50_000_000, NEVER)
    stop.set()
    ticker.join()
    assert ticks >= before + 3


def test_cooperative_programs_run_at_the_same_time(threads) -> None:
    threads(1)
    kernel = NativeKernel(BARRIER, "barrier", {"out": "*i32"}, cooperative=True)
    for _ in range(20):
        out = DeviceArray.zeros(1, "int32")
        kernel((9, 1, 1), out)
        assert out.item() == 9


def test_cooperative_launches_wait_for_their_turn(threads) -> None:
    threads(2)
    kernel = NativeKernel(BARRIER, "barrier", {"out": "*i32"}, cooperative=True)

    def launch(_: int) -> int:
        out = DeviceArray.zeros(1, "int32")
        kernel((4, 1, 1), out)
        return out.item()

    with concurrent.futures.ThreadPoolExecutor(4) as executor:
        assert list(executor.map(launch, range(60))) == [4] * 60


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc how much memory to leave")
def test_too_few_threads_for_a_cooperative_launch() -> None:
    """It says so and runs nothing, and later launches work."""
    code = """
        import resource, signal
        from pathlib import Path
        from native import BARRIER, NEVER, NativeKernel, counting_kernel
        from <<cookiecutter.package_name>>.errors import LaunchError
        from <<cookiecutter.package_name>>.runtime.array import DeviceArray

        barrier = NativeKernel(BARRIER, "barrier", {"out": "*i32"}, cooperative=True)
        counting, out = counting_kernel(), DeviceArray.zeros(512, "int32")
        barrier((3, 1, 1), out)
        signal.alarm(60)
        out.zero_()
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + 2**26, resource.RLIM_INFINITY))
        for _ in range(3):
            try:
                barrier((512, 1, 1), out)
            except LaunchError as error:
                print(error)
        assert out.numpy().sum() == 0
        counting((512, 1, 1), out, 1000, NEVER)
        assert (out.numpy() == 1).all(), "with fewer threads"
        out.zero_()
        barrier((3, 1, 1), out)
        assert out.numpy()[0] == 3
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        out.zero_()
        barrier((64, 1, 1), out)
        assert out.numpy()[0] == 64
    """
    done = run_python(code, PYTHONPATH=os.path.dirname(__file__))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    for line in lines:
        needed = re.search(
            r"kernel barrier needs 512 threads, .* the system gives (\d+) .*nothing has run", line
        )
        assert needed is not None, line
        assert 3 <= int(needed[1]) < 512


def test_workspace_grows_and_is_private(threads) -> None:
    threads(4)
    out = DeviceArray.zeros(256, "int32")
    for size in (64, 2**20, 4096, 3 * 2**20):
        out.zero_()
        counting_kernel(scratch_bytes=size)((256, 1, 1), out, 200, NEVER)
        assert (out.numpy() == 1).all()


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc how much memory there is")
def test_workspace_shrinks(threads) -> None:
    """One large launch does not cost a long-lived process its workspaces; a few small launches between large ones do
    not cost it new ones."""
    import resource

    threads(1)
    out = DeviceArray.zeros(2, "int32")

    def mapped() -> int:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()

    small, large = counting_kernel(), counting_kernel(scratch_bytes=2**30)
    small((2, 1, 1), out, 1, NEVER)
    before = mapped()
    for _ in range(3):
        large((2, 1, 1), out, 1, NEVER)
        for _ in range(100):
            small((2, 1, 1), out, 1, NEVER)
        assert mapped() >= before + 2**29
    for _ in range(300):
        small((2, 1, 1), out, 1, NEVER)
    assert mapped() < before + 2**29


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc how much memory to leave")
def test_no_memory_for_the_workspaces_of_a_cooperative_launch() -> None:
    """The programs that have one would wait for ever for those that have not: it says so and runs nothing."""
    code = """
        import resource, signal
        from pathlib import Path
        from native import BARRIER, NativeKernel
        from <<cookiecutter.package_name>>.runtime.array import DeviceArray

        small, large = (
            NativeKernel(BARRIER, "barrier", {"out": "*i32"}, cooperative=True, scratch_bytes=size)
            for size in (64, 2**30)
        )
        out = DeviceArray.zeros(1, "int32")
        small((4, 1, 1), out)
        signal.alarm(60)
        mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + 2**31 + 2**29, resource.RLIM_INFINITY))
        out.zero_()
        try:
            large((4, 1, 1), out)
        except MemoryError as error:
            print(error)
        assert out.item() == 0
        small((4, 1, 1), out)
        assert out.item() == 4
        out.zero_()
        large((2, 1, 1), out)
        assert out.item() == 2
    """
    done = run_python(code, PYTHONPATH=os.path.dirname(__file__))
    assert done.returncode == 0, done.stderr
    assert "no memory for the workspace of kernel barrier" in done.stdout


def test_cooperative_programs_have_workspaces_of_their_own(threads) -> None:
    threads(1)
    out = DeviceArray.zeros(16, "int32")
    kernel = counting_kernel(scratch_bytes=100, cooperative=True)
    for _ in range(20):
        kernel((16, 1, 1), out, 100, NEVER)
    assert (out.numpy() == 20).all()


def test_no_memory_for_the_workspace() -> None:
    kernel = counting_kernel(scratch_bytes=2**60)
    with pytest.raises(MemoryError, match="workspace of kernel count"):
        kernel((4, 1, 1), DeviceArray.zeros(4, "int32"), 1, NEVER)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_fork(threads) -> None:
    threads(3)
    kernel = counting_kernel()
    out = DeviceArray.zeros(100, "int32")
    kernel((100, 1, 1), out, 1000, NEVER)
    for _ in range(50):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                old, new = DeviceArray.zeros(100, "int32"), DeviceArray.zeros(100, "int32")
                kernel((100, 1, 1), old, 1000, NEVER)
                counting_kernel()((100, 1, 1), new, 1000, NEVER)  # links and starts threads of its own
                status = 0 if (old.numpy() == 1).all() and (new.numpy() == 1).all() else 2
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        kernel((100, 1, 1), out, 10, NEVER)
    assert (out.numpy() == 51).all()


def test_process_ends_with_idle_and_with_spinning_workers() -> None:
    code = """
        from native import counting_kernel, NEVER
        from <<cookiecutter.package_name>>.runtime import pool
        from <<cookiecutter.package_name>>.runtime.array import DeviceArray
        kernel = counting_kernel()
        kernel((64, 1, 1), DeviceArray.zeros(64, "int32"), 20000, NEVER)
        print(pool.worker_count())
    """
    for _ in range(5):
        done = run_python(code, PYTHONPATH=os.path.dirname(__file__), **{f"{ENV_PREFIX}_NUM_THREADS": "4"})
        assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")


def test_idle_workers_sleep(threads) -> None:
    threads(4)
    kernel = counting_kernel()
    kernel((64, 1, 1), DeviceArray.zeros(64, "int32"), 10000, NEVER)
    time.sleep(0.05)
    before = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - before < 0.1


@pytest.mark.parametrize("value", ["0", "-1", "two", "1025", "²"])
def test_bad_thread_count(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(pool.THREADS_VARIABLE, value)
    pool._chosen_thread_count.cache_clear()
    try:
        with pytest.raises(Exception, match=f"{pool.THREADS_VARIABLE}=.*from 1 to 1024"):
            pool.thread_count()
    finally:
        monkeypatch.undo()
        pool._chosen_thread_count.cache_clear()


def test_thread_count_follows_torch(threads) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    threads(0)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        assert pool.thread_count() == 3
    finally:
        torch.set_num_threads(before)


def test_thread_count_without_torch_is_the_number_of_cpus() -> None:
    code = "from <<cookiecutter.package_name>>.runtime import pool; import os; print(pool.thread_count() == len(os.sched_getaffinity(0)))"
    assert run_python(code, **{pool.THREADS_VARIABLE: ""}).stdout == "True\n"


def test_unusable_cache_folder_is_no_error(tmp_path) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    code = """
        from native import counting_kernel, NEVER
        from <<cookiecutter.package_name>>.runtime.array import DeviceArray
        out = DeviceArray.zeros(8, "int32")
        counting_kernel()((8, 1, 1), out, 1, NEVER)
        print(out.numpy().sum())
    """
    done = run_python(code, PYTHONPATH=os.path.dirname(__file__), TRITON_CACHE_DIR=str(file / "cache"))
    assert (done.stdout, done.stderr) == ("8\n", "")
