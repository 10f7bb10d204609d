"""Functions for kernels that a vendor adds: their lowering, and the types and names that are refused."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import bf16, bf16_bits, bf16_values, launch, random
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.irdl import irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure

from <<cookiecutter.package_name>>.assembler import opcodes
from <<cookiecutter.package_name>>.assembler.program import Instruction as Assembled
from <<cookiecutter.package_name>>.codegen.emission import EMITTERS, Emitter
from <<cookiecutter.package_name>>.dialects.isa import alu, convert
from <<cookiecutter.package_name>>.dialects.isa.base import Instruction, Register, element_of, lanes_of, mnemonic
from <<cookiecutter.package_name>>.dialects.isa.checks import INTEGERS, expect, expect_elements, expect_lanes
from <<cookiecutter.package_name>>.emulator.machine import Machine, Step
from <<cookiecutter.package_name>>.emulator.steps import STEPS
from <<cookiecutter.package_name>>.errors import UnsupportedOperation
from <<cookiecutter.package_name>>.formulas.formula import Formula
from <<cookiecutter.package_name>>.language.extern import extern_function
from <<cookiecutter.package_name>>.lowering.extern_elementwise import INSTRUCTIONS, RULES


def _distance(f: Formula, x, y):
    return f(alu.AbsF, f(alu.SubF, x, y))


distance = extern_function("test_distance", "ff>f dd>d", _distance, module=__name__)


@triton.jit
def apply(x, y, z, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    i, j = tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
    tl.store(z + i * COLUMNS + j, distance(tl.load(x + i), tl.load(y + j)))


@triton.jit
def apply_scalar(x, z):
    i = tl.arange(0, 8)
    tl.store(z + i, distance(tl.load(x + i), 2.5))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_rule_is_the_function(dtype: type) -> None:
    x, y = np.linspace(-3, 3, 8, dtype=dtype), np.linspace(-1, 1, 16, dtype=dtype)
    z = np.empty((8, 16), dtype)
    launch(apply, (1,), x, y, z, 8, 16)
    np.testing.assert_array_equal(z, np.abs(x[:, None] - y[None, :]))


def test_numbers_are_operands() -> None:
    x, z = np.linspace(-3, 3, 8, dtype=np.float32), np.empty(8, np.float32)
    launch(apply_scalar, (1,), x, z)
    np.testing.assert_array_equal(z, np.abs(x - np.float32(2.5)))


def test_other_types_are_refused_where_the_kernel_calls_it() -> None:
    x = np.zeros(8, np.int32)
    with pytest.raises(triton.CompilationError) as refused:
        launch(apply, (1,), x, x, x, 8, 8)
    text = f"{refused.value}\n{refused.value.__cause__}"
    assert "test_distance takes (fp32, fp32) or (fp64, fp64), not (int32, int32)" in text


@pytest.mark.parametrize("name", ["test_distance", "exp", "tan", "saturatef"])
def test_a_name_means_one_function(name: str) -> None:
    with pytest.raises(ValueError, match=f"there is a function '{name}' already"):
        extern_function(name, "ff>f", alu.AddF)


def test_a_module_may_be_loaded_again() -> None:
    """The rule of the new module takes the old one's place, and nothing else changes."""
    rules, instructions = dict(RULES), dict(INSTRUCTIONS)
    extern_function("test_distance", "ff>f dd>d", _distance)
    assert rules == RULES and instructions == INSTRUCTIONS and RULES["test_distance"] is _distance

    def again(f: Formula, x, y):
        return f(alu.AbsF, f(alu.SubF, y, x))

    again.__module__, again.__qualname__ = _distance.__module__, _distance.__qualname__
    try:
        extern_function("test_distance", "ff>f dd>d", again)
        assert rules | {"test_distance": again} == RULES
    finally:
        RULES["test_distance"] = _distance


# --- the types of instructions ----------------------------------------------------------------------------------------


