"""Which modules of this package may fail to be imported: those that are imported only where that is caught.

    try:
        from . import vendor_sdk  # which imports a library that not everybody has
    except ImportError:
        vendor_sdk = None

Found in the sources, so that it is known for a module that cannot be imported. Readable by Python 3.10.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..target import PACKAGE_NAME

CATCHING = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
"""What an ``except`` names, or ``contextlib.suppress``, that keeps a failed import from going further."""


class Import(NamedTuple):
    importer: str
    module: str
    """Dotted name of what may be imported; of ``from a import b`` both ``a`` and ``a.b``."""
    guarded: bool
    """Whether a failure is caught."""


def is_optional(module: str, root: Path) -> bool:
    """Whether the package below `root` imports `module` somewhere, and wherever it does, does without it if need be."""
    imports = [found for path in root.rglob("*.py") for found in imports_in(path, root)]

    def optional(name: str, asking: frozenset[str]) -> bool:
        uses = [found for found in imports if found.module == name and found.importer not in asking]
        return bool(uses) and all(use.guarded or optional(use.importer, asking | {name}) for use in uses)

    return optional(module, frozenset())


def imports_in(file: Path, root: Path) -> Iterator[Import]:
    """The imports in a file of the package, those in functions too; none where it is not Python."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):  # which whoever imports that file is told
        return
    parts = file.relative_to(root).with_suffix("").parts
    package = [PACKAGE_NAME, *parts[:-1]]
    importer = ".".join(package if parts[-1] == "__init__" else [*package, parts[-1]])

    def visit(node: ast.AST, guarded: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            yield from (Import(importer, alias.name, guarded) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            parent = ".".join([*base, node.module] if node.module else base)
            yield Import(importer, parent, guarded)
            yield from (Import(importer, f"{parent}.{alias.name}", guarded) for alias in node.names)
        elif isinstance(node, (ast.Try, ast.With)):
            catches = _catches(node)
            for child in ast.iter_child_nodes(node):
                yield from visit(child, guarded or (catches and child in node.body))
        else:
            for child in ast.iter_child_nodes(node):
                yield from visit(child, guarded)

    yield from visit(tree, False)


def _catches(node: ast.Try | ast.With) -> bool:
    """Whether a statement catches what a failed import in its body raises."""
    if isinstance(node, ast.Try):
        return any(handler.type is None or _names(handler.type) & CATCHING for handler in node.handlers)
    calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
    return any(
        "suppress" in _names(call.func) and any(_names(a) & CATCHING for a in call.args) for call in calls
    )


def _names(node: ast.AST) -> set[str]:
    """``a``, ``b.c`` and ``(d, e)`` -> the names that mean something: a, c; d and e."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.Attribute):
        return {node.attr}
    return {name for child in ast.iter_child_nodes(node) for name in _names(child)}
