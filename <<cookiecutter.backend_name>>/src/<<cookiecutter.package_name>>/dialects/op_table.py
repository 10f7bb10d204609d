"""From the name of an operation to its class.

Classes come from `tt`, from our replacements of `arith` operations, from xDSL's own dialects, or are made on
the spot. xDSL's `arith` and `math` take a while to import, and the lowering goes by names: so their operations are
opaque until `use_library_dialects` is called, as it is for whoever looks at classes (passes on the module, the
verifier, ``opt``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from threading import Lock
from typing import Final, NamedTuple

from xdsl.ir import Dialect, Operation
from xdsl.irdl import traits_def

_DIALECTS: dict[str, tuple[str, ...]] = {
    "builtin": ("xdsl.dialects.builtin:Builtin",),
    "tt": (".tt:TT",),
    "arith": (".ttarith:TT_ARITH", "xdsl.dialects.arith:Arith"),
    "math": ("xdsl.dialects.math:Math",),
    "scf": ("xdsl.dialects.scf:Scf",),
    "cf": ("xdsl.dialects.cf:Cf",),
    "ub": ("xdsl.dialects.ub:UB",),
}
"""``module:dialect`` by namespace; the first that defines an operation counts. Imported at the first use."""


AS_ATTRIBUTES: Final[dict[str, frozenset[str]]] = {
    "scf.for": frozenset({"unsignedCmp"}),
}
"""Properties of MLIR that xDSL's classes do not define: they are read as attributes, which may be any."""


class OpaqueOp(Operation):
    """An operation that no dialect defines. Each gets a class of its own, so that ``op.name`` is its MLIR
    name.

    Nothing is known about such an operation: not its effects, nor whether it ends a block.
    """

    name = "tt.opaque"
    traits = traits_def()


_LIBRARY: Final = ("xdsl.dialects.arith:Arith", "xdsl.dialects.math:Math")


class _Table(NamedTuple):
    """What is known at a time. Threads compile at the same time, so none is ever changed: another takes its place."""

    classes: Mapping[str, type[Operation]]
    loaded: frozenset[str]
    """Namespaces."""
    library: bool


_table = _Table({}, frozenset(), False)
_replacing = Lock()


def operation_class(name: str) -> type[Operation]:
    """The class whose ``create`` makes operation `name`; a kind of `OpaqueOp` where nothing defines it."""
    return _table.classes.get(name) or _defined(name)


def _defined(name: str) -> type[Operation]:
    global _table
    with _replacing:
        classes, (_, loaded, library) = dict(_table.classes), _table
        namespace = name.partition(".")[0]
        if namespace not in loaded:
            for cls in _classes_of(namespace, library):
                classes.setdefault(cls.name, cls)
        if name not in classes:
            classes[name] = type("OpaqueOp", (OpaqueOp,), {"name": name, "__doc__": f"``{name}``"})
        _table = _Table(classes, loaded | {namespace}, library)
        return classes[name]


def _classes_of(namespace: str, library: bool) -> Iterator[type[Operation]]:
    for place in _DIALECTS.get(namespace, ()):
        if place in _LIBRARY and not library:
            continue
        module, _, attribute = place.partition(":")
        dialect = getattr(import_module(module, __package__), attribute)
        assert isinstance(dialect, Dialect)
        yield from dialect.operations


def library_wanted() -> bool:
    """Whether operations and attributes of xDSL's `arith` and `math` get xDSL's classes."""
    return _table.library


def use_library_dialects() -> None:
    """From now on modules are read with xDSL's classes for `arith` and `math`."""
    global _table
    with _replacing:
        if not _table.library:
            _table = _Table({}, frozenset(), True)
