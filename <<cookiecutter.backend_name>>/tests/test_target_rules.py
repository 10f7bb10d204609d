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
        ("SCRATCHPAD_BYTES", 16 * 1024),
        ("VECTOR_LANES", True),
        ("REGISTER_GROUP", 0),
        ("REGISTER_GROUP", 3),
        ("REGISTER_GROUP", 16),
        ("ARCH", ""),
        ("BACKEND_NAME", "my backend"),
        ("DEVICE_BYTES_PER_CYCLE", 0),
        ("LATENCIES", [(4, 1)]),
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


@pytest.mark.parametrize("name", target_rules.RULES)
def test_a_missing_constant(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(target, name.removesuffix("S") + "X", getattr(target, name), raising=False)
    monkeypatch.delattr(target, name)
    (sentence,) = target_rules.broken_rules()
    assert sentence.startswith(f"{name} is missing; there is ") and sentence.endswith(f"did you mean {name}?")
    with pytest.raises(InstallationError, match=f"{name} is missing"):
        target_rules.check_target()


def test_a_group_is_no_larger_than_the_register_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "REGISTER_GROUP", 8)
    monkeypatch.setattr(target, "VECTOR_REGISTERS", 8)
    assert target_rules.broken_rules() == []
    monkeypatch.setattr(target, "VECTOR_REGISTERS", 7)
    assert target_rules.broken_rules() == ["REGISTER_GROUP, 8, is larger than VECTOR_REGISTERS, 7: no group fits"]


def test_every_constant_has_a_rule() -> None:
    assert {name for name in vars(target) if name.isupper()} == set(target_rules.RULES)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"matrix": 16}, "has matrix: 16"),
        ({"matrix": (16,)}, r"has matrix: \(16,\)"),
        ({"special": (16, 0)}, r"has special: \(16, 0\)"),
        ({"special": (1.5, 1)}, r"has special: \(1.5, 1\)"),
        ({"special": (16, 0.5)}, r"has special: \(16, 0.5\)"),
        ({"matrix": (16, 0.0)}, r"has matrix: \(16, 0.0\)"),
        ({"matrix": (16, float("nan"))}, r"has matrix: \(16, nan\)"),
        ({"matrix": (0.5, 1)}, r"has matrix: \(0.5, 1\)"),
        ({"specail": (16, 1)}, "has the unknown specail"),
    ],
)
def test_latencies(monkeypatch: pytest.MonkeyPatch, line: dict[str, Any], words: str) -> None:
    monkeypatch.setattr(target, "LATENCIES", {**target.LATENCIES, **line})
    with pytest.raises(InstallationError, match=f"LATENCIES {words}; it must be a dict with"):
        target_rules.check_target()
    monkeypatch.setattr(target, "LATENCIES", {"scalar": (1, 1)})
    with pytest.raises(
        InstallationError, match="LATENCIES lacks control, matrix, memory, special, vector; it must"
    ):
        target_rules.check_target()


@pytest.mark.parametrize("busy", [1, 4, 0.5, 1.5])
def test_the_matrix_unit_may_take_several_steps_a_cycle(monkeypatch: pytest.MonkeyPatch, busy: float) -> None:
    monkeypatch.setattr(target, "LATENCIES", {**target.LATENCIES, "matrix": (16, busy)})
    assert target_rules.broken_rules() == []


@pytest.mark.parametrize(
    ("tile", "kib", "fits"),
    [((64, 64, 64), 48, True), ((64, 64, 64), 32, False), ((128, 64, 4), 32, False), ((4, 4, 256), 32, True)],
)
def test_the_operands_of_a_tile_fit(
    monkeypatch: pytest.MonkeyPatch, tile: tuple[int, int, int], kib: int, fits: bool
) -> None:
    """The template's prompts have the same rule."""
    monkeypatch.setattr(target, "MATRIX_TILE", tile)
    monkeypatch.setattr(target, "SCRATCHPAD_BYTES", kib * 1024)
    sentences = target_rules.broken_rules()
    assert (sentences == []) == fits
    assert (
        fits
        or f"too small for MATRIX_TILE: the 32-bit operands of a {'x'.join(map(str, tile))}" in sentences[0]
    )
