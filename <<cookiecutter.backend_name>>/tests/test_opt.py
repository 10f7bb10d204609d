"""Instructions as text: read back as they were written, here and by xDSL's own tools."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.ir import Dialect
from xdsl.universe import XDSL_UNIVERSE

from <<cookiecutter.package_name>>.cli import main as cli
from <<cookiecutter.package_name>>.target import BACKEND_NAME
from <<cookiecutter.package_name>>.universe import UNIVERSE

KERNELS = sorted(
    path
    for path in (Path(__file__).parent / "filecheck" / "lowering").glob("*.mlir")
    if path.stem != "refused"
)


def opt(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert cli.main(["opt", *words]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda path: path.stem)
@pytest.mark.parametrize("form", ["--print-debuginfo", "--print-op-generic"])
def test_instructions_read_back(
    kernel: Path, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With source locations, and in generic form."""
    written = opt(capsys, str(kernel), "-p", "lower,expand-special", form)
    assert f"{BACKEND_NAME}.kernel" in written
    file = tmp_path / "written.mlir"
    file.write_text(written)
    assert opt(capsys, str(file), form) == written


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda path: path.stem)
def test_the_text_is_all_there_is(kernel: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """LLVM IR made of the text is that made of the module."""
    direct = opt(capsys, str(kernel), "-p", "lower,expand-special", "-t", "llir")
    file = tmp_path / "written.mlir"
    file.write_text(opt(capsys, str(kernel), "-p", "lower,expand-special"))
    assert opt(capsys, str(file), "-t", "llir") == direct


def test_stock_xdsl_opt_has_our_dialect_and_passes(tmp_path: Path) -> None:
    kernel = (Path(__file__).parent / "filecheck" / "lowering" / "while.mlir").read_bytes()
    words = ["-m", "xdsl.tools.xdsl_opt", "-f", f"{BACKEND_NAME}-ttir"]
    words += ["-p", f"{BACKEND_NAME}-lower{{num-warps=8}},{BACKEND_NAME}-expand-special,cse"]
    done = subprocess.run([sys.executable, *words], input=kernel, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert f"{BACKEND_NAME}.kernel @whil" in done.stdout.decode()


def test_names_for_xdsl_clash_with_nobody() -> None:
    """One name that two packages offer keeps xdsl-opt from starting, for everybody."""
    for table in (UNIVERSE.all_passes, UNIVERSE.all_targets, UNIVERSE.all_frontends):
        assert table and all(name.startswith(f"{BACKEND_NAME}-") for name in table)
    assert list(UNIVERSE.all_dialects) == [BACKEND_NAME]
    assert BACKEND_NAME not in XDSL_UNIVERSE.all_dialects
    assert isinstance(UNIVERSE.all_dialects[BACKEND_NAME](), Dialect)


def test_a_python_program_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import triton\n")
    assert cli.main(["opt", str(file)]) == 1
    assert (
        "mine.py is a Python program; this reads Triton IR (.ttir) or instructions" in capsys.readouterr().err
    )
