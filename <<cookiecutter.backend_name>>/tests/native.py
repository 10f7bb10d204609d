"""Kernels written in LLVM IR by hand, to test the runtime without the compiler."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from <<cookiecutter.package_name>>.codegen.object_code import compile_llvm
from <<cookiecutter.package_name>>.runtime.launcher import make_launcher
from <<cookiecutter.package_name>>.runtime.loader import LoadedImage, load_image
from <<cookiecutter.package_name>>.runtime.packing import read_signature

COPY_ARGUMENTS = """
declare ptr @memcpy(ptr, ptr, i64)
define { i32, i64 } @copy_arguments(ptr %args, ptr %scratch, ptr %grid, i64 %first, i64 %last) {
  %out = load ptr, ptr %args
  %copied = call ptr @memcpy(ptr %out, ptr %args, i64 SIZE)
  ret { i32, i64 } zeroinitializer
}
"""
"""Copies all its argument slots to where the first argument points."""

COUNT_PROGRAMS = """
define { i32, i64 } @count(ptr %args, ptr %scratch, ptr %grid, i64 %first, i64 %last) {
entry:
  %out = load ptr, ptr %args
  %rounds.at = getelementptr i64, ptr %args, i64 1
  %rounds = load i64, ptr %rounds.at
  %bad.at = getelementptr i64, ptr %args, i64 2
  %bad = load i64, ptr %bad.at
  br label %program
program:
  %id = phi i64 [ %first, %entry ], [ %next, %good ]
  br label %spin
spin:
  %i = phi i64 [ 0, %program ], [ %i1, %spin ]
  store volatile i64 %i, ptr %scratch
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %rounds
  br i1 %more, label %spin, label %count
count:
  %counter = getelementptr i32, ptr %out, i64 %id
  %old = atomicrmw add ptr %counter, i32 1 seq_cst
  %is.bad = icmp sge i64 %id, %bad
  br i1 %is.bad, label %trap, label %good
trap:
  %code64 = sub i64 %id, %bad
  %code63 = add i64 %code64, 1
  %code = trunc i64 %code63 to i32
  %result0 = insertvalue { i32, i64 } zeroinitializer, i32 %code, 0
  %result = insertvalue { i32, i64 } %result0, i64 %id, 1
  ret { i32, i64 } %result
good:
  %next = add i64 %id, 1
  %again = icmp slt i64 %next, %last
  br i1 %again, label %program, label %end
end:
  ret { i32, i64 } zeroinitializer
}
"""
"""Adds 1 to element `program` of an i32 array, after some rounds of busy work. Programs from ``bad`` on trap: code 1 is
program ``bad``. Arguments: array, rounds, bad."""

BARRIER = """
define { i32, i64 } @barrier(ptr %args, ptr %scratch, ptr %grid, i64 %first, i64 %last) {
entry:
  %out = load ptr, ptr %args
  %n32 = load i32, ptr %grid
  %old = atomicrmw add ptr %out, i32 1 seq_cst
  br label %wait
wait:
  %seen = load atomic i32, ptr %out seq_cst, align 4
  %all = icmp sge i32 %seen, %n32
  br i1 %all, label %end, label %wait
end:
  ret { i32, i64 } zeroinitializer
}
"""
"""Every program waits until all programs of the grid have arrived."""

NEVER = 2**40
"""A program that no grid has: nothing traps."""


class NativeKernel:
    """A hand-written kernel with the launcher that a compiled one would have."""

    def __init__(
        self,
        llir: str,
        name: str,
        signature: dict[str, Any],
        *,
        scratch_bytes: int = 64,
        traps: Sequence[Sequence[Any]] = (),
        parameters: Sequence[str] | None = None,
        cooperative: bool = False,
    ) -> None:
        self.image: LoadedImage = load_image(compile_llvm(llir), name)
        self.entry = self.image.addresses[name]
        metadata = SimpleNamespace(
            name=name, scratch_bytes=scratch_bytes, traps=traps, launch_cooperative_grid=cooperative
        )
        if parameters is not None:
            metadata.parameters = parameters
        self.launch: Callable[..., None] = make_launcher(SimpleNamespace(signature=signature), metadata)

    def __call__(
        self, grid: tuple[Any, Any, Any], *args: Any, hooks: tuple[Any, Any] = (None, None), note: Any = None
    ) -> None:
        self.launch(*grid, 0, self.entry, (), note, *hooks, *args)


def copying_kernel(signature: dict[str, Any], **options: Any) -> NativeKernel:
    """Copies its argument slots to where the first one points; ``options`` as for `NativeKernel`."""
    size = 8 * len(read_signature(signature).slots)
    return NativeKernel(COPY_ARGUMENTS.replace("SIZE", str(size)), "copy_arguments", signature, **options)


def counting_kernel(**options: Any) -> NativeKernel:
    return NativeKernel(COUNT_PROGRAMS, "count", {"out": "*i32", "rounds": "i64", "bad": "i64"}, **options)


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter. ``environment`` adds to this one's; an empty value removes a variable."""
    merged = {**os.environ, **environment}
    for name, value in environment.items():
        if not value:
            merged.pop(name)
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, env=merged, timeout=120
    )
