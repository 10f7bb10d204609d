"""What every instruction has in common: register types, its execution unit, its place in the dialect.

Registers hold scalars or vectors of a power-of-two number of lanes. A vector may be longer than the
machine's ``VECTOR_LANES``: it is then a *register group*, as in RISC-V's LMUL, and one instruction works on
the whole group. Addresses are 64-bit integers counting bytes. A predicate is an ``i1`` or a vector of ``i1``;
it lives in registers only (memory holds booleans as bytes).
"""

from __future__ import annotations

from abc import ABC
from enum import Enum
from functools import cache
from typing import ClassVar, Self

from xdsl.dialects.builtin import IntegerType, VectorType
from xdsl.ir import Attribute
from xdsl.irdl import AnyAttr, IRDLOperation
from xdsl.irdl.declarative_assembly_format import FormatProgram
from xdsl.parser import Parser
from xdsl.printer import Printer

from ...errors import CompileError, DefinitionError
from ...target import BACKEND_NAME, ENV_PREFIX
from ..locations import place_of
from .definitions import defined_at

Register = AnyAttr()


class Unit(Enum):
    """The execution unit an instruction occupies: what the latency model in ``target.py`` is keyed by."""

    SCALAR = "scalar"
    VECTOR = "vector"
    SPECIAL = "special"
    MEMORY = "memory"
    MATRIX = "matrix"
    CONTROL = "control"


@cache
def format_of(cls: type[Instruction]) -> FormatProgram | None:
    """The compiled ``ASSEMBLY`` of a class; None without one. Raises DefinitionError for one that is wrong."""
    if not cls.ASSEMBLY:
        return None
    try:
        return FormatProgram.from_str(cls.ASSEMBLY, cls.get_irdl_definition())
    except Exception as error:
        raise DefinitionError(
            f"{BACKEND_NAME}: the ASSEMBLY of {cls.name}, {cls.ASSEMBLY!r} (class {cls.__qualname__}, "
            f"{defined_at(cls)}), is not valid: {error}"
        ) from error


class Instruction(IRDLOperation, ABC):
    """Base of all instructions. ``UNIT`` names the unit for vector operands; scalar ones run on `Unit.SCALAR`."""

    UNIT: ClassVar[Unit] = Unit.VECTOR
    FLOPS: ClassVar[int] = 0
    """Arithmetic operations on floats of one lane, for the profile: 2 of a fused multiply-add."""
    ASSEMBLY: ClassVar[str] = ""
    """The custom syntax, in xDSL's declarative format; "" for the generic one.

    xDSL's own ``assembly_format`` is compiled when the class is made, for every instruction of the set in every
    process; this is compiled when the first one is printed or parsed.
    """

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        program = format_of(cls)
        return super().parse(parser) if program is None else program.parse(parser, cls)

    def print(self, printer: Printer) -> None:
        program = format_of(type(self))
        if program is None:
            super().print(printer)
            return
        try:
            program.print(printer, self)
        except Exception as error:
            raise CompileError(self._cannot_be_printed(error), location=place_of(self)) from error

    def _cannot_be_printed(self, error: Exception) -> str:
        try:
            self.verify()
            wrong = f"{type(error).__name__}: {error}"
        except Exception as refusal:
            wrong = str(refusal)
        return (
            f"an instruction {self.name} has not the operands, results or properties that its class asks for: {wrong}. "
            f"The lowering or a pass made it so; with {ENV_PREFIX}_VERIFY_PASSES=1 the error names which"
        )

    def verify_(self) -> None:
        from .checks import check_register

        for operand in self.operands:
            check_register(operand.type)
        for result in self.results:
            check_register(result.type)
        self.check()

    def check(self) -> None:
        """What the instruction asks of its registers and properties beyond their being there.

        Runs when a module is verified, never when an instruction is made. Raises VerifyException; ``checks.py`` has the
        common sentences.
        """


def mnemonic(name: str) -> str:
    """The full operation name of an instruction, ``addi`` in the backend's namespace."""
    return f"{BACKEND_NAME}.{name}"


@cache
def vector(lanes: int, element: Attribute) -> Attribute:
    """The type of a register (group) of `lanes` elements; a scalar where `lanes` is 1."""
    return element if lanes == 1 else VectorType(element, [lanes])


def lanes_of(ty: Attribute) -> int:
    """Lanes of a register type; 1 for a scalar."""
    return ty.get_shape()[0] if isinstance(ty, VectorType) else 1


def element_of(ty: Attribute) -> Attribute:
    """Element type of a register type; the type itself for a scalar."""
    return ty.element_type if isinstance(ty, VectorType) else ty


def like(ty: Attribute, element: Attribute) -> Attribute:
    """A register type with as many lanes as `ty` and elements of `element`."""
    return _like(ty, element) if isinstance(ty, VectorType) else element


@cache
def _like(ty: VectorType, element: Attribute) -> Attribute:
    return VectorType(element, ty.shape)


def is_predicate(ty: Attribute) -> bool:
    element = element_of(ty)
    return isinstance(element, IntegerType) and element.width.data == 1
