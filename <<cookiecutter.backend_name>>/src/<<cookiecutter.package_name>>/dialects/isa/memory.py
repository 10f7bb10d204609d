"""Loads, stores and atomics. An address is an i64 that counts bytes; a masked-off lane never touches memory.

The element type of the register says how many bytes an element has; fp8 elements have one. Predicates cannot
be stored: extend them to i8 first. No alignment beyond the element's own is assumed, for vectors neither.
"""

from __future__ import annotations

from typing import ClassVar, Final

from xdsl.dialects.builtin import I64, IntegerAttr, StringAttr, i1, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    AnyAttr,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

from .base import Instruction, Register, Unit, lanes_of, mnemonic
from .checks import (
    INTEGERS,
    STORABLE,
    Elements,
    bits_of,
    expect,
    expect_addresses,
    expect_elements,
    expect_mask,
    expect_number,
    expect_word,
)
from .control import kernel_of

ATOMICS: Final = {
    **dict.fromkeys(("and", "or", "xor", "add", "max", "min", "umax", "umin"), INTEGERS),
    "fadd": Elements("f16, bf16, f32 or f64", frozenset({"f16", "bf16", "f32", "f64"})),
    "xchg": STORABLE,
}
"""Kind of an atomic update -> the types it is for. max and min compare signed, umax and umin unsigned numbers."""

ORDERINGS: Final = ("monotonic", "acquire", "release", "acq_rel", "seq_cst")
"""LLVM's names of memory orderings, the weakest first."""

LOAD_ORDERINGS: Final = ("monotonic", "acquire", "seq_cst")
"""Those that a load can have."""


@irdl_op_definition
class ScratchAddress(Instruction):
    """Address of byte ``offset`` of this program's scratchpad workspace (which is 64-byte aligned)."""

    name = mnemonic("scratch")
    UNIT: ClassVar[Unit] = Unit.SCALAR
    traits = traits_def(Pure())
    offset = prop_def(IntegerAttr[I64])
    result = result_def(i64)
    ASSEMBLY: ClassVar[str] = "$offset attr-dict"

    def check(self) -> None:
        kernel = kernel_of(self)
        most = None if kernel is None else max(kernel.scratch_bytes.value.data - 1, 0)
        expect_number("the offset", self.offset, 0, most)


def expect_inside_scratchpad(address: SSAValue, ty: Attribute, count: int | None = None) -> None:
    """What is accessed at a known place of the scratchpad, `count` elements of `ty` (a register), ends inside of it."""
    place = address.owner
    kernel = kernel_of(place) if isinstance(place, ScratchAddress) else None
    if kernel is not None and isinstance(place, ScratchAddress):
        offset, size = place.offset.value.data, kernel.scratch_bytes.value.data
        end = offset + (lanes_of(ty) if count is None else count) * bits_of(ty) // 8
        expect(
            end <= size,
            f"the access ends at byte {end} of the scratchpad, of which the kernel has {size}",
        )


@irdl_op_definition
class Load(Instruction):
    """A scalar, or consecutive elements into the lanes of a vector."""

    name = mnemonic("load")
    UNIT: ClassVar[Unit] = Unit.MEMORY
    address = operand_def(i64)
    result = result_def(Register)
    ASSEMBLY: ClassVar[str] = "$address attr-dict `:` type($result)"

    def check(self) -> None:
        expect_elements("the result", self.result.type, STORABLE)
        expect_inside_scratchpad(self.address, self.result.type)


@irdl_op_definition
class LoadMasked(Instruction):
    """Consecutive elements into the lanes where ``mask`` is set; the other lanes take ``other``. Also a scalar."""

    name = mnemonic("load.masked")
    UNIT: ClassVar[Unit] = Unit.MEMORY
    T: ClassVar = VarConstraint("T", AnyAttr())
    address = operand_def(i64)
    mask = operand_def(Register)
    other = operand_def(T)
    result = result_def(T)
    ASSEMBLY: ClassVar[str] = "$address `,` $mask `,` $other attr-dict `:` type($mask) `,` type($result)"

    def check(self) -> None:
        expect_elements("the result", self.result.type, STORABLE)
        expect_mask("the mask", self.mask.type, self.result.type)


