"""What files say (our sources, entry points) is remembered between processes, and never stale."""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from <<cookiecutter.package_name>> import extensions, file_memory
from <<cookiecutter.package_name>>.backend import fingerprint
from <<cookiecutter.package_name>>.file_memory import digest_below

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
    read = file_memory.read

    def noted(path: str) -> bytes:
        if path.endswith(".py"):
            seen.append(Path(path).name)
        return read(path)

    monkeypatch.setattr(file_memory, "read", noted)
    return seen


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if files were never too young."""
    monkeypatch.setattr(file_memory, "SETTLED", -(10**12))


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

    def entries(root: str, without: frozenset[str]) -> Iterator[tuple[str, Any]]:
        yield "/a.py", Entry()

    monkeypatch.setattr(file_memory, "python_files", entries)
    memory = tmp_path / "cache"
    assert digest_below(str(sources), str(memory)) == digest_below(str(sources), None)
    assert not memory.exists()


@pytest.mark.usefixtures("settled")
def test_damaged_memory(sources: Path, tmp_path: Path) -> None:
    memory = tmp_path / "cache"
    expected = digest_below(str(sources), str(memory))
    (file,) = memory.rglob("answer.txt")
    whole = file.read_text()
    for content in ("", expected[:10]):
        file.write_text(content)
        assert digest_below(str(sources), str(memory)) == expected
        assert file.read_text() == whole, "mended"


@pytest.mark.usefixtures("settled")
def test_no_folder_for_it(sources: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    assert digest_below(str(sources), str(tmp_path / "cache")) == digest_below(str(sources), None)


# --- packages that the compiler is made of ----------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package ``made_up_tool``, found first, in a folder of its own."""
    folder = tmp_path / "place" / "made_up_tool"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "part.py").write_text("A = 1\n")
    monkeypatch.syspath_prepend(str(folder.parent))
    importlib.invalidate_caches()
    extensions.installed_distributions.cache_clear()
    yield folder
    extensions.installed_distributions.cache_clear()


def distribution_in(folder: Path, form: str = "dist-info") -> None:
    place = folder / f"made_up_tool-1.0.{form}"
    place.mkdir()
    (place / "METADATA").write_text("Name: made-up-tool\nVersion: 1.0\n")
    extensions.installed_distributions.cache_clear()


def changes_when_edited(package: Path) -> bool:
    before = fingerprint.edited_sources("made_up_tool")
    assert fingerprint.edited_sources("made_up_tool") == before
    (package / "part.py").write_text("A = 2\n")
    return fingerprint.edited_sources("made_up_tool") != before


def test_a_wheel_is_what_its_version_says(package: Path) -> None:
    distribution_in(package.parent)
    assert not changes_when_edited(package) and fingerprint.edited_sources("made_up_tool") == ""


def test_sources_on_the_path_count(package: Path) -> None:
    assert changes_when_edited(package)


@pytest.mark.parametrize("form", ["dist-info", "egg-info"])
def test_an_editable_installation_counts(
    package: Path, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = package.parent if form == "egg-info" else tmp_path / "site"
    place.mkdir(exist_ok=True)
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.syspath_prepend(str(package.parent))
    distribution_in(place, form)
    assert changes_when_edited(package)


def test_what_the_compiler_is_made_of_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(fingerprint, "edited_sources", lambda name: asked.append(name) or f"; {name} edited")
    text = fingerprint.toolchain.__wrapped__()
    assert asked == ["llvmlite", "xdsl"] and text.endswith("; llvmlite edited; xdsl edited")


def test_packages_that_are_not_there() -> None:
    assert fingerprint.edited_sources("no_such_package_anywhere") == ""


# --- entry points -----------------------------------------------------------------------------------------------------


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path with two installed distributions, of which one has entry points, of no extension."""
    folder = tmp_path / "site"
    for name in ("one", "two"):
        (folder / f"{name}-1.dist-info").mkdir(parents=True)
        (folder / f"{name}-1.dist-info" / "METADATA").write_text(f"Name: {name}\nVersion: 1\n")
    (folder / "two-1.dist-info" / "entry_points.txt").write_text("[console_scripts]\ntwo = two:main\n")
    monkeypatch.syspath_prepend(str(folder))
    extensions.installed_distributions.cache_clear()
    yield folder
    extensions.installed_distributions.cache_clear()


def offers(memory: Path) -> bool:
    extensions.installed_distributions.cache_clear()
    return extensions.anybody_offers("made_up.group", str(memory))


@pytest.mark.usefixtures("settled")
def test_entry_points_are_read_once(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    read = extensions.read
    monkeypatch.setattr(extensions, "read", lambda path: seen.append(path) or read(path))
    assert not offers(tmp_path / "cache")
    assert str(site / "two-1.dist-info" / "entry_points.txt") in seen
    seen.clear()
    assert not offers(tmp_path / "cache") and not seen


def in_the_file(site: Path) -> None:
    """Of the same size, time and inode: the time of the last change is the only thing that tells."""
    file = site / "two-1.dist-info" / "entry_points.txt"
    before = file.stat()
    file.write_text("[made_up.group]".ljust(before.st_size))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size


def in_a_new_file(site: Path) -> None:
    (site / "one-1.dist-info" / "entry_points.txt").write_text("[made_up.group]\nfirst = one\n")


def in_a_new_distribution(site: Path) -> None:
    (site / "three-1.dist-info").mkdir()
    (site / "three-1.dist-info" / "entry_points.txt").write_text("[made_up.group]\nthird = three\n")


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("install", [in_the_file, in_a_new_file, in_a_new_distribution])
def test_no_extension_goes_unseen(install: Any, site: Path, tmp_path: Path) -> None:
    assert not offers(tmp_path / "cache")
    time.sleep(0.02)  # a step of the clock: younger files are not remembered, but by the fixture
    install(site)
    assert offers(tmp_path / "cache")


def test_young_entry_points_are_not_remembered(site: Path, tmp_path: Path) -> None:
    assert not offers(tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


@pytest.mark.usefixtures("settled")
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads every file")
def test_entry_points_that_cannot_be_read_may_offer(site: Path, tmp_path: Path) -> None:
    """Another user, with the same cache folder, may be able to read them."""
    (site / "two-1.dist-info" / "entry_points.txt").chmod(0)
    assert offers(tmp_path / "cache")
