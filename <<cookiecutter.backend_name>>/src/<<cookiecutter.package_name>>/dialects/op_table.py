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

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import (
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
    IRDLOperation,
    OpDef,
    OptOperandDef,
    OptResultDef,
    VarOperandDef,
    VarResultDef,
    traits_def,
)

from ..errors import UnsupportedOperation
from ..target import PACKAGE_NAME

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


PROPERTIES: Final[dict[str, frozenset[str]]] = {
    "arith": frozenset(
        {"fastmath", "isExact", "nonNeg", "overflowFlags", "predicate", "roundingmode", "value"}
    ),
    "math": frozenset({"fastmath"}),
}
"""By namespace: all properties that the lowering has seen to, of operations that it knows by their names. (Those that
are promises, and could only make code faster, it leaves aside.)"""


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


def check_known(name: str, properties: Mapping[str, Attribute], operands: int, results: int) -> None:
    """Raises UnsupportedOperation if an operation has a property, an operand or a result that is not known here.

    A newer Triton printed it then, and may mean something else by the operation: whoever reads it by what is known
    here would compile it wrongly. Attributes that are no properties may be ignored, by MLIR's rules.
    """
    namespace = name.partition(".")[0]
    cls = operation_class(name)
    definition = None
    if namespace in PROPERTIES:
        known, place = PROPERTIES[namespace], "dialects/op_table.py, in PROPERTIES"
    elif issubclass(cls, IRDLOperation):
        definition = cls.get_irdl_definition()
        known, place = AS_ATTRIBUTES.get(name, frozenset()).union(definition.properties), _place(cls)
    else:
        return  # refused as a whole where it is not lowered
    for key, value in properties.items():
        if key not in known and key not in _SEGMENTS:
            raise UnsupportedOperation(
                f"operation '{name}' has a property that is new to this package: {key} = {value}. It may change what "
                "the operation means",
                add_support_in=f"{place} (and where the operation is lowered, unless it is only a hint)",
            )
    if definition is not None:
        for what, wanted, count in (("operands", True, operands), ("results", False, results)):
            if not _fits(definition, properties, count, operands=wanted):
                raise UnsupportedOperation(
                    f"operation '{name}' has {what} that are new to this package", add_support_in=place
                )


_SEGMENTS: Final = frozenset(
    {AttrSizedOperandSegments.attribute_name, AttrSizedResultSegments.attribute_name}
)
"""How many operands, and results, there are of each kind."""


def _place(cls: type[Operation]) -> str:
    """The file of this package where an operation's properties are known."""
    package, _, path = cls.__module__.partition(".")
    if package != PACKAGE_NAME:
        return "dialects/op_table.py, in AS_ATTRIBUTES"
    return f"{path.replace('.', '/')}.py, in {cls.__name__}"


def _fits(definition: OpDef, properties: Mapping[str, Attribute], count: int, *, operands: bool) -> bool:
    kinds = [kind for _, kind in (definition.operands if operands else definition.results)]
    option = AttrSizedOperandSegments if operands else AttrSizedResultSegments
    sizes = properties.get(option.attribute_name)
    if isinstance(sizes, DenseArrayBase):
        return len(sizes.get_values()) == len(kinds)
    if any(isinstance(kind, VarOperandDef | VarResultDef) and not _is_optional(kind) for kind in kinds):
        return True
    return count <= len(kinds)


def _is_optional(kind: object) -> bool:
    return isinstance(kind, OptOperandDef | OptResultDef)


def library_wanted() -> bool:
    """Whether operations and attributes of xDSL's `arith` and `math` get xDSL's classes."""
    return _table.library


def use_library_dialects() -> None:
    """From now on modules are read with xDSL's classes for `arith` and `math`."""
    global _table
    with _replacing:
        if not _table.library:
            _table = _Table({}, frozenset(), True)
