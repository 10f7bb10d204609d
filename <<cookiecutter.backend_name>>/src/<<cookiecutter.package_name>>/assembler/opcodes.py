"""The table of instructions: number, registers and immediates of each. Assembly text and binary follow from it.

Numbers are for ever. A new instruction takes the number after the largest in its table, never one from a gap: an
instruction that was dropped may have had it. If the largest is dropped, a comment keeps its number. There are three
ranges, so that nobody takes another's: below `FIRST_OWN` for the template that this package was made from, from there
on for this package, from `FIRST_FOREIGN` on for others. What an instruction's registers and immediates are is read off
its class in the dialect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Final

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, StringAttr
from xdsl.ir import Operation
from xdsl.irdl import (
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    OptPropertyDef,
    ParamAttrConstraint,
    VarConstraint,
    VarOperandDef,
)

from ..dialects.isa import INSTRUCTIONS
from ..dialects.isa.alu import Predicate
from ..dialects.isa.control import Kernel
from ..dialects.isa.definitions import check_class
from ..errors import DefinitionError, UnsupportedOperation
from ..extensions import note
from ..target import BACKEND_NAME, PACKAGE_NAME
from .program import Instruction, Register, Type, type_of

NUMBERS: Final = {
    # machine instructions, which the dialect does not have
    "move": 1, "jump": 2, "branch": 3, "branch.unless": 4, "argument": 5, "spill": 6, "reload": 7,
    # control
    "return": 8, "trap": 9, "print": 10, "fence": 11, "program_id": 12, "num_programs": 13, "scratch": 14,
    # integers
    "addi": 16, "subi": 17, "muli": 18, "mulhs": 19, "mulhu": 20, "divs": 21, "divu": 22, "rems": 23, "remu": 24,
    "and": 25, "or": 26, "xor": 27, "shl": 28, "shrs": 29, "shru": 30, "mins": 31, "maxs": 32, "minu": 33,
    "maxu": 34, "popc": 35, "clz": 36,
    # floating point
    "addf": 40, "subf": 41, "mulf": 42, "divf": 43, "remf": 44, "minnum": 45, "maxnum": 46, "minimum": 47,
    "maximum": 48, "copysign": 49, "negf": 50, "absf": 51, "sqrt": 52, "floor": 53, "ceil": 54,
    "truncf.int": 55, "roundeven": 56, "fma": 57, "ldexp": 58,
    # special functions
    "rsqrt": 64, "exp": 65, "exp2": 66, "log": 67, "log2": 68, "sin": 69, "cos": 70, "tanh": 71, "erf": 72,
    "math": 73, "act": 74,
    # comparison
    "cmpi": 80, "cmpf": 81, "select": 82,
    # conversions
    "exts": 88, "extu": 89, "trunci": 90, "sitof": 91, "uitof": 92, "ftosi": 93, "ftoui": 94, "extf": 95,
    "truncf": 96, "bitcast": 97, "sats": 98, "satu": 99,
    # constants and lanes
    "const": 104, "lanes": 105, "splat": 106, "extract": 107, "shuffle": 108, "any": 109,
    "lookup": 110,
    # memory
    "load": 116, "load.masked": 117, "prefetch": 118, "gather": 119, "store": 120, "store.masked": 121,
    "scatter": 122, "atomic.rmw": 123, "atomic.cas": 124, "atomic.poll": 125, "deadline": 126,
    "store.streaming": 127,
    # matrix
    "mma": 130,
}  # fmt: skip
"""Instruction -> the byte that it begins with. A newer version of the template adds lines here."""

OWN_NUMBERS: Final[dict[str, int]] = {
}  # fmt: skip
"""The same for this package's own instructions: `FIRST_OWN` to `FIRST_FOREIGN` - 1. The template adds nothing here."""

FIRST_OWN: Final = 160
"""From here on numbers are for instructions that this package adds to the template's."""

FIRST_FOREIGN: Final = 192
"""From here on numbers are for instructions of other packages (`assign_number`)."""


class Kind(Enum):
    """Kinds of immediates, by how assembly writes them."""

    INTEGER = "-5"
    LIST = "{0, 1, 2}"
    STRING = '"rtne"'
    BITS = "0x3f800000"
    ELEMENT = "f32"
    WORD = "slt"


Slot = Type | str
"""The type of a register: fixed, or a variable that stands for one."""


