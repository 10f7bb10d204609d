"""A copy of this package with one thing wrong in it: the doctor names the file and never says that all is well."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import targets
from package_copy import copy_package

from <<cookiecutter.package_name>>.assembler.opcodes import NUMBERS
from <<cookiecutter.package_name>>.target import BACKEND_NAME, DISTRIBUTION_NAME, PACKAGE_NAME

pytestmark = pytest.mark.skipif(
    targets.ACTIVE in os.environ, reason="the copies are of the package as it stands"
)


class Broken:
    """A copy of the package on the path of a fresh Python."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.package = copy_package(folder)

    def append(self, file: str, text: str) -> Path:
        """Adds lines to a file of the package."""
        path = self.package / file
        with path.open("a", encoding="utf-8") as stream:
            stream.write(text)
        return path

    def replace(self, file: str, pattern: str, text: str) -> Path:
        path = self.package / file
        old = path.read_text(encoding="utf-8")
        new, count = re.subn(pattern, text, old, flags=re.M)
        assert count >= 1
        path.write_text(new, encoding="utf-8")
        return path

    def run(self, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
        variables = {
            "PYTHONPATH": str(self.folder),
            "TRITON_CACHE_DIR": str(self.folder / "cache"),
            **environ,
        }
        kept = {key: value for key, value in os.environ.items() if not key.startswith(BACKEND_NAME.upper())}
        return subprocess.run(
            [sys.executable, *words], env={**kept, **variables}, capture_output=True, text=True, timeout=300
        )

    def doctor(self) -> list[dict[str, Any]]:
        """The failures."""
        done = self.run("-m", f"{PACKAGE_NAME}.cli.main", "doctor", "--json")
        assert done.stdout.startswith("{"), done.stdout + done.stderr
        report = json.loads(done.stdout)
        assert report["healthy"] == (done.returncode == 0)
        failures = [finding for finding in report["findings"] if finding["status"] == "FAIL"]
        assert bool(failures) == (done.returncode == 1)
        return failures

    def table(self, *words: str) -> str:
        done = self.run(
            "-m", f"{PACKAGE_NAME}.cli.{words[0] if words else 'doctor'}", *words[1:], COLUMNS="120"
        )
        assert "Traceback" not in done.stdout + done.stderr and done.returncode == 1
        return re.sub(r"\s+", " ", done.stdout + done.stderr)


@pytest.fixture
def broken(tmp_path: Path) -> Broken:
    return Broken(tmp_path)


def test_an_unbroken_copy_is_sound(broken: Broken) -> None:
    assert [finding["what"] for finding in broken.doctor()] == []


SYNTAX = "\ndef f(:\n"


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("backend/driver.py", "\nimport no_such_module\n", "No module named 'no_such_module'"),
        ("backend/compiler.py", SYNTAX, "SyntaxError"),
        ("dialects/isa/alu.py", SYNTAX, "SyntaxError"),
    ],
)
def test_a_file_that_cannot_be_imported(broken: Broken, file: str, text: str, words: str) -> None:
    path = broken.append(file, text)
    failures = broken.doctor()
    found = [finding for finding in failures if finding["check"] in ("import.fails", "entry-point.syntax")]
    assert found == failures and found
    assert words.removeprefix("SyntaxError") in found[0]["what"] and str(path) in found[0]["what"]
    if found[0]["check"] == "import.fails":
        assert words in found[0]["what"]


@pytest.mark.parametrize("error", ["ImportError", "AttributeError"])
def test_a_file_that_needs_something_optional(broken: Broken, error: str) -> None:
    """It may fail to be imported if those that import it do without it (see `test_optional_imports.py`)."""
    broken.append("runtime/vendor.py", "import no_such_vendor_library\n")
    broken.append("emulator/alu.py", f"\ntry:\n    from ..runtime import vendor\nexcept {error}:\n    vendor = None\n")
    failures = [finding["what"] for finding in broken.doctor()]
    assert (failures == []) is (error == "ImportError"), failures
    assert error == "ImportError" or any("'no_such_vendor_library'" in what for what in failures)


