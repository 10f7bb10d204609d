"""Which line of a kernel an instruction comes from: arithmetic, too, not only loads and stores."""

from __future__ import annotations

import inspect
import re

import triton
import triton.language as tl

from <<cookiecutter.package_name>>.backend.compiler import ISA_EXT
from <<cookiecutter.package_name>>.language.libdevice import asin
from <<cookiecutter.package_name>>.runtime.array import DeviceArray
from <<cookiecutter.package_name>>.target import BACKEND_NAME


@triton.jit
def several_lines(x, out, total, scale, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    value = tl.load(x + lanes)
    shifted = value - 0.25
    grown = tl.exp(shifted)
    turned = asin(value)
    half = scale * 0.5
    tl.store(out + lanes, grown * turned)
    tl.store(total, tl.max(turned) + half)


def test_lines_of_arithmetic() -> None:
    x, out = DeviceArray.zeros(512, "float32"), DeviceArray.zeros(512, "float32")
    kernel = several_lines[(1,)](x, out, DeviceArray.zeros(1, "float32"), 2.0, BLOCK=512)
    lines, start = inspect.getsourcelines(several_lines.fn)
    found: dict[str, set[str]] = {}
    place = re.compile(rf'{BACKEND_NAME}\.(\S+) .*loc<"[^"]*{__name__.rpartition(".")[2]}\.py":(\d+):')
    for instruction, line in place.findall(kernel.asm[ISA_EXT]):
        found.setdefault(lines[int(line) - start].strip(), set()).add(instruction)
    made = {text.partition(" = ")[0]: instructions for text, instructions in found.items()}
    assert made["shifted"] == {"subf"}
    assert made["half"] == {"mulf"}
    assert made["grown"] and made["turned"], "made of many instructions, where the machine has none of the kind"
    assert "mulf" in made["tl.store(out + lanes, grown * turned)"]
    assert "addf" in made["tl.store(total, tl.max(turned) + half)"]
