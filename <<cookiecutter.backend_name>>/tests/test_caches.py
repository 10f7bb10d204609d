"""How large the host's caches are, and which outputs go past them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from <<cookiecutter.package_name>>.backend import fingerprint
from <<cookiecutter.package_name>>.host_caches import last_level_bytes
from <<cookiecutter.package_name>>.machine import Machine
from <<cookiecutter.package_name>>.passes import streaming_stores

MB = 2**20


def told(folder: Path, *sizes: str) -> int:
    for index, size in enumerate(sizes):
        (folder / f"index{index}").mkdir()
        (folder / f"index{index}" / "size").write_text(size)
    return last_level_bytes(str(folder))


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (("48K\n", "64K\n", "2048K\n", "32768K\n"), 32 * MB),
        (("32K", "1M"), MB),
        (("65536",), 65536),
        (("", "K", "many", "12X"), 0),
        ((), 0),
    ],
)
def test_the_largest_counts(tmp_path: Path, sizes: tuple[str, ...], expected: int) -> None:
    assert told(tmp_path, *sizes) == expected


def test_a_system_that_does_not_tell(tmp_path: Path) -> None:
    assert last_level_bytes(str(tmp_path / "none")) == 0


@pytest.mark.parametrize(
    ("cache", "least"),
    [(0, 8 * MB), (16 * MB, 8 * MB), (32 * MB, 8 * MB), (96 * MB, 24 * MB), (504 * MB, 32 * MB)],
)
def test_outputs_of_a_quarter_are_large(cache: int, least: int) -> None:
    assert streaming_stores.large(Machine(False, False, cache)) == least


def test_compiled_code_depends_on_it(monkeypatch: Any) -> None:
    found = []
    for size in (32 * MB, 504 * MB):
        monkeypatch.setattr(fingerprint, "last_level_bytes", lambda size=size: size)
        fingerprint.toolchain.cache_clear()
        found.append(fingerprint.fingerprint())
    fingerprint.toolchain.cache_clear()
    assert found[0] != found[1]
