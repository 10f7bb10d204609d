"""Register allocation: results stay the same under small register files; what cannot fit is refused for the autotuner."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from isa_kernels import parse_kernel
from triton.runtime.errors import OutOfResources

from <<cookiecutter.package_name>>.assembler import errors, linearize, registers
from <<cookiecutter.package_name>>.assembler.errors import OutOfRegisters
from <<cookiecutter.package_name>>.assembler.linearize import linearize_module, parallel_moves
from <<cookiecutter.package_name>>.assembler.program import Program, Register, RegisterFile, Type
from <<cookiecutter.package_name>>.assembler.registers import allocate
from <<cookiecutter.package_name>>.emulator.core import Core, register_use
from <<cookiecutter.package_name>>.emulator.machine import Buffer
from <<cookiecutter.package_name>>.errors import CompileError
from <<cookiecutter.package_name>>.target import SCRATCHPAD_BYTES, VECTOR_LANES

L = VECTOR_LANES
MANY = 12
"""Values that are live together."""

BODY = "\n".join(
    [
        "%zero = isa.const 0 : i64 : i64",
        "%one = isa.const 1 : i64 : i64",
        *(f"%o{n} = isa.const {4 * L * n} : i64 : i64" for n in range(MANY)),
        *(f"%a{n} = isa.addi %x, %o{n} : i64" for n in range(MANY)),
        *(f"%v{n} = isa.load %a{n} : vector<{L}xf32>" for n in range(MANY)),
        f"%limit = isa.const 0.5 : f32 : vector<{L}xf32>",
        *(f"%p{n} = isa.cmpf ogt, %v{n}, %limit : vector<{L}xf32> -> vector<{L}xi1>" for n in range(MANY)),
        # Two values that a loop carries are exchanged in each round.
        f"%f, %s = scf.for %i = %zero to %n step %one iter_args(%c = %v0, %d = %v1) -> (vector<{L}xf32>, vector<{L}xf32>) : i64 {{",
        f"  %t = isa.addf %c, %v2 : vector<{L}xf32>",
        f"  scf.yield %d, %t : vector<{L}xf32>, vector<{L}xf32>",
        "}",
        *(f"%w{n} = isa.select %p{n}, %f, %v{n} : vector<{L}xi1>, vector<{L}xf32>" for n in range(MANY)),
        *(f"%b{n} = isa.addi %y, %o{n} : i64" for n in range(MANY)),
        *(f"isa.store %w{n}, %b{n} : vector<{L}xf32>" for n in range(MANY)),
        f"isa.store %s, %y : vector<{L}xf32>",
        "isa.return",
    ]
)


def program() -> Program:
    return linearize_module(parse_kernel({"x": "i64", "y": "i64", "n": "i64"}, BODY))


def run(linear: Program) -> np.ndarray:
    x = np.random.default_rng(0).random(MANY * L).astype(np.float32)
    y = np.zeros_like(x)
    slots = np.array([x.ctypes.data, y.ctypes.data, 3], np.int64).view(np.uint8)
    buffers = [Buffer(name, a.ctypes.data, a.ctypes.data + a.nbytes) for name, a in (("x", x), ("y", y))]
    assert Core(linear, slots, buffers, [0, 1]).run((1, 1, 1)) == 0
    return y


def expected() -> np.ndarray:
    x = np.random.default_rng(0).random(MANY * L).astype(np.float32).reshape(MANY, L)
    c, d = x[0], x[1]
    for _ in range(3):
        c, d = d, c + x[2]
    y = np.where(x > 0.5, c, x)
    y[0] = d
    return y.reshape(-1)


@pytest.mark.parametrize("size", [2, 3, 4, 8, 16])
def test_small_register_files(size: int) -> None:
    """Each file in turn has only `size` registers; values are kept in the workspace or computed again."""
    for small in RegisterFile:
        least = 3 if small is not RegisterFile.PREDICATE else 1
        files = {file: file.size for file in RegisterFile} | {small: max(size, least)}
        allocated = allocate(program(), files)
        assert register_use(allocated)[small] <= files[small]
        np.testing.assert_array_equal(run(allocated), expected())
        if size < MANY and small is RegisterFile.VECTOR:
            assert allocated.spilled_bytes >= 64 * (MANY - size)


def test_all_files_small() -> None:
    files = {RegisterFile.SCALAR: 3, RegisterFile.VECTOR: 3, RegisterFile.PREDICATE: 1}
    allocated = allocate(program(), files)
    assert all(count <= files[file] for file, count in register_use(allocated).items())
    np.testing.assert_array_equal(run(allocated), expected())


def test_nothing_is_spilled_where_all_fits() -> None:
    files = dict.fromkeys(RegisterFile, 64)
    allocated = allocate(program(), files)
    assert allocated.spilled_bytes == 0
    assert not {i.name for i in allocated.instructions()} & {"spill", "reload"}


def test_an_instruction_that_cannot_fit_is_out_of_resources() -> None:
    files = {file: file.size for file in RegisterFile} | {RegisterFile.VECTOR: 1}
    with pytest.raises(OutOfResources, match="vector registers: 2 needed, 1 available") as caught:
        allocate(program(), files)
    assert isinstance(caught.value, CompileError)
    assert (caught.value.required, caught.value.limit) == (2, 1)
    copy = caught.value.__reduce__()
    assert str(copy[0](*copy[1])) == str(caught.value)


def test_a_scratchpad_without_room_for_spills_is_out_of_resources(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {file: file.size for file in RegisterFile} | {RegisterFile.VECTOR: 3}
    crowded = program()
    crowded.scratch_bytes = SCRATCHPAD_BYTES
    monkeypatch.setattr(registers, "SCRATCHPAD_OVERFLOWS", True)
    assert allocate(crowded, files).spilled_bytes, "they lie behind the scratchpad, in device memory"
    crowded = program()
    crowded.scratch_bytes = SCRATCHPAD_BYTES
    monkeypatch.setattr(registers, "SCRATCHPAD_OVERFLOWS", False)
    with pytest.raises(OutOfRegisters, match="bytes of scratchpad"):
        allocate(crowded, files)
    monkeypatch.setattr(registers, "SCRATCHPAD_BYTES", SCRATCHPAD_BYTES + 4096 * MANY)
    assert allocate(program(), files).spilled_bytes


def test_parallel_moves_happen_at_once() -> None:
    """All permutations of four registers, and values that go to several."""
    from itertools import product

    ty = Type("i64")
    for sources in product(range(4), repeat=4):
        spare = iter(range(10, 20))
        moves = [(Register(to, ty), Register(source, ty)) for to, source in enumerate(sources)]
        state = {number: number for number in range(20)}
        for to, source in parallel_moves(moves, lambda ty: Register(next(spare), ty)):
            state[to.number] = state[source.number]
        assert [state[number] for number in range(4)] == list(sources)


def test_groups_are_aligned() -> None:
    body = f"""
    %a = isa.load %x : vector<{L}xf32>
    %b = isa.load %x : vector<{4 * L}xf32>
    %c = isa.load %x : vector<{2 * L}xf64>
    isa.store %b, %x : vector<{4 * L}xf32>
    isa.store %c, %x : vector<{2 * L}xf64>
    isa.store %a, %x : vector<{L}xf32>
    isa.return
    """
    allocated = allocate(linearize.linearize_module(parse_kernel({"x": "i64"}, body)))
    for instruction in allocated.instructions():
        for register in (*instruction.results, *instruction.operands):
            assert register.number % register.type.registers == 0


def test_the_advice_where_registers_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Smaller blocks do not help where one instruction on groups of registers needs more than there are."""
    monkeypatch.setattr(errors, "REGISTER_GROUP", 8)
    text = str(OutOfRegisters(24, 16, "vector registers", "k.py:3"))
    assert "24 needed, 16 available" in text and "REGISTER_GROUP = 8" in text and text.endswith("at k.py:3")
    error = OutOfRegisters(24, 16, "vector registers")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    monkeypatch.setattr(errors, "REGISTER_GROUP", 1)
    for name in ("vector registers", "scalar registers"):
        assert str(OutOfRegisters(24, 16, name)).endswith("Smaller blocks need fewer")
