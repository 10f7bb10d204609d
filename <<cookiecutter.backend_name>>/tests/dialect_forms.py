"""The dialect's operations of the assembler's instructions: the inverse of linearizing, for tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import (
    AnyFloat,
    Builtin,
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    i8,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser import Parser

from <<cookiecutter.package_name>>.assembler.opcodes import CLASSES, Kind, form_of
from <<cookiecutter.package_name>>.assembler.program import Instruction, Type
from <<cookiecutter.package_name>>.dialects.isa.alu import Predicate
from <<cookiecutter.package_name>>.dialects.isa.base import vector
from <<cookiecutter.package_name>>.errors import UnsupportedOperation


def operation_of(instruction: Instruction, operands: Sequence[SSAValue]) -> Operation:
    """The operation of an instruction, with `operands` for its registers.

    Raises UnsupportedOperation for machine instructions, which the dialect does not have.
    """
    cls = CLASSES.get(instruction.name)
    if cls is None:
        raise UnsupportedOperation(f"the dialect has no instruction {instruction.name}")
    properties: dict[str, Attribute] = {}
    for (role, kind), value in zip(form_of(instruction.name).immediates, instruction.immediates, strict=True):
        match kind, value:
            case Kind.INTEGER, int():
                properties[role] = IntegerAttr(value, i64)
            case Kind.LIST, tuple():
                properties[role] = DenseArrayBase.from_list(i64, value)
            case Kind.STRING, str():
                properties[role] = StringAttr(value)
            case Kind.WORD, str():
                properties[role] = Predicate(value)
            case Kind.ELEMENT, str():
                properties[role] = _element(value)
            case _, int():
                properties[role] = _number(value, instruction.results[0].type)
            case _:
                raise UnsupportedOperation(
                    f"{instruction.name}: {value!r} is no immediate of kind {kind.name}"
                )
    types = [vector(result.type.lanes, _element(result.type.element)) for result in instruction.results]
    return cls.create(operands=operands, result_types=types, properties=properties)


def _element(name: str) -> Attribute:
    context = Context()
    context.load_dialect(Builtin)
    return Parser(context, name).parse_attribute()


def _number(bits: int, ty: Type) -> Attribute:
    if ty.element.startswith("f8"):
        return IntegerAttr(bits - (bits >> 7 <<'<<'>> 8), i8)
    if ty.element.startswith("i"):
        signed = bits - ((bits >> (ty.bits - 1)) <<'<<'>> ty.bits) if ty.bits > 1 else bits
        return IntegerAttr(signed, IntegerType(ty.bits))
    if ty.element == "bf16":
        bits, width = bits <<'<<'>> 16, 32
    else:
        width = ty.bits
    value = float(np.array(bits, f"u{width // 8}").view(f"f{width // 8}"))
    element = _element(ty.element)
    assert isinstance(element, AnyFloat)
    return FloatAttr(value, element)