def test_several_files_that_cannot_be_imported(broken: Broken) -> None:
    """Each is named, whatever of a launch needs it, and once, however many others import it."""
    files = {
        "passes/mine.py": (SYNTAX, "SyntaxError: invalid syntax"),
        "language/mine.py": ("import sys\nsys.exit('goodbye')\n", "SystemExit: goodbye"),
        "codegen/matrix.py": ("\nundefined\n", "NameError: name 'undefined' is not defined"),
        "emulator/alu.py": ("\nraise OSError('no such device')\n", "OSError: no such device"),
        "assembler/encoding.py": (SYNTAX, "SyntaxError"),
        "runtime/elf.py": (SYNTAX, "SyntaxError"),
        "backend/options.py": (SYNTAX, "SyntaxError"),
    }
    paths = {broken.append(file, text): words for file, (text, words) in files.items()}
    told = [finding["what"] for finding in broken.doctor()]
    assert len(told) == len(files), told
    for path, words in paths.items():
        (what,) = (what for what in told if str(path) in what)
        assert words in what


def test_a_table_that_is_wrong(broken: Broken) -> None:
    broken.replace("assembler/opcodes.py", r'"ldexp": \d+', f'"ldexp": {NUMBERS["fma"]}')
    (failure,) = broken.doctor()
    assert "gives 'fma' and 'ldexp' one number" in failure["what"]


def test_a_class_that_is_wrong(broken: Broken) -> None:
    broken.append("dialects/isa/alu.py", '\nclass Absdiff(FloatBinary):\n    name = mnemonic("absdiff")\n')
    (failure,) = broken.doctor()
    assert "the class Absdiff (dialects/isa/alu.py:" in failure["what"]
    assert "lacks @irdl_op_definition" in failure["what"]


def test_a_process_that_dies(broken: Broken) -> None:
    broken.append("emulator/alu.py", "\nimport os\nos._exit(3)\n")
    (failure,) = broken.doctor()
    assert (
        f"importing {PACKAGE_NAME}.emulator.alu ends the process: it ended with status 3" in failure["what"]
    )


def test_a_process_that_hangs(broken: Broken) -> None:
    broken.append("emulator/alu.py", "\nimport time\ntime.sleep(100)\n")
    broken.replace("cli/check_import.py", "^SECONDS = .*$", "SECONDS = 5")
    (failure,) = broken.doctor()
    assert failure["check"] == "import.hangs" and "emulator.alu was not done after 5 s" in failure["what"]
    assert f"import {PACKAGE_NAME}.emulator.alu" in failure["command"]


def test_what_a_module_prints_does_not_matter(broken: Broken) -> None:
    broken.append(
        "emulator/alu.py", "\nprint('{\"hello\": 1}')\nimport atexit\natexit.register(print, '{} the end')\n"
    )
    assert broken.doctor() == []


def test_an_extension_that_cannot_be_loaded(broken: Broken) -> None:
    info = broken.folder / "their_package-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{PACKAGE_NAME}.extensions]\ntheirs = their_package.passes\n")
    (failure,) = broken.doctor()
    assert "'their-package'" in failure["what"] and "No module named 'their_package'" in failure["what"]
    assert "their_package-1.dist-info" in failure["command"] or "their-package" in failure["command"]


