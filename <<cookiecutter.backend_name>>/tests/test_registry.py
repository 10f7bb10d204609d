"""Passes: registration, order, and what happens when one fails."""

from __future__ import annotations

import pathlib
import re
import textwrap
import time
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from harness import launch
from xdsl.dialects import test as test_dialect
from xdsl.dialects.builtin import ModuleOp, StringAttr

from <<cookiecutter.package_name>>.errors import CompileError, InstallationError
from <<cookiecutter.package_name>>.extensions import ENTRY_POINT_GROUP, load_extensions
from <<cookiecutter.package_name>>.passes import pipeline
from <<cookiecutter.package_name>>.passes import registry as registry_module
from <<cookiecutter.package_name>>.passes.registry import DISABLE_VARIABLE, PassError, Registry


@triton.jit
def increment(x):
    tl.store(x, tl.load(x) + 1)


def names(*registrations: tuple[str, dict[str, Any]]) -> list[str]:
    registry = Registry()
    for name, anchors in registrations:
        registry.register(stage="isa", name=name, **anchors)(lambda module, options: None)
    return [p.name for p in registry.passes("isa")]


@pytest.mark.parametrize(
    ("registrations", "expected"),
    [
        ([("a", {}), ("b", {}), ("c", {})], "a b c"),
        ([("a", {}), ("b", {}), ("x", {"after": "a"})], "a x b"),
        ([("a", {}), ("b", {}), ("x", {"before": "b"})], "a x b"),
        ([("a", {}), ("b", {}), ("x", {"after": "a"}), ("y", {"after": "a"})], "a x y b"),
        ([("a", {}), ("b", {}), ("x", {"before": "b"}), ("y", {"before": "b"})], "a x y b"),
        ([("x", {"after": "y"}), ("y", {"after": "a"}), ("a", {}), ("b", {})], "a y x b"),
        ([("a", {}), ("b", {}), ("c", {}), ("x", {"after": "a", "before": "c"})], "a x b c"),
        ([("a", {}), ("b", {}), ("x", {"after": ("a", "b")})], "a b x"),
        ([("x", {"before": "a"}), ("a", {})], "x a"),
    ],
)
def test_order(registrations: list[tuple[str, dict[str, Any]]], expected: str) -> None:
    assert names(*registrations) == expected.split()


@pytest.mark.parametrize(
    ("registrations", "message"),
    [
        (
            [("a", {}), ("x", {"after": "z"})],
            "pass 'x' .* is anchored to 'z', but an anchor in stage 'isa' must be one of a$",
        ),
        ([("x", {"after": "y"}), ("y", {"after": "x"})], "in a circle: x -. y -. x"),
        ([("x", {"after": "x"})], "in a circle: x -. x"),
        (
            [("a", {}), ("b", {}), ("x", {"after": "b", "before": "a"})],
            "after b and before a, but the order of those is a, b",
        ),
    ],
)
def test_orders_that_cannot_be(registrations: list[tuple[str, dict[str, Any]]], message: str) -> None:
    with pytest.raises(PassError, match=message):
        names(*registrations)


def test_names_are_unique_within_a_stage() -> None:
    registry = Registry()

    def first(module: Any, options: Any) -> None: ...
    def second(module: Any, options: Any) -> None: ...

    assert registry.register(stage="isa", name="p")(first) is first
    registry.register(stage="module", name="p")(second)
    registry.register(stage="isa", name="p")(first)  # a module that is loaded again
    with pytest.raises(PassError, match="two passes of stage 'isa' are named 'p'"):
        registry.register(stage="isa", name="p")(second)
    registry.unregister("isa", "p")
    registry.register(stage="isa", name="p")(second)


def test_unknown_stage() -> None:
    with pytest.raises(PassError, match="stage must be one of ttir, module, isa, llir, not 'asm'"):
        Registry().register(stage="asm", name="p")


