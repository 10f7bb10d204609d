"""The binary: a container with a program's symbols, code, constants and metadata. All numbers are little endian.

Container
    magic           4 bytes, C1 'I' 'S' 'A'
    version         u16
    sections        u16, how many
    size            u32, of the whole container
    checksum        u32, CRC-32 of everything after these 16 bytes
    target          string "BACKEND ARCH"
    sections        each: kind u8, size u32, then its bytes

Sections, each once
    1 symbols       the kernel's name; a list of labels, each with the offset of its code (u32)
    2 code          instructions
    3 constants     a list of byte strings, which instructions refer to by number
    4 metadata      JSON: parameters, scratch_bytes, spilled_bytes, traps, files
    5 lines         for every change of source line: instructions since the last change, file (0: none), line,
                    column, place in a library (0: none, else one of the files)

Code
    An instruction is a byte, its number in ``opcodes.NUMBERS``, and then what its `Form` says: for a variadic one the
    number of its types; each type, a byte with the element in the low half and log2 of the lanes in the high half;
    each register, a byte; each immediate; for a jump the offset of the code it leads to (u32).

Varints are seven bits a byte, lowest first, with the high bit set in all but the last. Signed ones are zigzag coded.
Strings and lists begin with their length, a varint. An immediate is a signed varint (integers), an element's number (a
byte), or the number of a constant (varint): 8 bytes (bits), UTF-8 (strings), signed varints (lists).
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from ..device_kinds import PROGRAM_MAGIC as MAGIC
from ..dialects.isa.checks import BITS
from ..errors import CompileError
from ..target import ARCH, BACKEND_NAME
from .errors import EncodingError
from .opcodes import Form, Kind, check_counts, form_numbered, form_of
from .program import Block, Immediate, Instruction, Location, Program, Register, Type, check_blocks
from .text import check_register

VERSION: Final = 2
HEADER: Final = struct.Struct("<4sHHII")
SYMBOLS, CODE, CONSTANTS, METADATA, LINES = range(1, 6)
SECTION_NAMES: Final = {
    SYMBOLS: "symbols",
    CODE: "code",
    CONSTANTS: "constants",
    METADATA: "metadata",
    LINES: "lines",
}

ELEMENTS: Final = tuple(BITS)
"""Element types by number: new ones are added at the end of ``checks.BITS``."""

TARGET: Final = f"{BACKEND_NAME} {ARCH}"

T = TypeVar("T")


# --- writing --------------------------------------------------------------------------------------------------------


def encode(program: Program) -> bytes:
    """The binary of a program on machine registers."""
    constants: dict[bytes, int] = {}
    code = bytearray()
    offsets: dict[str, int] = {}
    holes: list[tuple[int, str]] = []
    for block in program.blocks:
        offsets[block.label] = len(code)
        for instruction in block.code:
            _encode_instruction(code, instruction, constants)
            if instruction.target:
                holes.append((len(code) - 4, instruction.target))
    for at, label in holes:
        struct.pack_into("<I", code, at, offsets[label])
    files, lines = _encode_lines(program)
    symbols = _string(program.name.encode()) + _varint(len(offsets))
    for label, offset in offsets.items():
        symbols += _string(label.encode()) + struct.pack("<I", offset)
    metadata = {
        "parameters": [[ty.element, ty.lanes] for ty in program.parameters],
        "scratch_bytes": program.scratch_bytes,
        "spilled_bytes": program.spilled_bytes,
        "traps": program.traps,
        "files": files,
    }
    pool = _varint(len(constants)) + b"".join(map(_string, constants))
    text = json.dumps(metadata, separators=(",", ":")).encode()
    sections = {SYMBOLS: symbols, CODE: bytes(code), CONSTANTS: pool, METADATA: text, LINES: lines}
    body = _string(TARGET.encode())
    for kind, data in sections.items():
        body += struct.pack("<BI", kind, len(data)) + data
    return HEADER.pack(MAGIC, VERSION, len(sections), HEADER.size + len(body), zlib.crc32(body)) + body


def _encode_instruction(code: bytearray, instruction: Instruction, constants: dict[bytes, int]) -> None:
    form = form_of(instruction.name)
    check_counts(form, instruction)
    types = form.explicit_types(instruction)
    code.append(form.number)
    if form.variadic:
        code += _varint(len(types))
    code += bytes(map(_type_byte, types))
    code += bytes(register.number for register in (*instruction.results, *instruction.operands))
    for (_, kind), value in zip(form.immediates, instruction.immediates, strict=True):
        code += _encode_immediate(kind, value, constants)
    if form.jumps:
        code += bytes(4)


def _encode_immediate(kind: Kind, value: Immediate, constants: dict[bytes, int]) -> bytes:
    match kind, value:
        case Kind.INTEGER, int():
            return _varint(_zigzag(value))
        case Kind.ELEMENT, str():
            return bytes([ELEMENTS.index(value)])
        case Kind.BITS, int():
            data = struct.pack("<Q", value)
        case ((Kind.STRING | Kind.WORD), str()):
            data = value.encode()
        case Kind.LIST, tuple():
            data = b"".join(_varint(_zigzag(item)) for item in value)
        case _:
            raise EncodingError(f"{value!r} is not an immediate of kind {kind.name} (a bug of this backend)")
    return _varint(constants.setdefault(data, len(constants)))


def _encode_lines(program: Program) -> tuple[list[str], bytes]:
    files: dict[str, int] = {}
    data = bytearray()
    last: Location | None = None
    since = 0
    for instruction in program.instructions():
        if instruction.location != last:
            last = instruction.location
            entry = [since, 0, 0, 0, 0]
            if last is not None:
                entry[1:4] = files.setdefault(last.file, len(files) + 1), last.line, last.column
                entry[4] = files.setdefault(last.inside, len(files) + 1) if last.inside else 0
            for number in entry:
                data += _varint(number)
            since = 0
        since += 1
    return list(files), bytes(data)


def _type_byte(ty: Type) -> int:
    return ELEMENTS.index(ty.element) | (ty.lanes.bit_length() - 1) << 4


def _varint(value: int) -> bytes:
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)


def _zigzag(value: int) -> int:
    return value << 1 if value >= 0 else (-value << 1) - 1


def _string(data: bytes) -> bytes:
    return _varint(len(data)) + data


# --- reading --------------------------------------------------------------------------------------------------------


class _Reader:
    """Reads from the front; ValueError past the end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        end = self.at + count
        if end > len(self.data):
            raise ValueError("it ends too early")
        taken = self.data[self.at : end]
        self.at = end
        return taken

    def byte(self) -> int:
        return self.take(1)[0]

    def u32(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 70:
                raise ValueError("a number is too long")

    def signed(self) -> int:
        value = self.varint()
        return -(value >> 1) - 1 if value & 1 else value >> 1

    def string(self) -> bytes:
        return self.take(self.varint())

    @property
    def is_at_end(self) -> bool:
        return self.at == len(self.data)


def decode(image: bytes) -> Program:
    """The program in a binary. Raises EncodingError for one that is damaged, or made for something else."""
    sections = _read_container(image)
    try:
        return _read_program(sections)
    except (ValueError, IndexError, KeyError, TypeError, struct.error, CompileError) as error:
        raise EncodingError(f"the binary is damaged: {getattr(error, 'message', error)}") from error


def _read_container(image: bytes) -> dict[int, bytes]:
    if len(image) < HEADER.size or not image.startswith(MAGIC):
        raise EncodingError(f"this is not a binary of {BACKEND_NAME}: it does not begin with {MAGIC!r}")
    _, version, count, size, checksum = HEADER.unpack_from(image)
    if version != VERSION:
        raise EncodingError(
            f"the binary has format {version}, and this version reads format {VERSION}: recompile"
        )
    body = image[HEADER.size :]
    if size != len(image):
        raise EncodingError(f"the binary is damaged: it has {len(image)} bytes instead of {size}")
    if zlib.crc32(body) != checksum:
        raise EncodingError("the binary is damaged: its checksum is wrong")
    try:
        reader = _Reader(body)
        target = reader.string().decode()
        sections: dict[int, bytes] = {}
        if target == TARGET:
            for _ in range(count):
                kind, length = reader.byte(), reader.u32()
                if kind not in SECTION_NAMES or kind in sections:
                    raise ValueError(f"there is an unexpected section {kind}")
                sections[kind] = reader.take(length)
            missing = [name for kind, name in SECTION_NAMES.items() if kind not in sections]
            if missing or not reader.is_at_end:
                raise ValueError(f"its sections are not complete ({', '.join(missing)})")
    except ValueError as error:
        raise EncodingError(f"the binary is damaged: {error}") from error
    if target != TARGET:
        raise EncodingError(f"the binary is for target {target!r}, and this is {TARGET!r}")
    return sections


def _read_program(sections: dict[int, bytes]) -> Program:
    metadata: dict[str, Any] = json.loads(sections[METADATA])
    constants = _read_list(_Reader(sections[CONSTANTS]), _Reader.string)
    symbols = _Reader(sections[SYMBOLS])
    name = symbols.string().decode()
    labels = _read_list(symbols, lambda reader: (reader.string().decode(), reader.u32()))
    by_offset = {offset: label for label, offset in reversed(labels)}
    blocks: list[Block] = []
    code = _Reader(sections[CODE])
    for number, (label, offset) in enumerate(labels):
        end = labels[number + 1][1] if number + 1 < len(labels) else len(code.data)
        if offset != code.at:
            raise ValueError(f"label {label!r} is not where its code begins")
        blocks.append(Block(label))
        while code.at < end:
            blocks[-1].code.append(_read_instruction(code, constants, by_offset))
    if not code.is_at_end:
        raise ValueError("there is code without a label")
    program = Program(
        name,
        tuple(Type(str(element), int(lanes)) for element, lanes in metadata["parameters"]),
        int(metadata["scratch_bytes"]),
        tuple((str(kind), str(text), str(file), int(line)) for kind, text, file, line in metadata["traps"]),
        blocks,
        int(metadata["spilled_bytes"]),
    )
    check_blocks(program)
    _read_lines(_Reader(sections[LINES]), [str(file) for file in metadata["files"]], program.instructions())
    return program


def _read_list(reader: _Reader, read: Callable[[_Reader], T]) -> list[T]:
    return [read(reader) for _ in range(reader.varint())]


def _read_instruction(code: _Reader, constants: list[bytes], labels: dict[int, str]) -> Instruction:
    form: Form = form_numbered(code.byte())
    count = code.varint() if form.variadic else len(form.variables(len(form.operands)))
    types = form.registers([_read_type(code.byte()) for _ in range(count)])
    registers = [Register(code.byte(), ty) for ty in types]
    for register in registers:
        check_register(register)
    immediates = tuple(_read_immediate(kind, code, constants) for _, kind in form.immediates)
    target = labels[code.u32()] if form.jumps else ""
    results = len(form.results)
    return Instruction(form.name, tuple(registers[:results]), tuple(registers[results:]), immediates, target)


def _read_type(byte: int) -> Type:
    return Type(ELEMENTS[byte & 0xF], 1 << (byte >> 4))


def _read_immediate(kind: Kind, code: _Reader, constants: list[bytes]) -> Immediate:
    match kind:
        case Kind.INTEGER:
            return code.signed()
        case Kind.ELEMENT:
            return ELEMENTS[code.byte()]
        case Kind.BITS:
            return int.from_bytes(constants[code.varint()], "little")
        case Kind.STRING | Kind.WORD:
            return constants[code.varint()].decode()
        case Kind.LIST:
            reader = _Reader(constants[code.varint()])
            items: list[int] = []
            while not reader.is_at_end:
                items.append(reader.signed())
            return tuple(items)


def _read_lines(reader: _Reader, files: list[str], instructions: Iterable[Instruction]) -> None:
    location: Location | None = None
    left = -1 if reader.is_at_end else reader.varint()
    for instruction in instructions:
        if left == 0:
            file, line, column, inside = (reader.varint() for _ in range(4))
            place = files[inside - 1] if inside else ""
            location = Location(files[file - 1], line, column, place) if file else None
            left = -1 if reader.is_at_end else reader.varint()
        left -= 1
        instruction.location = location
