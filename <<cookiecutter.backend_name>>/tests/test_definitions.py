"""Mistakes in the tables and classes that make up the instruction set are errors that name both the mistake and its
place: where they are read, or where a kernel first needs what is missing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
import triton
import triton.language as tl
from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.ir import Block
from xdsl.irdl import irdl_op_definition

from <<cookiecutter.package_name>>.assembler import opcodes
from <<cookiecutter.package_name>>.codegen import llvm
from <<cookiecutter.package_name>>.codegen.emission import EMITTERS, emits
from <<cookiecutter.package_name>>.dialects import isa
from <<cookiecutter.package_name>>.dialects.isa import INSTRUCTIONS, alu, lanes
from <<cookiecutter.package_name>>.dialects.isa.base import Unit, format_of, mnemonic
from <<cookiecutter.package_name>>.dialects.isa.checks import FLOATS, expect_elements
from <<cookiecutter.package_name>>.dialects.isa.control import Kernel
from <<cookiecutter.package_name>>.dialects.isa.definitions import MODULES, belongs_in, check_instructions
from <<cookiecutter.package_name>>.dialects.locations import lines_between
from <<cookiecutter.package_name>>.emulator import core, emulated
from <<cookiecutter.package_name>>.emulator.steps import STEPS
from <<cookiecutter.package_name>>.errors import BackendError, CompileError, DefinitionError, UnsupportedOperation
from <<cookiecutter.package_name>>.formulas.formula import Formula
from <<cookiecutter.package_name>>.language.extern import extern_function
from <<cookiecutter.package_name>>.passes import pipeline
from <<cookiecutter.package_name>>.runtime.array import DeviceArray
from <<cookiecutter.package_name>>.target import BACKEND_NAME
from <<cookiecutter.package_name>>.target_rules import UNITS

# --- the numbers of instructions --------------------------------------------------------------------------------------


OWN = {name: number for name, number in opcodes.NUMBERS.items() if number < opcodes.FIRST_FOREIGN}
FREE = max(number for number in OWN.values() if number < opcodes.FIRST_OWN) + 1


def test_the_table_is_sound() -> None:
    """`check_numbers` refuses nothing, which the tests below show that it can; and nothing is left out."""
    opcodes.check_numbers(OWN)
    assert len(set(OWN.values())) == len(OWN) and set(OWN.values()) <= set(range(1, opcodes.FIRST_FOREIGN))
    assert {mnemonic(name) for name in OWN} >= {cls.name for cls in INSTRUCTIONS} - {Kernel.name}


@pytest.mark.parametrize(
    ("name", "number", "words"),
    [
        ("addf", opcodes.NUMBERS["ldexp"], rf"'addf' and 'ldexp' one number, \d+: .* \({FREE} is free\)"),
        ("move", opcodes.NUMBERS["mma"], "'move' and 'mma' one number"),
        ("addf", 300, "number of 'addf' .* must be one from 1 to 191 .*, not 300"),
        ("addf", 0, "from 1 to 191 .*, not 0"),
        ("addf", 200, "from 192 on they are for other packages"),
        ("addf", "40", "not '40'"),
        ("adff", FREE, f"number for 'adff', but there is no instruction {BACKEND_NAME}.adff"),
    ],
)
def test_wrong_numbers(name: str, number: Any, words: str) -> None:
    with pytest.raises(DefinitionError, match=words) as refused:
        opcodes.check_numbers({**OWN, name: number})
    assert "assembler/opcodes.py" in str(refused.value)


def test_the_template_leaves_the_owner_s_numbers_alone() -> None:
    """A newer template adds instructions; it must not take the number of one of yours, which goes into OWN_NUMBERS."""
    theirs = {name: number for name, number in OWN.items() if name not in opcodes.OWN_NUMBERS}
    assert max(theirs.values()) < opcodes.FIRST_OWN < opcodes.FIRST_FOREIGN


@pytest.mark.parametrize("number", [131, 159, 192, "160", None])
def test_own_numbers_are_of_the_owner_s_range(number: Any) -> None:
    with pytest.raises(DefinitionError, match="'ours' in OWN_NUMBERS .* must be one from 160 to 191, not"):
        opcodes.check_own_numbers({"ours": number})
    opcodes.check_own_numbers({"ours": 160, "others": 191})


def test_the_files_of_the_instruction_set_are_known() -> None:
    """Those that `MODULES` does not name are the owner's: each of them has an instruction."""
    folder = Path(isa.__file__).parent
    assert {file.stem for file in folder.glob("*.py")} - {"__init__"} == {*MODULES, *isa.OWN_FAMILIES}
    for name in isa.OWN_FAMILIES:
        assert any(cls.__module__ == f"{isa.__name__}.{name}" for cls in INSTRUCTIONS), (
            f"{name}.py has no instruction: put a file that only helps others into MODULES in definitions.py"
        )


