"""What the libdevice tests share: its functions as `LaneFunction`s, and samples."""

from __future__ import annotations

import numpy as np
from lane_functions import ELEMENTS, MEMORY, BlockSink, LaneFunction
from xdsl.ir import SSAValue

from <<cookiecutter.package_name>>.dialects.isa.base import vector
from <<cookiecutter.package_name>>.language import libdevice
from <<cookiecutter.package_name>>.language.extern import symbol_of
from <<cookiecutter.package_name>>.lowering.extern_elementwise import lower_extern

RNG = np.random.default_rng(5)

SIGNATURES = [
    (name, signature)
    for signatures, names in libdevice.SIGNATURES.items()
    for name in names.split()
    for signature in signatures.split()
]


def function(name: str, signature: str, count: int = 8) -> LaneFunction:
    arguments, result = signature.split(">")

    def rule(sink: BlockSink, values: list[SSAValue]) -> SSAValue:
        return lower_extern(symbol_of(name, arguments), values, vector(count, ELEMENTS[result]), sink)

    return LaneFunction(arguments, result, rule, count)


BITS = {"f": (24, -126, 127), "d": (53, -1022, 1023)}
"""Precision, least and greatest exponent."""


def arity(name: str) -> int:
    return next(len(signature.split(">")[0]) for other, signature in SIGNATURES if other == name)


def numbers(letter: str, count: int) -> np.ndarray:
    """Random codes, numbers of ordinary size, powers of two, the ends of the format."""
    _, least, greatest = BITS[letter]
    code = np.dtype(MEMORY[letter]).itemsize
    random = RNG.integers(0, 256, count * code, dtype=np.uint8).view(MEMORY[letter])
    ordinary = RNG.normal(size=count).astype(MEMORY[letter])
    powers = np.ldexp(RNG.choice([-1.0, 1.0, 1.5], count), RNG.integers(least - 30, greatest, count)).astype(
        MEMORY[letter]
    )
    info = np.finfo(MEMORY[letter])
    ends = np.array(
        [info.max, -info.max, info.tiny, -info.tiny, info.smallest_subnormal, 1, -1, 3, 0.1], MEMORY[letter]
    )
    values = np.concatenate([random, ordinary, powers, ends.repeat(count // 10)])
    return RNG.permutation(values[np.isfinite(values)])


def integers(letter: str, count: int = 1000) -> np.ndarray:
    """All sizes, and the ends."""
    info = np.iinfo(MEMORY[letter])
    width = info.bits
    values = [
        int.from_bytes(RNG.bytes(8), "little") % 2 ** int(RNG.integers(1, width + 1)) for _ in range(count)
    ]
    values += [0, 1, 2, 2**24, 2**24 + 1, 2 ** (width - 1) - 1, 2 ** (width - 1), 2**width - 1, 2**width - 2]
    return np.array(values, f"u{width // 8}").view(MEMORY[letter])
