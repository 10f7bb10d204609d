"""Buffers that become registers: random structured programs do the same before and after, and shapes of each kind."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest
import triton
import triton.language as tl
from isa_kernels import IsaKernel, parse_kernel
from xdsl.dialects.builtin import ModuleOp

from <<cookiecutter.package_name>>.dialects.isa import control, memory
from <<cookiecutter.package_name>>.dialects.walk import operations_in
from <<cookiecutter.package_name>>.lowering.cleanup import remove_unused
from <<cookiecutter.package_name>>.lowering.mem2reg import promote_buffers
from <<cookiecutter.package_name>>.runtime.array import DeviceArray

TYPES = ("i32", "vector<4xi32>", "i32", "vector<4xi32>", "i32")
"""Of the buffers of a random program, which start 64 bytes apart."""

OFFSETS = [64 * number for number in range(len(TYPES) + 1)]


class Program:
    """Random statements: loads, stores, loops, conditions and loops with one, nested."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.count = 0
        for number in range(6):
            self.lines.append(f"%c{number} = isa.const {number} : i32 : i32")
        for number, ty in enumerate(TYPES):
            self.lines.append(f"%p{number} = isa.scratch {OFFSETS[number]}")
            start = self.wide(f"%c{number + 1}", ty)
            self.lines.append(f"isa.store {start}, %p{number} : {ty}")
        self.block(3)
        for number, ty in enumerate(TYPES):
            value = self.load(number)
            place = self.let(f"isa.const {16 * number} : i64 : i64")
            self.lines.append(f"isa.store {value}, {self.let(f'isa.addi %out, {place} : i64')} : {ty}")
        self.lines.append("isa.return")

    def let(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"%v{self.count} = {text}")
        return f"%v{self.count}"

    def wide(self, scalar: str, ty: str) -> str:
        return scalar if ty == "i32" else self.let(f"isa.splat {scalar} : i32 -> {ty}")

    def load(self, number: int) -> str:
        return self.let(f"isa.load %p{number} : {TYPES[number]}")

    def scalar(self) -> str:
        """A small number, from a buffer."""
        value = self.load(self.random.choice([n for n, ty in enumerate(TYPES) if ty == "i32"]))
        return self.let(f"isa.and {value}, %c3 : i32")

    def block(self, depth: int) -> None:
        for _ in range(self.random.randint(1, 4)):
            kinds = [self.assign] * 4 + [self.loop, self.condition, self.one_sided, self.repeat] * (depth > 0)
            self.random.choice(kinds)(depth - 1)

    def assign(self, depth: int) -> None:
        target = self.random.randrange(len(TYPES))
        ty = TYPES[target]
        source = self.load(self.random.choice([n for n, other in enumerate(TYPES) if other == ty]))
        if self.random.random() < 0.8:
            other = self.wide(self.scalar(), ty)
            tripled = self.let(f"isa.muli {source}, {self.wide('%c3', ty)} : {ty}")
            source = self.let(f"isa.addi {tripled}, {other} : {ty}")
        self.lines.append(f"isa.store {source}, %p{target} : {ty}")

    def loop(self, depth: int) -> None:
        bound = self.random.choice([self.scalar, lambda: "%c2", lambda: "%n"])()
        self.count += 1
        self.lines.append(f"scf.for %i{self.count} = %c0 to {bound} step %c1 : i32 {{")
        self.block(depth)
        self.lines.append("}")

    def is_odd(self) -> str:
        odd = self.let(f"isa.and {self.scalar()}, %c1 : i32")
        return self.let(f"isa.cmpi eq, {odd}, %c1 : i32 -> i1")

    def condition(self, depth: int) -> None:
        self.lines.append(f"scf.if {self.is_odd()} {{")
        self.block(depth)
        self.lines.append("} else {")
        self.block(depth)
        self.lines.append("}")

    def one_sided(self, depth: int) -> None:
        self.lines.append(f"scf.if {self.is_odd()} {{")
        self.block(depth)
        self.lines.append("}")

    def repeat(self, depth: int) -> None:
        """Accesses on both sides of a ``while``, which counts in a register of its own."""
        self.count += 1
        counter = f"%w{self.count}"
        self.lines.append(f"%r{counter[1:]} = scf.while ({counter} = %c0) : (i32) -> i32 {{")
        self.block(depth - 1)
        more = self.let(f"isa.addi {counter}, %c1 : i32")
        limit = self.let(f"isa.addi {self.scalar()}, %c1 : i32")
        self.lines.append(f"scf.condition({self.let(f'isa.cmpi slt, {counter}, {limit} : i32 -> i1')}) {more} : i32")
        self.lines.append(f"}} do {{\n^b{counter[1:]}({counter}x: i32):")
        self.block(depth - 1)
        self.lines.append(f"scf.yield {counter}x : i32\n}}")


ARGUMENTS = {"out": "i64", "n": "i32"}


def kernel_of(module: ModuleOp) -> control.Kernel:
    (kernel,) = module.ops
    assert isinstance(kernel, control.Kernel)
    return kernel


def run(module: ModuleOp, n: int) -> np.ndarray:
    out = np.zeros(4 * len(TYPES), np.int32)
    assert IsaKernel(ARGUMENTS, module)(out, n) == 0
    return out


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_random_programs(first: int) -> None:
    for seed in range(first, first + 10):
        text = "\n".join(Program(seed).lines)
        before, after = parse_kernel(ARGUMENTS, text), parse_kernel(ARGUMENTS, text)
        promote_buffers(kernel_of(after), OFFSETS)
        remove_unused(after)
        after.verify()
        found = operations_in(after)
        assert not any(isinstance(op, memory.ScratchAddress | memory.Load) for op in found), f"seed {seed}"
        for n in (0, 1, 3):
            np.testing.assert_array_equal(run(after, n), run(before, n), f"seed {seed}, n = {n}")


