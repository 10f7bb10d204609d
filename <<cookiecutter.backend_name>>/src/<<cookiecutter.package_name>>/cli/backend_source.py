"""What the source of a backend's two modules gives away without being run. Readable by Python 3.10.

Triton imports ``<package>.compiler`` and ``<package>.driver`` of every entry point. Three mistakes in them
disturb other backends, and can be seen in the text: a driver that always says it is active, a compiler that
answers for a target which another one answers for too, and an imported class of another backend, which Triton
counts as a second one.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

_BASES = ("BaseBackend", "DriverBase", "GPUDriver")


def is_always_active(driver: ast.Module) -> bool:
    """Does some class of a driver module have an ``is_active`` that can only return True?"""
    return any(_returns_only_true(member) for member in _class_members(driver, "is_active"))


def claimed_targets(
    compiler: ast.Module, constant: Callable[[str], str | None] = lambda name: None
) -> set[str]:
    """The names that ``supports_target`` compares the target with: literal ones, and those of constants, whose values
    ``constant`` finds (names it computes stay unknown).
    """
    names: set[str] = set()
    for member in _class_members(compiler, "supports_target"):
        for node in ast.walk(member):
            if isinstance(node, ast.Compare) and _mentions_backend(node):
                for part in ast.walk(node):
                    value: object = None
                    if isinstance(part, ast.Constant):
                        value = part.value
                    elif isinstance(part, ast.Name):
                        value = constant(part.id)
                    if isinstance(value, str):
                        names.add(value)
    return names


def string_constant(module: ast.Module, name: str) -> str | None:
    """The literal string that a module assigns to a global name; None if it assigns none."""
    for node in module.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            value = getattr(node, "value", None)
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                return value.value
    return None


def import_of(module: ast.Module, name: str, package: str) -> tuple[str, str] | None:
    """The module that ``name`` is imported from, and what it is called there; ``package`` is where ``module`` lies."""
    for node in module.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    parents = package.split(".")[: max(package.count(".") + 2 - node.level, 0)]
                    origin = ".".join(
                        [*(parents if node.level else []), *([node.module] if node.module else [])]
                    )
                    return origin, alias.name
    return None


def borrowed_classes(module: ast.Module) -> list[str]:
    """Driver and backend classes of other backends that are visible in the module's namespace."""
    bound: set[str] = set()
    for node in module.body:
        if isinstance(node, ast.ImportFrom) and re.search(r"\.(compiler|driver)$", f".{node.module or ''}"):
            for alias in node.names:
                if (
                    node.level == 0
                    and re.search(r"(Backend|Driver)$", alias.name)
                    and alias.name not in _BASES
                ):
                    bound.add(alias.asname or alias.name)
        elif isinstance(node, ast.Delete):
            bound -= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return sorted(bound)


def _class_members(module: ast.Module, name: str) -> Iterator[ast.AST]:
    """Methods called ``name`` and lambdas assigned to it, in any class of the module."""
    for node in ast.walk(module):
        if not isinstance(node, ast.ClassDef):
            continue
        for member in node.body:
            if isinstance(member, ast.FunctionDef) and member.name == name:
                yield member
            elif isinstance(member, ast.Assign) and name in [
                ast.unparse(target) for target in member.targets
            ]:
                yield from (n for n in ast.walk(member.value) if isinstance(n, ast.Lambda))


def _returns_only_true(function: ast.AST) -> bool:
    if isinstance(function, ast.Lambda):
        return _is_true(function.body)
    returns = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    return bool(returns) and all(node.value is not None and _is_true(node.value) for node in returns)


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _mentions_backend(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Attribute) and n.attr == "backend" for n in ast.walk(node))
