"""Programs that no mask touches run without masks: a pass that makes kernels on lengths such as 1,000,003 faster.

A kernel over a vector masks what is past the end::

    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)

A thread's 16 bytes are one access only if one answer of the mask holds for all of them, which is known where ``n`` is a
multiple of 16 and not known elsewhere: then every element is loaded and stored alone. But only the last program needs
the mask. So the kernel gets a second copy of what follows the mask, in which the mask is true, after a test that is
made once a program::

    if program * BLOCK + BLOCK <= n: the copy, in wide accesses
    else: as it was written

The pass works on TTIR's text: what is copied is copied verbatim, and the two copies differ in one line a mask.

It is off until it is asked for (`passes.OPTIONAL`), since it can lose: the last program answers the question and then
does what it did before. That is a tenth of a microsecond, which shows where a launch has no more programs than run at
once and the last one is nearly full. With more programs kernels take 2 to 60 percent less time (docs/gpu-reference.md).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

_NAME: Final = r"(%[\w$.#-]+)"
_RANGE: Final = re.compile(
    _NAME + r" = tt\.make_range \{end = (\d+) : i32, start = 0 : i32\} : tensor<\d+xi32>"
)
_SPLAT: Final = re.compile(_NAME + rf" = tt\.splat {_NAME} : (\S+) -> ")
_ADD: Final = re.compile(_NAME + rf" = arith\.addi {_NAME}, {_NAME}[^:]* : tensor<\d+xi32>")
_MASK: Final = re.compile(
    _NAME + rf" = arith\.cmpi slt, {_NAME}, {_NAME} : tensor<(\d+)xi32>(?P<location>.*)"
)
_POINTERS: Final = re.compile(_NAME + rf" = tt\.addptr {_NAME}, {_NAME} : ")
_LOAD: Final = re.compile(rf" = tt\.load {_NAME}, {_NAME}")
_STORE: Final = re.compile(rf"tt\.store {_NAME}, {_NAME}, {_NAME}")
_PARAMETER: Final = re.compile(_NAME + r": ([^\s,){]+(?:<[^>]*>)?)(?: \{([^}]*)\})?")

_VALUE: Final = re.compile(r"%[\w$.-]+")
"""What an operation defines or uses; one of several results is ``%name#1``."""

_ADDRESSES: Final = re.compile(
    rf"^    {_NAME} = "
    r"(?:tt\.(?:splat|addptr|make_range|expand_dims|broadcast)|arith\.(?:constant|addi|subi|muli|extsi)) "
)
"""One line each, without effects, and cheap."""

_STAYS: Final = re.compile(r"\b(?:cf\.|scf\.(?:for|while)|tt\.(?:dot|call|func private)|ttg\.)")
"""Kernels with these are left alone: what a loop loads runs ahead in a pipeline, which has its own way with masks."""


@dataclass(frozen=True)
class Mask:
    """``first + 0 .. first + length - 1 < limit``; ``line`` is where it is in the kernel's body."""

    name: str
    line: int
    first: str
    limit: str
    offsets: str
    length: int
    location: str


def unmask_interior(text: str, kernel: Any) -> str:
    """Give programs without an element past the end a copy of the kernel in which masks are true."""
    if _STAYS.search(text):
        return text
    lines = text.splitlines()
    bounds = find_body(lines)
    if bounds is None:
        return text
    start, end = bounds
    body = lines[start:end]
    masks = useful_masks(lines[start - 1], body)
    if not masks:
        return text
    head, split = lines[start - 1], masks[0].line
    before, after = hoist(body[:split], body[split:])
    known = [m for m in masks if is_defined(m.first, head, before) and is_defined(m.limit, head, before)]
    inside = list(after)
    for mask in known:
        inside[after.index(body[mask.line])] = (
            f"    {mask.name} = arith.constant dense<true> : tensor<{mask.length}xi1>{mask.location}"
        )
    location = known[0].location
    questions, answer = ask(known)
    new = [f"{line}{location}" for line in questions]
    new += [f"    scf.if {answer} {{", *inside, "    } else {", *after, f"    }}{location}"]
    return "\n".join([*lines[:start], *before, *new, *lines[end:]]) + "\n"


