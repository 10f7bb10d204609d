"""Everything that differs between the supported Triton releases, found by looking at what is there.

No other file looks at Triton's version or at a name that only some releases have. When a new release breaks something,
the fix belongs here.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from .errors import CompileError


def compiling_backend() -> Any:
    """The backend object for which ``triton.compile``, at most four calls up from here, compiles; None if it is none.

    Triton makes the managers of its cache by the digest of a key, and tells them nothing else.
    """
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage] (there is no other)
    for _ in range(4):
        if frame.f_back is None:
            break
        frame = frame.f_back
        if (
            frame.f_code.co_name == "compile"
            and frame.f_globals.get("__name__") == "triton.compiler.compiler"
        ):
            return frame.f_locals.get("backend")
    return None


def ttir_pass(group: str, name: str) -> Callable[[Any], None] | None:
    """The function that adds a libtriton pass to a pass manager, or None if this release does not have the pass.

    ``group`` is ``"common"`` or ``"ttir"``. Triton 3.8 removed ``ttir.add_rewrite_tensor_pointer`` with block pointers.
    """
    from triton._C.libtriton import passes

    add: Callable[[Any], None] | None = getattr(getattr(passes, group), name, None)
    return add


def generic_ttir(module: Any) -> str:
    """A libtriton module in MLIR's generic form, with locations (unless Triton was told to leave them out).

    libtriton has no binding for generic printing, but MLIR falls back to it for a module that does not verify, so the
    module gets a data layout attribute that cannot be parsed. The attribute is emptied again afterwards: the
    module stays usable, but do not print it any more (it would show the empty attribute).

    Raises CompileError if a Triton release no longer falls back.
    """
    from triton._C.libtriton import ir

    builder = ir.builder(module.context)
    module.set_attr("llvm.data_layout", builder.get_string_attr("unparsable"))
    try:
        text = str(module)
    finally:
        module.set_attr("llvm.data_layout", builder.get_string_attr(""))
    for line in text.splitlines():
        if line.startswith('"builtin.module"'):
            return text
        if line and not line.startswith("#"):
            break
    raise CompileError(
        "this Triton release does not print TTIR in generic form the way the supported releases do",
        add_support_in=__file__,
    )


def read_ttir(file: Path) -> str:
    """Triton IR as Triton prints it, in a file: its generic form. Raises CompileError if Triton cannot read it."""
    from triton._C.libtriton import ir

    context = ir.context()
    ir.load_dialects(context)
    try:
        module = ir.parse_mlir_module(str(file), context)
    except RuntimeError as error:
        raise CompileError(
            f"Triton cannot read {file.name} (it says where and why on standard error)"
        ) from error
    module.context = context  # as Triton's own compiler does
    return generic_ttir(module)


def allow_fp_fusion(requested: bool | None) -> bool:
    """Whether a*b+c may be fused; ``requested`` None is Triton's default (TRITON_DEFAULT_FP_FUSION).

    Triton 3.9 adds a switch that overrules the caller, and warns unless somebody chose.
    """
    from triton import knobs

    wanted = knobs.language.default_fp_fusion if requested is None else requested
    decide = getattr(knobs.language, "fp_fusion_enabled", None)
    return bool(wanted if decide is None else decide(wanted))


def is_added_to_launches(keyword: str) -> bool:
    """Whether Triton itself adds the keyword to every launch, as 3.9 does with ``fpsan_homomorphic_casts``.

    Triton then refuses a backend without that option in words that blame the caller. The names are found as strings in
    the code of the function that launches.
    """
    from triton.runtime.jit import JITFunction

    code = getattr(JITFunction.run, "__code__", None)
    return code is not None and keyword.isidentifier() and keyword in code.co_consts


def is_gluon(language: Any) -> bool:
    """Whether the kernel is written in Gluon, which starts below TTIR."""
    return getattr(language, "name", "TRITON") == "GLUON"


def call_stages_hook(backend: Any, stages: dict[str, Any], options: Any, language: Any) -> None:
    """Let ``knobs.runtime.add_stages_inspection_hook`` see or replace the stages, as Triton's own backends do."""
    from triton import knobs

    hook = getattr(knobs.runtime, "add_stages_inspection_hook", None)
    if hook is not None:
        hook(backend, stages, options, language, None)


def hook_chain_type() -> type:
    """The class of Triton's launch hooks, which have a list ``calls``; without them, one that no object has."""
    from triton import knobs

    return getattr(knobs, "HookChain", NoHookChain)


class NoHookChain:
    """Stands for a class that this release of Triton does not have."""


class BinaryStage(str):
    """The name of the last stage, for `stages` dictionaries.

    Under TRITON_STORE_BINARY_ONLY Triton keeps only stages named like the binaries of its own backends, and
    then fails to find ours. The name therefore also answers to ``hsaco``, for which Triton does nothing else.
    """

    def __eq__(self, other: object) -> bool:
        return other == "hsaco" or str.__eq__(self, other) is True

    __hash__ = str.__hash__


_driver_lock: Final = threading.Lock()
_before: Final[dict[Any, Any]] = {}
"""Class of a driver that `activate_driver` made active -> what was active before it."""


def activate_driver(kind: Any) -> None:
    """Make a driver of class `kind` Triton's active one. Does nothing if one was made so already."""
    with _driver_lock:
        if not kind.activated:
            _before[kind] = select_driver(kind())
            kind.activated = True


def deactivate_driver(kind: Any) -> bool:
    """Undo `activate_driver`; whether there was anything to undo."""
    with _driver_lock:
        if not kind.activated:
            return False
        kind.activated = False
        restore_driver(_before.pop(kind), kind)
        return True


def select_driver(driver: Any) -> Any:
    """Make ``driver`` Triton's active one; returns what `restore_driver` wants."""
    from triton.runtime import driver as config

    previous = getattr(config, "_active", None)
    config.set_active(driver)
    return previous


def restore_driver(previous: Any, kind: type) -> None:
    """Undo `select_driver`. None: Triton chooses again when it next needs a driver.

    Triton keeps what it once chose by itself, and goes back to it after ``reset_active``: a driver of the ``kind`` to
    be forgotten, chosen while it was selected, is forgotten too.
    """
    from triton.runtime import driver as config

    config.set_active(previous)
    if isinstance(getattr(config, "_default", None), kind):
        config._default = None  # pyright: ignore[reportPrivateUsage]


def selected_by_environment() -> str:
    """The backend that TRITON_DEFAULT_BACKEND names, or ''."""
    return os.environ.get("TRITON_DEFAULT_BACKEND", "")
