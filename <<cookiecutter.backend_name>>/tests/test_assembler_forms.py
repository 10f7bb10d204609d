"""Dialect text, assembly text and binary say the same of every instruction; what is damaged or foreign is refused."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest
from dialect_forms import operation_of
from emulated_kernels import through_all_forms
from isa_kernels import parse_kernel
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.cf import Cf
from xdsl.dialects.scf import Scf
from xdsl.dialects.test import Test
from xdsl.ir import Operation
from xdsl.parser import Parser

from <<cookiecutter.package_name>>.assembler import assemble, encoding
from <<cookiecutter.package_name>>.assembler.encoding import HEADER, decode, encode
from <<cookiecutter.package_name>>.assembler.errors import AssemblyError, EncodingError
from <<cookiecutter.package_name>>.assembler.linearize import immediate_of
from <<cookiecutter.package_name>>.assembler.opcodes import CLASSES, NUMBERS, form_numbered, form_of
from <<cookiecutter.package_name>>.assembler.program import Block, Instruction, Location, Program, Register, type_of
from <<cookiecutter.package_name>>.assembler.text import parse_program, print_program
from <<cookiecutter.package_name>>.dialects.isa import INSTRUCTIONS, ISA
from <<cookiecutter.package_name>>.dialects.isa.control import Kernel
from <<cookiecutter.package_name>>.dialects.locations import LOC
from <<cookiecutter.package_name>>.target import BACKEND_NAME

SAMPLES = Path(__file__).parent / "filecheck" / "isa"


def operations() -> list[Operation]:
    """Every operation of the instruction set in the FileCheck files, which have each instruction."""
    found: list[Operation] = []
    for path in sorted(SAMPLES.glob("*.mlir")):
        if path.name.startswith("invalid"):
            continue
        context = Context()
        for dialect in (Builtin, Scf, Cf, Test, ISA):
            context.load_dialect(dialect)
        module = Parser(context, path.read_text(encoding="utf-8")).parse_module()
        found += [op for op in module.walk() if isinstance(op, INSTRUCTIONS) and not isinstance(op, Kernel)]
    return found


def instruction_of(op: Operation, line: int) -> Instruction:
    """An operation on machine registers of its own choice."""

    def register(number: int, value: object) -> Register:
        ty = type_of(value.type)  # type: ignore[attr-defined]
        return Register(number * ty.registers % ty.file.size, ty)

    name = op.name.removeprefix(f"{BACKEND_NAME}.")
    results = tuple(register(number, value) for number, value in enumerate(op.results))
    immediates = tuple(
        immediate_of(kind, op.properties[role], results[0].type if results else None)
        for role, kind in form_of(name).immediates
    )
    operands = tuple(register(number, value) for number, value in enumerate(op.operands, 1))
    return Instruction(name, results, operands, immediates, location=place_at(line))


def place_at(line: int) -> Location:
    inside = f"triton/language/standard.py:{line}" if line % 4 == 0 else ""
    return Location(f"folder {line % 3}/file.py", line, line % 5, inside)


def test_numbers_are_unique_and_complete() -> None:
    assert len(set(NUMBERS.values())) == len(NUMBERS)
    assert all(0 < number < 256 for number in NUMBERS.values())
    assert set(CLASSES) <= set(NUMBERS), "an instruction without a number: give it one in OWN_NUMBERS"
    for name, number in NUMBERS.items():
        assert form_numbered(number) is form_of(name)


def test_every_instruction_round_trips() -> None:
    """Dialect -> assembly -> binary -> assembly -> dialect."""
    ops = operations()
    assert {op.name for op in ops} == {f"{BACKEND_NAME}.{name}" for name in CLASSES}
    code = [instruction_of(op, line) for line, op in enumerate(ops, 1)]
    # A block for each, for those that end one; and an end.
    blocks = [Block(f"block.{number}", [instruction]) for number, instruction in enumerate(code)]
    blocks.append(Block("end", [Instruction("return")]))
    program = Program("k", (), 4096, (("assert", 'a "quoted" message', "file.py", 3),), blocks, 64)
    again = through_all_forms(program)
    assert again == program
    for op, instruction in zip(ops, again.instructions(), strict=False):
        rebuilt = operation_of(instruction, list(op.operands))
        expected = op.clone()
        expected.attributes.pop(LOC, None)
        assert rebuilt.is_structurally_equivalent(expected, {operand: operand for operand in op.operands}), (
            str(op)
        )


MACHINE_CODE = """\
.target {target}
.kernel k(i64, i1) scratch 256 spilled 64
entry:
    argument[i64]  r0, 0
    argument[i1]   p0, 1
    branch         p0, there                   # kernel.py:1
middle:
    jump           here
there:
    branch.unless  p0, here
more:
    load[8xf32]    v0, r0                      # kernel.py:3:7 (triton/language/standard.py:5)
    move[8xf32]    v2, v0
    spill[8xf32]   v0, 192
    reload[8xf32]  v4, 192
