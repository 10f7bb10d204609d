"""A bar chart of ratios as SVG, written by hand: no plotting library needed."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import log2

from .results import Measurement

BAR, GAP, NAMES, WIDTH, TOP = 14, 6, 300, 480, 50
LOWEST, HIGHEST = -2.0, 4.0
"""Powers of two at the ends of the axis; bars beyond are cut off there."""


def svg(measurements: Sequence[Measurement], title: str) -> str:
    """One bar a measurement, from 1 to its ratio on a logarithmic axis, with a tick at the goal."""
    shown = [m for m in measurements if m.ratio]
    height = TOP + len(shown) * (BAR + GAP) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{NAMES + WIDTH + 70}" height="{height}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="8" y="18" font-size="13">{escape(title)}</text>',
    ]
    for power in range(int(LOWEST), int(HIGHEST) + 1):
        x = position(2.0**power)
        colour = "#444" if power == 0 else "#ddd"
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{height - 24}" stroke="{colour}"/>')
        parts.append(
            f'<text x="{x:.1f}" y="{TOP - 14}" text-anchor="middle" fill="#444">{2.0**power:g}</text>'
        )
    for row, m in enumerate(shown):
        y = TOP + row * (BAR + GAP)
        start, end = sorted((position(1.0), position(m.ratio)))
        colour = "#c0392b" if m.verdict in ("no", "WRONG") else "#2a7f62"
        name = escape(f"{m.work} ({m.shape}), {m.threads} thr., {m.peer}")
        parts += [
            f'<text x="{NAMES - 8}" y="{y + BAR - 3}" text-anchor="end">{name}</text>',
            f'<rect x="{start:.1f}" y="{y}" width="{max(end - start, 1):.1f}" height="{BAR}" fill="{colour}"/>',
            f'<text x="{NAMES + WIDTH + 8}" y="{y + BAR - 3}">{m.ratio:.2f}</text>',
        ]
        if m.goal:
            x = position(m.goal)
            parts.append(
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y - 2}" y2="{y + BAR + 2}" stroke="#000" stroke-width="2"/>'
            )
    parts.append(
        f'<text x="{NAMES}" y="{height - 8}" fill="#444">peer\'s time / ours (more is better); black: the goal</text>'
    )
    return "\n".join([*parts, "</svg>", ""])


def position(ratio: float) -> float:
    """Where a ratio lies on the axis, in pixels."""
    power = min(max(log2(ratio), LOWEST), HIGHEST)
    return NAMES + WIDTH * (power - LOWEST) / (HIGHEST - LOWEST)
