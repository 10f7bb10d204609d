"""The emulator against the reference device, bit by bit, and what it refuses that the reference device lets through."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import isa_kernels
import numpy as np
import pytest
import triton
import triton.language as tl
from emulated_kernels import EmulatedKernel
from harness import launch
from isa_kernels import IsaKernel, map_lanes, vector
from program_generator import make_program
from program_oracle import GRID, source_of
from test_random_programs import initial_memory, kernel_of
from xdsl.irdl import irdl_op_definition

from <<cookiecutter.package_name>>.assembler import opcodes, registers
from <<cookiecutter.package_name>>.assembler.encoding import TARGET, decode, encode
from <<cookiecutter.package_name>>.assembler.opcodes import assign_number
from <<cookiecutter.package_name>>.assembler.program import JUMPS, Instruction
from <<cookiecutter.package_name>>.assembler.text import parse_program
from <<cookiecutter.package_name>>.backend.options import OptionError, Options, parse_options
from <<cookiecutter.package_name>>.cli import main as cli
from <<cookiecutter.package_name>>.cli.profile import hot_lines, waits
from <<cookiecutter.package_name>>.dialects.isa import INSTRUCTIONS, alu
from <<cookiecutter.package_name>>.dialects.isa.base import Unit, mnemonic
from <<cookiecutter.package_name>>.emulator import core, cycles, emulated
from <<cookiecutter.package_name>>.emulator.alu import computed
from <<cookiecutter.package_name>>.emulator.cycles import cost_of
from <<cookiecutter.package_name>>.emulator.machine import Buffer, EmulatorFault, Machine, Memory, Step
from <<cookiecutter.package_name>>.emulator.profile import PROFILES, Profile
from <<cookiecutter.package_name>>.emulator.steps import STEPS, executes
from <<cookiecutter.package_name>>.examples import cases
from <<cookiecutter.package_name>>.runtime.array import DeviceArray
from <<cookiecutter.package_name>>.runtime.launcher import DeviceAssertion
from <<cookiecutter.package_name>>.target import BACKEND_NAME, ENV_PREFIX, LATENCIES, VECTOR_LANES

RNG = np.random.default_rng(0)


@contextlib.contextmanager
def on_emulator(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(isa_kernels, "IsaKernel", EmulatedKernel)
        yield


# --- instructions -----------------------------------------------------------------------------------------------------

INTEGERS = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}
FLOATS = {"f32": np.float32, "f64": np.float64}
COUNT = 16 * VECTOR_LANES


def numbers(dtype: Any) -> np.ndarray:
    """Random bits, small numbers, and the special ones. NaNs are quiet: CPUs differ in what they do to signalling ones."""
    kind = np.dtype(dtype)
    random = RNG.integers(0, 256, COUNT * kind.itemsize, np.uint8).view(kind)
    if kind.kind == "i":
        limits = np.iinfo(kind)
        edges = np.array([0, 1, -1, 7, 8, 31, 32, 63, 64, limits.min, limits.max], kind)
    else:
        limits = np.finfo(kind)
        edges = np.array(
            [0.0, -0.0, 1, -1.5, 2.5, np.inf, -np.inf, np.nan, limits.max, limits.tiny, -1e-3, 3.7], kind
        )
        random = np.where(np.isnan(random), np.nan, random).astype(kind)
        random = np.where(RNG.random(COUNT) < 0.5, random, RNG.normal(0, 50, COUNT).astype(kind))
    return np.where(RNG.random(COUNT) < 0.5, RNG.choice(edges, COUNT), random)


def assert_same(actual: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    """The same bits, but that any NaN is as good as any other."""
    for name, values in expected.items():
        found = actual[name]
        if values.dtype.kind == "f":
            np.testing.assert_array_equal(np.isnan(found), np.isnan(values), name)
            found, values = (np.where(np.isnan(x), 0, x).astype(x.dtype) for x in (found, values))
            found, values = (x.view(f"u{x.itemsize}") for x in (found, values))
        np.testing.assert_array_equal(found, values, name)


def arithmetic(element: str, lanes: int) -> dict[str, tuple[str, str]]:
    """Code for every instruction of `dialects/isa/alu.py` that works on an element type."""
    ty = vector(element, lanes)
    code: dict[str, tuple[str, str]] = {}
    for cls in INSTRUCTIONS:
        short = cls.name.partition(".")[2]
        name = short.replace(".", "_")
        if issubclass(cls, alu.Binary) and element in cls.ELEMENTS.names:
            second = "%finite" if cls is alu.Ldexp else "%y"
            code[name] = (element, f"%# = isa.{short} %x, {second} : {ty}")
        elif issubclass(cls, alu.Unary) and element in cls.ELEMENTS.names:
            code[name] = (element, f"%# = isa.{short} %x : {ty}")
    mask = vector("i1", lanes)
    if element in FLOATS:
        code["fma"] = (element, f"%# = isa.fma %x, %y, %z : {ty}")
        code["pow"] = (element, f'%# = isa.math "pow" (%x, %y) : ({ty}, {ty}) -> {ty}')
        for how in alu.FLOAT_PREDICATES:
            code[f"cmpf_{how}"] = ("i1", f"%# = isa.cmpf {how}, %x, %y : {ty} -> {mask}")
    else:
        for how in alu.INTEGER_PREDICATES:
            code[f"cmpi_{how}"] = ("i1", f"%# = isa.cmpi {how}, %x, %y : {ty} -> {mask}")
    return code


@pytest.mark.parametrize("lanes", [1, VECTOR_LANES])
@pytest.mark.parametrize("element", [*INTEGERS, *FLOATS])
def test_arithmetic(element: str, lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dtype = {**INTEGERS, **FLOATS}[element]
    inputs = {name: (element, numbers(dtype)) for name in "xyz"}
    inputs["finite"] = (element, np.nan_to_num(numbers(dtype)))
    code = arithmetic(element, lanes)
    expected = map_lanes(inputs, code, lanes)
    with on_emulator(monkeypatch):
        actual = map_lanes(inputs, code, lanes)
    assert_same(actual, expected)


@pytest.mark.parametrize("lanes", [1, VECTOR_LANES])
def test_lookups(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = {"i": ("i32", numbers(np.int32))}
    index = vector("i32", lanes)
    code = {
        f"{element}_{count}": (
            element,
            f"%# = isa.lookup %i, [{', '.join(map(str, table))}] : {index} -> {vector(element, lanes)}",
        )
        for element in ("i32", "f32")
        for count, table in ((2, (0, 2**32 - 1)), (32, range(0x3F800000, 0x3F800020)))
    }
    expected = map_lanes(inputs, code, lanes)
    with on_emulator(monkeypatch):
        actual = map_lanes(inputs, code, lanes)
    assert_same(actual, expected)


NARROW = {"f16": "i16", "bf16": "i16", "f8E5M2": "i8", "f8E4M3FN": "i8"}


@pytest.mark.parametrize("lanes", [1, VECTOR_LANES])
def test_conversions(lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between all pairs of types; narrow floats are stored as their bits."""

    def convert(name: str, source: str, result: str) -> tuple[str, str]:
        return result, f"%# = isa.{name} %x : {vector(source, lanes)} -> {vector(result, lanes)}"

    def as_bits(result: str, line: str) -> tuple[str, str]:
        bits = NARROW[result]
        narrow, wide = vector(result, lanes), vector(bits, lanes)
        return bits, line.replace("%#", "%n_#") + f"\n%# = isa.bitcast %n_# : {narrow} -> {wide}"

    order = list(INTEGERS)
    for element, dtype in {**INTEGERS, **FLOATS}.items():
        code: dict[str, tuple[str, str]] = {}
        if element in INTEGERS:
            for other in order[order.index(element) + 1 :]:
                code[f"exts_{other}"] = convert("exts", element, other)
                code[f"extu_{other}"] = convert("extu", element, other)
            for other in order[: order.index(element)]:
                code[f"trunci_{other}"] = convert("trunci", element, other)
            for other in FLOATS:
                code[f"sitof_{other}"] = convert("sitof", element, other)
                code[f"uitof_{other}"] = convert("uitof", element, other)
        else:
            for other in INTEGERS:
                code[f"ftosi_{other}"] = convert("ftosi", element, other)
                code[f"ftoui_{other}"] = convert("ftoui", element, other)
            for rounding in ("rtne", "rtz"):
                for other in NARROW:
                    line = f'%# = isa.truncf "{rounding}", %x : {vector(element, lanes)} -> {vector(other, lanes)}'
                    code[f"truncf_{rounding}_{other}"] = as_bits(other, line)
        inputs = {"x": (element, numbers(dtype))}
        expected = map_lanes(inputs, code, lanes)
        with on_emulator(monkeypatch):
            actual = map_lanes(inputs, code, lanes)
        for name in [name for name in expected if "truncf" in name]:  # codes: any NaN will do
            nan = np.isnan(inputs["x"][1])
            actual[name], expected[name] = actual[name][~nan], expected[name][~nan]
        assert_same(actual, expected)


