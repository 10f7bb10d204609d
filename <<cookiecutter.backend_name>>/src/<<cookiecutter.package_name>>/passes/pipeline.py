"""Runs the registered passes, stage by stage.

The TTIR passes that Triton itself provides are registered here, so that others can be anchored to them.
"""

from __future__ import annotations

import functools
import importlib
import os
import pkgutil
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from ..compat import ttir_pass
from ..errors import BackendError, CompileError
from ..extensions import load_all
from ..target import BACKEND_NAME, ENV_PREFIX
from .registry import REGISTRY, Pass

TIME_VARIABLE: Final = f"{ENV_PREFIX}_TIME_PASSES"
"""Environment variable: ``1`` prints what each pass took, and the steps between them, to standard error."""
PRINT_VARIABLE: Final = f"{ENV_PREFIX}_PRINT_IR_AFTER_ALL"
"""Environment variable: ``1`` prints the module after the lowering and each pass to standard error."""
VERIFY_VARIABLE: Final = f"{ENV_PREFIX}_VERIFY_PASSES"
"""Environment variable: ``1`` verifies the module after the lowering and after each xDSL pass, so that an error
names the one that made it. Off by default: it takes about as long as the lowering itself."""

_TRITON_PASSES: Final = (
    ("inliner", "common", "add_inliner"),
    ("rewrite-tensor-pointer", "ttir", "add_rewrite_tensor_pointer"),
    ("rewrite-tensor-descriptor", "ttir", "add_rewrite_tensor_descriptor_to_pointer"),
    ("canonicalizer", "common", "add_canonicalizer"),
    ("combine", "ttir", "add_combine"),
    ("reorder-broadcast", "ttir", "add_reorder_broadcast"),
    ("cse", "common", "add_cse"),
    ("licm", "common", "add_licm"),
    ("symbol-dce", "common", "add_symbol_dce"),
    ("loop-unroll", "ttir", "add_loop_unroll"),
)
"""Name here, group and function in libtriton. Those that a Triton release does not have are left out."""

_loading = threading.Lock()


def load_passes() -> None:
    """Register everything there is: Triton's passes, those of this folder, what extensions bring. Once a process."""
    with _loading:
        _load_passes()


@functools.cache
def _load_passes() -> None:
    for name, group, function in _TRITON_PASSES:
        add = ttir_pass(group, function)
        if add is not None:
            REGISTRY.register(stage="ttir", name=name)(_adder(add, f"Triton's {group}.{function}."))
    load_own_passes()
    load_all()


@functools.cache
def load_own_passes() -> None:
    """Import the modules of this folder by name, which registers their passes. Does not need Triton."""
    here = {"registry", "pipeline"}
    for module in sorted(pkgutil.iter_modules([str(Path(__file__).parent)]), key=lambda module: module.name):
        if module.name not in here:
            importlib.import_module(f".{module.name}", __package__)


def _adder(add: Callable[[Any], None], description: str) -> Callable[[Any], None]:
    def run(pass_manager: Any) -> None:
        add(pass_manager)

    run.__doc__ = description
    return run


def run_ttir(module: Any) -> None:
    """Run the "ttir" passes on a libtriton module, in place. Raises CompileError."""
    from triton._C.libtriton import ir

    load_passes()
    passes = REGISTRY.enabled("ttir")
    # One pass manager for all is what Triton does; timing and printing needs one each.
    one_by_one = _is_set(TIME_VARIABLE) or _is_set(PRINT_VARIABLE)
    groups = [[p] for p in passes] if one_by_one else [passes]
    for group in groups:
        manager = ir.pass_manager(module.context)
        manager.enable_debug()
        for p in group:
            _call(p, manager)
        start = time.perf_counter()
        try:
            manager.run(module, "make_ttir")
        except RuntimeError as error:
            names = ", ".join(p.name for p in group)
            raise CompileError(f"Triton's own TTIR passes ({names}) failed: {error}") from error
        for p in group if len(group) == 1 else ():
            _report(p, time.perf_counter() - start)
            print_if_asked(module, f"{p.name} ({p.stage})")


def run_passes(stage: str, module: Any, options: Any) -> None:
    """Run the "module" or "isa" passes on an xDSL module, in place. Raises CompileError."""
    load_passes()
    for p in REGISTRY.enabled(stage):
        start = time.perf_counter()
        _call(p, module, options)
        _report(p, time.perf_counter() - start)
        print_if_asked(module, f"{p.name} ({p.stage})")
        verify_if_asked(module, f"pass {p.name!r} ({p.origin}) of stage {stage!r}")


def classes_matter() -> bool:
    """Whether anything looks at the classes of the imported module's operations, beside the lowering."""
    load_passes()
    return bool(REGISTRY.enabled("module")) or _is_set(VERIFY_VARIABLE)


def print_if_asked(module: Any, maker: str) -> None:
    """Print a module, of whichever stage, to standard error if `PRINT_VARIABLE` says so, with a heading."""
    if not _is_set(PRINT_VARIABLE):
        return
    try:
        text = str(module)
    except Exception as error:  # of a module that the verifier will refuse
        text = f"// it cannot be printed: {type(error).__name__}: {error}"
    sys.stdout.flush()
    print(f"// -----// IR Dump After {maker} //----- //\n{text}\n", file=sys.stderr, flush=True)


def verify_if_asked(module: Any, maker: str) -> None:
    """Verify an xDSL module if `VERIFY_VARIABLE` says so. Raises CompileError, in which `maker` takes the blame."""
    if _is_set(VERIFY_VARIABLE):
        from ..dialects.isa.verification import mistake_in_check

        try:
            module.verify()
        except Exception as error:
            mistake = mistake_in_check(error)
            raise CompileError(mistake or f"{maker} left an invalid module: {error}") from error


def verify_legal_if_asked(isa: Any) -> None:
    """Verify, if `VERIFY_VARIABLE` says so, that the machine can execute what the passes left. Raises CompileError."""
    if _is_set(VERIFY_VARIABLE):
        from ..dialects.isa.legality import verify_legal

        verify_legal(isa)


def run_text_passes(text: str, options: Any) -> str:
    """Run the "llir" passes. Raises CompileError."""
    load_passes()
    for p in REGISTRY.enabled("llir"):
        start = time.perf_counter()
        result = _call(p, text, options)
        if not isinstance(result, str):
            raise CompileError(
                f"pass {p.name!r} ({p.origin}) of stage 'llir' must return text, not {type(result).__name__}"
            )
        text = result
        _report(p, time.perf_counter() - start)
        print_if_asked(text, f"{p.name} ({p.stage})")
    return text


def _call(p: Pass, *arguments: Any) -> Any:
    try:
        return p.run(*arguments)
    except BackendError:
        raise
    except Exception as error:
        raise CompileError(
            f"pass {p.name!r} ({p.origin}) of stage {p.stage!r} failed: {type(error).__name__}: {error}"
        ) from error


@contextmanager
def timed(stage: str, name: str) -> Generator[None]:
    """Reports what a step of the compiler takes that is no pass; `stage` is what it makes."""
    start = time.perf_counter()
    yield
    _print_time(stage, name, time.perf_counter() - start)


def _report(p: Pass, seconds: float) -> None:
    _print_time(p.stage, p.name, seconds)


def _print_time(stage: str, name: str, seconds: float) -> None:
    if _is_set(TIME_VARIABLE):
        print(f"{BACKEND_NAME}: {stage:>6} {name:<28} {1e3 * seconds:8.2f} ms", file=sys.stderr)


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "") not in ("", "0")
