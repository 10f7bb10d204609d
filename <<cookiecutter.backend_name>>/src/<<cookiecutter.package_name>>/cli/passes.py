"""``passes``: all registered passes, stage by stage, in the order in which they run."""

from __future__ import annotations

import argparse

from ..passes.pipeline import load_passes
from ..passes.registry import DISABLE_VARIABLE, REGISTRY, STAGES, Pass, names_in

HEADINGS = ("stage", "pass", "from", "enabled", "what it does")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stage", nargs="?", choices=list(STAGES), help="only the passes of this stage")


def run(arguments: argparse.Namespace) -> int:
    """Print the table. Raises PassError if the passes cannot be put in order, or a disabled one does not exist."""
    load_passes()
    rows: list[tuple[str, ...]] = [HEADINGS]
    for stage in STAGES:
        enabled = REGISTRY.enabled(stage)
        if arguments.stage in (None, stage):
            rows += [_row(p, p in enabled) for p in REGISTRY.passes(stage)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    for row in rows:
        print("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())
    if names_in(DISABLE_VARIABLE):
        print(f"\n{DISABLE_VARIABLE} leaves out {', '.join(sorted(names_in(DISABLE_VARIABLE)))}.")
    return 0


def _row(p: Pass, enabled: bool) -> tuple[str, ...]:
    what = (p.run.__doc__ or "").strip().partition("\n")[0]
    return (p.stage, p.name, p.origin, "yes" if enabled else "no", what)
