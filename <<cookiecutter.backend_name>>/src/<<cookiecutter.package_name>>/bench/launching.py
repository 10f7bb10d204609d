"""What a launch costs beside Triton's own part of it: a kernel with its launcher, and with one that does nothing."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import triton

from .timing import interleaved


@triton.jit
def nothing(x, y, z, count):  # type: ignore[no-untyped-def]
    pass


def launch_times(seconds: float) -> dict[str, Any]:
    """Seconds a launch with four arguments: ``ours``, and ``peer`` with a launcher that returns at once."""
    import torch

    x, y, z = (torch.empty(16) for _ in range(3))
    grid = (1,)
    compiled = nothing[grid](x, y, z, 16)
    real = compiled.run

    def launch() -> None:
        nothing[grid](x, y, z, 16)

    def with_launcher(launcher: Any) -> Any:
        def run() -> None:
            compiled._run = launcher
            launch()

        return run

    ours, peer = interleaved([with_launcher(real), with_launcher(lambda *arguments: None)], seconds)
    return {"ours": asdict(ours), "peer": asdict(peer)}
