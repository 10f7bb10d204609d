"""The `tt` dialect and the `arith` replacements: accessors by name, on what the installed Triton prints."""

from __future__ import annotations

from typing import TypeVar

import pytest
from ttir_samples import SAMPLES, sample_text
from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, TensorType, f16, f32, i1, i8, i32, i64
from xdsl.ir import Operation
from xdsl.traits import IsTerminator, is_side_effect_free
from xdsl.utils.exceptions import VerifyException

from <<cookiecutter.package_name>>.dialects import op_table, tt, ttarith
from <<cookiecutter.package_name>>.dialects.tt_enums import CmpFPredicate, CmpIPredicate
from <<cookiecutter.package_name>>.frontend.ttir_parser import parse_ttir

Op = TypeVar("Op", bound=Operation)


def sample(name: str) -> ModuleOp:
    if name not in SAMPLES:
        pytest.skip(f"the installed Triton has no {name.replace('_', ' ')}")
    return parse_ttir(sample_text(name))


def ops(module: ModuleOp, kind: type[Op]) -> list[Op]:
    return [op for op in module.walk() if isinstance(op, kind)]


# --- the classes --------------------------------------------------------------------------------------------


def test_every_operation_of_every_sample_has_consistent_accessors() -> None:
    """Operand, result and region accessors cover exactly what an operation holds."""
    seen: set[str] = set()
    for name in SAMPLES:
        for op in sample(name).walk():
            definition = getattr(type(op), "get_irdl_definition", None)
            if definition is None or not op.name.startswith("tt."):
                continue
            seen.add(op.name)
            operands = []
            for operand_name, _ in definition().operands:
                value = getattr(op, operand_name)
                operands += (
                    list(value) if isinstance(value, tuple | list) else [value] if value is not None else []
                )
            assert operands == list(op.operands), op.name
            assert set(op.properties) <= set(definition().properties) | {"operandSegmentSizes"}, op.name
    assert len(seen) > 45


def test_names_are_unique_and_in_the_table() -> None:
    names = [cls.name for cls in tt.TT.operations]
    assert len(names) == len(set(names)) > 50
    assert all(op_table.operation_class(cls.name) is cls for cls in tt.TT.operations)
    assert all(op_table.operation_class(cls.name) is cls for cls in ttarith.TT_ARITH.operations)
    assert op_table.operation_class("arith.addi") is arith.AddiOp


def test_terminators_and_effects() -> None:
    for cls in tt.TT.operations:
        assert cls.has_trait(IsTerminator) == cls.name.endswith("return"), cls.name
    module = sample("atomics")
    assert not any(
        is_side_effect_free(op) for op in ops(module, tt.AtomicRMWOp) + ops(module, tt.AtomicCASOp)
    )
    assert all(is_side_effect_free(op) for op in ops(module, tt.SplatOp))
    assert not any(is_side_effect_free(op) for op in ops(sample("printing"), tt.PrintOp))
    assert not any(is_side_effect_free(op) for op in ops(sample("inline_asm"), tt.ElementwiseInlineAsmOp))


# --- functions and the grid ---------------------------------------------------------------------------------


def test_functions() -> None:
    (kernel,) = ops(sample("add"), tt.FuncOp)
    assert kernel.is_kernel and not kernel.is_declaration
    assert kernel.sym_name.data == "add"
    assert list(kernel.function_type.inputs) == [tt.PointerType(f32)] * 3 + [i32]
    assert kernel.argument_hint(0, "tt.divisibility") == 16
    assert kernel.argument_hint(1, "tt.divisibility") is None
    assert kernel.argument_hint(9, "tt.divisibility") is None
    assert ops(sample("softmax"), tt.FuncOp)[0].argument_hint(0, "tt.divisibility") is None


def test_calls() -> None:
    module = sample("call")
    kernel, function = ops(module, tt.FuncOp)
    (call,) = ops(module, tt.CallOp)
    assert kernel.is_kernel and not function.is_kernel
    assert call.callee_name == function.sym_name.data
    assert [v.type for v in call.arguments] == [f32, i32]
    assert [v.type for v in call.res] == [f32, i32]
    assert [len(r.srcs) for r in ops(module, tt.ReturnOp)] == [0, 2]


def test_program_ids() -> None:
    assert [op.dimension for op in ops(sample("call"), tt.GetProgramIdOp)] == [tt.ProgramDim.Z]
    assert [op.dimension for op in ops(sample("softmax"), tt.GetNumProgramsOp)] == [tt.ProgramDim.X]


