"""``profile``: run a script on the emulator, and say what each of its kernels did there."""

from __future__ import annotations

import argparse
import linecache
import os
import runpy
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from html import escape
from math import log10
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..device_kinds import DEVICE_VARIABLE, EMULATOR
from ..errors import BackendError
from ..target import BACKEND_NAME, DEVICE_BYTES_PER_CYCLE

if TYPE_CHECKING:
    from ..emulator.profile import Profile

LEAST_WAITING: Final = 0.1
"""Of the cycles: a kernel that waits for results for less is not said to."""

HEADINGS: Final = (
    "kernel", "launches", "programs", "instructions", "cycles", "bound", "busy", "device bytes", "flop/cycle",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "script", type=Path, help="a Python program that launches kernels; keep its sizes small"
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what the program gets as its arguments")
    parser.add_argument(
        "--lines", type=int, default=5, metavar="N", help="hottest source lines to show (default: 5)"
    )
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write a roofline plot")


def run(arguments: argparse.Namespace) -> int:
    """0: profiled; the script's own status where it exits with one; 1: it launched nothing."""
    if not arguments.script.is_file():
        raise BackendError(f"there is no script {arguments.script}")
    os.environ["TRITON_DEFAULT_BACKEND"] = BACKEND_NAME  # before triton is imported
    os.environ[DEVICE_VARIABLE] = EMULATOR
    from ..emulator.profile import PROFILES

    status = run_script(arguments.script, arguments.arguments)
    profiles = sorted(PROFILES.values(), key=lambda profile: -profile.cycles)
    if not profiles:
        print("no kernel was launched on the emulator", file=sys.stderr)
        return status or 1
    print(f"\n{table(profiles)}\n")
    for profile in profiles:
        print(f"{instruction_line(profile)}")
        print("\n".join(hot_lines(profile, arguments.lines)))
    if arguments.svg:
        arguments.svg.write_text(roofline(profiles), encoding="utf-8")
        print(f"\nwritten: {arguments.svg}")
    return status


def run_script(script: Path, arguments: Sequence[str]) -> int:
    """Runs a program as ``python script arguments`` would; its exit status."""
    words, path = sys.argv, list(sys.path)
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.resolve().parent))
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as exit:
        if isinstance(exit.code, str):
            print(exit.code, file=sys.stderr)
            return 1
        return exit.code or 0
    finally:
        sys.argv, sys.path[:] = words, path
    return 0