@irdl_op_definition
class MultiplyWide(Instruction):
    """`total` plus the product of two signed narrow integers, modulo 2^32."""

    name = mnemonic("test_mulwide")
    traits = traits_def(Pure())
    lhs = operand_def(Register)
    rhs = operand_def(Register)
    total = operand_def(Register)
    result = result_def(Register)
    ASSEMBLY: ClassVar[str] = (
        "$lhs `,` $rhs `,` $total attr-dict `:` type($lhs) `,` type($rhs) `,` type($total) `->` type($result)"
    )

    def check(self) -> None:
        expect_elements("an operand", self.lhs.type, INTEGERS)
        expect(self.lhs.type == self.rhs.type, "the factors must be of one type")
        expect(element_of(self.result.type) == i32, "the result must be i32")
        expect(self.total.type == self.result.type, "the total must be of the result's type")
        expect_lanes("the result", self.result.type, self.lhs.type)


@irdl_op_definition
class OnlyVectors(alu.FloatUnary):
    name = mnemonic("test_only_vectors")

    def check(self) -> None:
        super().check()
        expect(lanes_of(self.result.type) > 1, "it is for vectors only")


def _dot4(f: Formula, x, y, total):
    """A true dot product of the four int8 in each lane, made of the widening multiply-add."""
    for part in range(4):
        a, b = (f(convert.TruncI, f(alu.ShrS, packed, 8 * part), element=i8) for packed in (x, y))
        total = f(MultiplyWide, a, b, total, element=i32)
    return total


multiply_wide = extern_function("test_mulwide", "cci>i ssi>i", MultiplyWide, module=__name__)
only_vectors = extern_function("test_only_vectors", "f>f", OnlyVectors, module=__name__)
dot4 = extern_function("test_dot4", "iii>i", _dot4, module=__name__)
wrong_rule = extern_function("test_wrong_rule", "fi>f", lambda f, x, y: f(alu.AddF, x, y), module=__name__)
wrong_result = extern_function("test_wrong_result", "f>i", lambda f, x: f(alu.AbsF, x), module=__name__)


@pytest.fixture
def multiplies_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, table in ((opcodes, "CLASSES"), (opcodes, "NUMBERS")):
        monkeypatch.setattr(module, table, dict(getattr(module, table)))
    opcodes.assign_number(MultiplyWide, 201)

    def emit(e: Emitter, op: MultiplyWide) -> None:
        wide = e.type(op.result).text
        x, y = (e.let(f"sext {e.typed(operand)} to {wide}") for operand in (op.lhs, op.rhs))
        e.result(op, f"add {wide} {e.let(f'mul {wide} {x}, {y}')}, {e.ref(op.total)}")

    def execute(machine: Machine, instruction: Assembled) -> Step:
        result, x, y, total = machine.views(instruction)

        def step() -> None:
            result[...] = x.astype(np.int32) * y.astype(np.int32) + total

        return step

    monkeypatch.setitem(EMITTERS, MultiplyWide, emit)
    monkeypatch.setitem(STEPS, "test_mulwide", execute)


