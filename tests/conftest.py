"""Which generated packages tests/test_generated.py looks at."""

from __future__ import annotations

import pytest

from template import VARIANTS


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--variant", choices=sorted(VARIANTS), help="test this generated package only")
    parser.addoption(
        "--brief", action="store_true", help="leave out own tests that are the same beside every Triton"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "variant" in metafunc.fixturenames:
        only = metafunc.config.getoption("--variant")
        metafunc.parametrize("variant", [only] if only else list(VARIANTS), indirect=True, scope="module")
