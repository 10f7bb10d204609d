"""An operation that is not lowered is refused with the file in which operations like it are."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from <<cookiecutter.package_name>> import lowering
from <<cookiecutter.package_name>>.lowering.families import FAMILIES, OTHERS, file_for


@pytest.mark.parametrize(
    ("operation", "file"),
    [
        ("tt.descriptor_reduce_like", "reduce_ops.py"),
        ("tt.descriptor_load", "memory_ops.py"),
        ("tt.elementwise_inline_asm", "elementwise.py"),
        ("math.atan", "math_ops.py"),
        ("arith.addui_extended", "elementwise.py"),
        ("cf.switch", "unstructured.py"),
        ("scf.parallel", "control_flow.py"),
        ("ttg.convert_layout", "simple_ops.py"),
        ("vendor.anything", "simple_ops.py"),
    ],
)
def test_file_of_what_is_not_lowered(operation: str, file: str) -> None:
    assert file_for(operation) == f"lowering/{file}"


@pytest.mark.parametrize(
    "name", ["memory_ops", "reduce_ops", "dot", "dot_scaled", "debug_ops", "control_flow"]
)
def test_file_of_what_is_lowered(name: str) -> None:
    """It is the one whose table has the operation."""
    handlers = import_module(f"{lowering.__name__}.{name}").HANDLERS
    assert {file_for(operation) for operation in handlers} == {f"lowering/{name}.py"}


def test_the_files_are_there() -> None:
    folder = Path(lowering.__file__).parent
    assert [file for file in [*FAMILIES.values(), OTHERS] if not (folder / file).exists()] == []
