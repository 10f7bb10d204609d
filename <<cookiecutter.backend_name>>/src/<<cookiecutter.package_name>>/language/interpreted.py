"""What Triton's interpreter (``TRITON_INTERPRET=1``) lacks for the functions of this folder.

In the interpreter a block is a NumPy array, and every function of ``triton.language`` has a NumPy twin. A function of
this machine needs none: its blocks go to the reference device, through a small kernel that is that one call.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

LANES: Final = 1024
"""Elements of a program of such a kernel."""

FLOATS: Final = {
    "fp32": ("f32", "float32"),
    "fp64": ("f64", "float64"),
    "fp16": ("f16", "float16"),
    "bf16": ("bf16", "uint16"),
}
"""Types by their names in Triton -> in MLIR and in NumPy (bf16 as its bits).

Integers have NumPy's names, and no signs in MLIR."""


class Builder(InterpreterBuilder):
    """Triton's, with the operation that calls of ours are made of."""

    def create_extern_elementwise(  # pyright: ignore[reportIncompatibleMethodOverride] (called by position)
        self, lib_name: str, lib_path: str, symbol: str, operands: list[Any], result_type: Any, is_pure: bool
    ) -> Any:
        """``tt.extern_elementwise`` of `operands`, `TensorHandle`s of any shapes that broadcast."""
        arrays = np.broadcast_arrays(*(operand.data for operand in operands))
        result = result_type.scalar
        compute = on_device(symbol, tuple(operand.dtype.name for operand in operands), result.name)
        return TensorHandle(compute(arrays), result)


@cache
def interpreter() -> Any:
    """The ``_semantic`` of functions in interpreted kernels."""
    from triton.language.semantic import TritonSemantic

    return TritonSemantic(Builder())


@cache
def on_device(symbol: str, operands: tuple[str, ...], result: str) -> Callable[[Sequence[Any]], Any]:
    """The function `symbol` of arrays of one shape; types by their names in Triton (``"fp32"``)."""
    from triton import compile as compile_kernel

    from ..backend.driver import Driver
    from ..runtime.array import DeviceArray

    driver = Driver()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "call.ttir"
        file.write_text(kernel_of(symbol, operands, result), encoding="utf-8")
        kernel = compile_kernel(str(file), target=driver.get_current_target())
    # A boolean is a byte in memory.
    pointers = ["*i8" if name == "int1" else f"*{name}" for name in (*operands, result)]
    signature = dict(enumerate([*pointers, "i64"]))
    launch = driver.launcher_cls(SimpleNamespace(signature=signature), kernel.metadata)
    module, entry, *_ = driver.utils.load_binary(kernel.metadata.name, kernel.kernel, 0, driver.device)

    def compute(arrays: Sequence[Any]) -> Any:
        inputs = [np.ascontiguousarray(array) for array in arrays]
        out = np.empty(inputs[0].shape, in_numpy(result))
        arguments = [DeviceArray.wrap(array) for array in (*inputs, out)]
        programs = -(-out.size // LANES)
        launch(programs, 1, 1, 0, entry, (), None, None, None, *arguments, out.size)
        return out

    compute.__dict__["module"] = module  # the code stays loaded as long as its function
    return compute


def kernel_of(symbol: str, operands: tuple[str, ...], result: str) -> str:
    """A kernel of pointers to the operands, one to the result, and the number of elements, in Triton's IR."""
    block = f"tensor<{LANES}x"
    parameters = [f"%p{i}: !tt.ptr<{in_memory(name)}>" for i, name in enumerate((*operands, result))]
    lines = [
        f"%first = arith.constant {LANES} : i32",
        "%program = tt.get_program_id x : i32",
        "%start = arith.muli %program, %first : i32",
        f"%range = tt.make_range {{start = 0 : i32, end = {LANES} : i32}} : {block}i32>",
        f"%starts = tt.splat %start : i32 -> {block}i32>",
        f"%narrow = arith.addi %starts, %range : {block}i32>",
        f"%index = arith.extsi %narrow : {block}i32> to {block}i64>",
        f"%counts = tt.splat %count : i64 -> {block}i64>",
        f"%mask = arith.cmpi slt, %index, %counts : {block}i64>",
    ]
    for i, name in enumerate((*operands, result)):
        pointer = f"!tt.ptr<{in_memory(name)}>"
        lines += [
            f"%s{i} = tt.splat %p{i} : {pointer} -> {block}{pointer}>",
            f"%a{i} = tt.addptr %s{i}, %index : {block}{pointer}>, {block}i64>",
        ]
    for i, name in enumerate(operands):
        lines.append(f"%x{i} = tt.load %a{i}, %mask : {block}!tt.ptr<{in_memory(name)}>>")
    values = ", ".join(f"%x{i}" for i in range(len(operands)))
    types = ", ".join(f"{block}{in_mlir(name)}>" for name in operands)
    attributes = f'{{libname = "", libpath = "", pure = true, symbol = "{symbol}"}}'
    lines.append(f"%y = tt.extern_elementwise {values} {attributes} : ({types}) -> {block}{in_mlir(result)}>")
    stored = "%y"
    if result == "int1":
        stored = "%byte"
        lines.append(f"%byte = arith.extui %y : {block}i1> to {block}i8>")
    lines += [
        f"tt.store %a{len(operands)}, {stored}, %mask : {block}!tt.ptr<{in_memory(result)}>>",
        "tt.return",
    ]
    body = "\n    ".join(lines)
    return (
        f"module {{\n  tt.func public @call({', '.join(parameters)}, %count: i64) {{\n    {body}\n  }}\n}}\n"
    )


def in_mlir(name: str) -> str:
    """``"uint8"`` is i8, ``"fp32"`` f32."""
    return FLOATS[name][0] if name in FLOATS else f"i{name.lstrip('uint')}"


def in_memory(name: str) -> str:
    return "i8" if name == "int1" else in_mlir(name)


def in_numpy(name: str) -> str:
    return "bool" if name == "int1" else FLOATS[name][1] if name in FLOATS else name
