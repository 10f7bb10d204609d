"""What the functions of ``language/elementwise.py`` mean on the GPU, in LLVM IR and functions of CUDA's libdevice.

The activations are the formulas of ``passes/expand_act.py``, which says why they are as they are; its numbers are here
again, since every process that uses a GPU reads this file. (``language/blocks.py`` needs nothing here: for a GPU it
writes Triton's own operations.)
"""

from __future__ import annotations

import math
import struct
from typing import Final

from .functions import gpu_function

FLOATS: Final = {"f": ("float", "f32", "f"), "d": ("double", "f64", "")}
"""Letter -> LLVM's type, its name in those of intrinsics, the end of libdevice's names."""

INTEGERS: Final = {"c": 8, "s": 16, "i": 32, "l": 64}

NUMBERS: Final = {
    "least": -1024.0,
    "clip": 6.0,
    "slope": 0.01,
    "cubic": 0.044715,
    "root": 2 * math.sqrt(2 / math.pi),
    "root_half": math.sqrt(0.5),
}
"""Constants of the bodies."""

SIGMOID: Final = """
    %size = call {t} @llvm.fabs.{m}({t} {argument})
    %opposite = fneg {t} %size
    %small = call {t} @__nv_exp{s}({t} %opposite)
    %positive = fcmp oge {t} {argument}, 0.0
    %numerator = select i1 %positive, {t} 1.0, {t} %small
    %denominator = fadd {t} %small, 1.0
    %sigmoid = fdiv {t} %numerator, %denominator
"""

RELU: Final = """
    %negative = fcmp ole {t} %t, 0.0
    %relu = select i1 %negative, {t} 0.0, {t} %t
"""

ABOVE_LEAST: Final = """
    %beyond = fcmp olt {t} %t, {least}
    %x = select i1 %beyond, {t} {least}, {t} %t
"""

BODIES: Final = {
    "linear": "ret {t} %t",
    "relu": RELU + "ret {t} %relu",
    "relu6": RELU + """
    %large = fcmp oge {t} %t, {clip}
    %clipped = select i1 %large, {t} {clip}, {t} %relu
    ret {t} %clipped
    """,
    "leaky_relu": """
    %positive = fcmp ogt {t} %t, 0.0
    %small = fmul {t} %t, {slope}
    %leaky = select i1 %positive, {t} %t, {t} %small
    ret {t} %leaky
    """,
    "sigmoid": SIGMOID.replace("{argument}", "%t") + "ret {t} %sigmoid",
    "silu": ABOVE_LEAST + SIGMOID.replace("{argument}", "%x") + """
    %silu = fmul {t} %x, %sigmoid
    ret {t} %silu
    """,
    "gelu": ABOVE_LEAST + """
    %scaled = fmul {t} %x, {root_half}
    %erf = call {t} @__nv_erf{s}({t} %scaled)
    %distribution = fadd {t} %erf, 1.0
    %half = fmul {t} %x, 0.5
    %gelu = fmul {t} %half, %distribution
    ret {t} %gelu
    """,
    "gelu_tanh": ABOVE_LEAST + """
    %square = fmul {t} %x, %x
    %factor = call {t} @llvm.fma.{m}({t} %square, {t} {cubic}, {t} 1.0)
    %scaled = fmul {t} %x, {root}
    %u = fmul {t} %scaled, %factor
    """ + SIGMOID.replace("{argument}", "%u") + """
    %gelu = fmul {t} %x, %sigmoid
    ret {t} %gelu
    """,
    "tanh": """
    %tanh = call {t} @__nv_tanh{s}({t} %t)
    ret {t} %tanh
    """,
}  # fmt: skip
"""Kind of activation -> what computes it of %t."""


def _literal(value: float, letter: str) -> str:
    """LLVM spells a float as the double of the same value."""
    if letter == "f":
        (value,) = struct.unpack("<f", struct.pack("<f", value))
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def _define_activations() -> None:
    for letter, (t, m, s) in FLOATS.items():
        literals = {name: _literal(value, letter) for name, value in NUMBERS.items()}
        argument = f"%t = call {t} @llvm.fma.{m}({t} %0, {t} %1, {t} %2)\n"
        for kind, body in BODIES.items():
            body = argument + body.format(t=t, m=m, s=s, **literals)
            gpu_function(f"act.{kind}", f"{letter * 3}>{letter}", body)


def _define_saturation() -> None:
    for letter in "iu":
        for width, result in ((8, "c"), (16, "s"), (32, "i")):
            name = f"saturate.{letter}{width}"
            for source, (t, m, _) in FLOATS.items():
                body = f"""
                %whole = call {t} @llvm.roundeven.{m}({t} %0)
                %number = call i{width} @llvm.fpto{letter.replace("i", "s")}i.sat.i{width}.{m}({t} %whole)
                ret i{width} %number
                """
                gpu_function(name, f"{source}>{result}", body)
            for source, bits in INTEGERS.items():
                gpu_function(name, f"{source}>{result}", _clamped(bits, width, signed=letter == "i"))


def _clamped(bits: int, width: int, *, signed: bool) -> str:
    """A signed number of `bits` bits as one of `width`."""
    low = max(-(1 << (width - 1)) if signed else 0, -(1 << (bits - 1)))
    high = min((1 << (width - signed)) - 1, (1 << (bits - 1)) - 1)
    change = "bitcast" if bits == width else "trunc" if bits > width else "sext"
    return f"""
    %above = call i{bits} @llvm.smax.i{bits}(i{bits} %0, i{bits} {low})
    %inside = call i{bits} @llvm.smin.i{bits}(i{bits} %above, i{bits} {high})
    %number = {change} i{bits} %inside to i{width}
    ret i{width} %number
    """


_define_activations()
_define_saturation()