@dataclass(frozen=True)
class Form:
    """What an instruction is made of. ``variadic``: the last operand occurs any number of times."""

    name: str
    number: int
    results: tuple[Slot, ...] = ()
    operands: tuple[Slot, ...] = ()
    immediates: tuple[tuple[str, Kind], ...] = ()
    variadic: bool = False
    jumps: bool = False

    def slots(self, operands: int) -> Iterator[Slot]:
        """The slot of each register, results first, with `operands` operands; each of a variadic one is its own."""
        yield from self.results
        if not self.variadic:
            yield from self.operands
            return
        *fixed, last = self.operands
        yield from fixed
        for number in range(operands - len(fixed)):
            yield f"{last}.{number}"

    def variables(self, operands: int) -> list[str]:
        """The type variables, each once, in the order of their first register."""
        return list(dict.fromkeys(slot for slot in self.slots(operands) if isinstance(slot, str)))

    def explicit_types(self, instruction: Instruction) -> list[Type]:
        """The types of the variables."""
        registers = (*instruction.results, *instruction.operands)
        found: dict[str, Type] = {}
        for slot, register in zip(self.slots(len(instruction.operands)), registers, strict=True):
            if isinstance(slot, str):
                found.setdefault(slot, register.type)
        return list(found.values())

    def operand_count(self, types: int) -> int:
        """How many operands there are where `types` types are given. Raises ValueError where none fits."""
        count = len(self.operands)
        if self.variadic:
            count += types - len(self.variables(count - 1)) - 1
        if count < 0 or len(self.variables(count)) != types:
            raise ValueError(f"{self.name} cannot have {types} types")
        return count

    def registers(self, types: Sequence[Type]) -> list[Type]:
        """The type of every register, from those of the variables."""
        count = self.operand_count(len(types))
        known = dict(zip(self.variables(count), types, strict=True))
        return [known[slot] if isinstance(slot, str) else slot for slot in self.slots(count)]


PREDICATE: Final = Type("i1")

_MACHINE: Final = {
    "move": Form("move", NUMBERS["move"], results=("T",), operands=("T",)),
    "jump": Form("jump", NUMBERS["jump"], jumps=True),
    "branch": Form("branch", NUMBERS["branch"], operands=(PREDICATE,), jumps=True),
    "branch.unless": Form("branch.unless", NUMBERS["branch.unless"], operands=(PREDICATE,), jumps=True),
    "argument": Form("argument", NUMBERS["argument"], results=("T",), immediates=(("slot", Kind.INTEGER),)),
    "spill": Form("spill", NUMBERS["spill"], operands=("T",), immediates=(("offset", Kind.INTEGER),)),
    "reload": Form("reload", NUMBERS["reload"], results=("T",), immediates=(("offset", Kind.INTEGER),)),
}
"""``argument``: a kernel's parameter. ``spill`` and ``reload``: whole registers to and from the workspace."""

CLASSES: Final[dict[str, type[Operation]]] = {
    cls.name.partition(".")[2]: cls for cls in INSTRUCTIONS if cls is not Kernel
}
"""Instruction -> its class in the dialect."""


def check_numbers(numbers: Mapping[str, int]) -> None:
    """Raises DefinitionError for a number that is out of range or that two instructions have, and for a name that none
    has. The number is all that tells instructions apart in a binary."""
    where = f"NUMBERS in {PACKAGE_NAME}/assembler/opcodes.py"
    owners: dict[int, str] = {}
    for name, number in numbers.items():
        if name not in CLASSES and name not in _MACHINE:
            raise DefinitionError(
                f"{BACKEND_NAME}: {where} has a number for {name!r}, but there is no instruction {BACKEND_NAME}.{name}"
            )
        if not isinstance(number, int) or not 0 < number < FIRST_FOREIGN:
            raise DefinitionError(
                f"{BACKEND_NAME}: the number of {name!r} in {where} must be one from 1 to {FIRST_FOREIGN - 1} "
                f"(from {FIRST_FOREIGN} on they are for other packages), not {number!r}"
            )
        other = owners.setdefault(number, name)
        if other != name:
            free = max(taken for taken in numbers.values() if (taken < FIRST_OWN) == (number < FIRST_OWN)) + 1
            raise DefinitionError(
                f"{BACKEND_NAME}: {where} gives {other!r} and {name!r} one number, {number}: the later one needs "
                f"another ({free} is free)"
            )


def check_own_numbers(own: Mapping[str, int]) -> None:
    """Raises DefinitionError for a number in `OWN_NUMBERS` that the template, or another package, may take one day."""
    for name, number in own.items():
        if not isinstance(number, int) or not FIRST_OWN <= number < FIRST_FOREIGN:
            raise DefinitionError(
                f"{BACKEND_NAME}: the number of {name!r} in OWN_NUMBERS in {PACKAGE_NAME}/assembler/opcodes.py must be "
                f"one from {FIRST_OWN} to {FIRST_FOREIGN - 1}, not {number!r}"
            )


