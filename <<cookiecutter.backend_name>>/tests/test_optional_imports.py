"""Which modules the doctor takes as optional: those that are imported only where a failure is caught."""

from __future__ import annotations

from pathlib import Path

import pytest

from <<cookiecutter.package_name>>.cli.optional_imports import is_optional
from <<cookiecutter.package_name>>.target import PACKAGE_NAME

VENDOR = f"{PACKAGE_NAME}.runtime.vendor"

GUARDED = "try:\n    from . import vendor\nexcept ImportError:\n    vendor = None\n"
OTHER_ERROR = GUARDED.replace("ImportError", "AttributeError")
IN_HANDLER = "try:\n    api = None\nexcept Exception:\n    from . import vendor\n"
SUPPRESSED = "import contextlib\nwith contextlib.suppress(OSError, ImportError):\n    from .vendor import api\n"
LOCKED = "with lock:\n    from .vendor import api\n"
IN_FUNCTION = "def api():\n    try:\n        from ..runtime.vendor import api\n    except (OSError, ImportError):\n        pass\n"
ABSOLUTE = f"import {VENDOR}\n"


def package(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.mark.parametrize(
    ("uses", "optional"),
    [
        ([GUARDED], True),
        ([GUARDED, SUPPRESSED, IN_FUNCTION], True),
        ([IN_FUNCTION], True),
        ([GUARDED, ABSOLUTE], False),
        ([GUARDED, LOCKED], False),
        ([OTHER_ERROR], False),
        ([IN_HANDLER], False),
        (["def f(:\n"], False),
        ([], False),
    ],
)
def test_every_use_counts(tmp_path: Path, uses: list[str], optional: bool) -> None:
    files = {f"runtime/user{number}.py": text for number, text in enumerate(uses)}
    assert is_optional(VENDOR, package(tmp_path, files)) is optional


def test_what_only_something_optional_needs_is_optional(tmp_path: Path) -> None:
    files = {"runtime/user.py": GUARDED, "runtime/vendor.py": "from .abi import call\n", "runtime/abi.py": ""}
    assert is_optional(f"{PACKAGE_NAME}.runtime.abi", package(tmp_path, files))
    package(tmp_path, {"backend/__init__.py": "from ..runtime import abi\n"})
    assert not is_optional(f"{PACKAGE_NAME}.runtime.abi", tmp_path)


def test_modules_that_import_each_other(tmp_path: Path) -> None:
    files = {"runtime/vendor.py": "from . import abi\n", "runtime/abi.py": "from . import vendor\n"}
    assert not is_optional(VENDOR, package(tmp_path, files))
