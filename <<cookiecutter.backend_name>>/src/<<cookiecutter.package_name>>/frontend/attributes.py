"""Attributes and types of generic MLIR text -> xDSL attributes.

`AttributeReader` is a cursor over a piece of text (a line of TTIR). What it reads is immutable, so results
are kept by their text for the life of the process: kernels repeat the same few types and property
dictionaries.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from typing import Any, TypeVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float8E4M3B11FNUZType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E4M3Type,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    NoneAttr,
    NoneType,
    Signedness,
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
from ..dialects.tt_types import CachePolicyAttr, ForeignAttr, ForeignType, PointerType, TensorDescType
from .cursor import INTEGER, WORD, Cursor, Unreadable, unescape
from .dense import element_bytes, float_bytes, raw_bytes

_T = TypeVar("_T")

_SCALAR_TYPES: dict[str, Attribute] = {
    "f16": Float16Type(),
    "bf16": BFloat16Type(),
    "f32": Float32Type(),
    "f64": Float64Type(),
    "f8E4M3": Float8E4M3Type(),
    "f8E4M3FN": Float8E4M3FNType(),
    "f8E4M3FNUZ": Float8E4M3FNUZType(),
    "f8E4M3B11FNUZ": Float8E4M3B11FNUZType(),
    "f8E5M2": Float8E5M2Type(),
    "f8E5M2FNUZ": Float8E5M2FNUZType(),
    "f8E8M0FNU": Float8E8M0FNUType(),
    "f6E2M3FN": Float6E2M3FNType(),
    "f6E3M2FN": Float6E3M2FNType(),
    "f4E2M1FN": Float4E2M1FNType(),
    "index": IndexType(),
    "none": NoneType(),
}

_ALIAS = re.compile(r"^([#!][\w$.-]+) = (.*)$", re.MULTILINE)
_INTEGER_TYPE = re.compile(r"([su]?)i(\d+)")
_PLAIN_TYPE = re.compile(r"(?:tensor|![\w.$]+)<[^<>\"]*(?:<[^<>\"]*>)?>|[a-z]\w*")
"""The text of nearly every type in TTIR; what it does not match (or is not cached yet) is read piece by
piece.
"""

CONSTANT_SPACE = 4
"""The address space of ``tl.const`` pointers, by the number that LLVM's GPU targets give it."""

_DIMENSION = re.compile(r"(\d+|\?)x")
_NUMBER = re.compile(r"-?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)")
_SYMBOL = re.compile(r'@(?:"((?:[^"\\]|\\.)*)"|([A-Za-z_][\w$.-]*))')
_DIALECT_NAME = re.compile(r"[!#]([A-Za-z_][\w$]*(?:\.[\w$.-]+)?)")
_DENSE_ELEMENT = re.compile(r"-?0x[0-9A-Fa-f]+|[-+.\w]+")
_DENSE_BODY = re.compile(r"[\[\]\s,.\w+-]*")
_CACHE_POLICY = re.compile(r"<\s*cache_modifier = (\w+), eviction_policy = (\w+)\s*>")
_BITS_OF_LOCATION = re.compile(r":(\d+)(?::(\d+))?(?: to (?:\d+)?(?::\d+)?)?")

_COMMON_LOCATION = re.compile(r'loc\((?:"([^"\\]*)":(\d+):(\d+)|"[^"\\]*"\((#[\w$.-]+)\))\)')
"""``loc("file":line:column)`` and ``loc("name"(#alias))``."""


_types: dict[str, Attribute] = dict(_SCALAR_TYPES)
_CACHE_LIMIT = 20_000
_MOST_ELEMENTS = 2**28
"""Triton's own limit for a tensor is 2**20 elements."""


def remember(cache: dict[str, _T], text: str, value: _T) -> _T:
    """Keep `value`; a cache that a long-lived process filled up starts anew."""
    if len(cache) >= _CACHE_LIMIT:
        cache.clear()
    cache[text] = value
    return value


