"""The digest of our sources is remembered between processes, and never stale."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from <<cookiecutter.package_name>> import extensions
from <<cookiecutter.package_name>>.backend import fingerprint
from <<cookiecutter.package_name>>.backend.fingerprint import digest_below

pytestmark = pytest.mark.skipif(os.name != "posix", reason="nothing is remembered on this system")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    root = tmp_path / "package"
    (root / "passes").mkdir(parents=True)
    (root / "a.py").write_text("OPTIMISATION = 2\n")
    (root / "passes" / "b.py").write_text("b = 1\n")
    return root


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the sources that were read."""
    seen: list[str] = []
    read = extensions.read

    def noted(path: str) -> bytes:
        if path.endswith(".py"):
            seen.append(Path(path).name)
        return read(path)

    monkeypatch.setattr(extensions, "read", noted)
    return seen


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if files were never too young."""
    monkeypatch.setattr(fingerprint, "SETTLED", -(10**12))


@pytest.mark.usefixtures("settled")
def test_sources_are_read_once(sources: Path, tmp_path: Path, reads: list[str]) -> None:
    memory = str(tmp_path / "cache")
    first = digest_below(str(sources), memory)
    assert reads == ["a.py", "b.py"]
    assert digest_below(str(sources), memory) == first == digest_below(str(sources), None)
    assert reads == ["a.py", "b.py"] * 2, "only without a memory"
    assert not list(tmp_path.rglob("*.tmp.*"))


def same_size(file: Path) -> None:
    file.write_text(file.read_text().replace("2", "1"))


def same_size_and_time(file: Path) -> None:
    """What a careful forger does: the time of the last change is the only thing that tells."""
    before = file.stat()
    same_size(file)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def replaced(file: Path) -> None:
    before = file.stat()
    other = file.with_suffix(".new")
    other.write_text(file.read_text().replace("2", "1"))
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(other, file)


def renamed(file: Path) -> None:
    file.rename(file.with_name("c.py"))


def another(file: Path) -> None:
    file.with_name("c.py").write_text("")


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("edit", [same_size, same_size_and_time, replaced, renamed, another])
def test_no_edit_goes_unseen(edit: Any, sources: Path, tmp_path: Path) -> None:
    memory = str(tmp_path / "cache")
    before = digest_below(str(sources), memory)
    time.sleep(0.02)  # a step of the clock: younger files are not remembered, but by the fixture
    edit(sources / "a.py")
    after = digest_below(str(sources), memory)
    assert after != before
    assert after == digest_below(str(sources), None)


def test_young_files_are_not_remembered(sources: Path, tmp_path: Path) -> None:
    """The next edit may come within the same step of the clock."""
    memory = tmp_path / "cache"
    digest_below(str(sources), str(memory))
    assert not memory.exists()


@pytest.mark.usefixtures("settled")
def test_whole_seconds_are_not_remembered(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An old file system, or an image whose files all have one time: another image may have the same."""

    class Entry:
        def stat(self) -> Any:
            return SimpleNamespace(st_ctime_ns=1_700_000_000 * 10**9)

    def entries(root: str) -> Iterator[tuple[str, Any]]:
        yield "/a.py", Entry()

    monkeypatch.setattr(fingerprint, "python_files", entries)
    memory = tmp_path / "cache"
    assert digest_below(str(sources), str(memory)) == digest_below(str(sources), None)
    assert not memory.exists()


@pytest.mark.usefixtures("settled")
def test_damaged_memory(sources: Path, tmp_path: Path) -> None:
    memory = tmp_path / "cache"
    expected = digest_below(str(sources), str(memory))
    (file,) = memory.rglob("sources.sha256")
    for content in ("", expected[:10]):
        file.write_text(content)
        assert digest_below(str(sources), str(memory)) == expected
        assert file.read_text() == expected, "mended"


@pytest.mark.usefixtures("settled")
def test_no_folder_for_it(sources: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    assert digest_below(str(sources), str(tmp_path / "cache")) == digest_below(str(sources), None)
