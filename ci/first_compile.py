"""How long the first compile of vector add takes in a fresh process, beside stock Triton's to PTX.

    python ci/first_compile.py [BACKEND] [REPEATS]

Needs an environment with a generated package installed (BACKEND: its `backend_name`, default acme). Caches
are cold, the two take turns, each in a process of its own; printed are medians and their ratios. No GPU is
needed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

KERNEL = """
import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, o_ptr, n, B: tl.constexpr):
    offsets = tl.program_id(0) * B + tl.arange(0, B)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(o_ptr + offsets, x + y, mask=mask)
"""

CHILD = """
import json, sys, time
import triton
from kernel import add
from triton.backends import backends
from triton.backends.compiler import GPUTarget
from triton.compiler import compiler

signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "o_ptr": "*fp32", "n": "i32", "B": "constexpr"}
source = compiler.ASTSource(add, signature, {"B": 1024}, {})
if sys.argv[1] == "stock":
    target = GPUTarget("cuda", 80, 32)
    stock = backends["nvidia"].compiler
    add_stages = stock.add_stages

    def up_to_ptx(self, stages, *rest):
        add_stages(self, stages, *rest)
        stages["cubin"] = lambda text, metadata: text.encode()  # ptxas is not part of the comparison

    stock.add_stages = up_to_ptx
    compiler.CompiledKernel.__init__ = lambda self, *rest: None  # nothing is loaded
else:
    target = backends[sys.argv[1]].driver().get_current_target()
wall, cpu = time.perf_counter(), time.process_time()
triton.compile(source, target=target)
print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu]))
"""


def measure(which: str, folder: Path) -> list[float]:
    """Wall and CPU seconds of one first compile."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "TRITON_CACHE_DIR": cache, "PYTHONPATH": str(folder)}
        command = [sys.executable, "-c", CHILD, which]
        output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    seconds: list[float] = json.loads(output.splitlines()[-1])
    return seconds


def main() -> None:
    backend = sys.argv[1] if len(sys.argv) > 1 else "acme"
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    times: dict[str, list[list[float]]] = {backend: [], "stock": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "kernel.py").write_text(KERNEL)
        for repeat in range(repeats):
            for which in list(times) if repeat % 2 else reversed(list(times)):
                times[which].append(measure(which, folder))
    middle = {which: [median(column) for column in zip(*rows, strict=True)] for which, rows in times.items()}
    for which, (wall, cpu) in middle.items():
        print(f"{which:10} wall {wall:.3f} s   cpu {cpu:.3f} s")
    ratios = [ours / stock for ours, stock in zip(middle[backend], middle["stock"], strict=True)]
    print(f"{'ratio':10} wall {ratios[0]:.2f}     cpu {ratios[1]:.2f}")


if __name__ == "__main__":
    main()
