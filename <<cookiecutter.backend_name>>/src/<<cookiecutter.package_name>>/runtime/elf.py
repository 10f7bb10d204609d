"""Links the object code of kernels without LLVM.

A process whose kernels all come from the cache would load LLVM for this alone: 30 ms, and this takes 0.3. It links
what our code generator emits for x86-64 Linux: relocatable ELF, position independent, without thread-local data. For
everything else `link` raises CannotLink, and `loader` asks LLVM.

Sources: the ELF specification (https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html) and the relocations of
https://gitlab.com/x86-psABIs/x86-64-ABI.
"""

from __future__ import annotations

import ctypes
import functools
import os
import struct
from collections.abc import Iterable, Iterator
from typing import Any, Final

MAGIC: Final = b"\x7fELF"
MAGIC_64: Final = MAGIC + b"\x02\x01"
"""What 64-bit little-endian objects begin with."""
RELOCATABLE, X86_64 = 1, 62  # e_type, e_machine
PROGBITS, SYMTAB, RELA, NOBITS = 1, 2, 4, 8  # sh_type
WRITE, ALLOC, TLS = 1, 2, 0x400  # sh_flags
UNDEFINED = 0  # st_shndx
INDIRECT = 10  # st_info: STT_GNU_IFUNC, whose address a function of the object gives

ABSOLUTE_64, RELATIVE_32, CALL_32 = 1, 2, 4  # R_X86_64_64, PC32, PLT32
SLOT_32: Final = (9, 41, 42)
"""Relocations to a word that holds the symbol's address: R_X86_64_GOTPCREL and the forms that may be relaxed."""
RELOCATIONS: Final = frozenset({ABSOLUTE_64, RELATIVE_32, CALL_32, *SLOT_32})

PAGE: Final = os.sysconf("SC_PAGE_SIZE")
READ_PAGES, WRITE_PAGES, EXECUTE_PAGES = 1, 2, 4  # PROT_READ, PROT_WRITE, PROT_EXEC
PRIVATE, ANONYMOUS = 2, 0x20  # MAP_PRIVATE, MAP_ANONYMOUS, on Linux

STUB: Final = b"\xff\x25\x02\x00\x00\x00\x66\x90"
"""``jmp *2(%rip)`` and two bytes of padding; the address to jump to follows. Libraries are further away than a call
reaches, so calls go here."""
STUB_BYTES: Final = 16

LIBRARIES: Final = (None, "libm.so.6", "libmvec.so.1")
"""Where symbols are looked for: this process, then what vectorised code calls; libmvec comes with glibc only."""


class CannotLink(Exception):
    """The object code has something that this file does not know, or is damaged."""


class MissingSymbols(Exception):
    """``args`` are names that no library has."""


class Section:
    """A section header: the fields of the specification without their ``sh_``."""

    def __init__(self, image: bytes, at: int) -> None:
        header: tuple[int, ...] = struct.unpack_from("<IIQQQQIIQQ", image, at)
        _, self.type, self.flags, _, self.offset, self.size, self.link, self.info, self.addralign, _ = header

    @property
    def is_loaded(self) -> bool:
        """Tables for stack unwinding are not (they have a type of their own): nothing throws through a kernel."""
        return bool(self.flags & ALLOC) and self.type in (PROGBITS, NOBITS)


class Symbol:
    """``section`` is an index, or says that the symbol is in none; ``value`` is the offset in the section."""

    def __init__(self, image: bytes, at: int, strings: int) -> None:
        name, info, _, section, value, _ = struct.unpack_from("<IBBHQQ", image, at)
        self.kind: int = info & 0xF
        start = strings + name
        self.name = image[start : image.index(b"\0", start)].decode()
        self.section: int = section
        self.value: int = value

    @property
    def is_elsewhere(self) -> bool:
        """Whether a library has it."""
        return self.section == UNDEFINED


class Relocation:
    """``section`` is the index of what is patched, ``symbol`` one, too."""

    def __init__(self, image: bytes, at: int, section: int) -> None:
        offset, info, addend = struct.unpack_from("<QQq", image, at)
        self.section = section
        self.offset: int = offset
        self.type: int = info & 0xFFFF_FFFF
        self.symbol: int = info >> 32
        self.addend: int = addend

    @property
    def wants_slot(self) -> bool:
        return self.type in SLOT_32


