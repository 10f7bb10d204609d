"""Every instruction that maps registers to registers: the same bits from the emulator as from the reference device.

The types that an instruction takes and gives are found by its verifier, so a new one is compared without a line here,
unless it has properties: then `PROPERTIES` says which values to try. Not compared here are instructions with effects
(memory, atomics, `mma`, control), without operands (constants), and those in `ELSEWHERE`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import pytest
from emulated_kernels import EmulatedKernel
from isa_kernels import IsaKernel, vector
from xdsl.context import Context
from xdsl.dialects import test
from xdsl.dialects.builtin import Builtin, DenseArrayBase, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.parser import Parser
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from <<cookiecutter.package_name>>.assembler.opcodes import Form, form_of
from <<cookiecutter.package_name>>.assembler.program import Type
from <<cookiecutter.package_name>>.dialects.isa import INSTRUCTIONS, alu, convert, lanes
from <<cookiecutter.package_name>>.dialects.isa.checks import BITS
from <<cookiecutter.package_name>>.target import VECTOR_LANES

PROGRAMS = 24
"""How many registers of each type are tried."""

ELSEWHERE: dict[type[Operation], str] = {
    alu.Act: "test_language_activation.py compares it with the formulas that replace it, to some units in the last place",
    alu.MathCall: "test_library_functions.py has the callees",
}

LOOKED_UP = ((0, 2**32 - 1), tuple(range(0x3F800000, 0x3F800020)))
ROTATED = tuple((3 * n + 1) % (2 * VECTOR_LANES) for n in range(VECTOR_LANES))


def _array(values: tuple[int, ...]) -> Attribute:
    return DenseArrayBase.from_list(i64, values)


PROPERTIES: dict[tuple[type[Operation], str], list[Attribute]] = {
    (alu.CmpI, "predicate"): list(map(alu.Predicate, alu.INTEGER_PREDICATES)),
    (alu.CmpF, "predicate"): list(map(alu.Predicate, alu.FLOAT_PREDICATES)),
    (convert.TruncF, "rounding"): list(map(StringAttr, convert.ROUNDINGS)),
    (lanes.Extract, "lane"): [IntegerAttr(lane, i64) for lane in (0, 1, VECTOR_LANES - 1)],
    (lanes.Lookup, "values"): list(map(_array, LOOKED_UP)),
    (lanes.Shuffle, "lanes"): [
        _array(ROTATED),
        _array(ROTATED[: VECTOR_LANES // 2]),
        _array((VECTOR_LANES + 1,)),
    ],
}
"""Instruction and property -> values to try; what the verifier refuses is left out."""

FINITE = {(alu.Ldexp, 1)}
"""Operands that must be finite, as the docstring of the instruction says."""

NANS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "f64": lambda bits: np.isnan(bits.view(np.float64)),
    "f32": lambda bits: np.isnan(bits.view(np.float32)),
    "f16": lambda bits: np.isnan(bits.view(np.float16)),
    "bf16": lambda bits: bits & 0x7FFF > 0x7F80,
    "f8E5M2": lambda bits: bits & 0x7F > 0x7C,
    "f8E4M3FN": lambda bits: bits & 0x7F == 0x7F,
}
"""Element type -> which of its bits are a NaN. CPUs differ in what they do to the payload of one."""

EDGES: Mapping[str, tuple[float, ...]] = {
    "f64": (0.0, -0.0, 1, -1.5, 2.5, np.inf, -np.inf, np.nan, 1.7e308, 2.3e-308, 5e-324, -1e-3, 3.7, 2.0**31, -(2.0**63)),
    "f32": (0.0, -0.0, 1, -1.5, 2.5, np.inf, -np.inf, np.nan, 3.4e38, 1.2e-38, 1e-45, -1e-3, 3.7, 2.0**31, -(2.0**31)),
}  # fmt: skip


def bits_type(element: str) -> np.dtype:
    return np.dtype(f"u{max(BITS[element] // 8, 1)}")


def numbers(element: str, count: int, generator: np.random.Generator) -> np.ndarray:
    """Bits of random and special numbers. NaNs are quiet."""
    kind = bits_type(element)
    if element == "i1":
        return generator.integers(0, 2, count).astype(kind)
    random = generator.integers(0, 256, count * kind.itemsize, np.uint8).view(kind)
    if element in EDGES:
        values = np.dtype(f"f{kind.itemsize}")
        edges = np.array(EDGES[element], values).view(kind)
        usual = generator.normal(0, 50, count).astype(values).view(kind)
        random = np.where(NANS[element](random), edges[0], random)
        random = np.where(generator.random(count) < 0.5, random, usual)
    elif element in NANS:
        random = np.where(NANS[element](random), random[::-1] & 0x3F, random)
        edges = random[:1]
    else:
        least = 1 <<'<<'>> (BITS[element] - 1)
        edges = np.array([0, 1, 2 * least - 1, 7, 8, 31, 32, 63, 64, least, least - 1, least + 1], kind)
    return np.where(generator.random(count) < 0.5, generator.choice(edges, count), random).astype(kind)


@dataclass(frozen=True)
class Use:
    """An instruction with types and properties that its verifier takes."""

    results: tuple[Type, ...]
    operands: tuple[Type, ...]
    properties: Mapping[str, Attribute]


def is_compared(cls: type[Operation]) -> bool:
    if not issubclass(cls, IRDLOperation) or not cls.has_trait(Pure) or cls in ELSEWHERE:
        return False
    definition = cls.get_irdl_definition()
    return bool(definition.operands) and not definition.regions and not form_of(name_of(cls)).variadic


def name_of(cls: type[Operation]) -> str:
    return cls.name.partition(".")[2]


def spelled(ty: Type) -> str:
    return vector(ty.element, ty.lanes)


@cache
def attribute(ty: Type) -> Attribute:
    context = Context()
    context.load_dialect(Builtin)
    return Parser(context, spelled(ty)).parse_type()


def assignments(form: Form) -> Iterator[dict[str, Type]]:
    """Types for the variables of an instruction's registers: all elements, of scalars and of vectors."""
    variables = form.variables(len(form.operands))
    same = [(count,) * len(variables) for count in (1, VECTOR_LANES)]
    mixed = (
        product((1, VECTOR_LANES // 2, VECTOR_LANES), repeat=len(variables)) if len(variables) == 2 else []
    )
    for counts in dict.fromkeys([*same, *mixed]):
        for elements in product(BITS, repeat=len(variables)):
            types = (Type(element, count) for element, count in zip(elements, counts, strict=True))
            yield dict(zip(variables, types, strict=True))


def uses(cls: type[Operation]) -> list[Use]:
    form = form_of(name_of(cls))
    for role, _ in form.immediates:
        assert (cls, role) in PROPERTIES, f"say in PROPERTIES which values of {cls.name}'s {role} to compare"
    choices = list(product(*(PROPERTIES[cls, role] for role, _ in form.immediates)))
    telling = len(choices) if len(choices) <= 4 else 1  # of many words, none matters to the types
    found: list[Use] = []
    for types in assignments(form):
        results, operands = (
            tuple(types[slot] if isinstance(slot, str) else slot for slot in slots)
            for slots in (form.results, form.operands)
        )
        values = test.TestOp(result_types=list(map(attribute, operands))).results

        def is_taken(use: Use, values: Sequence[SSAValue] = values) -> bool:
            results = list(map(attribute, use.results))
            op = cls.create(operands=values, result_types=results, properties=dict(use.properties))
            try:
                op.verify()
            except VerifyException:
                return False
            return True

        tried = [
            Use(
                results,
                operands,
                {role: value for (role, _), value in zip(form.immediates, chosen, strict=True)},
            )
            for chosen in choices
        ]
        if any(map(is_taken, tried[:telling])):
            found += filter(is_taken, tried)
    return found


class Kernel:
    """Runs an instruction in all its uses, each program on other numbers."""

    def __init__(self, cls: type[Operation], found: list[Use]) -> None:
        self.name, self.uses = name_of(cls), found
        self.inputs: dict[str, np.ndarray] = {}
        self.body = ["%program = isa.program_id 0", "%program64 = isa.extu %program : i32 -> i64"]
        generator = np.random.default_rng(0)
        self.outputs: list[tuple[str, Type]] = []
        for number, use in enumerate(found):
            registers: list[str] = []
            for at, ty in enumerate(use.operands):
                array = f"in{at}_{ty.element}_{ty.lanes}"
                if array not in self.inputs:
                    values = numbers(ty.element, PROGRAMS * ty.lanes, generator)
                    if (cls, at) in FINITE:
                        floats = values.view(f"f{values.itemsize}")
                        values = np.nan_to_num(floats).view(values.dtype)
                    self.inputs[array] = values
                registers.append(self.load(f"%v{number}_{at}", array, ty))
            results = [f"%r{number}_{at}" for at in range(len(use.results))]
            types = ", ".join(map(spelled, use.operands))
            given = ", ".join(map(spelled, use.results))
            properties = ", ".join(f"{role} = {value}" for role, value in use.properties.items())
            self.body.append(
                f'{", ".join(results)} = "isa.{self.name}"({", ".join(registers)}) <{{{properties}}}> : '
                f"({types}) -> ({given})"
            )
            for at, (register, ty) in enumerate(zip(results, use.results, strict=True)):
                self.store(register, f"out{number}_{at}", ty)
        self.body.append("isa.return")

    def address(self, name: str, array: str, ty: Type) -> str:
        pitch = ty.lanes * bits_type(ty.element).itemsize
        self.body += [
            f"{name}_pitch = isa.const {pitch} : i64 : i64",
            f"{name}_offset = isa.muli %program64, {name}_pitch : i64",
            f"{name}_address = isa.addi %{array}, {name}_offset : i64",
        ]
        return f"{name}_address"

    def load(self, name: str, array: str, ty: Type) -> str:
        address = self.address(name, array, ty)
        if ty.element != "i1":
            self.body.append(f"{name} = isa.load {address} : {spelled(ty)}")
            return name
        stored = vector("i8", ty.lanes)
        self.body += [
            f"{name}_bytes = isa.load {address} : {stored}",
            f"{name}_zero = isa.const 0 : i8 : {stored}",
            f"{name} = isa.cmpi ne, {name}_bytes, {name}_zero : {stored} -> {spelled(ty)}",
        ]
        return name

    def store(self, name: str, array: str, ty: Type) -> None:
        self.outputs.append((array, ty))
        address, stored = self.address(name, array, ty), spelled(ty)
        if ty.element == "i1":
            stored = vector("i8", ty.lanes)
            self.body.append(f"{name}_byte = isa.extu {name} : {spelled(ty)} -> {stored}")
            name += "_byte"
        self.body.append(f"isa.store {name}, {address} : {stored}")

    def run(self, engine: type[IsaKernel] | type[EmulatedKernel]) -> list[np.ndarray]:
        results = [np.zeros(PROGRAMS * ty.lanes, bits_type(ty.element)) for _, ty in self.outputs]
        arguments = dict.fromkeys([*self.inputs, *(name for name, _ in self.outputs)], "i64")
        kernel = engine(arguments, "\n".join(self.body))
        assert kernel(*self.inputs.values(), *results, grid=(PROGRAMS, 1, 1)) == 0
        return results


AT_ONCE = 60
"""Uses in one kernel."""


@pytest.mark.parametrize("name", [name_of(cls) for cls in INSTRUCTIONS if is_compared(cls)])
def test_instruction(name: str) -> None:
    cls = next(cls for cls in INSTRUCTIONS if name_of(cls) == name)
    found = uses(cls)
    assert found, f"no types were found that {cls.name} takes"
    for first in range(0, len(found), AT_ONCE):
        kernel = Kernel(cls, found[first : first + AT_ONCE])
        expected, actual = kernel.run(IsaKernel), kernel.run(EmulatedKernel)
        for (output, ty), right, got in zip(kernel.outputs, expected, actual, strict=True):
            nan = NANS.get(ty.element, np.zeros_like)
            plain, ours = (np.where(nan(bits), 0, bits) + nan(bits) for bits in (right, got))
            wrong = np.flatnonzero(plain != ours)
            if len(wrong):
                use = found[first + int(output.removeprefix("out").partition("_")[0])]
                pytest.fail(complaint(cls, use, kernel.inputs, wrong, right, got, ty))


def complaint(
    cls: type[Operation],
    use: Use,
    inputs: dict[str, np.ndarray],
    wrong: np.ndarray,
    right: np.ndarray,
    got: np.ndarray,
    ty: Type,
) -> str:
    """What both devices make of the first operands on which they differ."""
    types = ", ".join(map(spelled, use.operands))
    lines = [f"{cls.name} ({types}) -> {spelled(ty)} {use.properties or ''}: {len(wrong)} of {len(right)} lanes differ"]
    for lane in map(int, wrong[:5]):
        operands = [
            shown(inputs[f"in{at}_{kind.element}_{kind.lanes}"], kind, lane, ty)
            for at, kind in enumerate(use.operands)
        ]
        one = shown(right, ty, lane, ty)
        other = shown(got, ty, lane, ty)
        lines.append(f"  operands {', '.join(operands)}: {one} on the reference device, {other} on the emulator")
    return "\n".join(lines)


def shown(values: np.ndarray, kind: Type, lane: int, result: Type) -> str:
    """The value in a register at a result's lane, with its bits; the whole register where lanes do not correspond."""
    program, at = divmod(lane, result.lanes)
    own = values[program * kind.lanes : (program + 1) * kind.lanes]
    bits = own[at : at + 1] if kind.lanes == result.lanes else own
    floats = {"f16": np.float16, "f32": np.float32, "f64": np.float64}.get(kind.element)
    numbers = bits if floats is None else bits.view(floats)
    text = ", ".join(f"{number!s} (0x{int(raw):x})" for number, raw in zip(numbers, bits, strict=True))
    return text if len(bits) == 1 else f"[{text}]"


def test_a_difference_shows_values() -> None:
    """The operands and both results, as numbers and as bits."""
    use = next(use for use in uses(alu.AddF) if use.operands[0] == Type("f32", VECTOR_LANES))
    name = f"_f32_{VECTOR_LANES}"
    inputs = {f"in{at}{name}": np.full(VECTOR_LANES, 1 + at, np.float32).view(np.uint32) for at in (0, 1)}
    right = np.full(VECTOR_LANES, 3, np.float32).view(np.uint32)
    text = complaint(alu.AddF, use, inputs, np.array([1]), right, 0 * right, use.results[0])
    assert "1 of" in text and "operands 1.0 (0x3f800000), 2.0 (0x40000000): 3.0 (0x40400000) on the ref" in text
    assert "0.0 (0x0) on the emulator" in text


def test_what_is_compared() -> None:
    """Nothing that maps registers to registers is forgotten, and each is tried with scalars and with vectors."""
    compared = {cls for cls in INSTRUCTIONS if is_compared(cls)}
    assert {
        alu.Fma,
        alu.Select,
        alu.CmpF,
        convert.TruncF,
        lanes.AnyTrue,
        lanes.Extract,
        lanes.Shuffle,
    } < compared
    assert {use.operands[0].lanes for use in uses(alu.Fma)} == {1, VECTOR_LANES}
    assert {(use.operands[0].element, use.results[0].element) for use in uses(convert.SIToF)} == {
        (source, result) for source in ("i1", "i8", "i16", "i32", "i64") for result in ("f32", "f64")
    }
