"""The fast printer of instructions gives what xDSL's own gives, and is what kernels are printed with."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import ClassVar

import pytest
from ttir_samples import sample_text
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.cf import Cf
from xdsl.dialects.scf import Scf
from xdsl.dialects.test import Test
from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer

from <<cookiecutter.package_name>>.backend.options import Options
from <<cookiecutter.package_name>>.dialects.isa import INSTRUCTIONS, ISA, control, lanes
from <<cookiecutter.package_name>>.dialects.isa.base import Instruction
from <<cookiecutter.package_name>>.dialects.isa.printing import InstructionModule, InstructionPrinter, _parts
from <<cookiecutter.package_name>>.dialects.locations import SourceLoc
from <<cookiecutter.package_name>>.frontend.ttir_parser import parse_ttir
from <<cookiecutter.package_name>>.lowering import lower_module
from <<cookiecutter.package_name>>.target import BACKEND_NAME

SAMPLES = sorted((Path(__file__).parent / "filecheck" / "isa").glob("[!i]*.mlir"))
KERNEL_WITH_TRAP = f"""
{BACKEND_NAME}.kernel @k() attributes {{scratch_bytes = 0 : i64,
    traps = [["assert", "\\C4\\8D \\22", "/\\C4\\8D/k.py", #builtin.int<7>]]}} {{
  {BACKEND_NAME}.return
}}
"""
LEFT_TO_XDSL = {"kernel", "math", "mma", "print"}
"""A syntax of their own, operands that may be many, or a part that is mostly missing."""


def parsed(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Scf, Cf, Test, ISA):
        context.load_dialect(dialect)
    return Parser(context, text).parse_module()


def fast(op: Operation) -> str:
    printer = InstructionPrinter()
    printer.print_op(op)
    return "".join(printer.pieces)


def slow(op: Operation) -> str:
    out = StringIO()
    Printer(out).print_op(op)
    return out.getvalue()


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_every_instruction(path: Path) -> None:
    """The FileCheck files have all of them (`test_filecheck.py` sees to that)."""
    module = parsed(path.read_text(encoding="utf-8"))
    assert fast(module) == slow(module)


@pytest.mark.parametrize("locations", [True, False])
@pytest.mark.parametrize("name", ["softmax", "arithmetic", "while_loop", "early_return", "call", "scans"])
def test_kernels(name: str, locations: bool) -> None:
    module = lower_module(parse_ttir(sample_text(name, locations)), Options())
    assert isinstance(module, InstructionModule)
    assert str(module) == slow(module)
    assert str(parsed(str(module))) == str(module)


def test_what_is_left_to_xdsl() -> None:
    assert {cls.name.partition(".")[2] for cls in INSTRUCTIONS if _parts(cls) is None} == LEFT_TO_XDSL


@pytest.mark.parametrize(
    "name", ["plain", 'quo"te', "back\\slash", "two\nlines", "\tč芯😀", 'loc("x")', "\x01"]
)
def test_odd_names_of_files(name: str) -> None:
    """They come back from the text as they were."""
    constant = lanes.Const.create(result_types=[i64], properties={"value": IntegerAttr(3, i64)})
    constant.attributes["loc"] = SourceLoc.of(name, 1, 2)
    module = ModuleOp([constant])
    assert fast(module) == slow(module)
    assert parsed(fast(module)).is_structurally_equivalent(module)


def test_messages_that_are_not_ascii() -> None:
    text = KERNEL_WITH_TRAP
    module = parsed(text)
    module.verify()
    assert "\\C4\\8D" in fast(module)
    assert parsed(fast(module)).is_structurally_equivalent(module)


def test_other_attributes_and_names() -> None:
    constant = lanes.Const.create(result_types=[i64], properties={"value": IntegerAttr(3, i64)})
    constant.attributes["note"] = StringAttr("two\nlines")
    constant.attributes["loc"] = StringAttr("somewhere")
    constant.results[0].name_hint = "three"
    again = constant.clone()
    again.results[0].name_hint = "three"
    module = ModuleOp([constant, again, control.Return.create()])
    assert fast(module) == slow(module)
    assert "%three_1 = " in fast(module)


@irdl_op_definition
class Special(Instruction):
    """An instruction of an extension that prints itself."""

    name = f"{BACKEND_NAME}.special"
    number = prop_def(StringAttr)
    ASSEMBLY: ClassVar[str] = "$number attr-dict"

    def print(self, printer: Printer) -> None:
        printer.print_string(" in its own words")


def test_an_instruction_that_prints_itself() -> None:
    module = ModuleOp([Special.create(properties={"number": StringAttr("1")})])
    assert fast(module) == slow(module)
    assert "special in its own words" in fast(module)
