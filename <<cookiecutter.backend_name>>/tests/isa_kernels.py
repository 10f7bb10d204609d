"""Kernels written in the instruction set: text -> machine code -> a call with NumPy arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.cf import Cf
from xdsl.dialects.scf import Scf
from xdsl.parser import Parser

from <<cookiecutter.package_name>>.codegen.llvm import emit_module
from <<cookiecutter.package_name>>.codegen.object_code import compile_llvm
from <<cookiecutter.package_name>>.dialects.isa import ISA
from <<cookiecutter.package_name>>.host_features import HostFeatures
from <<cookiecutter.package_name>>.runtime.loader import load_image
from <<cookiecutter.package_name>>.target import BACKEND_NAME

NATIVE = HostFeatures.current()

AVX2 = "+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe,+cx16,+fxsr,+mmx,+sse,+sse2"

HOSTS = {
    "native": NATIVE,
    "avx2": HostFeatures("haswell", AVX2, NATIVE.triple),
    "sse2": HostFeatures("x86-64", "+sse,+sse2", NATIVE.triple),
}
"""CPUs to generate code for. All code must run here, so the others have less than this one."""

if not NATIVE.has("avx2"):
    del HOSTS["avx2"]
if not NATIVE.is_x86:
    del HOSTS["sse2"]

MATRIX_HOSTS = dict(HOSTS)
"""Those whose products differ: some without the instructions for 16-bit floats that this one may have."""
for _name, _features in {
    "tiles-of-bf16-only": ("amx-fp16",), "without-tiles": ("amx-",), "wide-vectors": ("amx-", "avx512bf16")
}.items():
    _less = ",".join(f"-{f[1:]}" if f[1:].startswith(_features) else f for f in NATIVE.features.split(","))
    if _less != NATIVE.features and _less not in [host.features for host in MATRIX_HOSTS.values()]:
        MATRIX_HOSTS[_name] = HostFeatures(NATIVE.name, _less, NATIVE.triple)

TYPES = {
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "f16": np.uint16,
    "bf16": np.uint16,
    "f32": np.float32,
    "f64": np.float64,
}
"""Element type -> how its memory looks to NumPy."""


def vector(element: str, lanes: int) -> str:
    """The spelling of a register type."""
    return element if lanes == 1 else f"vector<{lanes}x{element}>"


TRAPS = ", ".join(['["assert", "", "kernel.py", #builtin.int<1>]'] * 8)


def parse_kernel(arguments: Mapping[str, str], body: str, *, verify: bool = True) -> ModuleOp:
    """A module with one kernel "k"; `body` writes instructions with the prefix ``isa.``.

    Without `verify` it may hold what the instruction set does not allow, but code generation should handle or refuse.
    """
    context = Context()
    for dialect in (Builtin, Scf, Cf, ISA):
        context.load_dialect(dialect)
    names = ", ".join(f"%{name}: {ty}" for name, ty in arguments.items())
    text = (
        f'"isa.kernel"() <{{sym_name = "k", function_type = ({", ".join(arguments.values())}) -> (), '
        f"scratch_bytes = 65536 : i64, traps = [{TRAPS}]}}> ({{\n^entry({names}):\n{body}\n}}) : () -> ()"
    )
    module = Parser(context, text.replace("isa.", f"{BACKEND_NAME}.")).parse_module()
    if verify:
        module.verify()
    return module


class IsaKernel:
    """A compiled kernel: call it with a value or an array per argument."""

    def __init__(
        self,
        arguments: Mapping[str, str],
        body: str | ModuleOp,
        host: HostFeatures = NATIVE,
        *,
        verify: bool = True,
    ) -> None:
        """`body`: the kernel's instructions, or a module that `parse_kernel` made."""
        module = parse_kernel(arguments, body, verify=verify) if isinstance(body, str) else body
        self.llir = emit_module(module, host)
        self._image = load_image(compile_llvm(self.llir, host), "k")
        prototype = ctypes.CFUNCTYPE(
            ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
        )
        self._function = prototype(self._image.addresses["k"])
        self._types = list(arguments.values())

    def __call__(
        self, *values: Any, grid: Sequence[int] = (1, 1, 1), first: int = 0, last: int | None = None
    ) -> int:
        """Runs programs first to last (all of them by default); gives the trap code."""
        slots = np.zeros(8 * len(values) + 8, np.uint8)
        for i, (value, ty) in enumerate(zip(values, self._types, strict=True)):
            if isinstance(value, np.ndarray):
                value = value.ctypes.data
            data = np.array([value], np.bool_ if ty == "i1" else TYPES[ty]).view(np.uint8)
            slots[8 * i : 8 * i + data.size] = data
        launch = np.array([*grid, 0], np.int32)
        last = int(np.prod(grid)) if last is None else last
        scratch = np.zeros(65536 + 64, np.uint8)
        workspace = -(-scratch.ctypes.data // 64) * 64
        return self._function(slots.ctypes.data, workspace, launch.ctypes.data, first, last)


def map_lanes(
    inputs: Mapping[str, tuple[str, np.ndarray]],
    results: Mapping[str, tuple[str, str]],
    lanes: int,
    host: HostFeatures = NATIVE,
) -> dict[str, np.ndarray]:
    """Runs straight-line code on every element of some arrays, `lanes` at a time.

    ``inputs``: register -> element type, array. ``results``: a name -> element type, the instructions that compute register
    ``%NAME`` (a ``#`` stands for the name, so that other registers can be named apart). One program handles `lanes` elements.
    A predicate is stored as bytes.
    """
    size = len(next(iter(inputs.values()))[1])
    assert size % lanes == 0
    body = ["%program = isa.program_id 0", "%program64 = isa.extu %program : i32 -> i64"]
    arguments: dict[str, str] = {}
    arrays: list[np.ndarray] = []

    def address(name: str, itemsize: int) -> str:
        arguments[f"{name}_base"] = "i64"
        body.append(f"%{name}_pitch = isa.const {lanes * itemsize} : i64 : i64")
        body.append(f"%{name}_offset = isa.muli %program64, %{name}_pitch : i64")
        body.append(f"%{name}_address = isa.addi %{name}_base, %{name}_offset : i64")
        return f"%{name}_address"

    for name, (element, array) in inputs.items():
        assert len(array) == size
        arrays.append(np.ascontiguousarray(array))
        place = address(name, array.itemsize)
        if element == "i1":
            bytes_type, zero = vector("i8", lanes), f"%{name}_zero"
            body.append(f"%{name}_bytes = isa.load {place} : {bytes_type}")
            body.append(f"{zero} = isa.const 0 : i8 : {bytes_type}")
            body.append(
                f"%{name} = isa.cmpi ne, %{name}_bytes, {zero} : {bytes_type} -> {vector('i1', lanes)}"
            )
        else:
            body.append(f"%{name} = isa.load {place} : {vector(element, lanes)}")
    outputs: dict[str, np.ndarray] = {}
    for name, (element, code) in results.items():
        stored = "i8" if element == "i1" else element
        dtype = np.dtype(TYPES.get(stored, np.uint8))
        outputs[name] = np.zeros(size, dtype)
        arrays.append(outputs[name])
        body.append(code.replace("#", name))
        value = f"%{name}"
        if element == "i1":
            body.append(f"{value}_byte = isa.extu {value} : {vector('i1', lanes)} -> {vector('i8', lanes)}")
            value += "_byte"
        place = address(f"out_{name}", dtype.itemsize)
        body.append(f"isa.store {value}, {place} : {vector(stored, lanes)}")
    body.append("isa.return")
    kernel = IsaKernel(arguments, "\n".join(body), host)
    assert kernel(*arrays, grid=(size // lanes, 1, 1)) == 0
    return outputs
