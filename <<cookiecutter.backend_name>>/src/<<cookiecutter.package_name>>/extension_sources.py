"""The sources of what others add to the compiler (see `extensions.py`), as a part of the cache key.

A function seldom is all in one file: its helpers count as well. Imported only where somebody has added something.
"""

from __future__ import annotations

import ast
import hashlib
import marshal
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from .file_memory import digest_below

INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
"""Folders in which modules lie side by side that have nothing to do with each other."""

_known: dict[str, tuple[list[str], list[object], str]] = {}
"""Package or module -> the names that count with it, how they had been loaded when that was read, the digest."""


def digest_of(function: Callable[..., Any]) -> str:
    """Changes with the code of `function`, and with the Python files of the package that defines it.

    Of a module that is in no package, its own file counts, and those of its folder that it imports. What was typed at a
    prompt, or made by ``exec``, has no file: there it is the code, with what it is bound to.
    """
    text = f"{_files_digest(function.__module__)} {description(function)}"
    return hashlib.sha256(text.encode()).hexdigest()


# --- files ----------------------------------------------------------------------------------------------------


def _files_digest(name: str) -> str:
    """Digests are those of the files that were loaded: read when they are first asked for, and after a reload."""
    top = _top_of(name)
    known = _known.get(top)
    if known is not None:
        names, was, digest = known
        now = _loads(names)
        if len(now) == len(was) and all(map(_is, now, was)):
            return digest
    file = _file_of(top)
    if file is None:
        return ""
    digest = ""
    names = [top]
    if file.name == "__init__.py":
        digest = _package_digest(file.parent)
    else:
        for path in _with_neighbours(file):
            if path.name == "__init__.py":
                names.append(path.parent.name)
                digest += _package_digest(path.parent)
            else:
                names.append(path.stem)
                digest += hashlib.sha256(path.read_bytes()).hexdigest()
    _known[top] = names, _loads(names), digest
    return digest


def _is(one: object, other: object) -> bool:
    return one is other


def _loads(names: list[str]) -> list[object]:
    """An object of each loaded module of `names`, or of packages of that name, that a reload replaces."""
    prefixes = tuple(f"{name}." for name in names)
    return [
        getattr(module, "__spec__", None)
        for name, module in list(sys.modules.items())
        if name in names or name.startswith(prefixes)
    ]


def _file_of(name: str) -> Path | None:
    file = getattr(sys.modules.get(name), "__file__", None)
    return Path(file) if isinstance(file, str) and os.path.isfile(file) else None


def _top_of(name: str) -> str:
    """The outermost package around a module that has a file; packages without one are shared by distributions."""
    parts = name.split(".")
    names = [".".join(parts[: count + 1]) for count in range(len(parts))]
    return next((outer for outer in names if _file_of(outer) is not None), name)


def _package_digest(folder: Path) -> str:
    from triton import knobs

    return digest_below(str(folder), knobs.cache.dir)


def _with_neighbours(file: Path) -> list[Path]:
    """A module's file and, of its folder, those that it and they import."""
    found = [file]
    if file.parent.name in INSTALLED:
        return found
    for path in found:  # which grows
        if path.name != "__init__.py":
            for name in _imported_names(path):
                for candidate in (file.with_name(f"{name}.py"), file.parent / name / "__init__.py"):
                    if candidate.is_file() and candidate not in found:
                        found.append(candidate)
    return found


def _imported_names(file: Path) -> Iterator[str]:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):  # a binary module
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


# --- code -----------------------------------------------------------------------------------------------------


def description(value: Any, seen: dict[int, object] | None = None) -> str:
    """Text that is the same in every process for the same code and values, and (as far as can be) no other ones."""
    seen = {} if seen is None else seen  # objects by identity, kept so that none takes another's place

    def each(values: Any) -> str:
        return ", ".join(description(item, seen) for item in values)

    match value:
        case ModuleType():
            return f"module {value.__name__}"
        case CodeType():
            return _code_digest(value)
        case dict():
            return f"{{{each(value.items())}}}"
        case tuple() | list():
            return f"{type(value).__name__}({each(value)})"
        case set() | frozenset():
            return f"set({sorted(description(item, seen) for item in value)})"
        case type() if value.__module__ == "builtins" or _file_of(value.__module__) is not None:
            return f"class {value.__module__}.{value.__qualname__}"
        case _:
            pass
    text = "" if isinstance(value, type | FunctionType) else repr(value)
    if text and " at 0x" not in text:
        return text
    if id(value) in seen:
        return "again"
    seen[id(value)] = value
    match value:
        case FunctionType(__code__=code):
            name = f"{value.__module__}.{value.__qualname__}"
            return f"{name} {_code_digest(code)} [{each(_bound(value))}]"
        case type():
            members = {name: item for name, item in vars(value).items() if name not in _OF_CLASSES}
            return f"class {value.__qualname__} {each(value.__bases__)} {description(members, seen)}"
        case partial():
            return f"partial({each([value.func, value.args, value.keywords])})"
        case property():
            return f"property({each([value.fget, value.fset])})"
        case MethodType():
            return f"method({each([value.__func__, value.__self__])})"
        case _:
            pass
    return f"{description(type(value), seen)} {description(getattr(value, '__dict__', {}), seen)}"


def _bound(function: FunctionType) -> list[object]:
    """What a function takes from elsewhere; of a module without a file its globals are not digested otherwise."""
    bound = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    bound += [function.__defaults__, function.__kwdefaults__]
    if _file_of(function.__module__) is None:
        names, known = _names_in(function.__code__), function.__globals__
        bound += [(name, known[name]) for name in names if name in known]
    return bound


def _code_digest(code: CodeType) -> str:
    # Version 2 of the format writes the same for equal constants, whether or not they are one object.
    return hashlib.sha256(marshal.dumps(_portable(code), 2)).hexdigest()


_OF_CLASSES: Final = frozenset({"__dict__", "__weakref__", "__doc__", "__module__"})


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _names_in(code: CodeType) -> list[str]:
    """The names that it, or a function in it, may look up outside."""
    inner = [name for const in code.co_consts if isinstance(const, CodeType) for name in _names_in(const)]
    return sorted({*code.co_names, *inner})


def _portable(code: CodeType) -> CodeType:
    """`code` without where it stands: the names of notebooks' cells have the process in them."""
    consts = tuple(_portable(const) if isinstance(const, CodeType) else const for const in code.co_consts)
    return code.replace(co_filename="", co_consts=consts)
