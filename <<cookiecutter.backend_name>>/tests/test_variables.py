"""A misspelt environment variable of this package is said once, where a kernel is launched, never by an import."""

from __future__ import annotations

import subprocess
import sys

import pytest

from <<cookiecutter.package_name>>.backend import variables
from <<cookiecutter.package_name>>.backend.variables import UnknownVariable
from <<cookiecutter.package_name>>.cli import check_host
from <<cookiecutter.package_name>>.target import ENV_PREFIX

READ: list[str] = check_host._variables_read()


def test_the_table_has_what_is_read() -> None:
    assert set(READ) <= variables.KNOWN


@pytest.mark.parametrize("name", ["VERIFY_PASS", "NUM_THREAD", "DEVISE", "TIMES_PASSES", "NUMTHREADS"])
def test_a_misspelt_one_is_named_once(name: str, recwarn: pytest.WarningsRecorder) -> None:
    variables._warn.cache_clear()
    for _ in range(2):
        variables.warn_of_misspelt([f"{ENV_PREFIX}_{name}"])
    (warning,) = recwarn
    assert f"{ENV_PREFIX}_{name} is set, but nothing reads it: did you mean {ENV_PREFIX}_" in str(
        warning.message
    )
    assert warning.category is UnknownVariable


@pytest.mark.parametrize("name", ["VERIFY_PASSES", "HOME", "SDK_VERSION", "THREADS", "DEVICE_ID"])
def test_known_and_foreign_ones_are_not(name: str, recwarn: pytest.WarningsRecorder) -> None:
    variables._warn.cache_clear()
    variables.warn_of_misspelt([f"{ENV_PREFIX}_{name}"])
    assert not list(recwarn)


def test_an_import_says_nothing() -> None:
    code = (
        f"import os; os.environ['{ENV_PREFIX}_VERIFY_PASS'] = '1'\n"
        "import triton, triton.backends\n"
        "from triton.runtime.driver import driver\n"
        "print('imported')\n"
        "triton.compiler.make_backend(driver.active.get_current_target()).hash()\n"
        "triton.compiler.make_backend(driver.active.get_current_target()).hash()\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "imported" and "UnknownVariable" in done.stderr
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr.count("did you mean") == 1, done.stderr