def hoist(before: list[str], after: list[str]) -> tuple[list[str], list[str]]:
    """Move what needs no mask up, before the question: addresses are ready when it is answered."""
    up, stay = list(before), []
    waiting: set[str] = set()
    for line in after:
        names = _VALUE.findall(line)
        if _ADDRESSES.match(line) and waiting.isdisjoint(names[1:]):
            up.append(line)
        else:
            stay.append(line)
            waiting.update(names[:1])
    return up, stay


def find_body(lines: list[str]) -> tuple[int, int] | None:
    """First line and end of the only function's body, without its return. None if the text is not of that shape."""
    heads = [number for number, line in enumerate(lines) if "tt.func " in line]
    returns = [number for number, line in enumerate(lines) if line.lstrip().startswith("tt.return")]
    if len(heads) != 1 or len(returns) != 1 or not lines[returns[0]].startswith("    tt.return"):
        return None
    if "%interior" in "".join(lines):
        return None
    return heads[0] + 1, returns[0]


def useful_masks(head: str, body: list[str]) -> list[Mask]:
    """Masks that are all that stands between an access and its widest form, in their order."""
    aligned: set[str] = set()
    multiples: set[str] = set()
    for name, ty, attributes in _PARAMETER.findall(head):
        if "tt.divisibility = 16" in attributes:
            (aligned if ty.startswith("!tt.ptr") else multiples).add(name)
    lengths: dict[str, int] = {}
    splats: dict[str, str] = {}
    offsets: dict[str, tuple[str, int]] = {}
    pointers: dict[str, str] = {}
    masks: dict[str, Mask] = {}
    useful: dict[str, Mask] = {}
    for number, line in enumerate(body):
        if not line.startswith("    ") or line.startswith("     "):
            continue  # in a region of some operation
        if match := _RANGE.search(line):
            lengths[match[1]] = int(match[2])
        elif match := _SPLAT.search(line):
            splats[match[1]] = match[2]
        elif match := _ADD.search(line):
            for scalar, lanes in (match.group(2, 3), match.group(3, 2)):
                if scalar in splats and lanes in lengths:
                    offsets[match[1]] = splats[scalar], lengths[lanes]
        elif match := _MASK.search(line):
            if match[2] in offsets and match[3] in splats and splats[match[3]] not in multiples:
                first, length = offsets[match[2]]
                mask = Mask(match[1], number, first, splats[match[3]], match[2], length, match["location"])
                masks[mask.name] = mask
        elif match := _POINTERS.search(line):
            if splats.get(match[2]) in aligned:
                pointers[match[1]] = match[3]
        elif match := _LOAD.search(line) or _STORE.search(line):
            masking = masks.get(match[match.re.groups])
            if masking is not None and pointers.get(match[1]) == masking.offsets:
                useful[masking.name] = masking
    return sorted(useful.values(), key=lambda mask: mask.line)


def is_defined(name: str, head: str, body: list[str]) -> bool:
    """Whether a scalar is a parameter, or a result of one of the operations."""
    result = f"    {name} = "
    return f"{name}: " in head or any(line.startswith(result) for line in body)


def ask(masks: list[Mask]) -> tuple[list[str], str]:
    """Operations that find out whether all lanes of all masks are inside, and the name of their answer.

    In 32 bits, as the mask itself: ``first + length`` may overflow, but not ``limit - length`` of a limit that is at
    least as large, and only then it counts.
    """
    lines: list[str] = []
    answers: list[str] = []
    for number, mask in enumerate(masks):
        n = f"%interior_{number}"
        lines += [
            f"    {n}_length = arith.constant {mask.length} : i32",
            f"    {n}_fits = arith.cmpi sge, {mask.limit}, {n}_length : i32",
            f"    {n}_last = arith.subi {mask.limit}, {n}_length : i32",
            f"    {n}_below = arith.cmpi sle, {mask.first}, {n}_last : i32",
            f"    {n} = arith.andi {n}_fits, {n}_below : i1",
        ]
        if answers:
            lines.append(f"    {n}_and_before = arith.andi {answers[-1]}, {n} : i1")
            answers.append(f"{n}_and_before")
        else:
            answers.append(n)
    return lines, answers[-1]