def test_printing_and_asserting() -> None:
    module = sample("printing")
    first, second, third = ops(module, tt.PrintOp)
    assert 'x is loc(here) "q"\n' in first.prefix.data
    assert (first.is_hex, first.signed, len(first.args)) == (False, (False, True), 2)
    assert (second.is_hex, second.signed) == (True, (True,))
    assert third.signed == ()
    (check,) = ops(module, tt.AssertOp)
    assert check.message.data == "é -> \\ {loc(3)} }>"
    assert check.condition.type == TensorType(i1, [16])


# --- memory -------------------------------------------------------------------------------------------------


def test_loads_and_stores() -> None:
    module = sample("cached")
    masked, volatile = ops(module, tt.LoadOp)
    assert masked.mask is not None and masked.other is not None
    assert masked.result.type == TensorType(f32, [128])
    assert masked.cache_modifier is tt.CacheModifier.CG
    assert masked.eviction_policy is tt.EvictionPolicy.EVICT_FIRST
    assert not masked.is_volatile
    assert volatile.mask is None and volatile.other is None and volatile.is_volatile
    assert volatile.cache_modifier is tt.CacheModifier.NONE
    assert volatile.eviction_policy is tt.EvictionPolicy.NORMAL
    (store,) = ops(module, tt.StoreOp)
    assert store.mask is not None and store.value.type == TensorType(f32, [128])
    assert store.cache_modifier is tt.CacheModifier.WT
    assert store.eviction_policy is tt.EvictionPolicy.EVICT_LAST
    assert store.boundary_check == masked.boundary_check == ()
    (unmasked,) = ops(sample("pointer_casts"), tt.StoreOp)
    assert unmasked.mask is None


def test_atomic_updates() -> None:
    module = sample("atomics")
    updates = ops(module, tt.AtomicRMWOp)
    assert [u.kind.name for u in updates[:7]] == ["ADD", "MAX", "MIN", "AND", "OR", "XOR", "XCHG"]
    assert [u.kind for u in updates[7:10]] == [tt.RMWOp.UMAX, tt.RMWOp.UMIN, tt.RMWOp.FADD]
    assert {u.kind for u in updates[10:]} == {tt.RMWOp.MAX, tt.RMWOp.UMIN}  # a float maximum, by its bits
    add, maximum, minimum = updates[:3]
    assert (add.semantic, add.sync_scope) == (tt.MemSemantic.RELAXED, tt.MemSyncScope.CTA)
    assert (maximum.semantic, maximum.sync_scope) == (tt.MemSemantic.ACQUIRE, tt.MemSyncScope.GPU)
    assert (minimum.semantic, minimum.sync_scope) == (tt.MemSemantic.RELEASE, tt.MemSyncScope.SYSTEM)
    assert add.mask is not None and add.val.type == TensorType(i32, [32])
    tensor, scalar = ops(module, tt.AtomicCASOp)
    assert tensor.semantic is tt.MemSemantic.ACQUIRE_RELEASE
    assert scalar.result.type == scalar.cmp.type == scalar.val.type == i32


def test_atomic_access() -> None:
    module = sample("atomic_access")
    (load,) = ops(module, tt.AtomicLoadOp)
    (store,) = ops(module, tt.AtomicStoreOp)
    poll, limited = ops(module, tt.AtomicPollOp)
    (divide,) = ops(module, tt.ApproxDivFOp)
    assert load.semantic is tt.MemSemantic.ACQUIRE and load.mask is not None
    assert store.sync_scope is tt.MemSyncScope.SYSTEM and store.val.type == TensorType(i32, [32])
    assert poll.expected.type == i32 and poll.timeout_ns is None
    assert limited.timeout_ns is not None and limited.timeout_ns.type == i64
    assert divide.result.type == TensorType(f32, [32])


def test_descriptors() -> None:
    module = sample("descriptors")
    half, unsigned, rows = ops(module, tt.MakeTensorDescOp)
    assert half.result.type == tt.TensorDescType(TensorType(f16, [32, 32]))
    assert str(unsigned.result.type) == "!tt.tensordesc<32x32xui8>"
    assert [v.type for v in (*half.shape, *half.strides)] == [i32, i32, i64, i64]
    assert (half.padding_option, rows.padding_option) == (tt.PaddingOption.ZERO, tt.PaddingOption.NAN)
    load = ops(module, tt.DescriptorLoadOp)[0]
    assert load.desc is half.result and len(load.indices) == 2
    assert load.cache_modifier is tt.CacheModifier.NONE
    store = ops(module, tt.DescriptorStoreOp)[0]
    assert store.src is load.result and len(store.indices) == 2
    assert [r.reduce_kind for r in ops(module, tt.DescriptorReduceOp)] == [tt.DescriptorReduceKind.ADD]
    (gather,) = ops(module, tt.DescriptorGatherOp)
    (scatter,) = ops(module, tt.DescriptorScatterOp)
    assert gather.result is scatter.src and gather.x_offsets is scatter.x_offsets
    assert gather.y_offset.type == i32


