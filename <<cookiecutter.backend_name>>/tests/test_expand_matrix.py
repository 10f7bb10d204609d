"""Products of matrices without a matrix unit: vector multiply-adds give the same bits as the unit."""

from __future__ import annotations

from typing import Any

import isa_kernels
import numpy as np
import pytest
from isa_kernels import NATIVE
from test_codegen_matrix import mma_kernel
from xdsl.dialects.builtin import ModuleOp

from <<cookiecutter.package_name>>.dialects.isa import control, legality, matrix
from <<cookiecutter.package_name>>.dialects.isa.base import lanes_of, mnemonic
from <<cookiecutter.package_name>>.errors import CompileError
from <<cookiecutter.package_name>>.passes import expand_matrix
from <<cookiecutter.package_name>>.passes.expansion import Constants
from <<cookiecutter.package_name>>.target import VECTOR_LANES

ARRAYS = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.uint16,
    "bf16": np.uint16,
    "i8": np.int8,
    "i32": np.int32,
}
NARROW = {
    "f16": lambda x: x.astype(np.float16).view(np.uint16),
    "bf16": lambda x: x.astype(np.float32).view(np.uint32) // 0x1_0000,
}
"""Format -> the bits of numbers that are exact in it."""
SHAPES = ((1, 1, 1), (1, 16, 3), (16, 1, 5), (7, 12, 9), (5, 3, 16), (16, 48, 20), (4, 2 * VECTOR_LANES, 8))
PARSE = isa_kernels.parse_kernel


def parse_and_expand(*arguments: Any, **keywords: Any) -> ModuleOp:
    module = PARSE(*arguments, **keywords)
    for kernel in module.ops:
        assert isinstance(kernel, control.Kernel)
        for op in [op for op in kernel.walk() if isinstance(op, matrix.Mma)]:
            expand_matrix.expand(op, Constants(kernel.body.blocks[0]))
    module.verify()
    return module


@pytest.mark.parametrize(("operand", "acc"), matrix.TYPES)
def test_the_same_bits(monkeypatch: pytest.MonkeyPatch, operand: str, acc: str) -> None:
    generator = np.random.default_rng(3)
    for m, n, k in SHAPES:
        pitches = lda, ldb, ldc = k + 3, n + 1, n + 2
        numbers = [generator.integers(-100, 100, shape) for shape in ((m, lda), (k, ldb), (m, ldc))]
        if acc[0] == "f":
            numbers = [number / 3 for number in numbers]
        a, b, c = numbers[0], numbers[1], numbers[2].astype(ARRAYS[acc])
        if operand in NARROW:
            # The matrix unit adds products of narrow floats in another order: numbers whose sums are exact.
            a, b, c = NARROW[operand](np.rint(a)), NARROW[operand](np.rint(b)), np.rint(c)
        a, b = a.astype(ARRAYS[operand]), b.astype(ARRAYS[operand])
        unit, vectors = c.copy(), c.copy()
        mma_kernel(m, n, k, pitches, operand, acc, NATIVE)(unit, a, b)
        with monkeypatch.context() as patch:
            patch.setattr(isa_kernels, "parse_kernel", parse_and_expand)
            mma_kernel(m, n, k, pitches, operand, acc, NATIVE)(vectors, a, b)
        np.testing.assert_array_equal(vectors, unit, f"{m} x {n} x {k}")


def test_parts_are_multiplied_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(4)
    a, b = generator.standard_normal((64, 64), np.float32), generator.standard_normal((64, 64), np.float32)
    unit, vectors = np.zeros((64, 64), np.float32), np.zeros((64, 64), np.float32)
    mma_kernel(64, 64, 64, (64, 64, 64), "f32", "f32", NATIVE)(unit, a, b)
    monkeypatch.setattr(isa_kernels, "parse_kernel", parse_and_expand)
    mma_kernel(64, 64, 64, (64, 64, 64), "f32", "f32", NATIVE, parts=2)(vectors, a, b)
    np.testing.assert_array_equal(vectors, unit)


def test_sums_are_whole_registers_in_one_loop() -> None:
    """A tile of the size that the lowering chooses: no scalar arithmetic on elements, nothing stored within the loop."""
    rows, columns = matrix.VECTOR_TILE
    body = f"""isa.mma %c, %a, %b tile({rows}, {columns}, 64) pitch(64, {columns}, {columns}) : f32 -> f32
    isa.return"""
    module = parse_and_expand({"c": "i64", "a": "i64", "b": "i64"}, body, verify=False)
    (loop,) = [op for op in module.walk() if op.name == "scf.for"]
    inside = list(loop.walk())
    products = [op for op in inside if op.name == mnemonic("fma")]
    assert [lanes_of(op.results[0].type) for op in products] == [VECTOR_LANES] * (2 * rows)
    assert not [op for op in inside if op.name == mnemonic("store")]


def test_what_the_machine_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the last pass. One sentence for each kind of thing that may be left."""
    body = """%x = isa.load %a : f64
    %y = isa.exp %x : f64
    isa.mma %a, %a, %a tile(1, 1, 1) pitch(1, 1, 1) : f32 -> f32
    isa.return"""
    module = PARSE({"a": "i64"}, body)
    monkeypatch.setattr(legality, "LACKING_TYPES", frozenset())
    monkeypatch.setattr(legality, "LACKING_INSTRUCTIONS", frozenset())
    monkeypatch.setattr(legality, "has_unit_for", lambda acc_type: True)
    legality.verify_legal(module)
    monkeypatch.setattr(legality, "has_unit_for", lambda acc_type: False)
    with pytest.raises(CompileError, match=r"mma is left after the last pass, .* has no matrix unit for f32"):
        legality.verify_legal(module)
    monkeypatch.setattr(legality, "LACKING_INSTRUCTIONS", frozenset({mnemonic("exp")}))
    with pytest.raises(CompileError, match=r"exp is left .* has no instruction .*exp \(SPECIAL_FUNCTIONS\)"):
        legality.verify_legal(module)
    monkeypatch.setattr(legality, "LACKING_TYPES", frozenset({"f64"}))
    with pytest.raises(CompileError, match=r"load is left .* has no registers of f64 \(VECTOR_TYPES\)"):
        legality.verify_legal(module)
