"""Public failures with text that is not ASCII (R40), on the package's side: paths, locales, and what a kernel says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from package_copy import copy_package

from <<cookiecutter.package_name>>.target import ENV_PREFIX, PACKAGE_NAME

PROGRAM = f'''
import numpy as np
import triton
import triton.language as tl

import {PACKAGE_NAME}
from {PACKAGE_NAME}.runtime.array import DeviceArray

{PACKAGE_NAME}.activate()


@triton.jit
def double_few(x, n, N: tl.constexpr):
    """Žižka 芯片 🚀"""
    i = tl.arange(0, N)
    v = tl.load(x + i, mask=i < n)
    tl.device_assert(v < 100, "příliš mnoho 🚀")
    tl.device_print(" number: ", v)
    tl.store(x + i, v * 2, mask=i < n)


for numbers in ([0, 1, 2, 3], [7, 100, 0, 0]):
    x = DeviceArray.from_numpy(np.array(numbers, np.int32))
    try:
        double_few[(1,)](x, 3, N=4, debug=True)
        print(x.numpy().tolist(), flush=True)
    except RuntimeError as error:
        print(ascii(str(error)), flush=True)
print(ascii({PACKAGE_NAME}.__file__))
'''


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@pytest.mark.parametrize("device", ["reference", "emulator"])
def test_r40_paths_and_messages(tmp_path: Path, locale: str, device: str) -> None:
    """Package, program, cache, home and temporary files in folders with spaces, accents and an emoji: kernels are
    compiled, launched, and found in the cache again; an assertion says what it says, and where."""
    place = tmp_path / "dé veloppement 芯片 🚀"
    for name in ("ca che ž", "tem p é", "ho me 🚀"):
        (place / name).mkdir(parents=True)
    package = copy_package(place)
    program = place / "ker nél.py"
    program.write_text(PROGRAM, encoding="utf-8")
    line = PROGRAM[: PROGRAM.index("tl.device_assert")].count("\n") + 1
    environment = os.environ | {
        "LC_ALL": locale,
        "PYTHONPATH": str(place),
        "TRITON_CACHE_DIR": str(place / "ca che ž"),
        "TMPDIR": str(place / "tem p é"),
        "HOME": str(place / "ho me 🚀"),
        f"{ENV_PREFIX}_DEVICE": device,
    }
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, str(program)], env=environment, capture_output=True, encoding="utf-8", timeout=120
        )
        assert done.returncode == 0, done.stderr
        lines = [text for text in done.stdout.splitlines() if "number: " not in text]
        assert lines[0] == "[0, 2, 4, 3]"
        message = lines[1].encode().decode("unicode-escape")
        assert "příliš mnoho 🚀" in message and f"{program}:{line}" in message
        assert lines[2].encode().decode("unicode-escape").strip("'") == str(package / "__init__.py")
    assert list((place / "ca che ž").rglob("double_few.json"))
