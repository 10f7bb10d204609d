"""What the next Triton may change: each is said in one error that names the file of this package to change.

The releases after 3.9 are not there to try, so their likely changes are made here: an attribute more that is read, an
argument more that is passed, an operation that is printed with more than this package knows.
"""

from __future__ import annotations

import collections
import copy
import pickle
import re
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from native import copying_kernel
from triton.backends.compiler import GPUTarget
from triton.runtime.jit import JITFunction
from ttir_samples import sample_text

from <<cookiecutter.package_name>>.backend.compiler import Backend
from <<cookiecutter.package_name>>.backend.driver import Driver
from <<cookiecutter.package_name>>.backend.options import OptionError, Options, parse_options
from <<cookiecutter.package_name>>.dialects.tt_enums import RMWOp, UnknownValue
from <<cookiecutter.package_name>>.errors import CompileError, LaunchError, UnsupportedOperation
from <<cookiecutter.package_name>>.frontend.ttir_parser import parse_ttir
from <<cookiecutter.package_name>>.lowering import lower_module
from <<cookiecutter.package_name>>.target import ARCH, BACKEND_NAME, PACKAGE_NAME

# --- attributes that are read -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("owner", "place"),
    [
        (Options(), "backend.options.Options"),
        (Driver(), "backend.driver.Driver"),
        (Driver().utils, "backend.driver.Utilities"),
        (Backend(GPUTarget(BACKEND_NAME, ARCH, 32)), "backend.compiler.Backend"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_attribute_that_only_the_next_triton_reads(owner: Any, place: str) -> None:
    with pytest.raises(AttributeError, match=rf"'brand_new'.* add it to {PACKAGE_NAME}\.{place}") as raised:
        _ = owner.brand_new
    assert raised.value.name == "brand_new"
    assert not hasattr(owner, "brand_new") and getattr(owner, "brand_new", 3) == 3
    assert copy.copy(owner).__class__ is owner.__class__, "protocols look for names that are not there"


def test_options_go_to_other_processes() -> None:
    assert pickle.loads(pickle.dumps(Options(num_warps=8))).num_warps == 8


def test_a_field_of_the_metadata_that_only_the_next_triton_reads() -> None:
    """Triton makes a class for each kernel's metadata; all it asks us about it is to pack it."""
    kind = collections.namedtuple("KernelMetadata", ["num_warps", "num_ctas", "shared"])
    metadata = kind(4, 1, 64)
    assert Backend(GPUTarget(BACKEND_NAME, ARCH, 32)).pack_metadata(metadata) == (4, 1, 64)
    with pytest.raises(AttributeError, match=r"'brand_new'.* Options in backend/options.py"):
        _ = metadata.brand_new  # type: ignore[attr-defined]
    assert not hasattr(metadata, "tmem_size")


def test_a_property_of_the_device_that_only_the_next_triton_reads() -> None:
    properties = Driver().utils.get_device_properties(0)
    with pytest.raises(KeyError, match=r"'brand_new'.* get_device_properties in backend/driver.py"):
        _ = properties["brand_new"]
    assert properties.get("brand_new", 3) == 3 and "brand_new" not in properties


# --- keywords and arguments that are passed ---------------------------------------------------------------------


@triton.jit
def double(x):
    tl.store(x, tl.load(x) * 2)


def test_every_keyword_that_triton_adds_to_launches_is_an_option(
    monkeypatch: pytest.MonkeyPatch, fresh_cache: Any, to_device: Any
) -> None:
    """Those that an installed release adds, whichever it is: recorded in a launch that names none."""
    seen: set[str] = set()
    original = Backend.parse_options

    def record(self: Backend, given: dict[str, Any]) -> Any:
        seen.update(given)
        return original(self, given)

    monkeypatch.setattr(Backend, "parse_options", record)
    x = to_device(np.array([21], np.int32))
    # Another function than the one above: one that nobody has launched yet.
    JITFunction(double.fn)[(1,)](x)
    assert "debug" in seen
    assert seen <= set(Options().__dict__), "add it to Options in backend/options.py"


def test_a_keyword_that_only_the_next_triton_adds_to_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton itself would say that the caller gave an unknown keyword, who gave none."""

    def run(self: Any, *args: Any, **kwargs: Any) -> None:
        kwargs["brand_new"] = False

    monkeypatch.setattr(JITFunction, "run", run)
    with pytest.raises(OptionError, match=r"Triton adds brand_new=False to every launch.*backend\.options\.Options"):
        parse_options({"brand_new": False, "num_warps": 4})
    parse_options({"n": 3, "not_so_new": 3})  # parameters of kernels, and what Triton refuses


@pytest.mark.parametrize("args", [("x",), ("x", 1, 2), (("x", 1),)])
def test_a_launcher_called_with_other_arguments(args: tuple[Any, ...]) -> None:
    """With more or fewer in front, all have moved. One traceback: the generated code's failure says nothing more."""
    kernel = copying_kernel({"x": "i32", "y": "i32"})
    with pytest.raises(LaunchError, match=r"this release of Triton calls launchers .*runtime/launcher\.py") as raised:
        kernel((1, 1, 1), *args)
    assert raised.value.__suppress_context__ and raised.value.__cause__ is None


# --- operations that are printed --------------------------------------------------------------------------------


def changed(sample: str, pattern: str, replacement: str) -> str:
    text, count = re.subn(pattern, replacement, sample_text(sample))
    assert count
    return text


@pytest.mark.parametrize(
    ("sample", "pattern", "replacement", "message", "place"),
    [
        (
            "add", r'("tt\.load"\([^)]*\) <\{)', r"\1brand_new = 2 : i32, ",
            "'tt.load' has a property .*brand_new = 2 : i32", "dialects/tt/memory.py, in LoadOp",
        ),
        (
            "add", r'("tt\.store"\([^)]*\))(?: <\{[^}]*\}>)? :', r"\1 <{brand_new}> :",
            "'tt.store' has a property .*brand_new = unit", "dialects/tt/memory.py, in StoreOp",
        ),
        (
            "add", r'("tt\.func"\(\) <\{)', r"\1brand_new = true, ",
            "'tt.func' has a property .*brand_new", "dialects/tt/functions.py, in FuncOp",
        ),
        (
            "add", r'("arith\.addf"\([^)]*\) <\{)', r"\1brand_new = true, ",
            "'arith.addf' has a property .*brand_new", "dialects/op_table.py, in PROPERTIES",
        ),
        (
            "early_return", r'("cf\.cond_br"\([^)]*\) ?\[[^\]]*\] <\{)', r"\1brand_new = true, ",
            "'cf.cond_br' has a property .*brand_new", "dialects/op_table.py, in AS_ATTRIBUTES",
        ),
        (
            "add", r"(\"tt\.load\".*array<i32: 1, 1, 0)>", r"\1, 0>",
            "'tt.load' has operands that are new", "dialects/tt/memory.py, in LoadOp",
        ),
        (
            "add", r'"tt\.splat"\((%\w+)\) : \((\w+)\)', r'"tt.splat"(\1, \1) : (\2, \2)',
            "'tt.splat' has operands that are new", "dialects/tt/shapes.py, in SplatOp",
        ),
    ],
    ids=["load", "store", "func", "arith", "cf", "group of operands", "operand"],
)  # fmt: skip
def test_an_operation_with_more_than_is_known(
    sample: str, pattern: str, replacement: str, message: str, place: str
) -> None:
    """It is not compiled by what is known of it. (Attributes that are no properties may be ignored: MLIR's rule.)"""
    with pytest.raises(UnsupportedOperation, match=message) as raised:
        parse_ttir(changed(sample, pattern, replacement))
    assert raised.value.add_support_in.startswith(place)
    assert re.search(r"ttir_samples\.py:\d+$", raised.value.location)


def test_an_attribute_that_is_no_property_is_ignored() -> None:
    text = changed("add", r'("tt\.load"\([^)]*\) <\{[^}]*\}>) :', r"\1 {tt.brand_new = 3 : i32} :")
    lower_module(parse_ttir(text), Options())


@pytest.mark.parametrize(
    ("sample", "pattern", "replacement", "error", "message", "place"),
    [
        (
            "add", r'"tt\.addptr"', '"tt.brand_new"',
            UnsupportedOperation, "'tt.brand_new' is not lowered", "lowering/simple_ops.py",
        ),
        (
            "add", r"predicate = 2 ", "predicate = 77 ",
            UnknownValue, "CmpIPredicate 77 is new .*SLT", "dialects/tt_enums.py, in CmpIPredicate",
        ),
        (
            "add", r"!tt\.ptr<f32>>", "!tt.brand_new<f32>>",
            CompileError, r"lowering of 'tt\.addptr' \(tensor<1024x!tt\.brand_new<f32>>", "lowering/",
        ),
    ],
    ids=["operation", "number", "type"],
)  # fmt: skip
def test_what_the_lowering_does_not_know(
    sample: str, pattern: str, replacement: str, error: type[CompileError], message: str, place: str
) -> None:
    with pytest.raises(error, match=message) as raised:
        lower_module(parse_ttir(changed(sample, pattern, replacement)), Options())
    assert raised.value.add_support_in.startswith(place)
    assert re.search(r"ttir_samples\.py:\d+$", raised.value.location)


def test_a_number_that_an_enumeration_lacks() -> None:
    """It stays a ValueError, as for all enumerations, and survives the way to another process."""
    with pytest.raises(ValueError, match="RMWOp 99 is new to this package, which knows AND, OR") as raised:
        RMWOp(99)
    again = pickle.loads(pickle.dumps(raised.value))
    assert type(again) is UnknownValue and str(again) == str(raised.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('"tt.fp_to_fp"(%x) <{rounding = 2 : i32}> : (f32) -> f16', "RoundingMode 2 is new"),
        ('"arith.truncf"(%x) <{roundingmode = 3 : i32}> : (f32) -> f16', "with roundingmode 3: this package rounds"),
        ('"tt.clampf"(%x, %x, %x) <{propagateNan = 1 : i32}> : (f32, f32, f32) -> f32', "PropagateNan 1 is new"),
    ],
)  # fmt: skip
def test_a_choice_that_is_new_is_not_taken_for_one_that_is_known(line: str, message: str) -> None:
    text = "\n".join(
        [
            '"builtin.module"() ({',
            '"tt.func"() <{function_type = (f32) -> (), sym_name = "k", sym_visibility = "public"}> ({',
            "^bb0(%x: f32):",
            f'%r = {line} loc("k.py":7:1)',
            '"tt.print"(%r) <{hex = false, isSigned = array<i32: 0>, prefix = " "}> : ('
            + line.rpartition(" ")[2]
            + ") -> ()",
            '"tt.return"() : () -> ()',
            "}) : () -> ()",
            "}) : () -> ()",
        ]
    )
    with pytest.raises(CompileError, match=message) as raised:
        lower_module(parse_ttir(text), Options())
    assert raised.value.location == "k.py:7"
