"""Pointers, loads, stores and atomics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    Operand,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure

from ..tt_enums import CacheModifier, EvictionPolicy, MemSemantic, MemSyncScope, PaddingOption, RMWOp
from ..tt_types import CachePolicyAttr
from .values import integer, integers, truth


class CacheHints:
    """Cache hints of a memory operation: two integers in Triton 3.7 and 3.8, one attribute in 3.9."""

    @property
    def cache_modifier(self) -> CacheModifier:
        assert isinstance(self, IRDLOperation)
        policy = self.properties.get("cachePolicy")
        if isinstance(policy, CachePolicyAttr):
            return policy.modifier
        cache = self.properties.get("cache")
        return CacheModifier.NONE if cache is None else CacheModifier(integer(cache))

    @property
    def eviction_policy(self) -> EvictionPolicy:
        assert isinstance(self, IRDLOperation)
        policy = self.properties.get("cachePolicy")
        if isinstance(policy, CachePolicyAttr):
            return policy.eviction
        evict = self.properties.get("evict")
        return EvictionPolicy.NORMAL if evict is None else EvictionPolicy(integer(evict))


@irdl_op_definition
class AddPtrOp(IRDLOperation):
    """A pointer moved by `offset` elements."""

    name = "tt.addptr"
    ptr = operand_def()
    offset = operand_def()
    result = result_def()
    traits = traits_def(Pure())


@irdl_op_definition
class LoadOp(IRDLOperation, CacheHints):
    """Elements at `ptr`; where `mask` is false `other`, which is undefined if missing, and memory is not
    touched.

    Through a block pointer (Triton 3.7) the dimensions of `boundary_check` are tested against the tensor's
    shape.
    """

    name = "tt.load"
    ptr = operand_def()
    mask = opt_operand_def()
    other = opt_operand_def()
    boundaryCheck = opt_prop_def(DenseArrayBase)
    padding = opt_prop_def(IntegerAttr)
    cache = opt_prop_def(IntegerAttr)
    evict = opt_prop_def(IntegerAttr)
    cachePolicy = opt_prop_def(CachePolicyAttr)
    isVolatile = opt_prop_def(IntegerAttr)
    result = result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect())

    @property
    def is_volatile(self) -> bool:
        return truth(self.isVolatile)

    @property
    def boundary_check(self) -> tuple[int, ...]:
        """Dimensions to test; only through block pointers."""
        return integers(self.boundaryCheck)

    @property
    def padding_option(self) -> PaddingOption | None:
        return None if self.padding is None else PaddingOption(integer(self.padding))


@irdl_op_definition
class StoreOp(IRDLOperation, CacheHints):
    """`value` written to `ptr` where `mask` is true or missing."""

    name = "tt.store"
    ptr = operand_def()
    value = operand_def()
    mask = opt_operand_def()
    boundaryCheck = opt_prop_def(DenseArrayBase)
    cache = opt_prop_def(IntegerAttr)
    evict = opt_prop_def(IntegerAttr)
    cachePolicy = opt_prop_def(CachePolicyAttr)
    ignore_cta = opt_prop_def(UnitAttr)
    traits = traits_def(MemoryWriteEffect())

    @property
    def boundary_check(self) -> tuple[int, ...]:
        """Dimensions to test; only through block pointers."""
        return integers(self.boundaryCheck)


class AtomicOp(IRDLOperation):
    """What atomic operations have in common: ordering, scope, and the address, the first operand of each."""

    if TYPE_CHECKING:  # a definition here would put it behind the others
        ptr: Operand
    sem = prop_def(IntegerAttr)
    scope = prop_def(IntegerAttr)

    @property
    def semantic(self) -> MemSemantic:
        return MemSemantic(integer(self.sem))

    @property
    def sync_scope(self) -> MemSyncScope:
        return MemSyncScope(integer(self.scope))


@irdl_op_definition
class AtomicRMWOp(AtomicOp):
    """An atomic update of every unmasked element; gives the old values."""

    name = "tt.atomic_rmw"
    atomic_rmw_op = prop_def(IntegerAttr)
    ptr = operand_def()
    val = operand_def()
    mask = opt_operand_def()
    result = result_def()
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    @property
    def kind(self) -> RMWOp:
        return RMWOp(integer(self.atomic_rmw_op))


@irdl_op_definition
class AtomicCASOp(AtomicOp):
    """`val` stored where memory holds `cmp`; gives the old values. Compares bits, floats included."""

    name = "tt.atomic_cas"
    ptr = operand_def()
    cmp = operand_def()
    val = operand_def()
    result = result_def()
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())


@irdl_op_definition
class AtomicLoadOp(AtomicOp):
    """An atomic load (since Triton 3.9)."""

    name = "tt.atomic_load"
    ptr = operand_def()
    mask = opt_operand_def()
    result = result_def()
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())


@irdl_op_definition
class AtomicStoreOp(AtomicOp):
    """An atomic store (since Triton 3.9)."""

    name = "tt.atomic_store"
    ptr = operand_def()
    val = operand_def()
    mask = opt_operand_def()
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())


@irdl_op_definition
class AtomicPollOp(AtomicOp):
    """Waits until memory holds `expected` (since Triton 3.9); false where `timeout_ns` passed first."""

    name = "tt.atomic_poll"
    ptr = operand_def()
    expected = operand_def()
    timeout_ns = opt_operand_def()
    result = result_def()
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())


def accessed_pointer(op: Operation | None) -> SSAValue | None:
    """The pointer operand of a load, a store or an atomic operation; None for anything else."""
    return op.ptr if isinstance(op, LoadOp | StoreOp | AtomicOp) else None
