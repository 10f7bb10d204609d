"""Public failures of the kernel cache: stale entries (R26), races and unusable folders (R27), and memory that grows with
every recompilation.

FULL_ROUNDS=1 in the environment repeats as often as the cases ask for.
"""

from __future__ import annotations

import errno
import gc
import multiprocessing
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton
from harness import launch
from native import run_python
from package_copy import copy_package
from rounds import rounds
from test_cache import add_constant, forget_kernels, run_variants

from <<cookiecutter.package_name>>.backend.cache_manager import CacheFolderError
from <<cookiecutter.package_name>>.runtime.loader import LoadedImage
from <<cookiecutter.package_name>>.target import ARCH, PACKAGE_NAME

TESTS = os.path.dirname(__file__)

RUN = f"""
import os, sys
import {PACKAGE_NAME}
{PACKAGE_NAME}.activate()
BEFORE
import triton
hits = []
triton.knobs.compilation.listener = lambda **seen: hits.append(seen["cache_hit"])
from test_cache import add_constant
from harness import launch
import numpy as np
out = np.zeros(8, np.float32)
launch(add_constant, (1,), np.arange(8, dtype=np.float32), out, 8, C=2, BLOCK=8, OPTIONS)
print(hits, out.tolist() == [2, 3, 4, 5, 6, 7, 8, 9])
"""

HIT, MISS = "[True] True\n", "[False] True\n"


# --- R26: stale entries ----------------------------------------------------------------------------------------


def test_r26_what_recompiles_and_what_does_not(tmp_path: Path) -> None:
    """A warm cache; then each edit in turn: compiled anew. A README is none of them."""
    package = copy_package(tmp_path)

    def run(options: str = "", before: str = "") -> str:
        code = RUN.replace("OPTIONS", options).replace("BEFORE", before)
        environment = {
            "PYTHONPATH": f"{tmp_path}:{TESTS}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "TRITON_CACHE_DIR": str(tmp_path / "cache"),
        }
        done = run_python(code, **environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def edit(path: str, old: str, new: str) -> None:
        text = (package / path).read_text()
        assert old in text
        (package / path).write_text(text.replace(old, new, 1))

    assert run() == MISS
    (package / "README.md").write_text("touched")
    (tmp_path / "README.md").write_text("touched")
    assert run() == HIT
    edit("lowering/memory_ops.py", "from __future__", "# an edited line\nfrom __future__")
    assert run() == MISS
    metadata = next(tmp_path.glob("*.dist-info")) / "METADATA"
    metadata.write_text(metadata.read_text().replace("Version: 1", "Version: 1.0.1"))
    # The folder is named for the version, and made anew by whoever installs another.
    name = metadata.parent.stem.rpartition("-")[0]
    metadata.parent.rename(metadata.parent.with_name(f"{name}-1.0.1.dist-info"))
    assert run() == MISS
    edit("codegen/object_code.py", "OPTIMISATION = 2", "OPTIMISATION = 1")  # a flag of the compiler
    assert run() == MISS
    assert run(before="import llvmlite; llvmlite.__version__ = '0.99'") == MISS  # another compiler
    edit("target.py", f'ARCH: Final = "{ARCH}"', 'ARCH: Final = "another"')
    assert run() == MISS
    assert run(options="num_warps=8") == MISS
    assert run() == HIT


# --- R27: races ------------------------------------------------------------------------------------------------

PROCESSES, VARIANTS = 8, 8


def race(barrier: Any, results: Any) -> None:
    forget_kernels()
    barrier.wait(100)
    try:
        results.put(run_variants(VARIANTS))
    except BaseException as error:
        results.put(repr(error))


@pytest.mark.skipif(sys.platform == "win32", reason="no fork on this system")
def test_r27_eight_processes_one_cold_folder(fresh_cache: Path) -> None:
    """All compile the same eight variants at once, in each round into a folder that is not there yet."""
    expected = [4950.0 + 100 * constant for constant in range(VARIANTS)]
    run_variants(1)
    context = multiprocessing.get_context("fork")
    for turn in range(rounds(2, 50)):
        os.environ["TRITON_CACHE_DIR"] = str(fresh_cache / str(turn))
        barrier, results = context.Barrier(PROCESSES), context.Queue()
        workers = [context.Process(target=race, args=(barrier, results)) for _ in range(PROCESSES)]
        for worker in workers:
            worker.start()
        found = [results.get(timeout=120) for _ in workers]
        for worker in workers:
            worker.join(60)
        assert found == [expected] * PROCESSES
        assert not list(fresh_cache.rglob("tmp.*")), "temporary files are left"
        shutil.rmtree(fresh_cache / str(turn))


def test_r27_unrelated_processes(tmp_path: Path) -> None:
    """Processes that share nothing but the folder, as under a launcher of distributed jobs."""
    import subprocess

    code = RUN.replace("OPTIONS", "").replace("BEFORE", "")
    environment = {**os.environ, "PYTHONPATH": TESTS, "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", code]
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(rounds(3, 8))
    ]
    for process in running:
        out, err = process.communicate(timeout=200)
        assert out in (HIT, MISS), err


# --- R27: folders that cannot be used --------------------------------------------------------------------------

NOBODY = 65534