def test_passes_are_disabled_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry()
    for name in ("a", "b", "c"):
        registry.register(stage="llir", name=name)(lambda text, options: text)
    monkeypatch.setenv(DISABLE_VARIABLE, "a, c")
    assert [p.name for p in registry.enabled("llir")] == ["b"]
    monkeypatch.setenv(DISABLE_VARIABLE, "z")
    with pytest.raises(PassError, match=f"{DISABLE_VARIABLE} names z; the passes are a, b, c"):
        registry.enabled("llir")


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """An empty registry in place of the one that compiles kernels."""
    empty = Registry()
    monkeypatch.setattr(pipeline, "REGISTRY", empty)
    monkeypatch.setattr(pipeline, "load_passes", lambda: None)
    return empty


def test_module_passes_run_in_order_and_get_the_options(registry: Registry) -> None:
    calls: list[Any] = []
    module = ModuleOp([])
    for name in ("one", "two"):
        registry.register(stage="module", name=name)(
            lambda m, options, name=name: calls.append((name, m is module, options))
        )
    pipeline.run_passes("module", module, "options")
    pipeline.run_passes("isa", module, "options")
    assert calls == [("one", True, "options"), ("two", True, "options")]


def test_text_passes_hand_on_the_text(registry: Registry) -> None:
    registry.register(stage="llir", name="comment")(lambda text, options: text + "; seen\n")
    assert pipeline.run_text_passes("define\n", None) == "define\n; seen\n"
    registry.register(stage="llir", name="forgetful")(lambda text, options: None)
    with pytest.raises(CompileError, match="pass 'forgetful' .* must return text, not NoneType"):
        pipeline.run_text_passes("", None)


def test_failing_pass_is_named(registry: Registry) -> None:
    @registry.register(stage="isa", name="broken")
    def broken(module: Any, options: Any) -> None:
        raise KeyError("x")

    with pytest.raises(
        CompileError, match=r"pass 'broken' \(.*test_registry\) of stage 'isa' failed: KeyError: 'x'"
    ):
        pipeline.run_passes("isa", ModuleOp([]), None)


def test_typed_errors_pass_through(registry: Registry) -> None:
    @registry.register(stage="isa", name="refusing")
    def refusing(module: Any, options: Any) -> None:
        raise CompileError("not this one", location="k.py:7")

    with pytest.raises(CompileError, match="not this one\n  at k.py:7"):
        pipeline.run_passes("isa", ModuleOp([]), None)