@irdl_op_definition
class Prefetch(Instruction):
    """Brings the ``size`` bytes from ``address`` on into the near caches. A hint: any address will do, none traps.

    ``intent``: what will be done with them, "read" or "write" (no other core keeps a copy then).
    """

    name = mnemonic("prefetch")
    UNIT: ClassVar[Unit] = Unit.MEMORY
    intent = prop_def(StringAttr)
    size = prop_def(IntegerAttr[I64])
    address = operand_def(i64)
    ASSEMBLY: ClassVar[str] = "$intent $size `from` $address attr-dict"

    def check(self) -> None:
        expect_word("the intent", self.intent.data, ("read", "write"))
        expect_number("the size", self.size, 1)


@irdl_op_definition
class Gather(Instruction):
    """Lane i loads the element at ``addresses[i]`` where ``mask`` is set, and takes ``other[i]`` elsewhere."""

    name = mnemonic("gather")
    UNIT: ClassVar[Unit] = Unit.MEMORY
    T: ClassVar = VarConstraint("T", AnyAttr())
    addresses = operand_def(Register)
    mask = operand_def(Register)
    other = operand_def(T)
    result = result_def(T)
    ASSEMBLY: ClassVar[str] = (
        "$addresses `,` $mask `,` $other attr-dict `:` type($addresses) `,` type($mask) `,` type($result)"
    )

    def check(self) -> None:
        expect_elements("the result", self.result.type, STORABLE)
        expect_addresses("the addresses", self.addresses.type, self.result.type)
        expect_mask("the mask", self.mask.type, self.result.type)


@irdl_op_definition
class Store(Instruction):
    """A scalar, or the lanes of a vector to consecutive elements."""

    name = mnemonic("store")
    UNIT: ClassVar[Unit] = Unit.MEMORY
    value = operand_def(Register)
    address = operand_def(i64)
    ASSEMBLY: ClassVar[str] = "$value `,` $address attr-dict `:` type($value)"

    def check(self) -> None:
        expect_elements("the value", self.value.type, STORABLE)
        expect_inside_scratchpad(self.address, self.value.type)


@irdl_op_definition
class StoreStreaming(Instruction):
    """`Store`, past the caches where ``bypass`` is set: a hint that the launch writes more than they hold.

    Other cores see such a store once the program has ended, or has gone through an atomic or a fence.
    """

    name = mnemonic("store.streaming")
    UNIT: ClassVar[Unit] = Unit.MEMORY
    value = operand_def(Register)
    address = operand_def(i64)
    bypass = operand_def(i1)
    ASSEMBLY: ClassVar[str] = "$value `,` $address `if` $bypass attr-dict `:` type($value)"

    def check(self) -> None:
        expect_elements("the value", self.value.type, STORABLE)
        expect_inside_scratchpad(self.address, self.value.type)


@irdl_op_definition
class StoreMasked(Instruction):
    """The lanes where ``mask`` is set to consecutive elements. Also a scalar."""

    name = mnemonic("store.masked")
    UNIT: ClassVar[Unit] = Unit.MEMORY
    value = operand_def(Register)
    address = operand_def(i64)
    mask = operand_def(Register)
    ASSEMBLY: ClassVar[str] = "$value `,` $address `,` $mask attr-dict `:` type($value) `,` type($mask)"

    def check(self) -> None:
        expect_elements("the value", self.value.type, STORABLE)
        expect_mask("the mask", self.mask.type, self.value.type)


@irdl_op_definition
class Scatter(Instruction):
    """Lane i is stored at ``addresses[i]`` where ``mask`` is set; lanes in ascending order."""

    name = mnemonic("scatter")
    UNIT: ClassVar[Unit] = Unit.MEMORY
    T: ClassVar = VarConstraint("T", AnyAttr())
    value = operand_def(Register)
    addresses = operand_def(Register)
    mask = operand_def(Register)
    ASSEMBLY: ClassVar[str] = (
        "$value `,` $addresses `,` $mask attr-dict `:` type($value) `,` type($addresses) `,` type($mask)"
    )

    def check(self) -> None:
        expect_elements("the value", self.value.type, STORABLE)
        expect_addresses("the addresses", self.addresses.type, self.value.type)
        expect_mask("the mask", self.mask.type, self.value.type)


