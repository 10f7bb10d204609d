"""How buffers share the scratchpad."""

from __future__ import annotations

from typing import Any

from isa_kernels import parse_kernel
from xdsl.dialects.builtin import f32

from <<cookiecutter.package_name>>.dialects.isa import control, memory
from <<cookiecutter.package_name>>.lowering.scratch import Scratch


def places(body: str, buffers: int) -> tuple[list[int], int]:
    """Where `buffers` of 64 bytes, first at 0, 64, ..., lie in the end, and the bytes needed in all."""
    module = parse_kernel({"x": "i64"}, body)
    kernel: Any = next(op for op in module.walk() if isinstance(op, control.Kernel))
    scratch = Scratch()
    for _ in range(buffers):
        scratch.allocate((16,), f32)
    needed = scratch.share_memory(kernel)
    addresses = [op for op in kernel.walk() if isinstance(op, memory.ScratchAddress)]
    return [op.offset.value.data for op in addresses], needed


LOOP = """
    %a = isa.scratch 0
    %b = isa.scratch 64
    %zero = isa.const 0 : i64 : i64
    %one = isa.const 1 : i64 : i64
    %ten = isa.const 10 : i64 : i64
    %v = isa.const 1 : i32 : i32
    scf.for %i = %zero to %ten step %one : i64 {
      isa.store %v, %a : i32
      isa.store %v, %b : i32
    }
"""


def test_what_a_loop_leaves_behind_is_needed_in_all_of_it() -> None:
    """Also if it is read right after the loop. The next iteration must not write another buffer over it."""
    (a, b), needed = places(LOOP + "%r = isa.load %b : i32\nisa.store %r, %x : i32\nisa.return", 2)
    assert a != b and needed == 128


def test_buffers_of_different_times_share_their_place() -> None:
    body = """
    %a = isa.scratch 0
    %b = isa.scratch 64
    %v = isa.const 1 : i32 : i32
    isa.store %v, %a : i32
    %r = isa.load %a : i32
    isa.store %r, %b : i32
    %s = isa.load %b : i32
    isa.store %s, %x : i32
    isa.return"""
    offsets, needed = places(body.replace("isa.store %r", "isa.store %v"), 2)
    assert offsets == [0, 0] and needed == 64
