"""Types of generic MLIR text -> xDSL types. They are kept by their text for the life of the process."""

from __future__ import annotations

import re
from typing import Any, Final

from xdsl.dialects.builtin import (
    BFloat16Type,
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
    FunctionType,
    IndexType,
    IntegerType,
    NoneAttr,
    NoneType,
    Signedness,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute

from ..dialects.tt_types import ForeignType, PointerType, TensorDescType
from .aliases import AliasReader, remember
from .cursor import DIALECT_NAME, INTEGER, WORD, Unreadable

SCALAR_TYPES: Final[dict[str, Attribute]] = {
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

_INTEGER_TYPE = re.compile(r"([su]?)i(\d+)")
_PLAIN_TYPE = re.compile(r"(?:tensor|![\w.$]+)<[^<>\"]*(?:<[^<>\"]*>)?>|[a-z]\w*")
"""The text of nearly every type in TTIR; what it does not match (or is not cached yet) is read piece by
piece.
"""

CONSTANT_SPACE = 4
"""The address space of ``tl.const`` pointers, by the number that LLVM's GPU targets give it."""

_DIMENSION = re.compile(r"(\d+|\?)x")

_types: dict[str, Attribute] = dict(SCALAR_TYPES)


class TypeReader(AliasReader):
    """Reads types; tensors may have an attribute for an encoding, which its subclass reads."""

    def attribute(self) -> Attribute:
        raise NotImplementedError

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
        if (scalar := SCALAR_TYPES.get(word)) is not None:
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
        name = self.match(DIALECT_NAME, "the name of a type")[1]
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
            return self.aliased("!" + name, TypeReader.type, "a type", start)
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