KEPT = {
    "in part": "%v = isa.load %p : vector<2xi32>",
    "from its middle": "%m = isa.scratch 4\n%v = isa.load %m : i32",
    "at a computed place": "%q = isa.addi %p, %out : i64\n%v = isa.load %q : i32",
    "by a mask": "%v = isa.load.masked %p, %yes, %x : i1, i32",
    "its address": "isa.store %p, %out : i64",
    "by an atomic": '%v = isa.atomic.rmw "add", "acq_rel", %p, %x, %yes : i64, i1, i32',
}


@pytest.mark.parametrize("other", KEPT)
def test_what_stays_in_memory(other: str) -> None:
    """A buffer of which anything else is asked than a load or store of one register."""
    body = f"""%x = isa.const 5 : i32 : i32
    %yes = isa.const true : i1
    %p = isa.scratch 0
    isa.store %x, %p : i32
    {KEPT[other]}
    %w = isa.load %p : i32
    isa.store %w, %out : i32
    isa.return"""
    module = parse_kernel(ARGUMENTS, body)
    before = str(module)
    promote_buffers(kernel_of(module), [0, 64])
    assert str(module) == before


def test_blocks_without_structure_keep_their_buffers() -> None:
    body = """%x = isa.const 5 : i32 : i32
    %p = isa.scratch 0
    isa.store %x, %p : i32
    "cf.br"()[^next] : () -> ()
    ^next:
    %w = isa.load %p : i32
    isa.store %w, %out : i32
    isa.return"""
    module = parse_kernel(ARGUMENTS, body, verify=False)
    before = str(module)
    promote_buffers(kernel_of(module), [0, 64])
    assert str(module) == before


def test_a_store_that_is_not_always_made() -> None:
    """Where nothing was stored, anything may be loaded: it is zero, and no value of another path."""
    body = """%x = isa.const 5 : i32 : i32
    %zero = isa.const 0 : i32 : i32
    %p = isa.scratch 0
    %some = isa.cmpi sgt, %n, %zero : i32 -> i1
    scf.if %some {
      isa.store %x, %p : i32
    }
    %w = isa.load %p : i32
    isa.store %w, %out : i32
    isa.return"""
    module = parse_kernel(ARGUMENTS, body)
    promote_buffers(kernel_of(module), [0, 64])
    module.verify()
    assert [run(module, n)[0] for n in (0, 1)] == [0, 5]


# --- kernels ------------------------------------------------------------------------------------------------------


@triton.jit
def swap_and_turn(x, y, out, n, LANES: tl.constexpr):
    lanes = tl.arange(0, LANES)
    first, second = tl.load(x + lanes), tl.load(y + lanes)
    flag = first > second
    for i in range(n):
        first, second = second, first
        if i % 3 == 1:
            flag = flag & (first < second)
            first += 1
    steps = first * 0
    while tl.max(first) < 100:
        first += 7
        steps = tl.where(flag, steps + 1, steps)
    wide = out.dtype.element_ty
    tl.store(out + lanes, first.to(wide) + second.to(wide) * 1000 + steps.to(wide) * 100000)


def expected(x: np.ndarray, y: np.ndarray, n: int) -> np.ndarray:
    first, second = x.copy(), y.copy()
    flag, steps = first > second, np.zeros_like(first)
    for i in range(n):
        first, second = second, first
        if i % 3 == 1:
            flag, first = flag & (first < second), first + 1
    while first.max() < 100:
        first, steps = first + 7, np.where(flag, steps + 1, steps)
    return first + second.astype(np.int64) * 1000 + steps.astype(np.int64) * 100000


@pytest.fixture(params=[1, 4, 64, 256])
def lanes(request: pytest.FixtureRequest) -> Iterator[int]:
    """A scalar's, a part of a register's, and more than any register's."""
    yield request.param


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float16", "float32", "float64"])
def test_tensors_that_loops_carry(dtype: str, lanes: int) -> None:
    """Swapped, compared (i1), changed on one path only; at lengths that registers hold and that they do not."""
    x, y = (np.random.default_rng(seed).integers(0, 50, lanes).astype(dtype) for seed in (1, 2))
    for n in (0, 1, 2, 5):
        out = DeviceArray.from_numpy(np.zeros(lanes, np.int64))
        swap_and_turn[(1,)](DeviceArray.from_numpy(x), DeviceArray.from_numpy(y), out, n, LANES=lanes)
        np.testing.assert_array_equal(out.numpy(), expected(x, y, n), f"n = {n}")


def test_sums_in_registers() -> None:
    """No memory at all where all that a loop carries fits registers."""

    @triton.jit
    def newton(x, out, rounds, LANES: tl.constexpr):
        lanes = tl.arange(0, LANES)
        value = tl.load(x + lanes)
        root = value * 0.5 + 0.5
        for _ in range(rounds):
            root = 0.5 * (root + value / root)
        tl.store(out + lanes, root)

    x = np.linspace(1, 9, 16, dtype=np.float32)
    out = DeviceArray.from_numpy(np.zeros(16, np.float32))
    kernel = newton[(1,)](DeviceArray.from_numpy(x), out, 20, LANES=16)
    np.testing.assert_allclose(out.numpy(), np.sqrt(x), rtol=1e-6)
    assert kernel.metadata.scratch_bytes == 0
