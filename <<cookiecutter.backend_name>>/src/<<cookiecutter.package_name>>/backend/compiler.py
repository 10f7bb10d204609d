"""The compiler that Triton finds: the stages of a compilation, each a short list of steps.

Triton imports this module while ``import triton`` runs and wants exactly one concrete `BaseBackend` in it. So: nothing
heavy is imported here, and no other backend's class by name.
"""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from triton.backends.compiler import BaseBackend, GPUTarget

from ..device_kinds import EMULATOR, kind_of_image
from ..target import BACKEND_NAME, SCRATCHPAD_BYTES
from .read_by_triton import ReadByTriton, explain_missing_metadata

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from .options import Options

ISA_EXT: Final = f"{BACKEND_NAME}ir"
ASSEMBLY_EXT: Final = f"{BACKEND_NAME}asm"
BINARY_EXT: Final = "obj"

LEAST_SHARED: Final = 64
"""The first line of the scratchpad belongs to the runtime. (Programs divide by a kernel's ``metadata.shared``.)"""


LIBRARIES: Final = tuple(f"triton.language.extra.{chip}libdevice" for chip in ("", "cuda.", "hip."))
"""Modules in whose place kernels get ours: many import the one of a GPU, and mean the functions that all chips have."""


class Backend(ReadByTriton, BaseBackend):
    """TTIR -> xDSL -> instructions -> LLVM IR -> object code."""

    binary_ext = BINARY_EXT

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return target.backend == BACKEND_NAME

    def hash(self) -> str:
        from .cache_manager import install
        from .fingerprint import fingerprint

        install()
        return f"{self.target.backend}-{self.target.arch}-{self.target.warp_size}-{fingerprint()}"

    def parse_options(self, options: dict[str, Any]) -> Options:
        from .options import parse_options

        return parse_options({"arch": self.target.arch, **options})

    def pack_metadata(self, metadata: Any) -> tuple[int, int, int]:
        explain_missing_metadata(metadata)
        return (metadata.num_warps, metadata.num_ctas, metadata.shared)

    def get_codegen_implementation(self, options: Options) -> dict[str, Any]:
        return {"min_dot_size": least_dot_size}

    def get_module_map(self) -> dict[str, ModuleType]:
        from .preload import import_compiler

        import_compiler()
        from ..language import libdevice

        return dict.fromkeys(LIBRARIES, libdevice)

    def load_dialects(self, context: Any) -> None:
        """TTIR needs only the dialects that Triton loads itself."""

    def add_stages(self, stages: dict[str, Any], options: Any, language: Any = None) -> None:
        from ..compat import BinaryStage, call_stages_hook, is_gluon
        from ..errors import UnsupportedOperation

        if is_gluon(language):
            raise UnsupportedOperation(
                "Gluon kernels are written for GPU layouts, which this device does not have: use triton.language",
                add_support_in=__file__,
            )
        stages["ttir"] = partial(make_ttir, options=options)
        stages[ISA_EXT] = partial(make_isa, options=options)
        if options.device_kind == EMULATOR:
            stages[ASSEMBLY_EXT] = partial(make_assembly, options=options)
            stages[BinaryStage(BINARY_EXT)] = partial(make_program, options=options)
        else:
            stages["llir"] = partial(make_llir, options=options)
            stages[BinaryStage(BINARY_EXT)] = partial(make_object, options=options)
        stages[BINARY_EXT] = partial(make_known_image, stages[BINARY_EXT])
        call_stages_hook(self, stages, options, language)


def make_known_image(stage: Any, module: Any, metadata: dict[str, Any]) -> bytes:
    """The last stage, whichever it is; the launcher, which is made before the binary is loaded, learns whose it is."""
    image: bytes = stage(module, metadata)
    metadata["image_kind"] = kind_of_image(image)
    return image


def least_dot_size(lhs: Any, rhs: Any) -> tuple[int, int, int]:
    """The smallest (M, N, K) of ``tl.dot``: smaller ones than the matrix unit's are padded."""
    return (1, 1, 1)


def make_ttir(module: Any, metadata: dict[str, Any], options: Options) -> Any:
    """Triton's target-independent passes. Block pointers and tensor descriptors become pointers here."""
    from ..passes.pipeline import run_ttir

    run_ttir(module)
    metadata["name"] = module.get_entry_func_name()
    return module