class LinkedImage:
    """Code in memory. ``addresses`` are those of the symbols that were asked for."""

    def __init__(self, memory: int, size: int, addresses: dict[str, int]) -> None:
        self.addresses = addresses
        self._memory = memory
        self._size = size

    def close(self) -> None:
        """Free the code. Once."""
        _libc().munmap(self._memory, self._size)

    def detach(self) -> None:
        """The code stays until `close`, in any case."""


def link(image: bytes, exported: Iterable[str]) -> LinkedImage:
    """Raises CannotLink; MissingSymbols if no library has a symbol that the code needs."""
    try:
        sections = list(_sections(image))
        symbols = list(_symbols(image, sections))
        relocations = list(_relocations(image, sections))
        used = {relocation.symbol: symbols[relocation.symbol] for relocation in relocations}
    except (struct.error, IndexError, ValueError) as error:
        raise CannotLink(f"damaged ({error})") from error
    _check(sections, used.values(), relocations)
    elsewhere = find_symbols(symbol.name for symbol in used.values() if symbol.is_elsewhere)
    with_slot = {relocation.symbol for relocation in relocations if relocation.wants_slot}
    plan = _Plan(sections, [n for n, symbol in used.items() if symbol.is_elsewhere or n in with_slot])
    memory = _allocate(plan.size)
    try:
        addresses = [
            elsewhere.get(symbol.name, 0)
            if symbol.is_elsewhere
            else memory + plan.place_of.get(symbol.section, 0) + symbol.value
            for symbol in symbols
        ]
        contents = bytearray(plan.size)
        for index, place in plan.place_of.items():
            section = sections[index]
            if section.type == PROGBITS:
                contents[place : place + section.size] = image[section.offset : section.offset + section.size]
        for symbol, place in plan.stub_of.items():
            contents[place : place + STUB_BYTES] = STUB + struct.pack("<Q", addresses[symbol])
        for relocation in relocations:
            _relocate(contents, relocation, plan, memory, addresses[relocation.symbol])
        ctypes.memmove(memory, bytes(contents), plan.size)
        _make_executable(memory, plan.writable)
        by_name = {symbol.name: address for symbol, address in zip(symbols, addresses, strict=True)}
        return LinkedImage(memory, plan.size, {name: by_name[name] for name in exported})
    except BaseException as error:
        _libc().munmap(memory, plan.size)
        if isinstance(error, KeyError | struct.error):
            raise CannotLink(f"damaged, or too far from a library ({error})") from error
        raise


def find_symbols(names: Iterable[str]) -> dict[str, int]:
    """Addresses in the libraries of this process. Raises MissingSymbols."""
    addresses = {name: _find_symbol(name) for name in names}
    missing = sorted(name for name, address in addresses.items() if not address)
    if missing:
        raise MissingSymbols(*missing)
    return addresses


def _find_symbol(name: str) -> int:
    """0 if there is none."""
    for library in filter(None, map(_library, LIBRARIES)):
        try:  # as if it were data: a function object takes ten times as long to make
            return ctypes.addressof(ctypes.c_char.in_dll(library, name))
        except ValueError:
            continue
    return 0


# --- reading ----------------------------------------------------------------------------------------------------


def _sections(image: bytes) -> Iterator[Section]:
    if image[:6] != MAGIC_64 or struct.unpack_from("<HH", image, 16) != (RELOCATABLE, X86_64):
        raise CannotLink("not a relocatable object for x86-64")
    for section in _section_headers(image):
        if section.flags & TLS:
            raise CannotLink("thread-local data")
        if section.type != NOBITS and section.offset + section.size > len(image):
            raise CannotLink("damaged (a section ends past the end of the file)")
        yield section


def _section_headers(image: bytes) -> Iterator[Section]:
    table = struct.unpack_from("<Q", image, 0x28)[0]
    size, count = struct.unpack_from("<HH", image, 0x3A)
    for index in range(count):
        yield Section(image, table + index * size)


