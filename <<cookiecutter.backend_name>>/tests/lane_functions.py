"""Functions of registers, built with the `Formula` API and compiled to run over NumPy arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    f32,
    f64,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from <<cookiecutter.package_name>>.codegen.llvm import emit_module
from <<cookiecutter.package_name>>.codegen.object_code import compile_llvm
from <<cookiecutter.package_name>>.dialects.isa import alu, control, convert, lanes, memory
from <<cookiecutter.package_name>>.dialects.isa.base import element_of, like, vector
from <<cookiecutter.package_name>>.machine import reference_device
from <<cookiecutter.package_name>>.passes.expand_special import FORMULAS
from <<cookiecutter.package_name>>.passes.expand_special import expand as expand_instructions
from <<cookiecutter.package_name>>.runtime.loader import load_image

ELEMENTS: dict[str, Attribute] = {"f": f32, "d": f64, "i": i32, "l": i64, "u": i32, "v": i64, "b": i1}
"""Letters of `libdevice`'s signatures -> registers."""

MEMORY = {
    "f": np.float32,
    "d": np.float64,
    "i": np.int32,
    "l": np.int64,
    "u": np.uint32,
    "v": np.uint64,
    "b": np.uint8,
}
"""Letters -> how the values look in memory; a predicate takes a byte."""

Rule = Callable[["BlockSink", list[SSAValue]], SSAValue]


class BlockSink:
    """A `Sink` that appends to a block."""

    def __init__(self, block: Block) -> None:
        self.block = block

    def emit(
        self,
        cls: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        properties: Mapping[str, Attribute] | None = None,
        *,
        key: tuple[object, ...] = (),
    ) -> SSAValue:
        op = cls.create(operands=list(operands), result_types=[result], properties=dict(properties or {}))
        self.block.add_op(op)
        return op.results[0]

    def const(self, value: int | float, ty: Attribute) -> SSAValue:
        element = element_of(ty)
        attr: Any = (
            IntegerAttr(int(value), element)
            if isinstance(element, IntegerType)
            else FloatAttr(value, element)
        )
        return self.emit(lanes.Const, [], ty, {"value": attr})


MACHINE = reference_device()
"""What special functions are expanded for; tests may put another in its place."""


class LaneFunction:
    """``rule`` from registers of `arguments` (letters of `ELEMENTS`) to one of `result`, `count` lanes at a time.

    Special functions are expanded, as they are in a kernel, unless `expand` says no. ``module`` is the kernel.
    """

    def __init__(
        self, arguments: str, result: str, rule: Rule, count: int = 16, *, expand: bool = True
    ) -> None:
        self._result, self._count = result, count
        block = Block(arg_types=[i64] * (len(arguments) + 1))
        sink = BlockSink(block)
        program = sink.emit(control.ProgramId, [], i32, {"axis": IntegerAttr(0, i64)})
        index = sink.emit(convert.ExtU, [program], i64)

        def address(base: SSAValue, letter: str) -> SSAValue:
            pitch = sink.const(count * np.dtype(MEMORY[letter]).itemsize, i64)
            return sink.emit(alu.AddI, [base, sink.emit(alu.MulI, [index, pitch], i64)], i64)

        values = [
            sink.emit(memory.Load, [address(base, letter)], vector(count, ELEMENTS[letter]))
            for base, letter in zip(block.args, arguments, strict=False)
        ]
        value = rule(sink, values)
        assert value.type == vector(count, ELEMENTS[result]), value.type
        if result == "b":
            value = sink.emit(convert.ExtU, [value], like(value.type, i8))
        block.add_op(memory.Store.create(operands=[value, address(block.args[-1], result)]))
        block.add_op(control.Return.create())
        kernel = control.Kernel.create(
            properties={
                "sym_name": StringAttr("k"),
                "function_type": FunctionType.from_lists(list(block.arg_types), []),
                "scratch_bytes": IntegerAttr(65536, i64),
                "traps": ArrayAttr([]),
            },
            regions=[Region(block)],
        )
        self.module = ModuleOp([kernel])
        if expand:
            expand_instructions(self.module, FORMULAS, MACHINE)
        self.module.verify()
        image = load_image(compile_llvm(emit_module(self.module)), "k")
        self._image = image
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        self._run = ctypes.CFUNCTYPE(ctypes.c_int32, pointer, pointer, pointer, number, number)(
            image.addresses["k"]
        )

    def __call__(self, *arrays: np.ndarray) -> np.ndarray:
        """Element by element; the arrays are of one length."""
        size = len(arrays[0])
        padding = -size % self._count
        padded = [
            np.concatenate([a, a[:1].repeat(padding)]) if padding else np.ascontiguousarray(a) for a in arrays
        ]
        out = np.empty(size + padding, MEMORY[self._result])
        slots = np.array([a.ctypes.data for a in [*padded, out]], np.uint64)
        programs = len(out) // self._count
        launch = np.array([programs, 1, 1, 0], np.int32)
        scratch = np.zeros(65536 + 64, np.uint8)
        workspace = -(-scratch.ctypes.data // 64) * 64
        assert self._run(slots.ctypes.data, workspace, launch.ctypes.data, 0, programs) == 0
        return out[:size]
