"""Types and attributes of the `tt` dialect, and text that belongs to dialects we do not define."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IntAttr, StringAttr, TensorType
from xdsl.ir import Attribute, BuiltinAttribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.printer import Printer

from .tt_enums import CacheModifier, EvictionPolicy


@irdl_attr_definition
class PointerType(ParametrizedAttribute, TypeAttribute):
    """``!tt.ptr<f32>``: the address of elements of type `pointee`.

    Tensors of pointers are ``tensor<16x!tt.ptr<f32>>``; in Triton 3.7 a block pointer is a pointer to a
    tensor. Triton numbers the default (global) address space 1 and does not print it.
    """

    name: ClassVar[str] = "tt.ptr"
    pointee: Attribute
    address_space: IntAttr

    def __init__(self, pointee: Attribute, address_space: int | IntAttr = 1) -> None:
        if isinstance(address_space, int):
            address_space = IntAttr(address_space)
        super().__init__(pointee, address_space)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<")
        printer.print_attribute(self.pointee)
        if self.address_space.data != 1:
            printer.print_string(f", {self.address_space.data}")
        printer.print_string(">")

    @property
    def is_block_pointer(self) -> bool:
        """Whether this is a pointer to a whole tensor (``tl.make_block_ptr``, Triton 3.7)."""
        return isinstance(self.pointee, TensorType)


@irdl_attr_definition
class TensorDescType(ParametrizedAttribute, TypeAttribute):
    """``!tt.tensordesc<16x16xf16>``: a tensor in memory that is read and written in blocks of type `block`.

    Triton 3.7 prints ``!tt.tensordesc<tensor<16x16xf16>>``; both spellings give this one type. Integer
    elements keep the sign of the kernel's type (``si32``, ``ui8``); the tensors that are loaded and stored
    are signless.
    """

    name: ClassVar[str] = "tt.tensordesc"
    block: TensorType[Attribute]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<")
        for size in self.block.get_shape():
            printer.print_string(f"{size}x")
        printer.print_attribute(self.block.element_type)
        printer.print_string(">")


@irdl_attr_definition
class CachePolicyAttr(ParametrizedAttribute):
    """``#tt.cache_policy<cache_modifier = cg, eviction_policy = evict_first>`` of Triton 3.9.

    Earlier releases print two integers, ``cache`` and ``evict``, instead.
    """

    name: ClassVar[str] = "tt.cache_policy"
    cache_modifier: StringAttr
    eviction_policy: StringAttr

    @property
    def modifier(self) -> CacheModifier:
        return CacheModifier[self.cache_modifier.data.upper()]

    @property
    def eviction(self) -> EvictionPolicy:
        policy = self.eviction_policy.data.upper()
        return EvictionPolicy.NORMAL if policy == "EVICT_NORMAL" else EvictionPolicy[policy]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(
            f"<cache_modifier = {self.cache_modifier.data}, eviction_policy = {self.eviction_policy.data}>"
        )


@irdl_attr_definition
class ForeignAttr(ParametrizedAttribute, BuiltinAttribute):
    """An attribute of a dialect that we do not define, kept as the text it was read from."""

    name: ClassVar[str] = "tt.foreign_attr"
    text: StringAttr

    def print_builtin(self, printer: Printer) -> None:
        printer.print_string(self.text.data)


@irdl_attr_definition
class ForeignType(ParametrizedAttribute, BuiltinAttribute, TypeAttribute):
    """A type of a dialect that we do not define, kept as the text it was read from."""

    name: ClassVar[str] = "tt.foreign_type"
    text: StringAttr

    def print_builtin(self, printer: Printer) -> None:
        printer.print_string(self.text.data)
