"""Tables of the lowering that are made of several have each name once."""

from __future__ import annotations

from typing import Any, get_type_hints

import pytest
from xdsl.ir import Operation

from <<cookiecutter.package_name>>.dialects.op_table import operation_class
from <<cookiecutter.package_name>>.errors import DefinitionError
from <<cookiecutter.package_name>>.lowering import block_functions, simple_ops
from <<cookiecutter.package_name>>.lowering.elementwise import ELEMENTWISE, OWN_RECIPES
from <<cookiecutter.package_name>>.lowering.lower import HANDLERS
from <<cookiecutter.package_name>>.lowering.math_ops import MATH_OPS
from <<cookiecutter.package_name>>.tables import merged


def one() -> None: ...


def other() -> None: ...


def test_tables_are_merged() -> None:
    assert merged("a handler", {"a": one}, {}, {"b": other}) == {"a": one, "b": other}
    assert merged("a handler") == {}


@pytest.mark.parametrize("second", [one, other])
def test_a_name_that_two_tables_have_is_refused(second: object) -> None:
    with pytest.raises(DefinitionError, match=rf"'b' has a handler twice: {__name__}.one and {__name__}.o"):
        merged("a handler", {"b": one}, {"a": other}, {"b": second})


def test_calls_of_functions_have_one_handler() -> None:
    assert HANDLERS["tt.extern_elementwise"] is block_functions.extern
    assert "tt.extern_elementwise" not in simple_ops.HANDLERS
    assert ELEMENTWISE.keys() - HANDLERS.keys() == set() and MATH_OPS.keys() <= ELEMENTWISE.keys()


@pytest.mark.parametrize("name", sorted({*HANDLERS, *OWN_RECIPES}))
def test_functions_take_the_class_of_the_operation_that_they_are_entered_for(name: str) -> None:
    """A table knows names only; what a function reads of ``op`` is an attribute of the class that it says ``op`` has."""
    functions: list[Any] = [table[name] for table in (HANDLERS, OWN_RECIPES) if name in table]
    for function in functions:
        wanted = get_type_hints(function).get("op", Operation)
        assert issubclass(operation_class(name), wanted), (name, function)