def make_isa(module: Any, metadata: dict[str, Any], options: Options) -> ModuleOp:
    """libtriton's module -> our instructions, with the passes of both levels."""
    from ..compat import generic_ttir
    from ..dialects.op_table import use_library_dialects
    from ..frontend.ttir_parser import parse_ttir
    from ..lowering import lower_module
    from ..passes.pipeline import (
        classes_matter,
        print_if_asked,
        run_passes,
        timed,
        verify_if_asked,
        verify_legal_if_asked,
    )
    from .gc_pause import paused_collector

    if classes_matter():
        use_library_dialects()
    with paused_collector:
        with timed("module", "(read Triton's IR)"):
            ttir = parse_ttir(generic_ttir(module))
        verify_if_asked(ttir, "reading Triton's IR")
        run_passes("module", ttir, options)
        with timed("isa", "(lowering)"):
            isa = lower_module(ttir, options)
        print_if_asked(isa, "the lowering")
        verify_if_asked(isa, "the lowering")
        run_passes("isa", isa, options)
        verify_legal_if_asked(isa)
    describe_kernel(isa, metadata)
    return isa


def describe_kernel(isa: ModuleOp, metadata: dict[str, Any]) -> None:
    """What the driver needs to know of the kernel: workspace, traps, parameter types, all of them plain values."""
    from xdsl.dialects.builtin import ArrayAttr, IntAttr, IntegerAttr, StringAttr

    from ..dialects.isa.control import Kernel

    kernel = next(op for op in isa.ops if isinstance(op, Kernel))
    scratch_bytes = kernel.scratch_bytes.value.data

    def plain(attribute: Any) -> Any:
        match attribute:
            case ArrayAttr():
                return [plain(item) for item in attribute]
            case StringAttr() | IntAttr():
                return attribute.data
            case IntegerAttr():
                return attribute.value.data
            case _:
                return str(attribute)

    metadata["name"] = kernel.sym_name.data
    describe_workspace(scratch_bytes, metadata)
    metadata["traps"] = plain(kernel.traps)
    metadata["parameters"] = [str(ty) for ty in kernel.function_type.inputs]


def describe_workspace(scratch_bytes: int, metadata: dict[str, Any]) -> None:
    metadata["scratch_bytes"] = scratch_bytes
    # What does not fit in the scratchpad goes on past its end, in device memory: slower, not impossible.
    metadata["shared"] = min(max(scratch_bytes, LEAST_SHARED), SCRATCHPAD_BYTES)


def make_llir(isa: Any, metadata: dict[str, Any], options: Options) -> str:
    """Our instructions -> LLVM IR for the host CPU."""
    from ..codegen.llvm import emit_module
    from ..errors import CompileError
    from ..passes.pipeline import run_text_passes, timed
    from .gc_pause import paused_collector

    if isa is None:  # what Triton makes of an override file in a format it does not know
        raise CompileError(f"Triton cannot read .{ISA_EXT} files back: override the .ttir or the .llir file")
    with paused_collector, timed("llir", "(emission of LLVM IR)"):
        text = emit_module(isa, producers=producers())
    return run_text_passes(text, options)


def producers() -> list[str]:
    """What code comes from, in the words that Triton (since 3.9) puts into the LLVM IR of its own backends."""
    import llvmlite
    import llvmlite.binding as llvm
    import triton

    version = ".".join(map(str, llvm.llvm_version_info))
    return [
        f"Triton version {triton.__version__}",
        f"LLVM version {version} (llvmlite {llvmlite.__version__})",
    ]


def make_object(text: str, metadata: dict[str, Any], options: Options) -> bytes:
    """LLVM IR -> relocatable object code. The text may also come from a file (TRITON_KERNEL_OVERRIDE)."""
    from ..codegen.object_code import compile_llvm
    from ..passes.pipeline import timed

    with timed(BINARY_EXT, "(LLVM)"):
        return compile_llvm(text)


def make_assembly(isa: Any, metadata: dict[str, Any], options: Options) -> str:
    """Our instructions -> assembly text on the machine's registers. For the emulator only: the allocation takes longer
    than the rest of the compiler."""
    from ..assembler import assemble
    from ..assembler.text import print_program
    from ..errors import CompileError
    from ..passes.pipeline import timed

    if isa is None:
        raise CompileError(f"Triton cannot read .{ISA_EXT} files back: override the .ttir file")
    with timed(ASSEMBLY_EXT, "(assembly)"):
        program = assemble(isa)
    describe_workspace(program.scratch_bytes, metadata)
    return print_program(program)


def make_program(text: Any, metadata: dict[str, Any], options: Options) -> bytes:
    """Assembly text -> the binary that the emulator loads."""
    from ..assembler.encoding import encode
    from ..assembler.text import parse_program
    from ..errors import CompileError

    if text is None:
        raise CompileError(f"Triton cannot read .{ASSEMBLY_EXT} files back: override the .ttir file")
    return encode(parse_program(text))
