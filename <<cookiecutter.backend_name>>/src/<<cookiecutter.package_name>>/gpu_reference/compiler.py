"""The compiler that Triton finds: TTIR -> TTGIR -> LLVM IR -> PTX -> machine code.

Triton imports this module while ``import triton`` runs and wants exactly one concrete `BaseBackend` in it. So: nothing
heavy is imported here, and no other backend's class by name.
"""

from __future__ import annotations

import functools
import re
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from triton.backends.compiler import BaseBackend, GPUTarget

from .names import GPU_BACKEND_NAME, WARP_SIZE

if TYPE_CHECKING:
    from .stages import Kernel


class Backend(BaseBackend):
    """Stages composed here; options, and the call of ptxas, are those of the installed release."""

    binary_ext = "cubin"

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return target.backend == GPU_BACKEND_NAME

    def __init__(self, target: GPUTarget) -> None:
        """Raises ValueError if the target's arch is not a compute capability times ten, such as 90."""
        if not str(target.arch).isdecimal():
            raise ValueError(
                f"{GPU_BACKEND_NAME}: arch must be a compute capability without the point, such as 90, "
                f"not {target.arch!r}"
            )
        super().__init__(GPUTarget(target.backend, int(target.arch), WARP_SIZE))

    @functools.cached_property
    def installed(self) -> Any:
        """The installed release's CUDA backend for the same chip."""
        from .compat import installed_compiler

        return installed_compiler().CUDABackend(GPUTarget("cuda", self.target.arch, WARP_SIZE))

    def hash(self) -> str:
        from .fingerprint import fingerprint

        return f"{GPU_BACKEND_NAME}-{self.installed.hash()}-{fingerprint()}"

    def parse_options(self, options: dict[str, Any]) -> Any:
        """Those of the release, with its defaults for the chip. Raises ValueError for what the chip cannot do."""
        return self.installed.parse_options(options)

    def pack_metadata(self, metadata: Any) -> tuple[int, int, int]:
        return (metadata.num_warps, metadata.num_ctas, metadata.shared)

    def get_codegen_implementation(self, options: Any) -> dict[str, Any]:
        return dict(self.installed.get_codegen_implementation(options))

    def get_module_map(self) -> dict[str, ModuleType]:
        """Modules that kernels name, and what they get. `language.libdevice` of this package means the GPU's here."""
        from ..target import PACKAGE_NAME
        from . import target_info

        modules = dict(self.installed.get_module_map())
        modules["triton.language.target_info"] = target_info
        libdevice = modules["triton.language.extra.libdevice"]
        return {**modules, f"{PACKAGE_NAME}.language.libdevice": libdevice}

    def get_target_name(self, options: Any) -> str:
        """The target as TTGIR spells it: Gluon's front end and libtriton know it by ``cuda``."""
        return str(self.installed.get_target_name(options))

    def load_dialects(self, context: Any) -> None:
        self.installed.load_dialects(context)

    def add_stages(self, stages: dict[str, Any], options: Any, language: Any = None) -> None:
        from triton import knobs

        from ..compat import is_gluon
        from .stages import Kernel

        installed = self.installed
        sm = installed._parse_arch(options.arch)
        ptx = ptx_version(options, self.target.arch)
        kernel = Kernel(options, sm, ptx)
        if is_gluon(language):
            stages["glir"] = lambda source, metadata: source
            stages["ttgir"] = partial(make_ttgir_from_gluon, kernel=kernel)
        else:
            stages["ttir"] = partial(make_ttir, kernel=kernel)
            stages["ttgir"] = partial(make_ttgir, kernel=kernel)
        stages["llir"] = partial(make_llir, kernel=kernel)
        chip = int(self.target.arch)
        stages["ptx"] = partial(make_ptx, kernel=kernel, chip=chip)
        stages["cubin"] = partial(installed.make_cubin, opt=options, capability=chip)
        hook = getattr(knobs.runtime, "add_stages_inspection_hook", None)
        if hook is not None:
            hook(self, stages, options, language, sm)


def ptx_version(options: Any, chip: Any) -> int:
    """The version of PTX, times ten, that the wheel's ptxas takes."""
    from .compat import installed_compiler

    return int(installed_compiler().get_ptx_version_from_options(options, chip))


def make_ttir(module: Any, metadata: dict[str, Any], kernel: Kernel) -> Any:
    """Triton's target-independent passes."""
    from .passes import run_module_text_stage, run_stage

    run_stage("ttir", module, kernel)
    return run_module_text_stage("ttir-text", module, kernel)


def make_ttgir(module: Any, metadata: dict[str, Any], kernel: Kernel) -> Any:
    """Layouts, matrix instructions, software pipelines."""
    from triton._C.libtriton import ir

    from .passes import run_stage

    if kernel.options.maxnreg is not None:
        registers = ir.builder(module.context).get_int32_attr(kernel.options.maxnreg)
        module.set_attr("ttg.maxnreg", registers)
    run_stage("ttgir", module, kernel)
    metadata["tensordesc_meta"] = module.get_tensordesc_metadata()
    return module