class Aliases:
    """What ``#name = ...`` and ``!name = ...`` stand for in one module; each is read once, when first asked
    for.
    """

    def __init__(self, text: str = "") -> None:
        self._definitions: dict[str, str] = dict(_ALIAS.findall(text)) if text else {}
        self._read: dict[str, Any] = {}
        self._reading: set[str] = set()

    def location(self, name: str, position: int = 0) -> SourceLoc | None:
        if name in self._read:
            location: SourceLoc | None = self._read[name]
            return location
        return self._resolve(name, AttributeReader.location, "a location", position)

    def attribute(self, name: str, position: int) -> Attribute:
        return self._resolve(name, AttributeReader.attribute, "an attribute", position)

    def type(self, name: str, position: int) -> Attribute:
        return self._resolve(name, AttributeReader.type, "a type", position)

    def _resolve(self, name: str, read: Callable[[AttributeReader], _T], kind: str, position: int) -> _T:
        if name not in self._read:
            if name not in self._definitions or name in self._reading:
                raise Unreadable(f"{kind} (`{name}` is not defined)", position)
            self._reading.add(name)
            self._read[name] = read(AttributeReader(self._definitions[name], self))
            self._reading.remove(name)
        value: _T = self._read[name]
        return value


_NO_ALIASES = Aliases()


