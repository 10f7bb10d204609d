"""Assembly text: what ``print_program`` writes, ``parse_program`` reads back to an equal program.

    .target BACKEND ARCH
    .kernel add(i64, i64, i32) scratch 256 spilled 64
    .trap "assert", "x < n", "kernel.py", 12
    .file "/home/me/kernel.py"
    entry:
        argument[i64]          r0, 0
        load[64xf32]           v0, r0                       # kernel.py:7
        branch.unless          p0, endif.2

An instruction's types, in brackets, are those that its name leaves open (see ``opcodes.Form``); then come results,
operands, immediates and the label it jumps to. A comment ``# file:line`` at the end of an instruction says where it
comes from; the file's folder is in a ``.file`` line. Other comments begin a line.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from ..errors import CompileError
from ..target import ARCH, BACKEND_NAME
from .errors import AssemblyError
from .opcodes import Kind, check_counts, form_of
from .program import (
    Block,
    Immediate,
    Instruction,
    Location,
    Program,
    Register,
    Type,
    check_blocks,
    parse_type,
)

NAME_WIDTH: Final = 28
LINE_WIDTH: Final = 68


def print_program(program: Program) -> str:
    """The assembly text of a program."""
    types = ", ".join(map(str, program.parameters))
    lines = [
        f".target {BACKEND_NAME} {ARCH}",
        f".kernel {program.name}({types}) scratch {program.scratch_bytes} spilled {program.spilled_bytes}",
    ]
    for trap in program.traps:
        lines.append(".trap " + ", ".join(json.dumps(field) for field in trap))
    files = short_names(i.location[0] for i in program.instructions() if i.location is not None)
    lines += [f".file {json.dumps(file)}" for file, name in files.items() if file != name]
    for block in program.blocks:
        lines.append(f"{block.label}:")
        lines.extend(print_instruction(instruction, files) for instruction in block.code)
    return "\n".join(lines) + "\n"


def short_names(files: Iterable[str]) -> dict[str, str]:
    """Each file's name without its folder; with it where two have the same name."""
    paths = list(dict.fromkeys(files))
    counts = Counter(map(posixpath.basename, paths))
    return {path: name if counts[name := posixpath.basename(path)] == 1 else path for path in paths}


def print_instruction(instruction: Instruction, files: Mapping[str, str]) -> str:
    """One line; `files` gives the names of source files in comments."""
    form = form_of(instruction.name)
    types = form.explicit_types(instruction)
    name = instruction.name + (f"[{', '.join(map(str, types))}]" if types else "")
    words = [str(register) for register in (*instruction.results, *instruction.operands)]
    words += [
        _print_immediate(kind, value)
        for (_, kind), value in zip(form.immediates, instruction.immediates, strict=True)
    ]
    words += [instruction.target] if instruction.target else []
    line = f"    {name:<{NAME_WIDTH}} {', '.join(words)}".rstrip()
    if instruction.location is not None:
        file = instruction.location.file
        location = instruction.location._replace(file=files.get(file, file))
        line = f"{line:<{LINE_WIDTH}} # {location}"
    return line


def _print_immediate(kind: Kind, value: Immediate) -> str:
    if isinstance(value, tuple):
        return "{" + ", ".join(_print_runs(value)) + "}"
    if isinstance(value, int):
        return hex(value) if kind is Kind.BITS else str(value)
    return json.dumps(value) if kind is Kind.STRING else value


def _print_runs(numbers: Sequence[int]) -> Iterator[str]:
    """Three or more numbers that ascend by one are printed as ``first..last``."""
    at = 0
    while at < len(numbers):
        end = at + 1
        while end < len(numbers) and numbers[end] == numbers[end - 1] + 1:
            end += 1
        if end - at < 3:
            end = at + 1
        yield str(numbers[at]) if end == at + 1 else f"{numbers[at]}..{numbers[end - 1]}"
        at = end


_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*") | (?P<list>\{[^}]*\}) | (?P<word>[^\s,"{}\[\]\#]+) | (?P<comma>,)
        | (?P<types>\[[^\]]*\]) | (?P<comment>\#.*$))""",
    re.VERBOSE,
)
_COMMENT: Final = re.compile(
    r"# (?P<file>.+?):(?P<line>\d+)(?::(?P<column>\d+))?(?: \((?P<inside>[^()]*)\))?\s*$"
)
_KERNEL: Final = re.compile(
    r"\.kernel (?P<name>.+)\((?P<types>[^()]*)\) scratch (?P<scratch>\d+) spilled (?P<spilled>\d+)$"
)