def undefined_symbols(image: bytes) -> list[str]:
    """Names that an object for any machine needs from elsewhere. Raises ValueError, IndexError or struct.error if it is
    no 64-bit little-endian object or damaged."""
    if image[:6] != MAGIC_64:
        raise ValueError("not a 64-bit little-endian ELF object")
    sections = list(_section_headers(image))
    if not any(section.type == SYMTAB for section in sections):
        return []
    return sorted(
        {symbol.name for symbol in _symbols(image, sections) if symbol.is_elsewhere and symbol.name}
    )


def _symbols(image: bytes, sections: list[Section]) -> Iterator[Symbol]:
    table = next((section for section in sections if section.type == SYMTAB), None)
    if table is None:
        raise ValueError("no table of symbols")
    for at in range(table.offset, table.offset + table.size, 24):
        yield Symbol(image, at, sections[table.link].offset)


def _relocations(image: bytes, sections: list[Section]) -> Iterator[Relocation]:
    for table in sections:
        if table.type == RELA and sections[table.info].is_loaded:
            for at in range(table.offset, table.offset + table.size, 24):
                yield Relocation(image, at, table.info)


def _check(sections: list[Section], used: Iterable[Symbol], relocations: Iterable[Relocation]) -> None:
    """Raises CannotLink for what would be placed or patched wrongly."""
    for relocation in relocations:
        if relocation.type not in RELOCATIONS:
            raise CannotLink(f"relocation {relocation.type}")
    for symbol in used:
        # A number beyond the sections' says that the linker is to find a place, or that the value is no address.
        here = symbol.section < len(sections) and sections[symbol.section].is_loaded
        if symbol.kind == INDIRECT or not (here or symbol.is_elsewhere):
            raise CannotLink(
                f"the symbol {symbol.name!r} is neither in code or data of this object nor in a library"
            )


# --- placing and patching ---------------------------------------------------------------------------------------


class _Plan:
    """Where things go, as offsets into one piece of memory: code and constants, stubs, and on pages of their own what
    the code may write to."""

    def __init__(self, sections: list[Section], stubs: list[int]) -> None:
        self.place_of: dict[int, int] = {}
        self.stub_of: dict[int, int] = {}
        self.size = 0
        self._place(sections, writable=False)
        for symbol in stubs:
            self.size = self.stub_of[symbol] = _aligned(self.size, STUB_BYTES)
            self.size += STUB_BYTES
        self.writable = self.size = _aligned(max(self.size, 1), PAGE)
        self._place(sections, writable=True)
        self.size = _aligned(self.size, PAGE)

    def _place(self, sections: list[Section], *, writable: bool) -> None:
        for index, section in enumerate(sections):
            if section.is_loaded and bool(section.flags & WRITE) == writable:
                self.place_of[index] = _aligned(self.size, max(section.addralign, 1))
                self.size = self.place_of[index] + section.size


def _aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def _relocate(contents: bytearray, relocation: Relocation, plan: _Plan, memory: int, target: int) -> None:
    place = plan.place_of[relocation.section] + relocation.offset
    stub = memory + plan.stub_of.get(relocation.symbol, 0)
    if relocation.type == ABSOLUTE_64:
        struct.pack_into("<Q", contents, place, target + relocation.addend)
    elif relocation.type == RELATIVE_32:
        struct.pack_into("<i", contents, place, target + relocation.addend - memory - place)
    elif relocation.type == CALL_32:
        near = stub if relocation.symbol in plan.stub_of else target
        struct.pack_into("<i", contents, place, near + relocation.addend - memory - place)
    else:
        assert relocation.wants_slot
        struct.pack_into("<i", contents, place, stub + len(STUB) + relocation.addend - memory - place)


# --- the system -------------------------------------------------------------------------------------------------


@functools.cache
def _libc() -> Any:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
    libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
    libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return libc


@functools.cache
def _library(name: str | None) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None  # a symbol that is missing for this reason is named when something needs it


def _allocate(size: int) -> int:
    memory: int = _libc().mmap(None, size, READ_PAGES | WRITE_PAGES, PRIVATE | ANONYMOUS, -1, 0)
    if memory == ctypes.c_void_p(-1).value:
        raise MemoryError(f"no memory for {size} bytes of code")
    return memory


def _make_executable(memory: int, size: int) -> None:
    if _libc().mprotect(memory, size, READ_PAGES | EXECUTE_PAGES):
        raise CannotLink("this system does not let memory that was written become code")