def test_pass_that_leaves_an_invalid_module_is_named(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    @registry.register(stage="isa", name="vandal")
    def vandal(module: ModuleOp, options: Any) -> None:
        module.body.block.first_op.properties["value"] = StringAttr("no number")  # type: ignore[union-attr]

    def module() -> ModuleOp:
        from xdsl.dialects import arith

        return ModuleOp([arith.ConstantOp.from_int_and_width(1, 32)])

    monkeypatch.setenv(pipeline.VERIFY_VARIABLE, "0")
    pipeline.run_passes("isa", module(), None)
    monkeypatch.setenv(pipeline.VERIFY_VARIABLE, "1")
    with pytest.raises(CompileError, match="pass 'vandal' .* left an invalid module"):
        pipeline.run_passes("isa", module(), None)


def test_passes_are_timed(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    registry.register(stage="isa", name="quick")(lambda module, options: None)
    pipeline.run_passes("isa", ModuleOp([test_dialect.TestOp()]), None)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv(pipeline.TIME_VARIABLE, "1")
    pipeline.run_passes("isa", ModuleOp([]), None)
    out, err = capsys.readouterr()
    assert out == "" and "isa quick" in err and err.endswith(" ms\n")


def test_modules_are_printed(
    registry: Registry, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @registry.register(stage="isa", name="rename")
    def rename(module: ModuleOp, options: Any) -> None:
        module.body.block.first_op.attributes["value"] = StringAttr("renamed")  # type: ignore[union-attr]

    registry.register(stage="llir", name="add")(lambda text, options: text + " more")
    module = ModuleOp([test_dialect.TestOp(attributes={"value": StringAttr("first")})])
    pipeline.print_if_asked(module, "the lowering")
    pipeline.run_text_passes("; some", None)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv(pipeline.PRINT_VARIABLE, "1")
    pipeline.print_if_asked(module, "the lowering")
    pipeline.run_passes("isa", module, None)
    pipeline.run_text_passes("; some", None)
    out, err = capsys.readouterr()
    parts = re.findall(r"// -----// IR Dump After (.*) //----- //\n(?s:(.*?))\n\n", err)
    assert out == "" and [name for name, _ in parts] == ["the lowering", "rename (isa)", "add (llir)"]
    assert "first" in parts[0][1] and "renamed" in parts[1][1] and parts[2][1] == "; some more"


def test_the_steps_between_passes_are_timed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fresh_cache: pathlib.Path
) -> None:
    monkeypatch.setenv(pipeline.TIME_VARIABLE, "1")
    launch(increment, (1,), np.zeros(1, np.int32), device_kind="reference")
    err = capsys.readouterr().err
    steps = ("(read Triton's IR)", "(lowering)", "(emission of LLVM IR)", "(LLVM)")
    places = [err.index(step) for step in steps]
    assert places == sorted(places)
    assert err.index("expand-special") > err.index("(lowering)")


def test_the_machinery_of_passes_costs_less_than_a_millisecond() -> None:
    """Registration, order and look-up of as many passes as a compilation runs: the best of ten, in seconds."""
    pipeline.load_passes()
    known = [p for stage in registry_module.STAGES for p in registry_module.REGISTRY.passes(stage)]
    assert len(known) > 10

    def one_compilation() -> None:
        registry = Registry()
        for p in known:
            registry.register(stage=p.stage, name=p.name, before=p.before, after=p.after)(p.run)
        for stage in registry_module.STAGES:
            assert len(registry.enabled(stage)) == len(registry.passes(stage))

    took = []
    for _ in range(10):
        start = time.perf_counter()
        one_compilation()
        took.append(time.perf_counter() - start)
    assert min(took) < 1e-3


def test_passes_keep_their_order_whoever_imports_one_first() -> None:
    """A pass that needs another one's work says so: an extension may have imported its module alone."""
    pipeline.load_passes()
    known = registry_module.REGISTRY.passes("isa")
    chain = ["expand-special", "expand-f64", "streaming-stores", "spread-prefetches", "stream-prefetches"]
    for first in known:
        registry = Registry()
        for p in (first, *(p for p in reversed(known) if p is not first)):
            registry.register(stage=p.stage, name=p.name, before=p.before, after=p.after)(p.run)
        assert [p.name for p in registry.passes("isa") if p.name in chain] == chain, first.name


def test_triton_passes_are_anchors() -> None:
    pipeline.load_passes()
    names = [p.name for p in registry_module.REGISTRY.passes("ttir")]
    assert names[0] == "inliner" and names.index("canonicalizer") < names.index("cse") < names.index(
        "loop-unroll"
    )


def _entry_points(tmp_path: pathlib.Path, value: str) -> None:
    info = tmp_path / "vendor_passes-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: vendor-passes\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{ENTRY_POINT_GROUP}]\npeephole = {value}\n")


def test_installed_passes_are_found(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _entry_points(tmp_path, "vendor_passes_module")
    (tmp_path / "vendor_passes_module.py").write_text("loaded = True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "peephole" in load_extensions()


def test_installed_passes_that_do_not_load_are_named(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _entry_points(tmp_path, "vendor_module_that_is_gone")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(
        InstallationError,
        match="extension 'peephole' .vendor_module_that_is_gone. of .* 'vendor-passes' cannot be",
    ):
        load_extensions()


def test_the_example_of_the_docstring_can_be_copied(registry: Registry) -> None:
    from <<cookiecutter.package_name>>.passes import pipeline
    from <<cookiecutter.package_name>>.passes import registry as module

    assert module.__doc__ is not None
    pipeline.load_own_passes()
    for p in module.REGISTRY.passes("isa"):
        registry.register(stage="isa", name=p.name, before=p.before, after=p.after)(p.run)
    example = module.__doc__.partition("::\n\n")[2].partition("\n\n")[0]
    names = {"register_pass": registry.register, "__name__": __name__}
    exec("from __future__ import annotations\n" + textwrap.dedent(example), names)
    assert "my-peephole" in [p.name for p in registry.passes("isa")]
