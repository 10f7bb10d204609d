"""Every pass of every stage, in the order in which Triton's own CUDA backend runs them, as tables.

A step is left out where the installed release has no pass of that name, where ``exists`` says that this release does
without it at this place, and, for one kernel, where ``when`` says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from .compat import instruments, since_3_8, since_3_9


@dataclass(frozen=True)
class Kernel:
    """What a pass may ask about the kernel that is being compiled.

    ``sm`` is the compute capability times ten (90 for sm_90), ``ptx`` the version of PTX times ten, ``options`` those
    of the launch, ``dump`` whether MLIR prints the module after each pass (MLIR_ENABLE_DUMP).
    """

    options: Any
    sm: int
    ptx: int
    dump: bool = False

    @property
    def generation(self) -> int:
        """8 for Ampere and Ada, 9 for Hopper, 10 to 12 for Blackwell."""
        return self.sm // 10

    def dumping(self, dump: bool) -> Kernel:
        return replace(self, dump=dump)


def nothing(kernel: Kernel) -> tuple[Any, ...]:
    return ()


def always(kernel: Kernel) -> bool:
    return True


def in_every_release() -> bool:
    return True


@dataclass(frozen=True)
class Step:
    """One of libtriton's passes, ``add_NAME`` of a group, with its arguments; ``name`` is unique in its stage."""

    name: str
    path: str
    arguments: Callable[[Kernel], tuple[Any, ...]] = nothing
    when: Callable[[Kernel], bool] = always
    exists: Callable[[], bool] = in_every_release


def stages(kernel: Kernel) -> tuple[Any, ...]:
    return (kernel.options.num_stages,)


def sm(kernel: Kernel) -> tuple[Any, ...]:
    return (kernel.sm,)


def sm_ptx(kernel: Kernel) -> tuple[Any, ...]:
    return (kernel.sm, kernel.ptx)


def before_3_8() -> bool:
    return not since_3_8()


def before_3_9() -> bool:
    return not since_3_9()


def before_hopper(kernel: Kernel) -> bool:
    return kernel.generation < 9


def ampere(kernel: Kernel) -> bool:
    return kernel.generation == 8


def ampere_hopper(kernel: Kernel) -> bool:
    return kernel.generation in (8, 9)


def from_ampere(kernel: Kernel) -> bool:
    return kernel.generation >= 8


def from_hopper(kernel: Kernel) -> bool:
    return kernel.generation >= 9


def from_blackwell(kernel: Kernel) -> bool:
    return kernel.generation >= 10


def launch_control(kernel: Kernel) -> bool:
    return bool(kernel.options.clc)


def consan(kernel: Kernel) -> bool:
    return instruments(kernel.options, "consan")


def fpsan(kernel: Kernel) -> bool:
    return instruments(kernel.options, "fpsan")


def gsan(kernel: Kernel) -> bool:
    return instruments(kernel.options, "gsan")


def sanitized(kernel: Kernel) -> bool:
    return consan(kernel) or fpsan(kernel)


def fpsan_arguments(kernel: Kernel) -> tuple[Any, ...]:
    return (kernel.options.fpsan_homomorphic_casts,) if since_3_9() else ()


def after_fpsan(kernel: Kernel) -> tuple[Any, ...]:
    return (True,) if since_3_9() else ()


def warp_group_arguments(kernel: Kernel) -> tuple[Any, ...]:
    return (consan(kernel),) if since_3_8() else ()


def to_llvm_arguments(kernel: Kernel) -> tuple[Any, ...]:
    return (
        (kernel.sm, kernel.ptx, consan(kernel)) if since_3_8() and before_3_9() else (kernel.sm, kernel.ptx)
    )


def with_line_info(kernel: Kernel) -> bool:
    from triton import knobs

    wanted = knobs.compilation
    return not wanted.disable_line_info and not wanted.dump_ir_extract_di_local_variables


TTIR: Final = (
    Step("inliner", "common.inliner"),
    Step("rewrite-tensor-pointer", "ttir.rewrite_tensor_pointer"),
    Step("rewrite-tensor-descriptor", "ttir.rewrite_tensor_descriptor_to_pointer", when=before_hopper),
    Step("canonicalizer", "common.canonicalizer"),
    Step("combine", "ttir.combine"),
    Step("reorder-broadcast", "ttir.reorder_broadcast"),
    Step("cse", "common.cse"),
    Step("symbol-dce", "common.symbol_dce"),
    Step("loop-unroll", "ttir.loop_unroll"),
)