def test_block_pointers() -> None:
    module = sample("block_pointers")
    (pointer,) = ops(module, tt.MakeTensorPtrOp)
    assert isinstance(pointer.result.type, tt.PointerType) and pointer.result.type.is_block_pointer
    assert [len(v) for v in (pointer.shape, pointer.strides, pointer.offsets)] == [2, 2, 2]
    (load,) = ops(module, tt.LoadOp)
    assert load.boundary_check == (0, 1) and load.padding_option is tt.PaddingOption.NAN
    assert len(ops(module, tt.AdvanceOp)[0].offsets) == 2
    assert ops(module, tt.StoreOp)[0].boundary_check == (1,)


# --- shapes, reductions, products ---------------------------------------------------------------------------


def test_shapes() -> None:
    module = sample("shapes")
    assert {op.bounds for op in ops(module, tt.MakeRangeOp)} >= {(0, 8), (0, 16)}
    assert {op.axis_index for op in ops(module, tt.ExpandDimsOp)} == {0, 1}
    assert [op.permutation for op in ops(module, tt.TransOp)][:1] == [(1, 0)]
    assert (2, 0, 1) in [op.permutation for op in ops(module, tt.TransOp)]
    assert any(op.may_reorder for op in ops(module, tt.ReshapeOp))
    assert not all(op.may_reorder for op in ops(module, tt.ReshapeOp))
    (gather,) = ops(module, tt.GatherOp)
    assert gather.axis_index == 0 and gather.indices.type == TensorType(i32, [8, 16])
    for split in ops(module, tt.SplitOp):  # Triton 3.9 folds the split of a join
        assert split.outLHS.type == split.outRHS.type == TensorType(f32, [8, 16])
    assert tt.shape(ops(module, tt.JoinOp)[-1].result.type) == (4, 2)
    assert tt.shape(ops(module, tt.CatOp)[0].result.type) == (256,)


def test_reductions() -> None:
    reductions = ops(sample("reductions"), tt.ReduceOp)
    assert {len(r.srcs) for r in reductions} == {1, 2}
    for reduction in reductions:
        assert len(reduction.combiner.args) == 2 * len(reduction.srcs)
        end = reduction.combiner.last_op
        assert isinstance(end, tt.ReduceReturnOp)
        assert [v.type for v in end.operands] == [tt.element_type(v.type) for v in reduction.result]
        shape = list(tt.shape(reduction.srcs[0].type))
        del shape[reduction.axis_index]
        assert tt.shape(reduction.result[0].type) == tuple(shape)


def test_scans_and_histograms() -> None:
    module = sample("scans")
    first, second = ops(module, tt.ScanOp)
    assert (first.axis_index, first.is_reverse, len(first.srcs)) == (0, False, 1)
    assert (second.is_reverse, len(second.srcs), len(second.combiner.args)) == (True, 2, 4)
    assert isinstance(second.combiner.last_op, tt.ScanReturnOp)
    assert [h.mask is None for h in ops(module, tt.HistogramOp)] == [True, False]


def test_products() -> None:
    (dot,) = ops(sample("matmul"), tt.DotOp)
    assert dot.input_precision is tt.InputPrecision.TF32X3
    assert (dot.a.type, dot.c.type) == (TensorType(f16, [32, 16]), dot.d.type)
    both, one = ops(sample("dot_scaled"), tt.DotScaledOp)
    assert (both.a_format, both.b_format) == (tt.ScaleDotElemType.E4M3, tt.ScaleDotElemType.E2M1)
    assert both.a_scale is not None and both.b_scale is not None
    assert one.a_scale is None and one.b_scale is not None
    assert (both.fast_math, one.fast_math) == (False, True)
    assert both.a_packed_along_k and both.b_packed_along_k
    assert both.b_scale.type == TensorType(i8, [32, 2])


# --- elementwise --------------------------------------------------------------------------------------------


def test_float_conversions() -> None:
    modes = [op.rounding_mode for op in ops(sample("fp8"), tt.FpToFpOp)]
    assert modes.count(tt.RoundingMode.RTZ) == 1
    assert modes.count(None) == 2  # the two that widen
    assert modes.count(tt.RoundingMode.RTNE) == len(modes) - 3


def test_math_that_mlir_lacks() -> None:
    module = sample("arithmetic")
    (clamp,) = ops(module, tt.ClampFOp)
    assert clamp.propagate_nan is tt.PropagateNan.NONE
    for kind in (tt.PreciseSqrtOp, tt.PreciseDivFOp, tt.MulhiUIOp):
        (op,) = ops(module, kind)
        assert op.operands[0].type == op.result.type
    first, second, third = ops(sample("extern"), tt.ExternElementwiseOp)
    assert (first.symbol_name, second.symbol_name, third.symbol_name) == (
        "__nv_asinf",
        "__nv_powf",
        "__nv_tanh",
    )
    assert first.is_pure and len(second.srcs) == 2


