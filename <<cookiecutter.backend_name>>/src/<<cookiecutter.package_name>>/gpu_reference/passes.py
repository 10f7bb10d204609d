"""Passes of the GPU's stages: how to insert one, replace one, or leave one out.

A pass is a function with a decorator, in any module that is imported before the kernel is compiled (see
`extensions.py` for how an installed package names its own)::

    @register_pass(stage="ttgir", name="my-pass", after="coalesce")
    def my_pass(pass_manager, kernel): ...

Triton's passes have names too (`stages.py`): others are anchored to them, and those that `DISABLE_VARIABLE` names are
left out. To replace one, leave it out and register another in its place. What is registered here takes part in the
cache key.
"""

from __future__ import annotations

import functools
import importlib
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ..errors import BackendError, CompileError
from ..passes.registry import Pass, PassError, Registry, names_in
from . import compat, stages
from .names import DISABLE_VARIABLE, ENABLE_VARIABLE, GPU_BACKEND_NAME

STAGES: Final[dict[str, str]] = {
    "ttir": "run(pass_manager, kernel): adds passes that make the final TTIR",
    "ttir-text": "run(text, kernel) -> text: the final TTIR, which is parsed again where it changed",
    "ttgir": "run(pass_manager, kernel): adds passes from TTIR to TTGIR, the level of layouts and pipelining",
    "gluon": "run(pass_manager, kernel): adds passes from Gluon's IR, which starts with layouts, to TTGIR",
    "lowering": "run(pass_manager, kernel): adds passes from TTGIR to MLIR's LLVM dialect",
    "llir": "run(text, kernel) -> text: optimized LLVM IR, before it becomes PTX",
    "ptx": "run(text, kernel) -> text: PTX, before it becomes machine code",
}
"""Stage -> what a pass of that stage is called with and returns. ``kernel`` is a `stages.Kernel`."""

REGISTRY: Final = Registry(STAGES, DISABLE_VARIABLE)
register_pass = REGISTRY.register

OPTIONAL: Final = {"unmask-interior": ("ttir-text", "interior", "unmask_interior")}
"""Passes of this package that are off until somebody asks for them -> stage, module, function. Why, its module says."""

_loading = threading.Lock()


def load_passes() -> None:
    """Register everything there is: Triton's passes in Triton's order, then what extensions bring. Once a process."""
    with _loading:
        _load_passes()


@functools.cache
def _load_passes() -> None:
    from ..extensions import load_all

    for stage, steps in stages.STEPS.items():
        for step in steps:
            add = compat.find_pass(step.path)
            if add is not None and step.exists():
                REGISTRY.register(stage=stage, name=step.name)(adder(step, add))
    for name in sorted(names_in(ENABLE_VARIABLE)):
        _enable(name)
    load_all()


def enable_pass(name: str) -> None:
    """Switch one of `OPTIONAL` on in this process, for what is compiled from here on. Raises PassError for others."""
    load_passes()
    with _loading:
        _enable(name)


def _enable(name: str) -> None:
    if name not in OPTIONAL:
        raise PassError(
            f"{GPU_BACKEND_NAME}: an optional pass ({ENABLE_VARIABLE}, enable_pass) must be one of "
            f"{', '.join(OPTIONAL)}, not {name!r}"
        )
    stage, module, function = OPTIONAL[name]
    REGISTRY.register(stage=stage, name=name)(
        getattr(importlib.import_module(f".{module}", __package__), function)
    )


def adder(step: stages.Step, add: Callable[..., None]) -> Callable[[Any, stages.Kernel], None]:
    """A pass that adds one of libtriton's where the kernel and its target need it."""

    def run(pass_manager: Any, kernel: stages.Kernel) -> None:
        if step.when(kernel):
            add(pass_manager, *step.arguments(kernel))

    run.__qualname__ = step.name
    run.__doc__ = f"Triton's {step.path}."
    return run


def run_stage(stage: str, module: Any, kernel: stages.Kernel) -> None:
    """Run the passes of a stage on a libtriton module, in place. Raises CompileError, or what libtriton raises."""
    from triton._C.libtriton import ir

    load_passes()
    manager = ir.pass_manager(module.context)
    dump = bool(manager.enable_debug())
    at_hand = kernel if kernel.dump == dump else kernel.dumping(dump)
    for p in REGISTRY.enabled(stage):
        _call(p, manager, at_hand)
    manager.run(module, f"make_{stage}")


def run_text_stage(stage: str, text: str, kernel: stages.Kernel) -> str:
    """Run the passes of a stage on text. Raises CompileError."""
    load_passes()
    for p in REGISTRY.enabled(stage):
        result = _call(p, text, kernel)
        if not isinstance(result, str):
            raise CompileError(
                f"pass {p.name!r} ({p.origin}) of the GPU's stage {stage!r} must return text, "
                f"not {type(result).__name__}"
            )
        text = result
    return text


def run_module_text_stage(stage: str, module: Any, kernel: stages.Kernel) -> Any:
    """Run the passes of a stage on a libtriton module's text; the module of what comes out. Raises CompileError."""
    from triton._C.libtriton import ir

    load_passes()
    if not REGISTRY.enabled(stage):
        return module
    before = str(module)
    after = run_text_stage(stage, before, kernel)
    if after == before:
        return module
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"{stage}.mlir")
        file.write_text(after, encoding="utf-8")
        try:
            changed = ir.parse_mlir_module(str(file), module.context)
        except RuntimeError as error:
            names = ", ".join(p.name for p in REGISTRY.enabled(stage))
            raise CompileError(
                f"what {GPU_BACKEND_NAME}'s passes of stage {stage!r} ({names}) wrote is no TTIR: {error}\n{after}"
            ) from error
    changed.context = module.context
    return changed


def _call(p: Pass, *arguments: Any) -> Any:
    try:
        return p.run(*arguments)
    except BackendError:
        raise
    except Exception as error:
        raise CompileError(
            f"pass {p.name!r} ({p.origin}) of {GPU_BACKEND_NAME}'s stage {p.stage!r} failed: "
            f"{type(error).__name__}: {error}"
        ) from error