@triton.jit
def multiply_all(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a, b = tl.load(x + i, mask=i < n, other=0), tl.load(y + i, mask=i < n, other=0)
    tl.store(z + i, multiply_wide(a, b, 7), mask=i < n)


@triton.jit
def dot_all(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a, b = tl.load(x + i, mask=i < n, other=0), tl.load(y + i, mask=i < n, other=0)
    tl.store(z + i, dot4(a, b, tl.load(z + i, mask=i < n, other=0)), mask=i < n)


@pytest.mark.parametrize("n", [64, 37])
@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("device", ["reference", "emulator"])
def test_the_result_may_be_of_another_type(device: str, dtype: str, n: int, multiplies_wide: None) -> None:
    x, y = random(n, dtype), random(n, dtype, 1)
    z = np.zeros(n, np.int32)
    launch(multiply_all, (1,), x, y, z, n, 64, device_kind=device)
    np.testing.assert_array_equal(z, x.astype(np.int32) * y + np.int32(7))


@pytest.mark.parametrize("n", [64, 5])
@pytest.mark.parametrize("device", ["reference", "emulator"])
def test_a_dot_product_of_packed_numbers(device: str, n: int, multiplies_wide: None) -> None:
    x, y, z = random((n, 4), "int8"), random((n, 4), "int8", 1), np.arange(n, dtype=np.int32)
    expected = z + (x.astype(np.int32) * y).sum(1)
    launch(dot_all, (1,), x.view(np.int32), y.view(np.int32), z, n, 64, device_kind=device)
    np.testing.assert_array_equal(z, expected)


# --- more types -------------------------------------------------------------------------------------------------------


def _half_of(f: Formula, x):
    wide = x if str(x.type).find("f16") < 0 else f(convert.ExtF, x, element=f32)
    return f(alu.MulF, wide, 0.5)


half_of = extern_function("test_half_of", "h>f B>f f>f", _half_of, module=__name__)
add_up = extern_function("test_add_up", "CC>C SS>S cc>c", alu.AddI, module=__name__)


@triton.jit
def halve_all(x, z):
    i = tl.arange(0, 32)
    tl.store(z + i, half_of(tl.load(x + i)))


@triton.jit
def add_all(x, y, z):
    i = tl.arange(0, 32)
    tl.store(z + i, add_up(tl.load(x + i), tl.load(y + i)))


@pytest.mark.parametrize("device", ["reference", "emulator"])
def test_narrow_floats(device: str) -> None:
    x, z = random(32, "float32"), np.zeros(32, np.float32)
    launch(halve_all, (1,), x.astype(np.float16), z, device_kind=device)
    np.testing.assert_array_equal(z, x.astype(np.float16).astype(np.float32) / 2)
    launch(halve_all, (1,), bf16(x), z, device_kind=device)
    np.testing.assert_array_equal(z, bf16_values(bf16_bits(x)) / 2)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int8"])
@pytest.mark.parametrize("device", ["reference", "emulator"])
def test_narrow_integers(device: str, dtype: str) -> None:
    x, y = random(32, dtype), random(32, dtype, 1)
    z = np.zeros_like(x)
    launch(add_all, (1,), x, y, z, device_kind=device)
    np.testing.assert_array_equal(z, x + y)


# --- what is refused where a kernel calls it --------------------------------------------------------------------------


@triton.jit
def mixed(x):
    tl.store(x, wrong_rule(tl.load(x), 1))


@triton.jit
def other_result(x):
    tl.store(x, wrong_result(tl.load(x)))


@triton.jit
def one_lane(x):
    tl.store(x, only_vectors(tl.load(x)))


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (
            mixed,
            "function 'test_wrong_rule' needs .*addf of .*f32, i32.* -> f32, .*: f32 and i32 must be one type",
        ),
        (other_result, "'math.test_wrong_result' gives f32, but i32 is wanted"),
        (one_lane, "function 'test_only_vectors' needs .*, which there is not: it is for vectors only"),
    ],
)
def test_types_that_no_instruction_has(kernel, words: str) -> None:
    with pytest.raises(UnsupportedOperation, match=words) as refused:
        launch(kernel, (1,), np.zeros(8, np.float32))
    assert "test_extern_functions.py:" in refused.value.location


@triton.jit
def too_many(x):
    tl.store(x, half_of(tl.load(x), 1.0))


@triton.jit
def too_few(x):
    tl.store(x, half_of())


@triton.jit
def a_pointer(x):
    tl.store(x, half_of(x))


@triton.jit
def a_text(x):
    tl.store(x, half_of("x"))


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (
            too_many,
            "test_half_of takes (fp16) or (bf16) or (fp32), and was given 2 operands: too many positional",
        ),
        (too_few, "and was given 0 operands: missing"),
        (a_pointer, "or (fp32), not (pointer<fp32>): tl.load what is there"),
        (a_text, "or (fp32), not ('x')"),
    ],
)
def test_wrong_arguments(kernel, words: str) -> None:
    with pytest.raises(triton.CompilationError) as refused:
        launch(kernel, (1,), np.zeros(8, np.float32))
    assert words in str(refused.value) and "half_of(" in str(refused.value)  # the kernel's line