def test_inline_assembly_and_mapped_functions() -> None:
    pure, impure = ops(sample("inline_asm"), tt.ElementwiseInlineAsmOp)
    assert (pure.is_pure, impure.is_pure, len(impure.result)) == (True, False, 2)
    assert pure.constraints.data == "=r,r,r"
    module = sample("map_elementwise")
    first, _ = ops(module, tt.MapElementwiseOp)
    assert first.pack_size == 1 and first.scalarOp.block.args[0].type == i32
    assert all(op.parent_op() for op in ops(module, tt.MapElementwiseReturnOp))


def test_comparisons_and_casts_work_on_tensors() -> None:
    module = sample("arithmetic")
    assert CmpIPredicate.SGT in [op.comparison for op in ops(module, ttarith.CmpiOp)]
    assert CmpFPredicate.OEQ in [op.comparison for op in ops(module, ttarith.CmpfOp)]
    assert all(tt.shape(op.result.type) == (32,) for op in ops(module, ttarith.SelectOp))
    for kind in (ttarith.SIToFPOp, ttarith.FPToSIOp, ttarith.TruncFOp, ttarith.ExtFOp, ttarith.RemFOp):
        assert ops(module, kind), kind.name


def test_properties_that_newer_mlir_may_print_are_known() -> None:
    lines = [
        '%a = "test.op"() : () -> f32',
        '%b = "arith.extf"(%a) <{fastmath = #arith.fastmath<contract>}> : (f32) -> f64',
        '%c = "arith.truncf"(%b) <{roundingmode = 0 : i32}> : (f64) -> f32',
        '%d = "arith.fptoui"(%a) : (f32) -> i8',
        '%e = "arith.uitofp"(%d) <{nonNeg}> : (i8) -> f32',
        '%f = "arith.extui"(%d) <{nonNeg}> : (i8) -> i32',
        '%g = "arith.trunci"(%f) <{overflowFlags = #arith.overflow<nsw>}> : (i32) -> i8',
    ]
    module = parse_ttir("\n".join(['"builtin.module"() ({', *lines, "}) : () -> ()"]))
    module.verify()
    properties = [{name: str(value) for name, value in op.properties.items()} for op in module.body.block.ops]
    assert properties == [
        {},
        {"fastmath": "#arith.fastmath<contract>"},
        {"roundingmode": "0 : i32"},
        {},
        {"nonNeg": "unit"},
        {"nonNeg": "unit"},
        {"overflowFlags": "#arith.overflow<nsw>"},
    ]


# --- plain values -------------------------------------------------------------------------------------------


def test_plain_values() -> None:
    assert tt.truth(IntegerAttr.from_bool(True)) and not tt.truth(IntegerAttr.from_bool(False))
    assert not tt.truth(None)
    assert tt.constant_value(IntegerAttr.from_bool(True)) == 1
    assert (tt.shape(f32), tt.element_type(f32)) == ((), f32)
    assert (tt.shape(TensorType(i8, [2, 3])), tt.element_type(TensorType(i8, [2, 3]))) == ((2, 3), i8)
    with pytest.raises(TypeError, match="is not an integer attribute"):
        tt.integer(f32)
    with pytest.raises(TypeError, match="is not an array of integers"):
        tt.integers(f32)


@pytest.mark.parametrize(
    "line",
    [
        '%r = "arith.cmpi"(%i, %i) <{predicate = 2 : i64}> : (i32, i32) -> i32',
        '%r = "arith.cmpi"(%t, %t) <{predicate = 2 : i64}> : (tensor<4xi32>, tensor<4xi32>) -> i1',
        '%r = "arith.select"(%i, %i, %i) : (i32, i32, i32) -> i32',
        '%r = "arith.sitofp"(%t) : (tensor<4xi32>) -> tensor<8xf32>',
        '%r = "tt.make_range"() <{start = 0 : i32}> : () -> tensor<4xi32>',
        '%r = "tt.splat"(%i) : (i32) -> i32',
        '%r = "tt.load"(%i) <{operandSegmentSizes = array<i32: 1, 1, 0>}> : (i32) -> i32',
        '"tt.store"(%i) : (i32) -> ()',
    ],
)
def test_verification_finds_malformed_operations(line: str) -> None:
    definitions = ['%i = "test.op"() : () -> i32', '%t = "test.op"() : () -> tensor<4xi32>']
    module = parse_ttir("\n".join(['"builtin.module"() ({', *definitions, line, "}) : () -> ()"]))
    with pytest.raises(VerifyException):
        module.verify()
