"""Attributes of generic MLIR text -> xDSL attributes."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ..dialects.locations import SourceLoc
from ..dialects.op_table import library_wanted
from ..dialects.tt_types import CachePolicyAttr, ForeignAttr
from .cursor import DIALECT_NAME, WORD, Unreadable, unescape
from .dense import element_bytes, float_bytes, raw_bytes
from .source_locations import LocationReader
from .types import SCALAR_TYPES, TypeReader

_NUMBER = re.compile(r"-?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)")
_SYMBOL = re.compile(r'@(?:"((?:[^"\\]|\\.)*)"|([A-Za-z_][\w$.-]*))')
_DENSE_ELEMENT = re.compile(r"-?0x[0-9A-Fa-f]+|[-+.\w]+")
_DENSE_BODY = re.compile(r"[\[\]\s,.\w+-]*")
_CACHE_POLICY = re.compile(r"<\s*cache_modifier = (\w+), eviction_policy = (\w+)\s*>")

_MOST_ELEMENTS = 2**28
"""Triton's own limit for a tensor is 2**20 elements."""


class AttributeReader(TypeReader, LocationReader):
    """A cursor over a piece of text, such as a line of TTIR: reads the types and locations in it, too."""

    def attribute(self) -> Attribute:
        """Any attribute; a type stands for itself."""
        self.skip_space()
        first = self.text[self.position : self.position + 1]
        reader = _BY_FIRST_CHARACTER.get(first)
        if reader is not None:
            return reader(self)
        start = self.position
        match = WORD.match(self.text, start)
        if match is None:
            raise Unreadable("an attribute", start)
        reader = _BY_KEYWORD.get(match[0])
        if reader is None:
            return self.type()
        self.position = match.end()
        return reader(self)

    def dictionary(self) -> dict[str, Attribute]:
        """``{name = attribute, "a name" = attribute, unit_attribute}``."""
        self.expect("{", "a dictionary")
        return dict(self.list_of(self._entry, "}"))

    def _entry(self) -> tuple[str, Attribute]:
        key = self.string() if self.at('"') else self.match(WORD, "the name of an attribute")[0]
        return key, self.attribute() if self.accept("=") else UnitAttr()

    def string_attribute(self) -> Attribute:
        text = StringAttr(self.string())
        if self.accept(":"):  # MLIR lets a string have a type; nothing in Triton IR looks at it
            self.type()
        return text

    def number(self) -> Attribute:
        start = self.position
        literal = self.match(_NUMBER, "a number")[0]
        is_hex = literal.lstrip("-").startswith("0x")
        if self.accept(":"):
            type_ = self.type()
        elif not is_hex and any(c in literal for c in ".eE"):
            type_ = SCALAR_TYPES["f64"]
        else:
            type_ = i64
        number_type: Any = type_
        if type_.name in (IntegerType.name, IndexType.name):
            try:
                return IntegerAttr(int(literal, 0), number_type)
            except (ValueError, VerifyException):
                raise Unreadable(f"an integer of type {type_}", start) from None
        if not hasattr(number_type, "pack"):
            raise Unreadable("a number of integer or float type", start)
        return FloatAttr(number_type.unpack(float_bytes(literal, number_type, start), 1)[0], number_type)

    def symbol(self) -> Attribute:
        names = [self._symbol_name()]
        while self.accept("::"):
            names.append(self._symbol_name())
        return SymbolRefAttr(names[0], names[1:])

    def _symbol_name(self) -> str:
        match = self.match(_SYMBOL, "a symbol")
        return unescape(match[1]) if match[1] is not None else match[2]

    def dialect_attribute(self) -> Attribute:
        start = self.position
        name = self.match(DIALECT_NAME, "the name of an attribute")[1]
        if "." not in name and not self.text.startswith("<", self.position):
            return self.aliased("#" + name, AttributeReader.attribute, "an attribute", start)
        body_start = self.position
        body = self.balanced() if self.text.startswith("<", self.position) else ""
        if name == SourceLoc.name:
            inner = AttributeReader(body, position=1)
            location = inner.location_body()
            if location is not None:
                inside = inner.string() if inner.accept("in ") else ""
                return SourceLoc.of(*location.place, inside)
        if library_wanted() and (flags := _FLAG_ATTRIBUTES.get(name)) is not None:
            try:
                return flags([flag.strip() for flag in body[1:-1].split(",")])
            except ValueError:
                raise Unreadable(f"flags of {name}", body_start) from None
        if name == CachePolicyAttr.name and (match := _CACHE_POLICY.fullmatch(body)):
            return CachePolicyAttr(StringAttr(match[1]), StringAttr(match[2]))
        return ForeignAttr(StringAttr(self.text[start : self.position]))

    def array(self) -> Attribute:
        self.expect("[")
        return ArrayAttr(self.list_of(self.attribute, "]"))

    def dense_array(self) -> Attribute:
        """``array<i32: 1, 2>`` (the keyword is read already)."""
        self.expect("<")
        type_: Any = self.type()
        if not hasattr(type_, "pack"):
            raise Unreadable("an array of integers or floats", self.position)
        self.skip_space()
        start = self.position
        if not self.accept(":"):
            self.expect(">")
            return DenseArrayBase.from_list(type_, [])
        match = self.match(_DENSE_BODY, "numbers")
        self.expect(">")
        values = b"".join(
            element_bytes(element.strip(), type_, start) for element in match[0].split(",") if element.strip()
        )
        return DenseArrayBase(type_, BytesAttr(values))

    def dense(self) -> Attribute:
        """``dense<1.0> : tensor<4xf32>``, also with lists or raw bytes (the keyword is read already)."""
        self.expect("<")
        start = self.position
        raw = ""
        elements: list[str] = []
        nested = False
        if self.at('"'):
            raw = self.string()
        else:
            body = self.match(_DENSE_BODY, "numbers")[0]
            nested = "[" in body
            elements = _DENSE_ELEMENT.findall(body)
        self.expect(">")
        self.expect(":")
        type_: Any = self.type()
        element: Any = getattr(type_, "element_type", None)
        if type_.name != TensorType.name or not hasattr(element, "pack"):
            raise Unreadable("a tensor of integers or floats", self.position)
        count = prod(type_.get_shape())
        if not 0 <= count <= _MOST_ELEMENTS:
            raise Unreadable(f"a tensor of at most {_MOST_ELEMENTS} elements", self.position)
        if raw:
            data = raw_bytes(raw, element, count, start)
        else:
            data = b"".join(element_bytes(e, element, start) for e in elements)
            if len(elements) == 1 and not nested:
                data *= count
            elif len(elements) != count:
                raise Unreadable(f"{count} elements of {type_}", start)
        return DenseIntOrFPElementsAttr(type_, BytesAttr(data))