# a comment
here:
    return
"""


def machine_code() -> str:
    return MACHINE_CODE.format(target=encoding.TARGET)


def test_machine_instructions_round_trip() -> None:
    program = parse_program(machine_code())
    assert [i.name for i in program.instructions()][:4] == ["argument", "argument", "branch", "jump"]
    assert {i.location for i in program.instructions()} == {
        None,
        Location("kernel.py", 1),
        Location("kernel.py", 3, 7, "triton/language/standard.py:5"),
    }
    assert parse_program(print_program(program)) == program
    assert decode(encode(program)) == program


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (".kernel k(", ".kernel k ", "expected .kernel NAME"),
        ("jump ", "leap ", "no machine code is assigned"),
        ("jump           here", "jump           away", "no label 'away'"),
        ("p0, there", "r0, there", "expected a register p0"),
        ("[8xf32]    v0", "[7xf32]    v0", "power of two"),
        ("[8xf32]    v0, r0", "[8xf32]    v9999, r0", "cannot hold 8xf32"),
        ("argument[i64]  r0, 0", "argument[i64]  r0", "takes 2 operands, not 1"),
        ("argument[i64]  r0, 0", "argument       r0, 0", "cannot have 0 types"),
        ("argument[i64]  r0, 0", "argument[i64]  r0, zero", "zero"),
        ("middle:", "", "goes on after a branch"),
        ("middle:", "there:", "two blocks have the same label"),
        ("    return", "", "does not end with return"),
    ],
)
def test_wrong_text_is_refused_with_its_line(old: str, new: str, message: str) -> None:
    text = machine_code()
    assert old in text
    with pytest.raises(AssemblyError, match=message):
        parse_program(text.replace(old, new, 1))


def test_text_for_another_target_is_refused() -> None:
    with pytest.raises(AssemblyError, match=f"assembler of {BACKEND_NAME}"):
        parse_program(machine_code().replace(encoding.TARGET, "other x1"))


def image() -> bytes:
    return encode(parse_program(machine_code()))


def test_every_flipped_bit_is_noticed() -> None:
    original = image()
    for at in range(len(original)):
        damaged = bytearray(original)
        damaged[at] ^= 1
        with pytest.raises(EncodingError):
            decode(bytes(damaged))


def test_every_truncation_is_noticed() -> None:
    original = image()
    for size in range(len(original)):
        with pytest.raises(EncodingError):
            decode(original[:size])
    with pytest.raises(EncodingError, match="bytes instead of"):
        decode(original + b"x")


def with_body(body: bytes) -> bytes:
    """A container whose checksum is right."""
    magic, version, sections, _, _ = HEADER.unpack_from(image())
    return HEADER.pack(magic, version, sections, HEADER.size + len(body), zlib.crc32(body)) + body


def test_wrong_contents_under_a_right_checksum_are_refused() -> None:
    """A writer with a bug: an error that says so, whatever the byte, and never another exception."""
    body = image()[HEADER.size :]
    refused = 0
    for at in range(len(body)):
        for value in (0x00, 0x7F, 0xFF):
            try:
                decode(with_body(body[:at] + bytes([value]) + body[at + 1 :]))
            except EncodingError:
                refused += 1
    assert refused > len(body)


def test_foreign_binaries_are_named() -> None:
    with pytest.raises(EncodingError, match="not a binary"):
        decode(b"\x7fELF" + bytes(100))
    newer = bytearray(image())
    struct.pack_into("<H", newer, 4, 99)
    with pytest.raises(EncodingError, match="format 99"):
        decode(bytes(newer))
    body = image()[HEADER.size :]
    name = encoding.TARGET.encode()
    other = b"x" * len(name)
    with pytest.raises(EncodingError, match=f"for target '{other.decode()}'"):
        decode(with_body(body.replace(name, other, 1)))


def test_a_module_becomes_readable_assembly() -> None:
    body = """
    %zero = isa.const 0 : i64 : i64
    %one = isa.const 1 : i64 : i64
    %f = isa.const 1.5 : f32 : f32
    %sum = scf.for %i = %zero to %n step %one iter_args(%s = %f) -> (f32) : i64 {
      %t = isa.addf %s, %f : f32
      scf.yield %t : f32
    }
    isa.store %sum, %out : f32
    isa.return
    """
    lines = print_program(assemble(parse_kernel({"n": "i64", "out": "i64"}, body))).splitlines()
    assert "for.1:" in lines and "endfor.2:" in lines
    loop = lines[lines.index("for.1:") + 1 : lines.index("endfor.2:")]
    words = [line.split()[0] for line in loop]
    assert "addf[f32]" in words and words[-1] == "branch"
    assert "move[f32]" not in words, "the sum is carried in one register"
    assert "0x3fc00000" in print_program(assemble(parse_kernel({"n": "i64", "out": "i64"}, body)))
