"""The table of operations' classes, which threads share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from xdsl.dialects import arith, scf
from xdsl.ir import Operation

from <<cookiecutter.package_name>>.dialects import op_table, ttarith
from <<cookiecutter.package_name>>.dialects.op_table import OpaqueOp, operation_class, use_library_dialects

NAMES = [
    "scf.for",
    "arith.addi",
    "arith.cmpi",
    "tt.load",
    "cf.br",
    "ub.poison",
    "math.exp",
    "made.up",
    "arith.made_up",
]


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new process."""
    monkeypatch.setattr(op_table, "_table", op_table._Table({}, frozenset(), False))


def test_classes_before_and_after_the_library_is_wanted(empty: None) -> None:
    known = operation_class("scf.for"), operation_class("arith.cmpi")
    opaque = operation_class("arith.addi")
    assert known == (scf.ForOp, ttarith.CmpiOp) and issubclass(opaque, OpaqueOp)
    assert operation_class("arith.addi") is opaque and opaque.name == "arith.addi"
    use_library_dialects()
    assert operation_class("arith.addi") is arith.AddiOp
    assert (operation_class("scf.for"), operation_class("arith.cmpi")) == known


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def test_threads_see_one_class_a_name(hasty: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def work(number: int) -> list[tuple[type[Operation], ...]]:
        if number == 2:
            use_library_dialects()
        return [tuple(map(operation_class, NAMES)) for _ in range(3)]

    for _ in range(30):
        monkeypatch.setattr(op_table, "_table", op_table._Table({}, frozenset(), False))
        with ThreadPoolExecutor(8) as threads:
            found: list[Any] = [row for rows in threads.map(work, range(8)) for row in rows]
        for name, *classes in zip(NAMES, *found, strict=True):
            assert all(cls.name == name for cls in classes)
            opaque = {cls for cls in classes if issubclass(cls, OpaqueOp)}
            assert len(opaque) <= 2, "one before the library was wanted, and one after"
        assert operation_class("arith.addi") is arith.AddiOp