def _boolean(value: bool) -> Callable[[AttributeReader], Attribute]:
    attribute = IntegerAttr.from_bool(value)
    return lambda reader: attribute


def _opaque(reader: AttributeReader) -> Attribute:
    """Something only GPU passes print (affine maps, resources), kept as text."""
    match = re.compile(r"\w+\s*$").search(reader.text, 0, reader.position)
    start = match.start() if match else reader.position
    reader.balanced()
    return ForeignAttr(StringAttr(reader.text[start : reader.position]))


def _type_or_unit(reader: AttributeReader) -> Attribute:
    return UnitAttr()


_BY_FIRST_CHARACTER: dict[str, Callable[[AttributeReader], Attribute]] = {
    '"': AttributeReader.string_attribute,
    "[": AttributeReader.array,
    "{": lambda reader: DictionaryAttr(reader.dictionary()),
    "@": AttributeReader.symbol,
    "#": AttributeReader.dialect_attribute,
    **dict.fromkeys("-0123456789", AttributeReader.number),
    **dict.fromkeys("!(", AttributeReader.type),
}

_BY_KEYWORD: dict[str, Callable[[AttributeReader], Attribute]] = {
    "true": _boolean(True),
    "false": _boolean(False),
    "unit": _type_or_unit,
    "array": AttributeReader.dense_array,
    "dense": AttributeReader.dense,
    "affine_map": _opaque,
    "affine_set": _opaque,
    "dense_resource": _opaque,
    "sparse": _opaque,
    "distinct": _opaque,
    "strided": _opaque,
}


def _overflow(flags: list[str]) -> Attribute:
    from xdsl.dialects.arith import IntegerOverflowAttr, IntegerOverflowFlag

    return IntegerOverflowAttr("none" if flags == ["none"] else [IntegerOverflowFlag(flag) for flag in flags])


def _fastmath(flags: list[str]) -> Attribute:
    from xdsl.dialects.arith import FastMathFlagsAttr
    from xdsl.dialects.utils import FastMathFlag

    names = flags[0] if flags in (["none"], ["fast"]) else [FastMathFlag(flag) for flag in flags]
    return FastMathFlagsAttr(names)  # type: ignore[arg-type]


_FLAG_ATTRIBUTES: dict[str, Callable[[list[str]], Attribute]] = {
    "arith.overflow": _overflow,
    "arith.fastmath": _fastmath,
}