class AttributeReader(Cursor):
    """A cursor over `text`, which may use `aliases`."""

    def __init__(self, text: str, aliases: Aliases = _NO_ALIASES, position: int = 0) -> None:
        super().__init__(text, position)
        self.aliases = aliases
        self.reusable = True
        """False once something was read that depends on this module's aliases: not to be kept for other
        modules.
        """

    # --- types ----------------------------------------------------------------------------------------------

    def type(self) -> Attribute:
        """Any type."""
        self.skip_space()
        match = _PLAIN_TYPE.match(self.text, self.position)
        if match is not None:
            known = _types.get(match[0])
            if known is not None:
                self.position = match.end()
                return known
        start, was_reusable, self.reusable = self.position, self.reusable, True
        type_ = self._type()
        if self.reusable:
            remember(_types, self.text[start : self.position], type_)
        self.reusable &= was_reusable
        return type_

    def _type(self) -> Attribute:
        start = self.position
        if self.at("("):
            inputs, outputs = self.function_type()
            return FunctionType.from_lists(inputs, outputs)
        if self.at("!"):
            return self._dialect_type()
        word = self.match(WORD, "a type")[0]
        if (scalar := _SCALAR_TYPES.get(word)) is not None:
            return scalar
        if match := _INTEGER_TYPE.fullmatch(word):
            sign = {"": Signedness.SIGNLESS, "s": Signedness.SIGNED, "u": Signedness.UNSIGNED}[match[1]]
            return IntegerType(int(match[2]), sign)
        if word == "tensor":
            self.expect("<")
            dimensions = self._dimensions()
            element = self.type()
            encoding = self.attribute() if self.accept(",") else NoneAttr()
            self.expect(">")
            return TensorType(element, dimensions, encoding)
        raise Unreadable("a type that Triton IR can have", start)

    def _dimensions(self) -> list[int]:
        dimensions: list[int] = []
        self.skip_space()
        while match := _DIMENSION.match(self.text, self.position):
            self.position = match.end()
            dimensions.append(-1 if match[1] == "?" else int(match[1]))
        return dimensions

    def _dialect_type(self) -> Attribute:
        start = self.position
        name = self.match(_DIALECT_NAME, "the name of a type")[1]
        if name == "tt.ptr":
            self.expect("<")
            pointee = self.type()
            space = self._address_space() if self.accept(",") else 1
            self.expect(">")
            return PointerType(pointee, space)
        if name == "tt.tensordesc":
            self.expect("<")
            dimensions = self._dimensions()
            block: Any = self.type()
            if block.name != TensorType.name:
                block = TensorType(block, dimensions)
            if self.accept(","):
                raise Unreadable(
                    "a descriptor without a layout, as it is before Triton's GPU passes", self.position
                )
            self.expect(">")
            return TensorDescType(block)
        if "." not in name and not self.text.startswith("<", self.position):
            self.reusable = False
            return self.aliases.type("!" + name, start)
        if self.text.startswith("<", self.position):
            self.balanced()
        return ForeignType(StringAttr(self.text[start : self.position]))

    def _address_space(self) -> int:
        """A number; Triton 3.9 spells the one of ``tl.const`` pointers."""
        if self.accept('"constant"'):
            return CONSTANT_SPACE
        return int(self.match(INTEGER, 'the number of an address space, or "constant"')[0])

    def function_type(self) -> tuple[list[Attribute], list[Attribute]]:
        """``(t, t) -> t`` or ``(t, t) -> (t, t)``."""
        self.expect("(", "the types of operands in parentheses")
        inputs = self.list_of(self.type, ")")
        self.expect("->")
        outputs = self.list_of(self.type, ")") if self.accept("(") else [self.type()]
        return inputs, outputs

    # --- attributes -----------------------------------------------------------------------------------------

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
            type_ = _SCALAR_TYPES["f64"]
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
        name = self.match(_DIALECT_NAME, "the name of an attribute")[1]
        if "." not in name and not self.text.startswith("<", self.position):
            self.reusable = False
            return self.aliases.attribute("#" + name, start)
        body_start = self.position
        body = self.balanced() if self.text.startswith("<", self.position) else ""
        if name == SourceLoc.name:
            inner = AttributeReader(body, position=1)
            location = inner._location_body()
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

    # --- locations ------------------------------------------------------------------------------------------

    def skip_location(self) -> None:
        """Step over ``loc(...)`` if it comes next."""
        if self.accept("loc"):
            self.expect("(")
            self.position -= 1
            self.balanced()

    def location(self) -> SourceLoc | None:
        """``loc(...)``: the place in the kernel, or None where it is unknown.

        Of a call site it is the place inside of the function called, if that is not Triton's own; of fused locations
        the first that is known.
        """
        if match := _COMMON_LOCATION.match(self.text, self.position):
            file, line, column, alias = match.groups()
            if alias is None:
                self.position = match.end()
                return SourceLoc.of(file, int(line), int(column))
            self.reusable = False
            self.position = match.end()
            return self.aliases.location(alias, match.start())
        self.expect("loc")
        self.expect("(")
        location = self._location_body()
        self.expect(")")
        return location

    def _location_body(self) -> SourceLoc | None:
        start = self.position
        if self.at('"'):
            name = self.string()
            match = _BITS_OF_LOCATION.match(self.text, self.position)
            if match is not None:
                self.position = match.end()
                return SourceLoc.of(name, int(match[1]), int(match[2] or 0))
            if self.accept("("):
                location = self._location_body()
                self.expect(")")
                return location
            return None
        if self.at("#"):
            name = self.match(_DIALECT_NAME, "the name of a location")[1]
            if "." not in name and not self.text.startswith("<", self.position):
                self.reusable = False
                return self.aliases.location("#" + name, start)
            if self.text.startswith("<", self.position):
                self.balanced()
            return None
        word = self.match(WORD, "a location")[0]
        if word == "unknown":
            return None
        if word == "callsite":
            self.expect("(")
            callee = self._location_body()
            self.expect("at")
            caller = self._location_body()
            self.expect(")")
            return caller if callee is None else callee.called_at(caller)
        if word == "fused":
            if self.at("<"):
                self.balanced()
            self.expect("[")
            return next((location for location in self.list_of(self._location_body, "]") if location), None)
        if word == "loc":
            self.position = start
            return self.location()
        raise Unreadable("a location", start)


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
