"""Our dialect, passes and formats for xDSL's own tools: what the entry point ``xdsl.universe`` names.

Stock ``xdsl-opt`` then has them. xDSL refuses to start where two packages offer the same name, so all names here begin
with the backend's. Triton is imported only to read its custom syntax.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, ClassVar, TypeVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.exceptions import PassFailedException
from xdsl.utils.frontend import Frontend
from xdsl.utils.target import Target

from .errors import BackendError
from .passes.pipeline import load_own_passes
from .passes.registry import REGISTRY, Pass
from .target import BACKEND_NAME

XDSL_STAGES = ("module", "isa")
"""The stages whose passes work on xDSL modules."""


@contextmanager
def diagnostics() -> Generator[None]:
    """Our errors as xDSL's tools expect them (``--verify-diagnostics``)."""
    try:
        yield
    except BackendError as error:
        raise PassFailedException(str(error)) from error


@dataclass(frozen=True)
class Lower(ModulePass):
    """From Triton IR to instructions: what stands between the passes of the stages "module" and "isa"."""

    name = "lower"

    num_warps: int = 4

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        from .backend.options import Options
        from .lowering import lower_module

        with diagnostics():
            lowered = lower_module(op, Options(num_warps=self.num_warps))
        region = lowered.detach_region(0)
        op.detach_region(0)
        op.add_region(region)
        op.attributes.clear()


@dataclass(frozen=True)
class TritonIR(Frontend):
    """Triton IR, in MLIR's generic form or, where Triton is installed, as it usually prints it."""

    name = f"{BACKEND_NAME}-ttir"

    GENERIC: ClassVar = re.compile(r'^"builtin\.module"', re.MULTILINE)

    def parse(self, ctx: Context, input: IO[bytes], input_name: str = "input") -> ModuleOp:
        from .compat import read_ttir
        from .dialects.op_table import use_library_dialects
        from .frontend.ttir_parser import parse_ttir

        use_library_dialects()
        text = input.read().decode()
        with diagnostics():
            if self.GENERIC.search(text) is None:
                with tempfile.TemporaryDirectory() as folder:
                    file = Path(folder, Path(input_name).name or "input")
                    file.write_text(text)
                    text = read_ttir(file).replace(f"{folder}/", "")
            module = parse_ttir(text)
        module.attributes.pop("llvm.data_layout", None)  # what made Triton print the generic form
        return module


@dataclass(frozen=True)
class LLVMText(Target):
    """LLVM IR for this CPU, of a module of instructions."""

    name = f"{BACKEND_NAME}-llir"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        from .codegen.llvm import emit_module

        with diagnostics():
            output.write(emit_module(module) + "\n")


def isa() -> Dialect:
    from .dialects.isa import ISA

    return ISA


def passes(prefix: str = "") -> dict[str, Callable[[], type[ModulePass]]]:
    """The lowering and all registered passes that work on xDSL modules, as classes of xDSL, by name after `prefix`."""
    found: dict[str, Callable[[], type[ModulePass]]] = {
        prefix + Lower.name: partial(renamed, Lower, prefix + Lower.name)
    }
    for stage in XDSL_STAGES:
        for p in REGISTRY.passes(stage):
            found[prefix + p.name] = partial(renamed, _class_of(p), prefix + p.name)
    return found


def _class_of(p: Pass) -> type[ModulePass]:
    """A registered pass as a class. It runs with default options, and for the target as such: what is printed must not
    depend on the host."""

    @dataclass(frozen=True)
    class Registered(ModulePass):
        __doc__ = p.run.__doc__
        name = p.name

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            from .backend.options import Options
            from .device_kinds import EMULATOR

            with diagnostics():
                p.run(op, Options(device_kind=EMULATOR))

    return Registered


Offered = TypeVar("Offered", bound=ModulePass | Frontend | Target)


def renamed(cls: type[Offered], name: str) -> type[Offered]:
    """xDSL wants a class to know the name under which it is offered."""
    return dataclass(frozen=True)(type(cls.__name__, (cls,), {"name": name, "__doc__": cls.__doc__}))


load_own_passes()
UNIVERSE = Universe(
    all_dialects={BACKEND_NAME: isa},
    all_passes=passes(f"{BACKEND_NAME}-"),
    all_targets={LLVMText.name: lambda: LLVMText},
    all_frontends={TritonIR.name: lambda: TritonIR},
)