AS_USER = f"""
import os, sys
sys.path.insert(0, {TESTS!r})
from test_cache import forget_kernels, run_variants
os.environ["TRITON_ALWAYS_COMPILE"] = "1"
run_variants(1)  # everything is imported before files of the installation may become unreadable
os.environ.pop("TRITON_ALWAYS_COMPILE")
if os.geteuid() == 0:
    os.setgid({NOBODY}); os.setuid({NOBODY})
os.environ.pop("TRITON_CACHE_DIR")
os.environ.update(ENVIRONMENT)
forget_kernels()
try:
    print(run_variants(2))
except Exception as error:
    print(type(error).__name__, error)
"""


def as_user(home: str = "/", **environment: str) -> str:
    """What an ordinary user sees who launches two kernels: the results, or the error in one line."""
    done = run_python(AS_USER.replace("ENVIRONMENT", repr(environment)), HOME=home, TRITON_HOME="")
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


RESULTS = str([4950.0, 5050.0])


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that other users can reach."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def test_r27_read_only_folder(shared: Path) -> None:
    """What it holds can be used; for the rest there is one sentence that names the variable to set."""
    cache = shared / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    assert as_user(TRITON_CACHE_DIR=str(cache)) == RESULTS
    for folder in (cache, *cache.iterdir()):
        if folder.stat().st_uid == os.geteuid() or os.geteuid() == 0:
            folder.chmod(0o555)
    try:
        assert as_user(TRITON_CACHE_DIR=str(cache)) == RESULTS
        text = as_user(TRITON_CACHE_DIR=str(cache), TRITON_ALWAYS_COMPILE="1")
        assert text.startswith("CacheFolderError") and "\n" not in text
        assert "Permission denied" in text and "set TRITON_CACHE_DIR to a folder" in text
    finally:
        for folder in (cache, *cache.iterdir()):
            folder.chmod(0o755)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a folder away"
)
def test_r27_folder_of_another_user(shared: Path) -> None:
    cache = shared / "cache"
    cache.mkdir(mode=0o700)
    text = as_user(TRITON_CACHE_DIR=str(cache))
    assert text.startswith("CacheFolderError") and "\n" not in text
    assert "Permission denied" in text and "set TRITON_CACHE_DIR to a folder" in text


def test_r27_full_disk(fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No space left: one sentence, no half-written kernel, and it works once there is space again."""
    from <<cookiecutter.package_name>>.backend import cache_manager

    class Full:
        def __init__(self, path: str, mode: str = "r") -> None:
            self.file = open(path, mode)

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def write(self, data: Any) -> int:
            self.file.write(data[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def limited(path: str, mode: str = "r") -> Any:
        return Full(path, mode) if "w" in mode else open(path, mode)

    forget_kernels()
    monkeypatch.setattr(cache_manager, "open", limited, raising=False)
    with pytest.raises(CacheFolderError, match="No space left on device.*set TRITON_CACHE_DIR") as caught:
        run_variants(1)
    assert caught.value.errno == errno.ENOSPC
    monkeypatch.delattr(cache_manager, "open")
    assert run_variants(1) == [4950.0]


@pytest.mark.parametrize("home", ["/nonexistent/home", ""])
def test_r27_absent_home(home: str) -> None:
    """No home folder, or none that is known: kernels run, or one sentence says which variable to set."""
    text = as_user(home=home)
    if text != RESULTS:
        assert text.startswith("CacheFolderError") and "\n" not in text
        assert "set TRITON_CACHE_DIR to a folder" in text


@pytest.mark.parametrize("suffix", ["obj", "json", "llir", "ttir", "__grp__"])
@pytest.mark.parametrize("keep", [0, 1, 60, 100, -1])
def test_r27_truncated_files(
    fresh_cache: Path, suffix: str, keep: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that a crash cut off: the kernel is compiled anew and the file mended."""
    hits: list[bool] = []
    monkeypatch.setattr(triton.knobs.compilation, "listener", lambda **seen: hits.append(seen["cache_hit"]))
    forget_kernels()
    assert run_variants(1) == [4950.0]
    pattern = "__grp__*" if suffix == "__grp__" else f"add_constant.{suffix}"
    (file,) = fresh_cache.rglob(pattern)
    whole = file.read_bytes()
    file.write_bytes(whole[:keep])
    for _ in range(2):
        forget_kernels()
        assert run_variants(1) == [4950.0]
    needed = suffix in ("obj", "json", "__grp__") or keep == 0
    assert hits == [False, not needed, True]
    if suffix == "obj":
        assert file.read_bytes() == whole


# --- memory ----------------------------------------------------------------------------------------------------


def resident_kib() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="no statistics of memory on this system")
def test_memory_levels_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recompiling one kernel again and again: modules of kernels that are gone are unloaded, and memory levels off."""
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "1")
    x, out = np.zeros(32, np.float32), np.zeros(32, np.float32)

    def recompile() -> None:
        forget_kernels()
        launch(add_constant, (1,), x, out, 32, C=3, BLOCK=32)
        assert out[0] == 3

    def loaded() -> int:
        gc.collect()
        return sum(isinstance(thing, LoadedImage) and bool(thing.addresses) for thing in gc.get_objects())

    count = rounds(60, 500)
    for _ in range(count // 3):
        recompile()
    modules, memory = loaded(), resident_kib()
    for _ in range(count - count // 3):
        recompile()
    assert loaded() <= modules
    assert resident_kib() - memory < 12_000