def parse_program(text: str) -> Program:
    """The program that a text describes. Raises AssemblyError with the number of the line."""
    program: Program | None = None
    files: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        try:
            if stripped.startswith(".target "):
                _check_target(stripped)
            elif stripped.startswith(".kernel "):
                program = _parse_header(stripped)
            elif program is None:
                raise ValueError("expected .kernel first")
            elif stripped.startswith(".trap "):
                kind, message, file, place = json.loads(f"[{stripped.removeprefix('.trap ')}]")
                program.traps += ((str(kind), str(message), str(file), int(place)),)
            elif stripped.startswith(".file "):
                file = json.loads(stripped.removeprefix(".file "))
                files[posixpath.basename(file)] = file
            elif stripped.endswith(":") and " " not in stripped:
                program.blocks.append(Block(stripped[:-1]))
            elif not program.blocks:
                raise ValueError("expected a label first")
            else:
                program.blocks[-1].code.append(parse_instruction(stripped, files))
        except AssemblyError:
            raise
        except (ValueError, CompileError) as error:
            raise AssemblyError(
                f"assembly text: {getattr(error, 'message', error)}: {stripped!r}", location=f"line {number}"
            ) from error
    if program is None:
        raise AssemblyError("assembly text: there is no .kernel")
    try:
        check_blocks(program)
    except ValueError as error:
        raise AssemblyError(f"assembly text: {error}") from error
    return program


def _check_target(line: str) -> None:
    names = line.split()[1:]
    if names != [BACKEND_NAME, ARCH]:
        raise ValueError(f"this is the assembler of {BACKEND_NAME} {ARCH}")


def _parse_header(line: str) -> Program:
    match = _KERNEL.match(line)
    if match is None:
        raise ValueError("expected .kernel NAME(TYPES) scratch BYTES spilled BYTES")
    types = tuple(parse_type(word.strip()) for word in match["types"].split(",") if word.strip())
    return Program(match["name"], types, int(match["scratch"]), (), [], int(match["spilled"]))


def parse_instruction(line: str, files: Mapping[str, str]) -> Instruction:
    """One instruction; `files` gives the paths of names in comments. Raises ValueError or CompileError."""
    name, types, words, location = _split(line)
    if location is not None:
        location = location._replace(file=files.get(location.file, location.file))
    form = form_of(name)
    of_registers = iter(form.registers(types))
    operands = form.operand_count(len(types))
    registers = len(form.results) + operands
    expected = registers + len(form.immediates) + form.jumps
    if len(words) != expected:
        raise ValueError(f"{name} takes {expected} operands, not {len(words)}")
    source = iter(words)
    results = tuple(_parse_register(next(source), next(of_registers)) for _ in form.results)
    inputs = tuple(_parse_register(next(source), next(of_registers)) for _ in range(operands))
    immediates = tuple(_parse_immediate(kind, next(source)) for _, kind in form.immediates)
    instruction = Instruction(name, results, inputs, immediates, next(source) if form.jumps else "", location)
    check_counts(form, instruction)
    return instruction


def _split(line: str) -> tuple[str, list[Type], list[str], Location | None]:
    """Name, types, operands, location."""
    types: list[Type] = []
    words: list[str] = []
    location: Location | None = None
    for match in _tokens(line):
        text = match.group(match.lastgroup or 0)
        match match.lastgroup:
            case "types":
                types = [parse_type(word.strip()) for word in text[1:-1].split(",")]
            case "comment":
                where = _COMMENT.match(text)
                if where is not None:
                    line_and_column = int(where["line"]), int(where["column"] or 0)
                    location = Location(where["file"], *line_and_column, where["inside"] or "")
            case "comma":
                pass
            case _:
                words.append(text)
    if not words:
        raise ValueError("expected an instruction")
    return words[0], types, words[1:], location


def _tokens(line: str) -> Iterator[re.Match[str]]:
    at = 0
    line = line.rstrip()
    while at < len(line):
        match = _TOKEN.match(line, at)
        if match is None:
            raise ValueError(f"cannot read {line[at:]!r}")
        yield match
        at = match.end()


def _parse_register(word: str, ty: Type) -> Register:
    letter, number = word[:1], word[1:]
    if letter != ty.file.letter or not (number.isascii() and number.isdigit()):
        raise ValueError(
            f"expected a register {ty.file.letter}0, {ty.file.letter}1, ... for {ty}, not {word!r}"
        )
    register = Register(int(number), ty)
    check_register(register)
    return register


def check_register(register: Register) -> None:
    """Raises ValueError for one that the machine does not have."""
    ty = register.type
    if register.number % ty.registers or register.number + ty.registers > ty.file.size:
        raise ValueError(
            f"{register} cannot hold {ty}: {ty.registers} aligned registers of {ty.file.size} are needed"
        )


def _parse_run(text: str) -> range:
    first, _, last = text.partition("..")
    return range(int(first), int(last or first) + 1)


def _parse_immediate(kind: Kind, word: str) -> Immediate:
    match kind:
        case Kind.INTEGER:
            return int(word)
        case Kind.BITS:
            return int(word, 16)
        case Kind.LIST:
            if not word.startswith("{"):
                raise ValueError(f"expected a list in braces, not {word!r}")
            return tuple(
                number for item in word[1:-1].split(",") if item.strip() for number in _parse_run(item)
            )
        case Kind.STRING:
            text = json.loads(word)
            if not isinstance(text, str):
                raise ValueError(f"expected a quoted string, not {word!r}")
            return text
        case Kind.ELEMENT:
            return parse_type(word).element
        case Kind.WORD:
            return word
