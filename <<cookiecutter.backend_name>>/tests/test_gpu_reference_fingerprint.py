"""The GPU backend's cache key has every file of this package that its code generation imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import <<cookiecutter.package_name>>
from <<cookiecutter.package_name>>.backend.fingerprint import python_files
from <<cookiecutter.package_name>>.gpu_reference.fingerprint import WITHOUT_EFFECT, fingerprint, source_digest

ROOT = Path(<<cookiecutter.package_name>>.__file__).parent

NOT_COMPILING = {
    *("language/interpreted.py", "compat.py", "machine.py", "runtime/pool.py", "backend/fingerprint.py"),
    *("backend/driver.py", "runtime/loader.py"),
}
"""What they import makes no GPU code: kernels that Triton's interpreter runs; the selection of drivers; the host, its
threads, and its name."""

COMPILING = [
    *(f"gpu_reference/{name}.py" for name in ("compiler", "passes", "stages", "functions", "unit_functions")),
    *(path.relative_to(ROOT).as_posix() for path in (ROOT / "language").glob("*.py")),
]
"""Where the imports begin: the stages, and what a kernel calls."""


def imports(file: str) -> Iterator[str]:
    """The files of this package that one of them imports, anywhere in it."""
    folder = Path(file).parts[:-1]
    for node in ast.walk(ast.parse((ROOT / file).read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*folder[: len(folder) - node.level + 1], *(node.module.split(".") if node.module else [])]
            for parts in [base, *([*base, alias.name] for alias in node.names)]:
                for name in ("/".join(parts) + ".py", "/".join([*parts, "__init__.py"])):
                    if (ROOT / name).is_file():
                        yield name


def reached() -> set[str]:
    found, todo = set(COMPILING), list(COMPILING)
    while todo:
        file = todo.pop()
        for name in () if file in NOT_COMPILING else imports(file):
            if name not in found:
                found.add(name)
                todo.append(name)
    return found


def test_every_file_that_is_imported_is_digested() -> None:
    digested = {name[1:] for name, _ in python_files(str(ROOT), without=WITHOUT_EFFECT)}
    assert reached() - digested == set()
    assert {"language/elementwise.py", "target.py", "passes/registry.py"} <= digested


def test_an_edit_of_the_language_changes_the_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import shutil

    from <<cookiecutter.package_name>>.gpu_reference import fingerprint as module

    copy = tmp_path / "package"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(module, "__file__", str(copy / "gpu_reference" / "fingerprint.py"))
    keys = []
    for text in ("", "# edited\n"):
        file = copy / "language" / "elementwise.py"
        file.write_text(file.read_text(encoding="utf-8") + text, encoding="utf-8")
        source_digest.cache_clear()
        keys.append(fingerprint())
    source_digest.cache_clear()
    assert keys[0] != keys[1]
