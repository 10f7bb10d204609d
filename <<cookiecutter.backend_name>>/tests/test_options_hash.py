"""Options, and the cache key: everything that changes compiled code changes the key, and nothing else does."""

from __future__ import annotations

import pathlib
import shutil
from dataclasses import fields

import pytest
import targets
from native import run_python

import <<cookiecutter.package_name>>
from <<cookiecutter.package_name>>.backend.options import OptionError, Options, parse_options
from <<cookiecutter.package_name>>.target import ENV_PREFIX, PACKAGE_NAME

READ_BY_TRITON = (  # of options, by triton 3.7.1, 3.8.0, 3.9.0
    "allowed_dot_input_precisions",
    "arch",
    "backend_name",
    "debug",
    "default_dot_input_precision",
    "deprecated_fp8_dot_operand_dtypes",
    "enable_fp_fusion",
    "extern_libs",
    "fpsan_homomorphic_casts",
    "instrumentation_mode",
    "ir_override",
    "launch_cooperative_grid",
    "max_num_imprecise_acc_default",
    "maxnreg",
    "num_ctas",
    "num_stages",
    "num_warps",
    "sanitize_overflow",
    "supported_fp8_dtypes",
    "warp_size",
)


@pytest.mark.parametrize("name", READ_BY_TRITON)
def test_option_exists(name: str) -> None:
    assert name in Options().__dict__


def test_every_option_is_in_the_hash() -> None:
    different = {
        "arch": "other",
        "backend_name": "other",
        "default_dot_input_precision": "tf32",
        "allowed_dot_input_precisions": ("ieee",),
        "supported_fp8_dtypes": ("fp8e5",),
        "deprecated_fp8_dot_operand_dtypes": ("fp8e5",),
        "ir_override": "k.ttir",
        "maxnreg": 128,
        "device_kind": "emulator",
    }
    refused = {"extern_libs", "instrumentation_mode"}
    digests = {Options().hash()}
    for field in fields(Options):
        if field.name in refused:
            continue
        value = getattr(Options(), field.name)
        new = different.get(field.name, not value if isinstance(value, bool) else (value or 1) * 2)
        digests.add(Options(**{field.name: new}).hash())
    assert len(digests) == 1 + len(fields(Options)) - len(refused)
    assert Options().hash() == Options().hash()


def test_options_make_the_round_trip_through_triton() -> None:
    options = parse_options(
        {"num_warps": 8, "unknown": 1, "maxnreg": None, "supported_fp8_dtypes": ["fp8e5"]}
    )
    assert options.num_warps == 8 and options.supported_fp8_dtypes == ("fp8e5",)
    assert parse_options(options.__dict__).hash() == options.hash()
    plain = parse_options({}).hash()
    assert plain == parse_options({"extern_libs": {}}).hash() == parse_options({"extern_libs": None}).hash()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"num_warps": 3}, "num_warps must be a power of 2, not 3"),
        ({"num_warps": 0}, "num_warps must be a power of 2"),
        ({"num_ctas": 1.5}, "num_ctas must be a power of 2"),
        ({"num_stages": -1}, "num_stages must be a count"),
        ({"default_dot_input_precision": "exact"}, "must be one of tf32, .* not 'exact'"),
        ({"supported_fp8_dtypes": ("fp8e1",)}, "float8 formats must be among .*, not fp8e1"),
        ({"extern_libs": {"libdevice": "x.bc"}}, r"extern_libs \(libdevice\): .* no external bitcode"),
        ({"instrumentation_mode": "consan"}, "unset TRITON_INSTRUMENTATION_MODE"),
    ],
)
def test_values_that_do_not_exist(given: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message) as raised:
        parse_options(given)
    assert isinstance(raised.value, ValueError)
    assert isinstance(raised.value, AssertionError), "what Triton's own backends raise"