TTGIR: Final = (
    # Layouts: which thread holds which element.
    Step(
        "convert-to-ttgir",
        "ttir.convert_to_ttgpuir",
        lambda k: (f"cuda:{k.sm}", k.options.num_warps, 32, k.options.num_ctas),
    ),
    Step("to-launch-control", "ttnvgpuir.to_clc", when=launch_control),
    Step("coalesce", "ttgpuir.coalesce"),
    Step("f32-dot-tc", "ttgpuir.f32_dot_tc", lambda k: (from_ampere(k),)),
    Step("plan-cta", "ttnvgpuir.plan_cta"),
    Step("assign-cga-layouts", "ttnvgpuir.assign_cga_layouts"),
    Step("remove-layout-conversions", "ttgpuir.remove_layout_conversions"),
    Step("optimize-cta-locality", "ttnvgpuir.optimize_cta_locality"),
    Step("remove-layout-conversions-cta", "ttgpuir.remove_layout_conversions", exists=since_3_9),
    Step("optimize-thread-locality", "ttgpuir.optimize_thread_locality"),
    # Matrix products.
    Step("accelerate-matmul", "ttgpuir.accelerate_matmul"),
    Step("check-matmul-two-cta", "ttnvgpuir.check_matmul_two_cta", exists=since_3_9),
    Step("remove-layout-conversions-matmul", "ttgpuir.remove_layout_conversions"),
    Step("optimize-dot-operands", "ttgpuir.optimize_dot_operands", lambda k: (from_ampere(k),)),
    Step("optimize-descriptor-encoding", "ttnvgpuir.optimize_descriptor_encoding"),
    Step("loop-aware-cse", "ttir.loop_aware_cse"),
    # Loops: which loads run ahead, and by how much.
    Step("fuse-nested-loops", "ttgpuir.fuse_nested_loops", when=from_ampere),
    Step("canonicalizer-loops", "common.canonicalizer", when=from_ampere),
    Step("licm", "ttir.triton_licm"),
    Step("canonicalizer-licm", "common.canonicalizer", when=ampere_hopper),
    Step("combine-select-and-if", "ttgpuir.combine_tensor_select_and_if", when=ampere_hopper),
    Step(
        "hopper-warp-specialize",
        "hopper.hopper_warpspec",
        lambda k: (k.options.num_stages, k.dump),
        ampere_hopper,
    ),
    Step("optimize-accumulator-init", "ttgpuir.optimize_accumulator_init", when=from_blackwell),
    Step("hoist-tmem-alloc", "ttgpuir.hoist_tmem_alloc", lambda k: (False,), from_blackwell),
    Step("promote-lhs-to-tmem", "ttnvgpuir.promote_lhs_to_tmem", when=from_blackwell),
    Step("assign-latencies", "ttgpuir.assign_latencies", stages, from_ampere),
    Step("schedule-loops", "ttgpuir.schedule_loops", when=from_ampere),
    Step("warp-specialize", "ttgpuir.warp_specialize", stages, from_blackwell),
    Step("pipeline", "ttgpuir.pipeline", lambda k: (k.options.num_stages, k.dump), from_ampere),
    Step("optimize-partition-warps", "ttgpuir.optimize_partition_warps", when=from_blackwell),
    Step("combine-select-and-if-late", "ttgpuir.combine_tensor_select_and_if", when=from_blackwell),
    Step("hoist-tmem-alloc-out-of-if", "ttgpuir.hoist_tmem_alloc", lambda k: (True,), from_blackwell),
    Step("remove-tmem-tokens", "ttnvgpuir.remove_tmem_tokens", when=from_blackwell),
    Step("canonicalizer-pipeline", "common.canonicalizer"),
    Step("loop-aware-cse-pipeline", "ttir.loop_aware_cse"),
    Step("prefetch", "ttgpuir.prefetch", when=lambda k: ampere(k) or before_3_8()),
    Step("optimize-dot-operands-late", "ttgpuir.optimize_dot_operands", lambda k: (from_ampere(k),)),
    # Memory.
    Step("coalesce-async-copy", "ttgpuir.coalesce_async_copy"),
    Step("optimize-tmem-layouts", "ttnvgpuir.optimize_tmem_layouts"),
    Step("tmem-load-reduce", "ttnvgpuir.tmem_load_reduce"),
    Step("tma-lowering", "ttnvgpuir.tma_lowering", when=from_hopper),
    Step("lower-launch-control", "ttnvgpuir.lower_clc", when=from_blackwell),
    Step("remove-layout-conversions-memory", "ttgpuir.remove_layout_conversions"),
    Step("interleave-tmem", "ttnvgpuir.interleave_tmem"),
    # Clean up.
    Step("reduce-data-duplication", "ttgpuir.reduce_data_duplication"),
    Step("reorder-instructions", "ttgpuir.reorder_instructions"),
    Step("loop-aware-cse-late", "ttir.loop_aware_cse"),
    Step("symbol-dce", "common.symbol_dce"),
    Step("fence-insertion", "ttnvgpuir.fence_insertion", sm),
    Step("lower-mma", "ttnvgpuir.lower_mma"),
    Step("hoist-mbarrier-lifecycle", "ttnvgpuir.hoist_mbarrier_lifecycle", sm),
    Step("sccp", "common.sccp"),
    Step("cse", "common.cse"),
    Step("canonicalizer", "common.canonicalizer"),
    # Sanitizers, where asked for.
    Step("fp-sanitizer", "ttgpuir.fp_sanitizer", fpsan_arguments, fpsan),
    Step(
        "remove-layout-conversions-fpsan",
        "ttgpuir.remove_layout_conversions",
        after_fpsan,
        fpsan,
        exists=since_3_8,
    ),
    Step("canonicalizer-fpsan", "common.canonicalizer", when=fpsan, exists=since_3_8),
    Step("cse-fpsan", "common.cse", when=fpsan, exists=since_3_8),
)

