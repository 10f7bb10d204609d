"""Results as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .results import (
    FIRST_CALL_LIMIT,
    LAUNCH_LIMIT,
    MEMORY_LIMIT,
    Change,
    Compilation,
    FirstCall,
    Launch,
    Measurement,
    Memory,
)

HEADINGS = ("work", "shape", "threads", "peer", "ours us", "peer us", "floor us", "ratio", "goal", "ok")


def measurements_table(measurements: Iterable[Measurement]) -> str:
    return aligned([HEADINGS, *map(cells, measurements)], left=2)


def cells(m: Measurement) -> tuple[str, ...]:
    head = (m.work, m.shape, str(m.threads), m.peer)
    goal = f"{m.goal:.2f}" if m.goal else ""
    if m.problem:
        return (*head, "", "", "", "", goal, m.verdict)
    floor = f"{m.floor * 1e6:.0f}" if m.floor else ""
    return (*head, f"{m.ours * 1e6:.0f}", f"{m.theirs * 1e6:.0f}", floor, f"{m.ratio:.2f}", goal, m.verdict)


def compilations_table(compilations: Sequence[Compilation]) -> str:
    stages = list(compilations[0].stages) if compilations else []
    headings = ("kernel, CPU ms", "total", "goal", "ok", "front end", *stages)
    lines = [
        (
            c.kernel,
            f"{c.total:.1f}",
            f"{c.goal:.0f}" if c.goal else "",
            c.verdict,
            f"{c.total - sum(c.stages.values()):.1f}",
            *(f"{c.stages[stage]:.1f}" for stage in stages),
        )
        for c in compilations
    ]
    return aligned([headings, *lines], left=1)


def launch_line(launch: Launch) -> str:
    verdict = "yes" if launch.factor <= LAUNCH_LIMIT else "no"
    return (
        f"launch, 4 arguments: {launch.ours * 1e6:.2f} us, {launch.factor:.2f} times a launch that does nothing "
        f"({launch.nothing * 1e6:.2f} us); goal {LAUNCH_LIMIT}: {verdict}"
    )


def first_call_line(call: FirstCall) -> str:
    verdict = "yes" if call.ours <= FIRST_CALL_LIMIT else "no"
    return (
        f"first call in a new process, kernel in the cache: {call.ours:.1f} ms of CPU in this package, "
        f"{call.total:.0f} ms in all; goal {FIRST_CALL_LIMIT:.0f}: {verdict}"
    )


def memory_line(memory: Memory) -> str:
    verdict = "yes" if memory.growth <= MEMORY_LIMIT else "no"
    return (
        f"{memory.kernels} kernels in one process: {memory.growth:.0f} MB more than one "
        f"({memory.growth * 1e3 / max(memory.kernels - 1, 1):.0f} kB each); goal {MEMORY_LIMIT:.0f}: {verdict}"
    )


def changes_table(changes: Sequence[Change]) -> str:
    lines = [
        (c.what, f"{c.before:.3g}", f"{c.now:.3g}", c.unit, f"{c.factor:.2f}", "REGRESSION" if c.is_regression else "")
        for c in changes
    ]  # fmt: skip
    return aligned([("measured", "before", "now", "unit", "factor", ""), *lines], left=1)


def aligned(lines: Sequence[Sequence[str]], *, left: int) -> str:
    """Columns: the first `left` to the left, the others to the right; a rule under the headings."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    ruled = [lines[0], ["-" * width for width in widths], *lines[1:]]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if index < left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in ruled
    )
