"""The keywords a launch may carry (``kernel[grid](..., num_warps=8)``) and what they mean here."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from typing import Any

from ..device_kinds import DEVICE_VARIABLE, KINDS, REFERENCE, selected_kind
from ..errors import BackendError
from ..target import ARCH, BACKEND_NAME
from .read_by_triton import ReadByTriton


class OptionError(BackendError, ValueError, AssertionError):
    """A launch option has a value that does not exist. (Triton's own backends assert; callers may rely on that.)"""


FP8_TYPES = ("fp8e4nv", "fp8e5")
DOT_PRECISIONS = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")


@dataclass(init=False, repr=False, eq=False)  # making these methods takes longer than all else in this file
class Options(ReadByTriton):
    """Compile options of one kernel. Triton copies every field into the kernel's metadata, so all are plain values.

    Triton reads fields by name and raises KeyError for launch keywords that are not fields, so those that mean
    nothing to this device are here too: kernels written for others pass them.
    """

    # What decides about the code: read by Triton's front end, or here.
    debug: bool = False
    """Keep ``tl.device_assert``."""
    sanitize_overflow: bool = True
    """With ``debug``: stop on signed integer overflow."""
    default_dot_input_precision: str = "ieee"
    """Of products that ask for nothing. Triton writes "tf32" for these, so it is what "tf32" means, too."""
    allowed_dot_input_precisions: tuple[str, ...] = DOT_PRECISIONS
    """All are computed at least as precisely as asked."""
    supported_fp8_dtypes: tuple[str, ...] = FP8_TYPES
    deprecated_fp8_dot_operand_dtypes: tuple[str, ...] = ()
    max_num_imprecise_acc_default: int = 0
    extern_libs: tuple[tuple[str, str], ...] = ()
    arch: str = ARCH
    backend_name: str = BACKEND_NAME
    device_kind: str = REFERENCE
    """``reference`` or ``emulator``; by default what the environment says (``device_kinds.py``)."""
    ir_override: str | None = None
    """File with IR to use in place of what a stage made (``.ttir`` or ``.llir``)."""

    num_warps: int = 4
    warp_size: int = 32
    """A program is one thread of control, not a group of warps, and no faster with more of them; but what a GPU prints
    once per thread (``tl.device_print`` of scalars) is printed ``num_warps * warp_size`` times here too."""

    # The launch.
    launch_cooperative_grid: bool = False
    """All programs run at the same time, a thread each."""

    # Accepted, without effect.
    enable_fp_fusion: bool = True
    """Products and sums are fused where the kernel asks for it (``tl.fma``, ``tl.dot``), whatever this says."""
    num_ctas: int = 1
    num_stages: int = 3
    maxnreg: int | None = None
    launch_pdl: bool = False
    instrumentation_mode: str = ""
    fpsan_homomorphic_casts: bool = False

    def __init__(self, **values: Any) -> None:
        for field in fields(self):
            setattr(self, field.name, values.pop(field.name, field.default))
        if values:
            raise TypeError(f"{BACKEND_NAME}: unknown options: {', '.join(values)}")
        self._check()

    def _check(self) -> None:
        if self.device_kind not in KINDS:
            raise OptionError(
                f"{BACKEND_NAME}: device_kind (or {DEVICE_VARIABLE}) must be one of {', '.join(KINDS)}, not "
                f"{self.device_kind!r}"
            )
        for name in ("num_warps", "num_ctas"):
            count: object = getattr(self, name)
            if not isinstance(count, int) or count < 1 or count & (count - 1):
                raise OptionError(f"{BACKEND_NAME}: {name} must be a power of 2, not {count!r}")
        if self.num_stages < 0:
            raise OptionError(f"{BACKEND_NAME}: num_stages must be a count, not {self.num_stages!r}")
        if self.default_dot_input_precision not in self.allowed_dot_input_precisions:
            raise OptionError(
                f"{BACKEND_NAME}: default_dot_input_precision must be one of "
                f"{', '.join(self.allowed_dot_input_precisions)}, not {self.default_dot_input_precision!r}"
            )
        unknown = sorted(set(self.supported_fp8_dtypes) - set(FP8_TYPES))
        if unknown:
            raise OptionError(
                f"{BACKEND_NAME}: float8 formats must be among {', '.join(FP8_TYPES)}, not {', '.join(unknown)}"
            )
        if self.extern_libs:
            names = ", ".join(name for name, _ in self.extern_libs)
            raise OptionError(f"{BACKEND_NAME}: extern_libs ({names}): this device links no external bitcode")
        if self.instrumentation_mode:
            raise OptionError(
                f"{BACKEND_NAME}: instrumentation_mode {self.instrumentation_mode!r} works on GPU layouts, "
                "which this device does not have: unset TRITON_INSTRUMENTATION_MODE"
            )

    def hash(self) -> str:
        """A digest of all fields, part of Triton's cache key."""
        text = repr([(field.name, getattr(self, field.name)) for field in fields(self)])
        return hashlib.sha256(text.encode()).hexdigest()


def parse_options(given: dict[str, Any]) -> Options:
    """Options from launch keywords: those that are not fields are left to Triton, which refuses them by name; None is
    the default. Lists (from JSON) become tuples. Raises OptionError for values that do not exist, and for an option
    that Triton adds by itself and that is no field."""
    from ..compat import allow_fp_fusion, is_added_to_launches

    known = {field.name for field in fields(Options)}
    for name in given.keys() - known:
        if is_added_to_launches(name):
            raise OptionError(
                f"{BACKEND_NAME}: Triton adds {name}={given[name]!r} to every launch, and {__name__}.Options has no "
                "such option: this release of Triton is new to this package. Add it there (among those without "
                "effect, if that is what this device does about it)"
            )
    values = {name: value for name, value in given.items() if name in known and value is not None}
    values.setdefault("device_kind", selected_kind())
    values["enable_fp_fusion"] = allow_fp_fusion(values.get("enable_fp_fusion"))
    libraries = values.get("extern_libs", ())
    if isinstance(libraries, dict):
        values["extern_libs"] = [*libraries.items()]
    return Options(**{name: _frozen(value) for name, value in values.items()})


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
