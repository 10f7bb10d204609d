"""How buffers share the scratchpad."""

from __future__ import annotations

from typing import Any

import pytest
from isa_kernels import parse_kernel
from xdsl.dialects.builtin import bf16, f32, i8

from <<cookiecutter.package_name>>.dialects.isa import control, memory
from <<cookiecutter.package_name>>.lowering.aliasing import extent
from <<cookiecutter.package_name>>.lowering.scratch import Scratch, matrix_strides
from <<cookiecutter.package_name>>.lowering.tiles import Buffer, is_matrix


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


@pytest.mark.parametrize(
    ("shape", "size", "strides"),
    [
        ((16, 128), 4, (144, 1)),
        ((16, 256), 2, (288, 1)),
        ((4, 16, 512), 1, (16 * 576, 576, 1)),
        ((16, 64), 4, (64, 1)),
        ((16, 129), 4, (129, 1)),
        ((1024,), 4, (1,)),
    ],
)
def test_long_rows_of_a_matrix_are_set_apart(
    shape: tuple[int, ...], size: int, strides: tuple[int, ...]
) -> None:
    assert matrix_strides(shape, size) == strides
    element = {1: i8, 2: bf16, 4: f32}[size]
    scratch = Scratch()
    buffer = scratch.allocate(shape, element, matrix=True)
    assert buffer.strides == strides and is_matrix(buffer)
    assert scratch.top >= extent(buffer)[1]
    assert scratch.allocate((1,), element).offset >= extent(buffer)[1]


@pytest.mark.parametrize(
    ("shape", "strides", "wanted"),
    [
        ((4, 8), (8, 1), True),
        ((4, 8), (9, 1), True),
        ((4, 8), (7, 1), False),
        ((4, 8), (1, 4), False),
        ((4, 8), (16, 2), False),
        ((1, 8), (0, 1), True),
        ((4, 1), (1, 0), True),
        ((2, 4, 8), (40, 10, 1), True),
        ((2, 4, 8), (64, 10, 1), False),
        ((2, 1, 8), (8, 0, 1), True),
        ((2, 1, 8), (16, 0, 1), False),
        ((8,), (1,), True),
        ((8,), (2,), False),
    ],
)
def test_what_the_matrix_unit_takes(shape: tuple[int, ...], strides: tuple[int, ...], wanted: bool) -> None:
    assert is_matrix(Buffer(shape, f32, 0, strides)) == wanted