def table(profiles: Iterable[Profile]) -> str:
    """A line a kernel. "busy": the share of the cycles for which what bounds the kernel was at work; of "latency" the
    cycles in which the core waited for results."""
    rows = [
        (
            p.kernel,
            f"{p.launches:,}",
            f"{p.programs:,}",
            f"{p.total_instructions:,}",
            f"{p.cycles:,}",
            p.bound,
            f"{p.utilisation:.0%}",
            f"{p.device_bytes:,}",
            f"{p.operations / max(p.cycles, 1):.1f}",
        )
        for p in profiles
    ]
    widths = [max(map(len, column)) for column in zip(HEADINGS, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        return "  ".join(
            cell.ljust(width) if number in (0, 5) else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()

    return "\n".join([line(HEADINGS), line(["-" * width for width in widths]), *map(line, rows)])


def instruction_line(profile: Profile) -> str:
    counts = sorted(profile.instructions.items(), key=lambda item: -item[1])
    units = ", ".join(f"{unit.value} {count:,}" for unit, count in counts)
    return (
        f"{profile.kernel}: {units}; {waits(profile)}"
        f"{profile.scratchpad_bytes:,} bytes to and from the scratchpad, of which a program needs "
        f"{profile.workspace_bytes:,} bytes"
    )


def waits(profile: Profile) -> str:
    """For which share of the cycles the core waits for which unit's results; empty where it hardly does."""
    stalled = sum(profile.waits.values())
    if not stalled or stalled < LEAST_WAITING * profile.cycles:
        return ""
    units = sorted(profile.waits.items(), key=lambda item: -item[1])
    each = ", ".join(f"{unit.value} {count / profile.cycles:.0%}" for unit, count in units if count)
    return f"waits on latency for {stalled / profile.cycles:.0%} of the cycles, by whose results: {each}; "


def hot_lines(profile: Profile, count: int) -> list[str]:
    """The kernel's lines that took the most cycles, with their share and text. Of a line that calls functions of
    Triton's library the hottest place in there is named, too."""
    total = max(sum(profile.lines.values()), 1)
    cycles: dict[tuple[str, int] | None, int] = defaultdict(int)
    inside: dict[tuple[str, int] | None, list[tuple[int, str]]] = defaultdict(list)
    for location, taken in profile.lines.items():
        line = location and (location.file, location.line)
        cycles[line] += taken
        inside[line].append((taken, location.inside if location else ""))
    lines: list[str] = []
    for place in sorted(cycles, key=lambda place: -cycles[place])[:count]:
        where, text = "(no source line)", ""
        if place is not None:
            file, number = place
            where, text = f"{Path(file).name}:{number}", linecache.getline(file, number).strip()
        _, library = max(inside[place])
        lines.append(
            f"  {cycles[place] / total:>4.0%}  {where:<28} {text}{f'  ({library})' if library else ''}".rstrip()
        )
    return lines


# --- the roofline ---------------------------------------------------------------------------------------------------

WIDTH, HEIGHT, MARGIN = 640, 420, 60
X_RANGE, Y_RANGE = (-2.0, 4.0), (-2.0, 4.0)
"""Powers of ten at the ends of the axes: operations per byte, operations per cycle."""


def roofline(profiles: Iterable[Profile]) -> str:
    """An SVG: each kernel's arithmetic per cycle over its arithmetic per byte, below what the target can do."""
    from ..emulator.cycles import PEAKS

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{WIDTH / 2}" y="20" text-anchor="middle" font-size="13">{escape(BACKEND_NAME)} roofline</text>',
    ]
    for power in range(int(X_RANGE[0]), int(X_RANGE[1]) + 1):
        x = _x(10.0**power)
        parts += [
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{MARGIN / 2}" y2="{HEIGHT - MARGIN}" stroke="#ddd"/>',
            f'<text x="{x:.1f}" y="{HEIGHT - MARGIN + 16}" text-anchor="middle">{10.0**power:g}</text>',
        ]
    for power in range(int(Y_RANGE[0]), int(Y_RANGE[1]) + 1):
        y = _y(10.0**power)
        parts += [
            f'<line x1="{MARGIN}" x2="{WIDTH - 20}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>',
            f'<text x="{MARGIN - 6}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>',
        ]
    for name, peak in PEAKS.items():
        label = f"{name}: {peak:g}/cycle"
        ridge = peak / DEVICE_BYTES_PER_CYCLE
        low = 10.0 ** X_RANGE[0]
        points = [(low, low * DEVICE_BYTES_PER_CYCLE), (ridge, peak), (10.0 ** X_RANGE[1], peak)]
        path = " ".join(f"{_x(x):.1f},{_y(y):.1f}" for x, y in points)
        parts += [
            f'<polyline points="{path}" fill="none" stroke="#444" stroke-width="1.5"/>',
            f'<text x="{WIDTH - 24}" y="{_y(peak) - 5:.1f}" text-anchor="end" fill="#444">{label}</text>',
        ]
    for profile in profiles:
        x = _x(profile.operations / max(profile.device_bytes, 1))
        y = _y(profile.operations / max(profile.cycles, 1))
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#c0392b"/>',
            f'<text x="{x + 7:.1f}" y="{y + 4:.1f}">{escape(profile.kernel)}</text>',
        ]
    parts += [
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 16}" text-anchor="middle">floating-point operations per byte of device '
        "memory</text>",
        f'<text x="16" y="{HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 16 {HEIGHT / 2})">operations per '
        "cycle</text>",
    ]
    return "\n".join([*parts, "</svg>", ""])


def _x(value: float) -> float:
    return MARGIN + (WIDTH - MARGIN - 20) * _share(value, *X_RANGE)


def _y(value: float) -> float:
    return HEIGHT - MARGIN - (HEIGHT - 1.5 * MARGIN) * _share(value, *Y_RANGE)


def _share(value: float, low: float, high: float) -> float:
    power = log10(value) if value > 0 else low
    return (min(max(power, low), high) - low) / (high - low)
