"""Which room of the package may import which: its subfolders and the modules at its root, as docs/architecture.md says.

The imports are read from the sources, those inside functions too: they are a dependency all the same, only a later one.
What is imported by a name that is put together (`device_kinds.runtime_of`) does not show here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import <<cookiecutter.package_name>>

ROOT = Path(<<cookiecutter.package_name>>.__file__).parent

MAY_IMPORT = {
    "target": "",
    "function_symbols": "",
    "llvm_lock": "",
    "tile_permission": "",
    "errors": "target",
    "installed": "target",
    "device_kinds": "target",
    "compat": "errors",
    "file_memory": "",
    "extension_sources": "file_memory",
    "extensions": "errors extension_sources file_memory target",
    "resources": "errors target",
    "target_rules": "errors target",
    "rounding": "",
    "tables": "errors",
    "requirements_check": "errors installed target",
    "host_caches": "file_memory",
    "host_features": "llvm_lock tile_permission",
    "machine": "device_kinds host_caches host_features target",
    "dialects": "errors target target_rules",
    "frontend": "dialects errors",
    "formulas": "dialects errors extensions machine tables target",
    "lowering": "dialects errors formulas function_symbols resources tables target",
    "codegen": "dialects errors extensions host_features rounding",
    "passes": "codegen compat dialects errors extensions formulas host_features machine target",
    "assembler": "device_kinds dialects errors extensions resources rounding target",
    "runtime": "codegen compat device_kinds errors llvm_lock rounding target",
    "backend": """assembler codegen compat device_kinds dialects errors extensions file_memory frontend host_caches host_features
        lowering passes requirements_check runtime target target_rules tile_permission""",
    "emulator": "assembler backend device_kinds dialects errors extensions runtime target",
    "language": "backend dialects errors formulas function_symbols runtime target",
    "universe": "backend codegen compat device_kinds dialects errors frontend lowering passes target",
    "__init__": "backend compat requirements_check target",
    "examples": "__init__ device_kinds emulator errors language runtime target",
    "bench": "backend errors examples host_features language requirements_check runtime target",
    "cli": """bench codegen device_kinds dialects emulator errors installed language passes requirements_check runtime
        target target_rules universe""",
    "gpu_reference": "backend compat dialects errors examples extensions file_memory function_symbols language passes target",
}
"""Room -> the rooms that it may import, which stand above it. A room of yours is a row here."""

EXCEPTIONS = {
    (
        "runtime/pool.py",
        "backend",
    ): "the pool's object code is kept in Triton's cache under the compiler's own key",
    ("backend/compiler.py", "language"): "Triton asks its backend for the module that stands for libdevice",
}
"""File and room that it imports upwards, inside a function -> why."""


class Import(NamedTuple):
    file: str
    line: int
    room: str
    wanted: str
    """The room that is imported."""
    in_function: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.wanted}"


def imports() -> list[Import]:
    return [found for file in sorted(ROOT.rglob("*.py")) for found in imports_of(file.relative_to(ROOT))]


def imports_of(file: Path) -> Iterator[Import]:
    """The relative imports of a file from other rooms; the package uses no others for itself."""
    room = file.parts[0].removesuffix(".py")

    def visit(node: ast.AST, in_function: bool) -> Iterator[Import]:
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = file.parts[: len(file.parts) - node.level]
            path = [*folder, *(node.module or "").split(".")] if node.module else [*folder]
            for name in path[:1] or [alias.name for alias in node.names]:
                wanted = name if is_room(name) else "__init__"
                if wanted != room:
                    yield Import(file.as_posix(), node.lineno, room, wanted, in_function)
        for child in ast.iter_child_nodes(node):
            yield from visit(child, in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))

    yield from visit(ast.parse((ROOT / file).read_text(encoding="utf-8")), False)


def is_room(name: str) -> bool:
    return (ROOT / name).is_dir() or (ROOT / f"{name}.py").exists()


def test_the_table_has_an_order() -> None:
    """So there are no cycles between rooms."""
    above: set[str] = set()
    for room, wanted in MAY_IMPORT.items():
        assert set(wanted.split()) <= above, f"{room} may import only what stands above it"
        above.add(room)


def test_every_room_is_in_the_table() -> None:
    rooms = {file.relative_to(ROOT).parts[0].removesuffix(".py") for file in ROOT.rglob("*.py")}
    assert rooms <= set(MAY_IMPORT), f"give {rooms - set(MAY_IMPORT)} a row in MAY_IMPORT"


def test_rooms_import_what_they_may() -> None:
    wrong = [
        found
        for found in imports()
        if found.wanted not in MAY_IMPORT[found.room].split()
        and not (found.in_function and (found.file, found.wanted) in EXCEPTIONS)
    ]
    assert not wrong, "\n".join(map(str, wrong))


def test_exceptions_are_needed() -> None:
    assert set(EXCEPTIONS) <= {(found.file, found.wanted) for found in imports()}


def test_the_package_imports_itself_by_relative_imports() -> None:
    """Others would not show above."""
    for file in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            assert not any(name.split(".")[0] == ROOT.name for name in names), file


def test_imports_are_seen_wherever_they_stand() -> None:
    found = {(found.room, found.wanted, found.in_function) for found in imports()}
    assert ("lowering", "dialects", False) in found
    assert ("runtime", "codegen", True) in found  # in a function
    assert ("extensions", "target", False) in found  # of a module at the root
    assert ("examples", "__init__", False) in found  # of the package itself