def make_ttgir_from_gluon(module: Any, metadata: dict[str, Any], kernel: Kernel) -> Any:
    """What Gluon leaves open; the kernel has its layouts already."""
    from .passes import run_stage

    run_stage("gluon", module, kernel)
    metadata["tensordesc_meta"] = module.get_tensordesc_metadata()
    return module


def make_llir(module: Any, metadata: dict[str, Any], kernel: Kernel) -> str:
    """TTGIR -> MLIR's LLVM dialect -> LLVM IR, optimized."""
    from triton import knobs
    from triton._C.libtriton import llvm, nvidia

    from . import compat
    from .functions import link_functions
    from .passes import run_stage, run_text_stage

    if knobs.compilation.enable_asan:
        raise RuntimeError(f"{GPU_BACKEND_NAME}: there is no address sanitizer for this GPU")
    ttgir = module.str_nodebug() if compat.reads_ttgir() and kernel.sm == 90 else ""
    run_stage("lowering", module, kernel)
    if knobs.compilation.dump_ir_extract_di_local_variables:
        add_debug_variables(module)

    llvm.init_targets()
    context = llvm.context()
    llvm_module = llvm.to_module(module, context)
    compat.prepare_layout(llvm_module, chip_name(kernel.sm), llvm_features(kernel))
    if kernel.options.enable_reflect_ftz:
        nvidia.set_nvvm_reflect_ftz(llvm_module)
    link_functions(llvm_module)
    if kernel.options.extern_libs and nvidia.has_extern_deps(llvm_module):
        llvm.link_extern_libs(llvm_module, [path for _, path in kernel.options.extern_libs])
    compat.optimize(llvm_module, kernel.sm, ttgir)
    describe_kernel(module, metadata)
    if knobs.compilation.dump_ir and hasattr(llvm, "add_version_info"):
        llvm.add_version_info(llvm_module)
    text = str(llvm_module)
    del llvm_module, context  # in this order: the module lives in the context
    return run_text_stage("llir", text, kernel)


def add_debug_variables(module: Any) -> None:
    """Names and types of variables for debuggers. Two runs: MLIR crashes if one pass manager has both passes."""
    from triton import knobs
    from triton._C.libtriton import ir, passes

    adders = [passes.llvmir.add_di_local_variable]
    if not knobs.compilation.disable_line_info:
        adders.insert(0, passes.llvmir.add_di_scope)
    for add in adders:
        manager = ir.pass_manager(module.context)
        manager.enable_debug()
        add(manager)
        manager.run(module, "make_llir")


def describe_kernel(module: Any, metadata: dict[str, Any]) -> None:
    """What the launcher needs to know: warps (specialization adds some), memory of each kind, in bytes."""
    warps = module.get_int_attr("ttg.total-num-warps")
    if warps is not None:
        metadata["num_warps"] = warps
    metadata["shared"] = module.get_int_attr("ttg.shared")
    metadata["tmem_size"] = module.get_int_attr("ttg.tensor_memory_size")
    for kind in ("global", "profile"):
        metadata[f"{kind}_scratch_size"] = module.get_int_attr(f"ttg.{kind}_scratch_memory_size") or 0
        metadata[f"{kind}_scratch_align"] = module.get_int_attr(f"ttg.{kind}_scratch_memory_alignment") or 1


def make_ptx(llir: str, metadata: dict[str, Any], kernel: Kernel, chip: int) -> str:
    """LLVM IR -> PTX, of the version and for the chip that ptxas is told."""
    from triton import knobs

    from ..errors import CompileError
    from . import compat
    from .passes import run_text_stage

    text = compat.translate_to_ptx(llir, chip_name(chip), llvm_features(kernel), kernel.options)
    names = re.findall(r"\.visible \.entry ([a-zA-Z_][a-zA-Z0-9_]*)", text)
    if len(names) != 1:
        raise CompileError(f"the PTX must have one kernel, not {len(names)} ({', '.join(names)})")
    metadata["name"] = names[0]
    text = re.sub(r"\.version \d+\.\d+", f".version {kernel.ptx // 10}.{kernel.ptx % 10}", text)
    text = re.sub(r"\.target sm_\d+", f".target sm_{chip}", text)
    if not knobs.compilation.dump_ir_extract_di_local_variables:
        text = re.sub(r",\s*debug|debug,\s*", "", text)  # with it, ptxas would not optimize
    text = run_text_stage("ptx", text, kernel)
    if knobs.nvidia.dump_nvptx:
        print("// -----// NVPTX Dump //----- //")
        print(text)
    return text


def chip_name(sm: int) -> str:
    """LLVM's name of the chip."""
    from .compat import installed_compiler

    return str(installed_compiler().sm_arch_from_capability(100 if sm == 107 else sm))


def llvm_features(kernel: Kernel) -> str:
    """The version of PTX as LLVM is told it: at most the newest that its code generator knows."""
    from .compat import installed_compiler

    return str(installed_compiler().get_features(kernel.options, kernel.sm))