GLUON: Final = (
    Step("inliner", "gluon.inliner"),
    Step("infer-coalesced-encodings", "gluon.infer_coalesced_encodings"),
    Step("resolve-auto-encodings", "gluon.resolve_auto_encodings"),
    Step("tma-lowering", "ttnvgpuir.tma_lowering"),
    Step("canonicalizer-gluon", "gluon.canonicalizer"),
    Step("sccp", "common.sccp"),
    Step("loop-aware-cse", "ttir.loop_aware_cse"),
    Step("canonicalizer-gluon-late", "gluon.canonicalizer"),
    Step("combine-select-and-if", "ttgpuir.combine_tensor_select_and_if"),
    Step("symbol-dce", "common.symbol_dce", exists=since_3_9),
    Step("check-matmul-two-cta", "ttnvgpuir.check_matmul_two_cta", exists=since_3_9),
    Step("fp-sanitizer", "ttgpuir.fp_sanitizer", fpsan_arguments, fpsan),
    Step(
        "remove-layout-conversions",
        "ttgpuir.remove_layout_conversions",
        after_fpsan,
        sanitized,
        exists=since_3_8,
    ),
    Step("canonicalizer", "common.canonicalizer", when=sanitized, exists=since_3_8),
    Step("cse", "common.cse", when=sanitized, exists=since_3_8),
)

LOWERING: Final = (
    Step("global-sanitizer", "ttgpuir.global_sanitizer", when=gsan),
    Step("combine-select-and-if", "ttgpuir.combine_tensor_select_and_if"),
    Step("allocate-warp-groups", "ttgpuir.allocate_warp_groups", warp_group_arguments),
    Step("scf-to-cf", "convert.scf_to_cf"),
    Step("inliner", "gluon.inliner"),
    Step("prepare-consan-captures", "ttgpuir.prepare_consan_captures", lambda k: ("nvidia",), consan),
    # Where things live.
    Step("allocate-shared-memory", "ttgpuir.allocate_shared_memory_nv", sm_ptx),
    Step("allocate-tensor-memory", "ttnvgpuir.allocate_tensor_memory"),
    Step("check-matmul-two-cta", "ttnvgpuir.check_matmul_two_cta", exists=before_3_9),
    Step("consan", "ttgpuir.concurrency_sanitizer", when=consan, exists=before_3_8),
    Step("allocate-global-scratch", "ttgpuir.allocate_global_scratch_memory", exists=before_3_8),
    # Barriers and fences.
    Step("proxy-fence-insertion", "ttnvgpuir.proxy_fence_insertion", sm),
    Step("tmem-barrier-insertion", "ttnvgpuir.tmem_barrier_insertion"),
    Step("membar", "ttgpuir.membar", sm_ptx),
    Step("tmem-wait-insertion", "ttnvgpuir.tmem_wait_insertion"),
    Step("consan-late", "ttgpuir.concurrency_sanitizer", when=consan, exists=since_3_9),
    Step("canonicalizer-consan", "gluon.canonicalizer", when=consan, exists=since_3_9),
    Step("cse-consan", "common.cse", when=consan, exists=since_3_9),
    Step("cluster-barrier-mbar-allocator", "ttnvgpuir.cluster_barrier_mbar_allocator"),
    Step("allocate-global-scratch-late", "ttgpuir.allocate_global_scratch_memory", exists=since_3_9),
    # Instructions.
    Step("to-llvm", "ttgpuir.to_llvmir", to_llvm_arguments),
    Step("initialize-cluster-barriers", "ttnvgpuir.initialize_ws_cluster_barriers", sm_ptx),
    Step(
        "set-minimum-shared-memory",
        "ttgpuir.set_minimum_shared_memory",
        lambda k: (k.options.min_shared_mem,),
        lambda k: k.options.min_shared_mem is not None,
    ),
    Step("canonicalizer-llvm", "common.canonicalizer", exists=before_3_8),
    Step("canonicalize-llvm", "ttgpuir.canonicalize_llvm_ir"),
    Step("cse-llvm", "common.cse"),
    Step("nvgpu-to-llvm-early", "ttnvgpuir.nvgpu_to_llvm", exists=before_3_8),
    Step("warp-specialize-to-llvm", "ttnvgpuir.warp_specialize_to_llvm"),
    Step("nvgpu-to-llvm", "ttnvgpuir.nvgpu_to_llvm", exists=since_3_8),
    Step("canonicalizer", "common.canonicalizer"),
    Step("cse", "common.cse"),
    Step("symbol-dce", "common.symbol_dce"),
    Step("nvvm-to-llvm", "convert.nvvm_to_llvm"),
    Step("di-scope", "llvmir.di_scope", when=with_line_info),
)

STEPS: Final = {"ttir": TTIR, "ttgir": TTGIR, "gluon": GLUON, "lowering": LOWERING}