def test_narrow_floats_widen_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    for form, bits in NARROW.items():
        count = 2 ** (8 if bits == "i8" else 16)
        codes = np.arange(count).astype(f"u{1 if bits == 'i8' else 2}").view(f"i{1 if bits == 'i8' else 2}")
        lanes = VECTOR_LANES
        source = f"%n_# = isa.bitcast %x : {vector(bits, lanes)} -> {vector(form, lanes)}"
        code = {
            wide: (wide, f"{source}\n%# = isa.extf %n_# : {vector(form, lanes)} -> {vector(wide, lanes)}")
            for wide in FLOATS
        }
        codes = codes[:: max(1, count // 4096)]
        expected = map_lanes({"x": (bits, codes)}, code, lanes)
        with on_emulator(monkeypatch):
            assert_same(map_lanes({"x": (bits, codes)}, code, lanes), expected)


def test_every_instruction_has_a_step() -> None:
    """And every unit a latency."""
    from <<cookiecutter.package_name>>.assembler.opcodes import NUMBERS

    assert set(NUMBERS) - set(STEPS) - JUMPS == set()


def test_an_instruction_says_how_many_operations_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its class, so that the profile counts those of an owner's instructions, too."""
    from <<cookiecutter.package_name>>.assembler.program import Instruction, Register, Type
    from <<cookiecutter.package_name>>.dialects.isa import alu
    from <<cookiecutter.package_name>>.emulator.cycles import operations

    x = Register(0, Type("f32", 16))
    counted = {"addf": 16, "sqrt": 16, "fma": 32, "select": 0, "addi": 0, "spill": 0}
    for name, count in counted.items():
        assert operations(Instruction(name, (x,), (x, x))) == count, name
    monkeypatch.setattr(alu.Select, "FLOPS", 3)
    assert operations(Instruction("select", (x,), (x, x, x))) == 48
    assert operations(Instruction("select", (), (x,))) == 48
    assert set(LATENCIES) == {unit.value for unit in Unit}


def test_lanes_and_memory_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cross-lane instructions, gather, scatter and atomics with addresses that meet, in one kernel."""
    lanes = VECTOR_LANES
    wide, mask, addresses = vector("i32", lanes), vector("i1", lanes), vector("i64", lanes)
    ramp = ", ".join(str(4 * (n // 2)) for n in range(lanes))
    reverse = ", ".join(str(n) for n in reversed(range(lanes)))
    low = ", ".join(str(n) for n in range(lanes // 2))
    body = f"""
    %v = isa.load %x : {wide}
    %zero = isa.const 0 : i32 : {wide}
    %m = isa.cmpi slt, %v, %zero : {wide} -> {mask}
    %any = isa.any %m : {mask}
    %offsets = isa.lanes [{ramp}] : {addresses}
    %base = isa.splat %x : i64 -> {addresses}
    %out = isa.splat %y : i64 -> {addresses}
    %from = isa.addi %base, %offsets : {addresses}
    %to = isa.addi %out, %offsets : {addresses}
    %g = isa.gather %from, %m, %zero : {addresses}, {mask}, {wide}
    %r = isa.shuffle %g, %v, [{reverse}] : {wide} -> {wide}
    %h = isa.shuffle %r, %r, [{low}] : {wide} -> {vector("i32", lanes // 2)}
    %e = isa.extract %r[1] : {wide} -> i32
    isa.scatter %r, %to, %m : {wide}, {addresses}, {mask}
    %old = isa.atomic.rmw "add", "monotonic", %to, %v, %m : {addresses}, {mask}, {wide}
    %seen = isa.atomic.cas "seq_cst", %to, %old, %v : {addresses}, {wide}
    %o1 = isa.const {8 * lanes} : i64 : i64
    %y1 = isa.addi %y, %o1 : i64
    %y2 = isa.addi %y1, %o1 : i64
    isa.store.masked %seen, %y1, %m : {wide}, {mask}
    isa.store %h, %y2 : {vector("i32", lanes // 2)}
    %y3 = isa.addi %y2, %o1 : i64
    isa.store %e, %y3 : i32
    isa.fence
    isa.prefetch "read" 64 from %x
    %masked = isa.load.masked %y1, %m, %v : {mask}, {wide}
    %y4 = isa.addi %y3, %o1 : i64
    isa.store %masked, %y4 : {wide}
    isa.return
    """
    x = RNG.integers(-5, 5, lanes).astype(np.int32)
    results: list[np.ndarray] = []
    for engine in (IsaKernel, EmulatedKernel):
        y = np.arange(16 * lanes, dtype=np.int32)
        assert engine({"x": "i64", "y": "i64"}, body)(x, y) == 0
        results.append(y)
    np.testing.assert_array_equal(*results)


# --- whole kernels ----------------------------------------------------------------------------------------------------

EXAMPLES: dict[str, Callable[[], cases.Case]] = {
    "vector_add": lambda: cases.vector_add_case(1000, "float32"),
    "vector_add bf16": lambda: cases.vector_add_case(77, "bfloat16"),
    "softmax": lambda: cases.softmax_case(3, 100, "float32"),
    "softmax fp16": lambda: cases.softmax_case(3, 100, "float16"),
    "matmul": lambda: cases.matmul_case(30, 50, 20, "float32", "leaky_relu"),
    "dropout": lambda: cases.dropout_case(1000, "float32"),
    "layer_norm": lambda: cases.layer_norm_case(3, 100, "float16"),
    "layer_norm backward": lambda: cases.layer_norm_backward_case(9, 100, "float32"),
    "attention": lambda: cases.attention_case(1, 1, 40, 16, "float32", causal=True),
    "libdevice": lambda: cases.libdevice_case("asin", 300, "float32"),
    "grouped_gemm": lambda: cases.grouped_gemm_case([(20, 32, 16), (1, 17, 33)], "float32"),
    "quantized_linear": lambda: cases.quantized_linear_case(20, 30, 40),
    "causal_conv": lambda: cases.causal_conv_case(70, 20, 3, "float16"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str) -> None:
    """The same bits on both devices."""
    case = EXAMPLES[name]
    expected = [array.bits().copy() for array in case().run()]
    with emulated():
        actual = [array.bits() for array in case().run()]
    for found, wanted in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_products_of_narrow_floats(dtype: str) -> None:
    """The reference device may add them in another order."""
    with emulated():
        for case in (
            cases.matmul_case(33, 20, 40, dtype),
            cases.grouped_gemm_case([(20, 32, 16), (1, 17, 33)], dtype),
        ):
            assert case.error() <= case.tolerance


PROGRAMS = int(os.environ.get("EMULATED_PROGRAMS", "24"))
BATCH = 8


@pytest.mark.parametrize("first", range(1000, 1000 + PROGRAMS, BATCH))
def test_generated_programs(first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``EMULATED_PROGRAMS`` is how many."""
    monkeypatch.setenv(f"{ENV_PREFIX}_VERIFY_PASSES", "0")  # other tests do that to these programs
    for seed in range(first, min(first + BATCH, 1000 + PROGRAMS)):
        program = make_program(seed)
        kernel = kernel_of(source_of(program), tmp_path)
        expected, actual = initial_memory(program, seed), initial_memory(program, seed)
        launch(kernel, (GRID,), *expected.values(), *program.scalars.values())
        with emulated():
            launch(kernel, (GRID,), *actual.values(), *program.scalars.values())
        for name, values in expected.items():
            np.testing.assert_array_equal(actual[name], values, f"seed {seed}: {name}")


@irdl_op_definition
class ReluClip(alu.FloatBinary):
    """An instruction of another package."""

    name = mnemonic("relu_clip")


def test_an_instruction_of_another_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opcodes, "CLASSES", dict(opcodes.CLASSES))
    monkeypatch.setattr(opcodes, "NUMBERS", dict(opcodes.NUMBERS))
    assign_number(ReluClip, 200)
    with pytest.raises(ValueError, match="192 to 255"):
        assign_number(ReluClip, 16)
    executes("relu_clip")(computed(lambda x, limit: np.clip(x, 0, limit)))
    text = f"""\
.target {TARGET}
.kernel k(i64) scratch 0 spilled 0
entry:
    argument[i64]  r0, 0
    load[f32]      r1, r0
    const[f32]     r2, 0x40c00000
    relu_clip[f32] r1, r1, r2
    store[f32]     r1, r0
    return
"""
    memory = np.array([7], np.float32)
    program = decode(encode(parse_program(text)))
    slots = np.array([memory.ctypes.data], np.int64).view(np.uint8)
    assert core.Core(program, slots, [], []).run((1, 1, 1)) == 0
    assert memory[0] == 6


# --- strictness -------------------------------------------------------------------------------------------------------


@triton.jit
def read_past(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i + n, mask=i >= 0))


def test_out_of_bounds_names_the_line() -> None:
    x, y = DeviceArray.zeros(64), DeviceArray.zeros(64)
    with emulated():
        launch(read_past, (1,), x, y, 0, BLOCK=64)
        with pytest.raises(EmulatorFault, match=r"(?s)out of bounds.*test_emulator\.py:\d+") as caught:
            launch(read_past, (1,), x, y, 4, BLOCK=64)
    line = int(re.search(r"test_emulator\.py:(\d+)", str(caught.value))[1])  # type: ignore[index]
    assert "tl.load(x + i + n" in Path(__file__).read_text().splitlines()[line - 1]
    assert "x has 256 bytes" in str(caught.value)


@triton.jit
def read_beyond(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    first = (tl.program_id(0) + tl.program_id(1)) * BLOCK
    tl.store(y + i, tl.load(x + first + i + n))


@triton.jit
def read_apart(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + n * i))


@triton.jit
def gather_beyond(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.gather(tl.load(x + i), tl.where(i == 5, n, i), 0))


def test_a_fault_names_program_lane_and_column() -> None:
    x, y = DeviceArray.zeros(32), DeviceArray.zeros(32)
    with emulated():
        with pytest.raises(EmulatorFault) as caught:
            launch(read_beyond, (2, 2), x, y, 3, BLOCK=16)
        text = str(caught.value)
        # What a register holds, and so how many lanes the access has, is the target's.
        assert re.search(r"x\+\d+ \(x has 128 bytes\) is out of bounds in lane \d+\n", text)
        line, column = map(int, re.search(r"test_emulator\.py:(\d+):(\d+)", text).groups())  # type: ignore[union-attr]
        source = Path(__file__).read_text().splitlines()[line - 1]
        assert source[column - 1 :].startswith("tl.load(x + first + i + n)")
        assert text.endswith("\n  in program (1, 0, 0) of the grid (2, 2, 1)")
        with pytest.raises(EmulatorFault, match=r"access to 4 bytes at x\+132 .* in lane \d+\n"):
            launch(read_apart, (1,), x, y, 3, BLOCK=16)


def test_a_wrong_index_of_a_block() -> None:
    x, y = DeviceArray.zeros(16), DeviceArray.zeros(16)
    with emulated(), pytest.raises(EmulatorFault, match="an index of tl.gather is not one of the block"):
        launch(gather_beyond, (1,), x, y, 9999, BLOCK=16)


@pytest.mark.parametrize(
    ("address", "size", "lane", "words"),
    [
        (0x100F0, 64, 0, "x+240 (x has 256 bytes) is out of bounds in lane 4"),
        (0x10100, 4, 7, "x+256 (x has 256 bytes) is out of bounds in lane 7"),
        (0xFFF0, 64, 2, "x-16 (x has 256 bytes) is out of bounds in lane 2"),
        (0x10102, 4, 3, "0x10102 (lane 3) is not aligned"),
    ],
)
def test_the_first_lane_that_is_out_of_bounds(address: int, size: int, lane: int, words: str) -> None:
    memory = Memory([Buffer("workspace", 0x9000, 0x9000), Buffer("x", 0x10000, 0x10100)])
    with pytest.raises(EmulatorFault, match=re.escape(words)):
        memory.check(Instruction("load"), address, size, 4, known=True, lane=lane)


@triton.jit
def read_far_away(x, y, n):
    far = tl.load(x + n)
    tl.store(y, far)


@pytest.mark.parametrize("n", [10_000_000, -10_000_000, 64])
def test_out_of_bounds_names_the_argument(n: int) -> None:
    """Not the buffer that happens to lie nearest, and the line of the load, not that of what needs it."""
    x, y = DeviceArray.zeros(64), DeviceArray.zeros(64)
    with emulated(), pytest.raises(EmulatorFault) as caught:
        launch(read_far_away, (1,), x, y, n)
    assert f"access to 4 bytes at x{4 * n:+d} (x has 256 bytes)" in str(caught.value)
    line = int(re.search(r"test_emulator\.py:(\d+)", str(caught.value))[1])  # type: ignore[index]
    assert "far = tl.load(x + n)" in Path(__file__).read_text().splitlines()[line - 1]


def test_out_of_bounds_of_a_pointer_from_nowhere() -> None:
    """Where the address does not tell whose it is, an access far away is told of every argument, none of them empty."""
    memory = Memory(
        [Buffer("workspace", 0x9000, 0x9000), Buffer("x", 0x10000, 0x10100), Buffer("y", 0x20000, 0x20010)]
    )
    load = Instruction("load", (), (), ())
    with pytest.raises(EmulatorFault, match=r"at x\+256 \(x has 256 bytes\) is out"):
        memory.check(load, 0x10100, 4, 4, known=True)
    with pytest.raises(EmulatorFault) as caught:
        memory.check(load, 0x900000, 4, 4, known=True)
    assert "address 0x900000, far from every argument: x+9371648 (x has 256 bytes), y+" in str(caught.value)
    assert "workspace" not in str(caught.value)
    with pytest.raises(EmulatorFault, match="far from every argument: there is none"):
        Memory([Buffer("workspace", 0x9000, 0x9000)]).check(load, 0x900000, 4, 4, known=True)


def test_misaligned_access() -> None:
    kernel = EmulatedKernel({"x": "i64"}, "%v = isa.load %x : i32\nisa.store %v, %x : i32\nisa.return")
    x = np.zeros(4, np.int32)
    assert kernel(x) == 0
    with pytest.raises(EmulatorFault, match="not aligned to the element's 4 bytes"):
        kernel(x.ctypes.data + 2)


def test_null_pointer() -> None:
    kernel = EmulatedKernel({"x": "i64"}, "%v = isa.load %x : i32\nisa.store %v, %x : i32\nisa.return")
    with pytest.raises(EmulatorFault, match="out of bounds"):
        kernel(0)


def test_masked_lanes_are_not_checked() -> None:
    lanes = VECTOR_LANES
    wide, mask = vector("f32", lanes), vector("i1", lanes)
    ramp = ", ".join(map(str, range(lanes)))
    body = f"""
    %i = isa.lanes [{ramp}] : {vector("i32", lanes)}
    %n = isa.const {lanes // 2} : i32 : {vector("i32", lanes)}
    %m = isa.cmpi slt, %i, %n : {vector("i32", lanes)} -> {mask}
    %o = isa.const 7.0 : f32 : {wide}
    %v = isa.load.masked %x, %m, %o : {mask}, {wide}
    isa.store %v, %y : {wide}
    isa.return
    """
    x, y = np.ones(lanes // 2, np.float32), np.zeros(lanes, np.float32)
    kernel = EmulatedKernel({"x": "i64", "y": "i64"}, body, strict=True)
    assert kernel(x, y) == 0
    np.testing.assert_array_equal(y, [1] * (lanes // 2) + [7] * (lanes // 2))
    with pytest.raises(EmulatorFault, match="out of bounds"):
        EmulatedKernel({"x": "i64", "y": "i64"}, body.replace("isa.cmpi slt", "isa.cmpi sle"), strict=True)(
            x, y
        )


def test_a_register_that_was_never_written() -> None:
    text = f"""\
.target {TARGET}
.kernel k(i64, i1) scratch 0 spilled 0
entry:
    argument[i64]  r0, 0
    argument[i1]   p0, 1
    branch         p0, there
set:
    const[i32]     r1, 0x5
there:
    store[i32]     r1, r0                      # kernel.py:12
    return
"""
    memory = np.zeros(1, np.int32)

    def run(flag: int) -> int:
        slots = np.array([memory.ctypes.data, flag], np.int64).view(np.uint8)
        return core.Core(parse_program(text), slots, [], []).run((1, 1, 1))

    assert run(0) == 0
    assert memory[0] == 5
    with pytest.raises(EmulatorFault, match=r"(?s)register r1 is read before it was written.*kernel\.py:12"):
        run(1)


# --- launches ---------------------------------------------------------------------------------------------------------


@triton.jit
def checked(x, n):
    i = tl.program_id(0)
    tl.device_assert(i < n, "too many programs")
    tl.device_print("i", i)
    tl.store(x + i, i + 1)


def test_assertions_and_printing(capfd: pytest.CaptureFixture[str]) -> None:
    x = DeviceArray.zeros(4, "int32")
    with emulated(), pytest.raises(DeviceAssertion, match=r"too many programs.*, program \(2, 0, 0\)"):
        launch(checked, (4,), x, 2, debug=True)
    np.testing.assert_array_equal(x.numpy(), [1, 2, 0, 0])
    assert "1" in capfd.readouterr().out


@triton.jit
def wait_for_the_next(flags):
    i = tl.program_id(0)
    tl.atomic_xchg(flags + i, 1)
    while tl.atomic_add(flags + (i + 1) % tl.num_programs(0), 0) == 0:
        pass


def test_an_interrupted_kernel_says_where_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that waits for a later one never ends here; when it looks for the third time (its own flag is the first atomic), somebody presses Ctrl-C."""
    looks = 0
    maker = STEPS["atomic.rmw"]

    def interrupted(machine: Machine, instruction: Instruction) -> Step:
        step = maker(machine, instruction)

        def look() -> None:
            nonlocal looks
            looks += 1
            if looks == 4:
                raise KeyboardInterrupt
            step()

        return look

    monkeypatch.setitem(STEPS, "atomic.rmw", interrupted)
    with emulated(), pytest.raises(KeyboardInterrupt) as caught:
        launch(wait_for_the_next, (2,), DeviceArray.zeros(2, "int32"))
    (note,) = caught.value.__notes__
    line = int(re.search(r"test_emulator\.py:(\d+)", note)[1])  # type: ignore[index]
    assert "while tl.atomic_add" in Path(__file__).read_text().splitlines()[line - 1]
    assert "\n  in program (0, 0, 0) of the grid (2, 1, 1)\n" in note
    assert "launch_cooperative_grid=True" in note


@pytest.mark.parametrize("programs", [2, 33])
def test_programs_that_wait_for_later_ones_run_in_a_cooperative_launch(programs: int) -> None:
    """What the note above, and the README, tell people to do."""
    flags = DeviceArray.zeros(programs, "int32")
    launch(wait_for_the_next, (programs,), flags, launch_cooperative_grid=True)
    assert flags.numpy().all()


@triton.jit
def copy(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i))


def test_launch_keyword_and_assembly() -> None:
    """``device_kind`` chooses for one launch; the kernel for the emulator has its assembly, the other one its LLVM IR."""
    x, y = DeviceArray.full(64, 3.0), DeviceArray.zeros(64)
    PROFILES.clear()
    kernel = launch(copy, (1,), x, y, BLOCK=64, device_kind="emulator")
    np.testing.assert_array_equal(y.numpy(), x.numpy())
    assert "load[" in kernel.asm[f"{BACKEND_NAME}asm"]
    assert "llir" not in kernel.asm
    assert kernel.n_regs < 64 and kernel.n_spills == 0
    profile = PROFILES["copy"]
    assert profile.device_bytes == 2 * x.numpy().nbytes
    assert profile.total_instructions > 0 and profile.cycles > 0
    other = launch(copy, (1,), x, y, BLOCK=64)
    assert f"{BACKEND_NAME}asm" not in other.asm
    assert PROFILES["copy"].launches == 1


def test_the_option_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Options(device_kind="emulator").hash() != Options().hash()
    monkeypatch.setenv(f"{ENV_PREFIX}_DEVICE", "emulator")
    assert parse_options({}).device_kind == "emulator"
    monkeypatch.setenv(f"{ENV_PREFIX}_DEVICE", "toaster")
    with pytest.raises(OptionError, match="reference, emulator"):
        parse_options({})


@triton.autotune(configs=[triton.Config({"BLOCK": block}) for block in (64, 16)], key=["n"])
@triton.jit
def copy_tuned(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


def test_the_autotuner_skips_what_does_not_fit(monkeypatch: pytest.MonkeyPatch, fresh_cache: Any) -> None:
    from <<cookiecutter.package_name>>.assembler.errors import OutOfRegisters

    allocate = registers.allocate

    def small(program: Any) -> Any:
        if any(r.type.lanes > 16 for i in program.instructions() for r in i.results):
            raise OutOfRegisters(40, 32, "vector registers")
        return allocate(program)

    monkeypatch.setattr(registers, "allocate", small)
    x, y = DeviceArray.full(64, 3.0), DeviceArray.zeros(64)
    with emulated():
        launch(copy_tuned, lambda meta: (64 // meta["BLOCK"],), x, y, 64)
    np.testing.assert_array_equal(y.numpy(), x.numpy())


def test_cycles_follow_from_the_target() -> None:
    """Four dependent additions wait for one another, four independent ones only for the unit."""
    wide = vector("f32", VECTOR_LANES)
    loads = f"%a = isa.load %x : {wide}\n"
    chain = "".join(f"%v{n + 1} = isa.addf %{f'v{n}' if n else 'a'}, %a : {wide}\n" for n in range(4))
    end = f"isa.store %v4, %x : {wide}\nisa.return"
    kernel = EmulatedKernel({"x": "i64"}, loads + chain + end)
    latency, busy = LATENCIES["vector"]
    (block,) = kernel.program.blocks
    cost = cost_of(block)
    assert cost.cycles >= 4 * latency * busy
    assert cost.operations == 4 * VECTOR_LANES
    assert sum(cost.lines.values()) == cost.cycles
    assert sum(cost.instructions.values()) == len(block.code)


def test_what_the_core_waits_for() -> None:
    """A chain of additions leaves the vector unit idle most of the time: the kernel waits for its results."""
    wide = vector("f32", VECTOR_LANES)
    chain = "".join(f"%v{n + 1} = isa.addf %{f'v{n}' if n else 'a'}, %a : {wide}\n" for n in range(20))
    end = f"isa.store %v20, %x : {wide}\nisa.return"
    kernel = EmulatedKernel({"x": "i64"}, f"%a = isa.load %x : {wide}\n{chain}{end}")
    cost = cost_of(kernel.program.blocks[0])
    assert cost.waits[Unit.MEMORY] >= LATENCIES["memory"][0] - 1
    assert cost.waits[Unit.VECTOR] == 20 * (LATENCIES["vector"][0] - 1)
    assert sum(cost.waits.values()) + sum(cost.instructions.values()) <= cost.cycles
    profile = Profile(
        "chain", cycles=cost.cycles, busy=cost.busy, instructions=cost.instructions, waits=cost.waits
    )
    assert profile.bound == "latency" and profile.utilisation > 0.5
    assert re.match(
        r"waits on latency for \d\d% of the cycles, by whose results: vector \d\d%, memory \d\d%",
        waits(profile),
    )


def test_a_unit_that_is_hardly_busy_bounds_nothing() -> None:
    def profile(**counts: dict[Unit, int]) -> Profile:
        return Profile("k", cycles=100, **counts)  # type: ignore[arg-type]

    assert profile(busy={Unit.MATRIX: 60}, waits={Unit.MEMORY: 70}).bound == "matrix"
    assert profile(busy={Unit.SCALAR: 19}, waits={Unit.MEMORY: 70}).bound == "latency"
    halves = {Unit.SCALAR: 45, Unit.VECTOR: 45}
    assert profile(busy=halves, instructions=halves, waits={Unit.MEMORY: 10}).bound == "issue"
    assert profile(busy={Unit.SCALAR: 19}, waits={Unit.MEMORY: 9}).bound == "scalar"
    assert waits(profile(waits={Unit.MEMORY: 9})) == ""


@triton.jit
def sum_twice(x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    total = tl.sum(tl.softmax(tl.load(x + i)), 0)
    tl.store(y, total)


def test_a_call_of_the_library_is_the_kernels_line() -> None:
    """And the library's in parentheses."""
    PROFILES.clear()
    with emulated():
        launch(sum_twice, (1,), DeviceArray.zeros(64), DeviceArray.zeros(1), BLOCK=64)
    first = hot_lines(PROFILES["sum_twice"], 9)[0]
    assert re.search(
        r"%  test_emulator\.py:\d+ +total = tl\.sum.*  \(triton/language/standard\.py:\d+\)$", first
    )
    assert all(location.file == __file__ for location in PROFILES["sum_twice"].lines if location is not None)


@pytest.mark.parametrize(("rate", "busy"), [(1, 7), (2, 14), (0.5, 4), (0.01, 1)])
def test_the_matrix_unit_may_take_several_steps_a_cycle(
    rate: float, busy: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cycles, "LATENCIES", {**LATENCIES, "matrix": (16, rate)})
    monkeypatch.setattr(cycles, "MATRIX_TILE", (16, 8, 16))
    mma = Instruction("mma", (), (), (4, 4, 7, 7, 4, 4, "f32", "f32"))
    assert cycles.occupancy(mma, cycles.unit_of(mma)) == busy
    assert cycles.peaks()["matrix unit"] == 2 * 16 * 8 / rate


def test_profile_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom <<cookiecutter.package_name>>.examples import cases\n"
        "print('arguments', sys.argv[1:])\nprint('error', cases.vector_add_case(100, 'float32').error())\n"
    )
    monkeypatch.setenv(f"{ENV_PREFIX}_DEVICE", "")
    PROFILES.clear()
    plot = tmp_path / "roofline.svg"
    with emulated():
        assert cli.main(["profile", "--svg", str(plot), "--lines", "2", str(script), "one", "two"]) == 0
    out = capsys.readouterr().out
    assert "arguments ['one', 'two']" in out
    assert re.search(r"^vector_add +1 +1 ", out, re.MULTILINE)
    assert "vector_add.py:" in out and "tl.store" in out
    assert re.search(r"to and from the scratchpad, of which a program needs [\d,]+ bytes", out)
    assert "vector_add" in plot.read_text() and plot.read_text().startswith("<svg")
    assert cli.main(["profile", str(tmp_path / "missing.py")]) == 1
