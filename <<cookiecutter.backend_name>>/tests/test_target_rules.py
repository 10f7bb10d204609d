"""The numbers in `target.py` are checked before a kernel is compiled for them."""

from __future__ import annotations

from typing import Any

import pytest
import targets

from <<cookiecutter.package_name>> import target, target_rules
from <<cookiecutter.package_name>>.errors import InstallationError


def test_the_target_keeps_the_rules() -> None:
    assert target_rules.broken_rules() == []
    target_rules.check_target()


@pytest.mark.parametrize("name", targets.TARGETS)
def test_the_targets_of_the_tests_keep_them(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for constant, value in targets.TARGETS[name].items():
        monkeypatch.setattr(target, constant, value)
    assert target_rules.broken_rules() == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("VECTOR_LANES", 12),
        ("VECTOR_LANES", 0),
        ("VECTOR_LANES", "8"),
        ("MATRIX_TILE", (12, 12, 12)),
        ("MATRIX_TILE", (0, 8, 8)),
        ("MATRIX_TILE", (16, 8)),
        ("SCRATCHPAD_BYTES", 0),
        ("SCRATCHPAD_BYTES", 1000),
        ("SCRATCHPAD_OVERFLOWS", 1),
        ("VECTOR_TYPES", {"f32"}),
        ("VECTOR_TYPES", frozenset({"i8", "i16", "i32", "i64"})),
        ("VECTOR_TYPES", frozenset({"i8", "i16", "i32", "i64", "f32", "f16"})),
        ("SPECIAL_FUNCTIONS", ["exp"]),
        ("SPECIAL_FUNCTIONS", frozenset({"exp", "gamma"})),
        ("SCALAR_REGISTERS", 300),
        ("PREDICATE_REGISTERS", 0),
    ],
)
def test_a_broken_rule_is_one_sentence(monkeypatch: pytest.MonkeyPatch, name: str, value: Any) -> None:
    monkeypatch.setattr(target, name, value)
    (sentence,) = target_rules.broken_rules()
    assert name in sentence
    if isinstance(value, frozenset):
        wrong = {"f16", "gamma"} & value or {"f32"}
        assert all(word in sentence for word in wrong)
    else:
        assert repr(value) in sentence
    with pytest.raises(InstallationError, match=name):
        target_rules.check_target()