# --- target.py ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "text", "words"),
    [
        (
            "^VECTOR_LANES:",
            "VECTOR_LANE:",
            "VECTOR_LANES is missing; there is VECTOR_LANE, which nothing reads",
        ),
        ("^SCALAR_REGISTERS:", "SCALAR_REGISTER:", "SCALAR_REGISTERS is missing"),
        ("^LATENCIES:", "LATENCY:", "LATENCIES is missing"),
        (r'"matrix": \(16, 1\)', '"matrix": 16', "LATENCIES has matrix: 16"),
        (
            "^SCRATCHPAD_BYTES: Final = .*$",
            "SCRATCHPAD_BYTES: Final = 16 * 1024",
            "at least 32768, not 16384",
        ),
        ("^BACKEND_NAME:", "BACKEND:", "name 'BACKEND_NAME' is not defined"),
        ("^DISTRIBUTION_NAME: Final = .*$", "DISTRIBUTION_NAME: Final = 5", "DISTRIBUTION_NAME is missing"),
        (
            "^VECTOR_LANES: Final = .*$",
            "VECTOR_LANES: Final = (",
            "target.py cannot be imported: SyntaxError",
        ),
    ],
)
def test_wrong_constants(broken: Broken, pattern: str, text: str, words: str) -> None:
    """The doctor has a line for it, with target.py to edit; other commands say the same."""
    path = broken.replace("target.py", pattern, text)
    failures = broken.doctor()
    (failure,) = (finding for finding in failures if finding["check"] == "target")
    assert words in failure["what"] and str(path) in failure["command"]
    assert all(finding["check"] != "doctor" for finding in failures)
    assert words in broken.table("main", "passes")


def test_kernels_say_it_too(broken: Broken) -> None:
    broken.replace("target.py", "^VECTOR_LANES:", "VECTOR_LANE:")
    kernel = broken.folder / "kernel.py"
    kernel.write_text(
        "import triton, triton.language as tl\n"
        f"from {PACKAGE_NAME}.runtime.array import DeviceArray\n"
        "@triton.jit\ndef k(x):\n    tl.store(x, 1.0)\n"
        "k[(1,)](DeviceArray.zeros(1))\n"
    )
    done = broken.run(str(kernel), TRITON_DEFAULT_BACKEND=BACKEND_NAME)
    last = done.stderr.strip().splitlines()[-1]
    assert "InstallationError" in last and "VECTOR_LANES is missing" in last


# --- the doctor's own files ------------------------------------------------------------------------------------------


CHECKS = ("check_cache", "check_host", "check_backends", "check_packages", "check_import")


def test_broken_checks_take_only_themselves_away(broken: Broken) -> None:
    path = broken.append("cli/check_cache.py", SYNTAX)
    (failure,) = broken.doctor()
    assert failure["check"] == "doctor" and f"SyntaxError: invalid syntax ({path}, line " in failure["what"]
    paths = [path, *(broken.append(f"cli/{module}.py", SYNTAX) for module in CHECKS[1:])]
    failures = broken.doctor()
    assert {finding["check"] for finding in failures} == {"doctor"} and len(failures) == len(CHECKS)
    assert all(any(str(path) in finding["what"] for finding in failures) for path in paths)


@pytest.mark.parametrize(
    "file",
    [
        "installed.py",
        "errors.py",
        "target_rules.py",
        "cli/report.py",
        "cli/examination.py",
        "cli/commands.py",
    ],
)
def test_what_the_doctor_stands_on_is_broken(broken: Broken, file: str) -> None:
    """Perhaps it cannot report; it still says which file to mend."""
    path = broken.append(file, SYNTAX)
    text = broken.table("main", "doctor")
    assert "SyntaxError" in text and str(path) in text


def test_the_doctor_without_the_command_line(broken: Broken) -> None:
    path = broken.append("installed.py", SYNTAX)
    text = broken.table("doctor")
    assert f"{PACKAGE_NAME} cannot be imported: SyntaxError" in text and str(path) in text


def test_other_commands_are_named_with_it(broken: Broken) -> None:
    broken.append("cli/passes.py", SYNTAX)
    done = broken.run("-m", f"{PACKAGE_NAME}.cli.main", "doctor")
    assert "can be used here" in done.stdout
    assert DISTRIBUTION_NAME in done.stdout


def test_a_misspelt_number_of_the_machine(broken: Broken) -> None:
    broken.replace("target.py", "\nREGISTER_GROUP: ", "\nREGISTER_GROUPS: ")
    whats = [finding["what"] for finding in broken.doctor()]
    assert any("did you mean REGISTER_GROUP? No kernel is compiled" in what for what in whats), whats