def test_triton_default_for_fp_fusion(
    monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    assert parse_options({}).enable_fp_fusion
    assert not parse_options({"enable_fp_fusion": False}).enable_fp_fusion
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "0")
    assert not parse_options({}).enable_fp_fusion
    assert not recwarn.list


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A copy of the package that tests may edit: the folder it is imported from."""
    folder = tmp_path_factory.mktemp("source")
    source = pathlib.Path(<<cookiecutter.package_name>>.__file__).parent
    shutil.copytree(source, folder / PACKAGE_NAME, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def key(folder: pathlib.Path, code: str = "", arch: str = "", **environment: str) -> str:
    """The key of a fresh process that runs the copy, after ``code``."""
    program = "\n".join(
        [
            f"import sys; sys.path.insert(0, {str(folder)!r})",
            f"import {PACKAGE_NAME}",
            f"assert {PACKAGE_NAME}.__file__.startswith({str(folder)!r})",
            code,
            "from triton.backends.compiler import GPUTarget",
            f"from {PACKAGE_NAME}.backend.compiler import Backend",
            f"from {PACKAGE_NAME}.target import BACKEND_NAME, ARCH",
            f"print(Backend(GPUTarget(BACKEND_NAME, {arch!r} or ARCH, 1)).hash())",
        ]
    )
    done = run_python(program, PYTHONDONTWRITEBYTECODE="1", **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_changes_the_key(copied: pathlib.Path) -> None:
    package = copied / PACKAGE_NAME
    first = key(copied)
    assert key(copied, PYTHONHASHSEED="7") == first
    (package / "README.md").write_text("edited")
    assert key(copied, **{f"{ENV_PREFIX}_NUM_THREADS": "3", f"{ENV_PREFIX}_TIME_PASSES": "1"}) == first
    assert key(copied, **{f"{ENV_PREFIX}_PRINT_IR_AFTER_ALL": "1"}) == first

    keys = {first}

    def expect_new(made: str) -> None:
        assert made not in keys
        keys.add(made)

    expect_new(key(copied, arch="other"))
    expect_new(key(copied, **{f"{ENV_PREFIX}_DISABLE_PASSES": "licm"}))
    expect_new(key(copied, **{f"{ENV_PREFIX}_SOME_SWITCH": "1"}))
    expect_new(key(copied, code="import llvmlite; llvmlite.__version__ = '0.99'"))
    expect_new(
        key(
            copied,
            code=f"""
from {PACKAGE_NAME}.passes.registry import register_pass
@register_pass(stage="isa", name="of-a-user")
def of_a_user(module, options): pass
""",
        )
    )
    numbers = package / "target.py"
    original = numbers.read_text(encoding="utf-8")
    for constants in (
        {"MATRIX_TILE": None},
        {"VECTOR_TYPES": targets.NO_FP64},
        {"SPECIAL_FUNCTIONS": targets.ALL_SPECIAL},
        {"SCRATCHPAD_OVERFLOWS": False},
    ):
        text = targets.edited(original, constants)
        if text != original:  # these tests run on other targets, too
            numbers.write_text(text, encoding="utf-8")
            expect_new(key(copied))
    numbers.write_text(original, encoding="utf-8")
    registry = package / "passes" / "registry.py"
    registry.write_text(registry.read_text() + "\n# edited\n")
    expect_new(key(copied))


def test_passes_of_other_files_are_digested(tmp_path: pathlib.Path) -> None:
    from <<cookiecutter.package_name>>.passes.registry import Registry

    def fingerprint(body: str) -> str:
        file = tmp_path / "third_party_pass.py"
        file.write_text(f"def run(module, options): {body}\n")
        import importlib
        import sys

        sys.path.insert(0, str(tmp_path))
        try:
            sys.modules.pop("third_party_pass", None)
            importlib.invalidate_caches()
            module = importlib.import_module("third_party_pass")
        finally:
            sys.path.remove(str(tmp_path))
        registry = Registry()
        registry.register(stage="isa", name="p")(module.run)
        return registry.fingerprint()

    assert fingerprint("pass") == fingerprint("pass") != fingerprint("return None")


def test_instructions_of_other_files_are_digested(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib
    import sys

    from <<cookiecutter.package_name>> import extensions

    monkeypatch.setattr(extensions, "_noted", {})
    monkeypatch.syspath_prepend(str(tmp_path))

    def fingerprint(body: str) -> str:
        file = tmp_path / "third_party_instruction.py"
        file.write_text(f"def emit(emitter, op): {body}\n")
        sys.modules.pop("third_party_instruction", None)
        importlib.invalidate_caches()
        extensions.note(importlib.import_module("third_party_instruction").emit)
        return extensions.fingerprint()

    empty = extensions.fingerprint()
    extensions.note(extensions.note)
    assert extensions.fingerprint() == empty, "our own sources are digested as a whole"
    assert empty != fingerprint("pass") == fingerprint("pass") != fingerprint("return None")


def test_only_this_package_s_own_folders_are_left_out(tmp_path: pathlib.Path) -> None:
    """Examples of the package make no code; a folder of the same name among the passes may."""
    from <<cookiecutter.package_name>>.backend.fingerprint import WITHOUT_EFFECT
    from <<cookiecutter.package_name>>.file_memory import python_files

    for folder in ("examples", "passes", "passes/examples", "passes/__pycache__"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text("")
    found = sorted(name for name, _ in python_files(str(tmp_path), WITHOUT_EFFECT))
    assert found == ["/passes/a.py", "/passes/examples/a.py"]