@irdl_op_definition
class AtomicRmw(Instruction):
    """Read-modify-write at each address where ``mask`` is set, lanes in ascending order.

    Gives the old values, 0 in dead lanes.
    ``kind`` is a key of `ATOMICS`, ``ordering`` one of `ORDERINGS`.
    """

    name = mnemonic("atomic.rmw")
    UNIT: ClassVar[Unit] = Unit.MEMORY
    T: ClassVar = VarConstraint("T", AnyAttr())
    kind = prop_def(StringAttr)
    ordering = prop_def(StringAttr)
    addresses = operand_def(Register)
    value = operand_def(T)
    mask = operand_def(Register)
    result = result_def(T)
    ASSEMBLY: ClassVar[str] = (
        "$kind `,` $ordering `,` $addresses `,` $value `,` $mask attr-dict `:` type($addresses) `,` type($mask) `,` "
        "type($result)"
    )

    def check(self) -> None:
        kind = self.kind.data
        expect_word("the kind", kind, ATOMICS)
        expect_word("the ordering", self.ordering.data, ORDERINGS)
        expect_elements(f"the value of an atomic {kind}", self.value.type, ATOMICS[kind])
        expect_addresses("the addresses", self.addresses.type, self.value.type)
        expect_mask("the mask", self.mask.type, self.value.type)


@irdl_op_definition
class AtomicCas(Instruction):
    """Compare-and-swap at each address, lanes in ascending order; gives the old values. Compares bits."""

    name = mnemonic("atomic.cas")
    UNIT: ClassVar[Unit] = Unit.MEMORY
    T: ClassVar = VarConstraint("T", AnyAttr())
    ordering = prop_def(StringAttr)
    addresses = operand_def(Register)
    expected = operand_def(T)
    desired = operand_def(T)
    result = result_def(T)
    ASSEMBLY: ClassVar[str] = (
        "$ordering `,` $addresses `,` $expected `,` $desired attr-dict `:` type($addresses) `,` type($result)"
    )

    def check(self) -> None:
        expect_word("the ordering", self.ordering.data, ORDERINGS)
        expect_elements("the values", self.desired.type, STORABLE)
        expect_addresses("the addresses", self.addresses.type, self.desired.type)


@irdl_op_definition
class Deadline(Instruction):
    """The time, on the core's clock of nanoseconds, that it will be ``budget`` nanoseconds from now.

    All times are unsigned; the latest, 2^64 - 1, never comes.
    """

    name = mnemonic("deadline")
    UNIT: ClassVar[Unit] = Unit.SCALAR
    budget = operand_def(i64)
    result = result_def(i64)
    ASSEMBLY: ClassVar[str] = "$budget attr-dict"


@irdl_op_definition
class AtomicPoll(Instruction):
    """Loads from each address where ``mask`` is set until ``expected`` is there, or the ``deadline`` has come.

    Lanes in ascending order. Gives what was loaded last, 0 in dead lanes. Each address is loaded from at least
    once: with a deadline of 0 this is an atomic load. Compares bits.
    """

    name = mnemonic("atomic.poll")
    UNIT: ClassVar[Unit] = Unit.MEMORY
    T: ClassVar = VarConstraint("T", AnyAttr())
    ordering = prop_def(StringAttr)
    addresses = operand_def(Register)
    expected = operand_def(T)
    mask = operand_def(Register)
    deadline = operand_def(i64)
    result = result_def(T)
    ASSEMBLY: ClassVar[str] = (
        "$ordering `,` $addresses `,` $expected `,` $mask `until` $deadline attr-dict `:` type($addresses) `,` "
        "type($mask) `,` type($result)"
    )

    def check(self) -> None:
        expect_word("the ordering", self.ordering.data, LOAD_ORDERINGS)
        expect_elements("the values", self.expected.type, STORABLE)
        expect_addresses("the addresses", self.addresses.type, self.expected.type)
        expect_mask("the mask", self.mask.type, self.expected.type)


def scratch_offset(offset: int) -> IntegerAttr:
    """The property value of a `ScratchAddress`."""
    return IntegerAttr(offset, i64)