# --- classes ----------------------------------------------------------------------------------------------------------


class Undecorated(alu.FloatBinary):
    name = mnemonic("test_undecorated")


@irdl_op_definition
class Elsewhere(alu.FloatBinary):
    name = "elsewhere.absdiff"


@irdl_op_definition
class Twin(alu.FloatBinary):
    name = alu.AddF.name


@irdl_op_definition
class Absdiff(alu.FloatBinary):
    name = mnemonic("test_absdiff")


@irdl_op_definition
class WrongCheck(alu.FloatBinary):
    name = mnemonic("test_wrong_check")

    def check(self) -> None:
        super().check()
        expect_elements("the result", element_off(self.result.type), FLOATS)  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("cls", "words"),
    [
        (Undecorated, r"class Undecorated \(.*test_definitions\.py:\d+\) lacks @irdl_op_definition"),
        (
            Elsewhere,
            r"class Elsewhere .* has the name 'elsewhere.absdiff': write name = mnemonic\(\"absdiff\"\)",
        ),
        (Twin, r"classes AddF \(dialects/isa/alu\.py:\d+\) and Twin .* have one name"),
    ],
)
def test_wrong_classes(cls: Any, words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        check_instructions((*INSTRUCTIONS, cls))
    check_instructions((*INSTRUCTIONS, Absdiff, Absdiff))


def test_what_takes_classes_refuses_one_without_the_decorator() -> None:
    with pytest.raises(DefinitionError, match="lacks @irdl_op_definition"):
        emits(Undecorated)
    with pytest.raises(DefinitionError, match="lacks @irdl_op_definition"):
        opcodes.assign_number(Undecorated, 200)
    with pytest.raises(DefinitionError, match="lacks @irdl_op_definition"):
        extern_function("test_undecorated", "ff>f", Undecorated)


def test_a_mistake_in_a_check_is_not_blamed_on_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(pipeline.VERIFY_VARIABLE, "1")
    block = Block(arg_types=[f32, f32])
    op = WrongCheck.create(operands=list(block.args), result_types=[f32])
    block.add_op(op)
    with pytest.raises(CompileError) as caught:
        pipeline.verify_if_asked(op, "the lowering")
    message = str(caught.value)
    assert "WrongCheck.check (of " in message and "NameError: name 'element_off' is not defined" in message
    assert re.search(r'at .*test_definitions\.py:\d+: expect_elements\("the result", element_off', message)
    assert "invalid module" not in message
    with pytest.raises(CompileError, match="the lowering left an invalid module"):
        wrong = alu.AddF.create(operands=[block.args[0]], result_types=[f32])
        pipeline.verify_if_asked(wrong, "the lowering")


def test_every_unit_has_a_rule() -> None:
    assert {unit.value for unit in Unit} == set(UNITS)


# --- functions for kernels --------------------------------------------------------------------------------------------


def _rule(f: Formula, x: Any, y: Any, scale: float = 1.0) -> Any:
    return f(alu.AddF, x, y)


@pytest.mark.parametrize(
    ("signatures", "lowering", "words"),
    [
        ("f>f", Absdiff, f'{BACKEND_NAME}.test_absdiff has 2 operands, the signature "f>f" has 1'),
        ("fff>f", alu.AddF, "has 2 operands"),
        ("f>f", _rule, "rule _rule does not take a formula and the 1 operands"),
        ("ffff>f", _rule, "the 4 operands"),
        ("qq>q", alu.AddF, r"the letter 'q' of 'qq>q' must be one of f \(fp32\), d \(fp64\)"),
        ("ff>q", None, "letter 'q'"),
        ("ff", alu.AddF, "a signature is letters .*, not 'ff'"),
        ("ff>", alu.AddF, "not 'ff>'"),
        (">f", alu.AddF, "not '>f'"),
        ("fffff>f", None, "1 to 4 operands"),
        ("ff>ff", alu.AddF, "not 'ff>ff'"),
        ("ff>f d>d", None, "differ in their numbers of operands"),
        (" ", None, "no signature"),
        (
            "fi>f",
            alu.AddF,
            rf'{BACKEND_NAME}.addf cannot be "fi>f": vector<.*f32> and vector<.*i32> must be one',
        ),
        ("ff>d", alu.AddF, r'cannot be "ff>d": vector<.*f32> and vector<.*f64> must be one type'),
        ("ff>f uu>u", alu.AddF, 'cannot be "uu>u": the operands must be f32 or f64, not vector<.*i32>'),
        ("hh>h", alu.AddF, 'cannot be "hh>h": the operands must be f32 or f64, not vector<.*f16>'),
        ("u>u", alu.AbsF, 'cannot be "u>u"'),
        ("ff>b", alu.CmpF, "cannot be \"ff>b\": property 'predicate' expected"),
        (
            "ff>f",
            WrongCheck,
            r"WrongCheck.check .* fails itself: NameError: name 'element_off' is not defined",
        ),
        ("ff>f", 3, "class of an instruction, or a function that .*, not 3"),
        ("ff>f", int, "not <class 'int'>"),
        ("ff>f", partial(_rule), "not functools.partial"),
    ],
)
def test_wrong_signatures(signatures: str, lowering: Any, words: str) -> None:
    with pytest.raises(DefinitionError, match=words):
        extern_function("test_wrong_signature", signatures, lowering)
    assert issubclass(DefinitionError, ValueError)
    # The name is free still.
    extern_function("test_wrong_signature", "ff>f", _rule)


# --- instructions that a table lacks ----------------------------------------------------------------------------------


@triton.jit
def lengths(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    v = v + 1  # the first line of those that it may be
    v = tl.math.rsqrt(v) * v
    tl.store(y + i, v, mask=i < n)  # the last line


@pytest.fixture
def fresh(fresh_cache: Any) -> Iterator[None]:
    lengths.device_caches.clear()
    yield
    lengths.device_caches.clear()


def refused(device: AbstractContextManager[object], kind: type[Any] = UnsupportedOperation) -> Any:
    x = DeviceArray.zeros(32)
    with device, pytest.raises(kind) as caught:
        lengths[(1,)](x, x, 32, BLOCK=32)
    return caught.value


def lines_of(error: UnsupportedOperation) -> tuple[int, int]:
    found = re.fullmatch(rf"{re.escape(os.path.realpath(__file__))}:(\d+)(?:-(\d+))?", error.location)
    assert found is not None, error.location
    return int(found[1]), int(found[2] or found[1])


def check_lines(error: UnsupportedOperation) -> None:
    """The line of the rsqrt is among those that the error names, and they are lines of the kernel."""
    first, last = lines_of(error)
    text = Path(__file__).read_text(encoding="utf-8").splitlines()
    wanted = next(n for n, line in enumerate(text, 1) if "tl.math.rsqrt(v) * v" in line)
    assert wanted - 2 <= first <= wanted <= last <= wanted + 1


def test_no_emitter(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert llvm.emit_module, "the import fills the table"
    monkeypatch.delitem(EMITTERS, alu.Rsqrt)
    monkeypatch.delitem(EMITTERS, alu.MulF)
    error = refused(nullcontext())
    check_lines(error)
    assert "the reference device does not know" in error.message and "no LLVM IR" in error.message
    assert error.add_support_in.startswith("codegen/alu.py, with a function under @emits(")


def test_no_number(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(opcodes.NUMBERS, "mulf")
    opcodes.form_of.cache_clear()
    opcodes.form_numbered.cache_clear()
    error = refused(emulated())
    check_lines(error)
    assert f"{BACKEND_NAME}.mulf has no number" in error.message
    assert error.add_support_in.startswith("assembler/opcodes.py, in OWN_NUMBERS")


def test_no_step(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert core.FAMILIES, "the import fills the table"
    monkeypatch.delitem(STEPS, "mulf")
    error = refused(emulated())
    check_lines(error)
    assert f"the emulator does not know {BACKEND_NAME}.mulf" in error.message
    assert error.add_support_in == 'emulator/alu.py, with a function under @executes("mulf")'


def test_an_emitter_that_sets_no_result(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(e: Any, op: Any) -> None:
        e.let(f"fmul {e.typed(op.lhs)}, {e.ref(op.rhs)}")

    assert llvm.emit_module, "the import fills the table"
    monkeypatch.setitem(EMITTERS, alu.MulF, forgetful)
    message = refused(nullcontext(), CompileError).message
    assert f"is used before it is written: it is a result of {BACKEND_NAME}.mulf. Either the function" in message
    assert "forgetful, which emits that, calls neither e.result nor e.bind" in message


def test_an_emitter_that_fails(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def hasty(e: Any, op: Any) -> None:
        e.result(op, op.operands[7])

    assert llvm.emit_module, "the import fills the table"
    monkeypatch.setitem(EMITTERS, alu.MulF, hasty)
    error = refused(nullcontext(), CompileError)
    check_lines(error)
    assert f"hasty, which emits {BACKEND_NAME}.mulf, failed: IndexError: " in error.message


@pytest.mark.parametrize("late", [False, True], ids=["maker", "step"])
def test_a_step_that_fails(fresh: None, monkeypatch: pytest.MonkeyPatch, late: bool) -> None:
    def wrong(machine: Any, instruction: Any) -> Any:
        def step() -> None:
            raise TypeError("a mistake")

        return step if late else step()

    assert core.FAMILIES, "the import fills the table"
    monkeypatch.setitem(STEPS, "mulf", wrong)
    text = str(refused(emulated(), BackendError))
    assert re.search(r"mulf: .*wrong, which executes it, failed: TypeError", text) and "a mistake" in text
    assert f"{Path(__file__).name}:" in text


def test_an_assembly_format_with_a_mistake() -> None:
    @irdl_op_definition
    class Misspelt(alu.FloatBinary):
        name = mnemonic("misspelt")
        ASSEMBLY: ClassVar[str] = "$lhs `,` $rsh attr-dict `:` type($result)"

    with pytest.raises(DefinitionError, match=rf"ASSEMBLY of {BACKEND_NAME}\.misspelt, .*class .*Misspelt, .*\.py:"):
        format_of(Misspelt)


def test_an_instruction_with_too_few_operands() -> None:
    """As a pass may build it: it cannot be printed, and the error says which it is and how to find the pass."""
    zero = lanes.Const.create(properties={"value": FloatAttr(0.0, f32)}, result_types=[f32])
    half = alu.MulF.create(operands=[zero.results[0]], result_types=[f32])
    with pytest.raises(CompileError, match=rf"{BACKEND_NAME}\.mulf has not the operands.*_VERIFY_PASSES=1"):
        str(half)


def test_where_support_belongs() -> None:
    assert belongs_in("codegen", alu.AddF, "so") == "codegen/alu.py, so"
    assert belongs_in("codegen", Absdiff, "so") == f"the package that defines it ({__name__}), so"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, None, ""),
        (("k.py", 3), None, "k.py:3"),
        (None, ("k.py", 3), "k.py:3"),
        (("k.py", 3), ("k.py", 3), "k.py:3"),
        (("k.py", 3), ("k.py", 5), "k.py:3-5"),
        (("k.py", 9), ("k.py", 5), "k.py:5"),
        (("other.py", 1), ("k.py", 5), "k.py:5"),
    ],
)
def test_lines_between(before: Any, after: Any, expected: str) -> None:
    assert lines_between(before, after) == expected


def test_an_error_keeps_the_place_that_it_has() -> None:
    assert UnsupportedOperation("no", location="k.py:1").at("k.py:2").location == "k.py:1"
    error = UnsupportedOperation("no", add_support_in="x.py").at("k.py:2")
    assert isinstance(error, UnsupportedOperation) and isinstance(error, BackendError)
    assert (error.location, error.add_support_in) == ("k.py:2", "x.py")
