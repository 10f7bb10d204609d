"""From the name of an operation to its class.

Classes come from `tt`, from our replacements of `arith` operations, from xDSL's own dialects, or are made on
the spot. xDSL's `arith` and `math` take a while to import, and the lowering goes by names: so their operations are
opaque until `use_library_dialects` is called, as it is for whoever looks at classes (passes on the module, the
verifier, ``opt``).
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

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


class OpaqueOp(Operation):
    """An operation that no dialect defines. Each gets a class of its own, so that ``op.name`` is its MLIR
    name.

    Nothing is known about such an operation: not its effects, nor whether it ends a block.
    """

    name = "tt.opaque"
    traits = traits_def()


_LIBRARY: Final = ("xdsl.dialects.arith:Arith", "xdsl.dialects.math:Math")
_library_wanted = False

_classes: dict[str, type[Operation]] = {}
_loaded: set[str] = set()


def operation_class(name: str) -> type[Operation]:
    """The class whose ``create`` makes operation `name`; a kind of `OpaqueOp` where nothing defines it."""
    cls = _classes.get(name)
    if cls is None:
        _load(name.partition(".")[0])
        cls = _classes.get(name)
        if cls is None:
            cls = _classes[name] = type("OpaqueOp", (OpaqueOp,), {"name": name, "__doc__": f"``{name}``"})
    return cls


def _load(namespace: str) -> None:
    if namespace in _loaded:
        return
    for place in _DIALECTS.get(namespace, ()):
        if place in _LIBRARY and not _library_wanted:
            continue
        module, _, attribute = place.partition(":")
        dialect = getattr(import_module(module, __package__), attribute)
        assert isinstance(dialect, Dialect)
        for cls in dialect.operations:
            _classes.setdefault(cls.name, cls)
    _loaded.add(namespace)


def library_wanted() -> bool:
    """Whether operations and attributes of xDSL's `arith` and `math` get xDSL's classes."""
    return _library_wanted


def use_library_dialects() -> None:
    """From now on modules are read with xDSL's classes for `arith` and `math`."""
    global _library_wanted
    if not _library_wanted:
        _library_wanted = True
        _classes.clear()
        _loaded.clear()