check_own_numbers(OWN_NUMBERS)
check_numbers({**OWN_NUMBERS, **NUMBERS})
NUMBERS.update(OWN_NUMBERS)


def assign_number(cls: type[Operation], number: int) -> None:
    """Gives an instruction of another package its number, from `FIRST_FOREIGN` on.

    Raises DefinitionError, a ValueError, if it is taken."""
    check_class(cls)
    name = cls.name.partition(".")[2]
    if not FIRST_FOREIGN <= number < 256:
        raise DefinitionError(
            f"{cls.name}: numbers for instructions of other packages are {FIRST_FOREIGN} to 255, not {number}"
        )
    owner = next((known for known, taken in NUMBERS.items() if taken == number), name)
    if owner != name or (name in CLASSES and CLASSES[name].__qualname__ != cls.__qualname__):
        raise DefinitionError(f"{cls.name}: number {number} or the name is that of another instruction")
    NUMBERS[name] = number
    CLASSES[name] = cls
    note(cls)
    form_of.cache_clear()
    form_numbered.cache_clear()


@cache
def form_of(name: str) -> Form:
    """The form of an instruction. Raises UnsupportedOperation for one without a number."""
    if name in _MACHINE:
        return _MACHINE[name]
    cls, number = CLASSES.get(name), NUMBERS.get(name)
    if cls is None or number is None:
        raise UnsupportedOperation(
            f"{BACKEND_NAME}.{name} has no number, which the assembler needs: no machine code is assigned to it",
            add_support_in="assembler/opcodes.py, in OWN_NUMBERS (from another package: with assign_number)",
        )
    return _derive(name, number, cls)


@cache
def form_numbered(number: int) -> Form:
    """The form whose number it is. Raises ValueError."""
    for name, known in NUMBERS.items():
        if known == number:
            return form_of(name)
    raise ValueError(f"there is no instruction number {number}")


def _derive(name: str, number: int, cls: type[Operation]) -> Form:
    assert issubclass(cls, IRDLOperation)
    definition = cls.get_irdl_definition()
    variadic = any(isinstance(operand, VarOperandDef) for _, operand in definition.operands)
    return Form(
        name,
        number,
        tuple(_slot(role, result.constr) for role, result in definition.results),
        tuple(_slot(role, operand.constr) for role, operand in definition.operands),
        tuple((role, _kind(name, role, prop)) for role, prop in definition.properties.items()),
        variadic,
    )


def _slot(role: str, constraint: object) -> Slot:
    """A range constraint of one operand or result -> its type or type variable."""
    for wrapper in ("constraint", "constr"):  # the range's length, the range
        constraint = getattr(constraint, wrapper, constraint)
    if isinstance(constraint, EqAttrConstraint):
        return type_of(constraint.attr)
    return constraint.name if isinstance(constraint, VarConstraint) else role


_WORDS: Final = {StringAttr: Kind.STRING, Predicate: Kind.WORD}


def _kind(name: str, role: str, prop: object) -> Kind:
    constraint = getattr(prop, "constr", None)
    if isinstance(prop, OptPropertyDef):
        raise UnsupportedOperation(
            f"{BACKEND_NAME}.{name}: no encoding for a property that may be missing ({role})",
            add_support_in="assembler/opcodes.py",
        )
    if isinstance(constraint, BaseAttr) and constraint.attr in _WORDS:
        return _WORDS[constraint.attr]
    if isinstance(constraint, ParamAttrConstraint):
        if constraint.base_attr is IntegerAttr:
            return Kind.INTEGER
        if constraint.base_attr is DenseArrayBase:
            return Kind.LIST
    return Kind.ELEMENT if role.endswith("_type") else Kind.BITS


def check_counts(form: Form, instruction: Instruction) -> None:
    """Raises ValueError where registers or immediates are too few or too many."""
    operands = len(instruction.operands)
    registers: tuple[Register, ...] = (*instruction.results, *instruction.operands)
    if len(instruction.results) != len(form.results) or len(registers) != len(list(form.slots(operands))):
        raise ValueError(f"{form.name} has other registers")
    if len(instruction.immediates) != len(form.immediates) or bool(instruction.target) != form.jumps:
        raise ValueError(f"{form.name} has other immediates")
