"""What is made for the emulator, and what ``opt`` prints, follows from ``target.py`` alone: not from the host that made
it. What is made for the reference device may use what the host has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from lane_functions import LaneFunction
from test_filecheck import run_command

from <<cookiecutter.package_name>> import host_caches, machine
from <<cookiecutter.package_name>>.backend.options import Options
from <<cookiecutter.package_name>>.dialects.isa import alu
from <<cookiecutter.package_name>>.host_features import HostFeatures
from <<cookiecutter.package_name>>.language.elementwise import activation
from <<cookiecutter.package_name>>.machine import TARGET, machine_of
from <<cookiecutter.package_name>>.passes.expand_special import FORMULAS, expand
from <<cookiecutter.package_name>>.runtime.array import DeviceArray
from <<cookiecutter.package_name>>.target import BACKEND_NAME, DISTRIBUTION_NAME

HERE = HostFeatures.current()
PLAIN = replace(HERE, name="x86-64", features="+sse,+sse2" if HERE.is_x86 else "")
RICH = replace(
    HERE, name="rich", features=",".join(f"+{f}" for f in ("avx", "avx512f", "avx512vl", "avx512dq"))
)
HOSTS = {"plain": (PLAIN, 0), "rich": (RICH, 2**30)}


@pytest.fixture
def on_host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Pretends to be one of `HOSTS`, until the test ends."""

    def pretend(name: str) -> None:
        host, cache = HOSTS[name]
        monkeypatch.setattr(HostFeatures, "current", staticmethod(lambda: host))
        monkeypatch.setattr(host_caches, "last_level_bytes", lambda: cache)
        machine.reference_device.cache_clear()

    yield pretend
    machine.reference_device.cache_clear()


def functions(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    for k in range(n):
        value = tl.load(x + k * BLOCK + lanes)
        value = tl.exp(value) + activation(value, "tanh") + tl.erf(value) + tl.exp2(value)
        tl.store(out + k * BLOCK + lanes, value)


def test_emulated_code_and_bits_do_not_depend_on_the_host(
    on_host: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.linspace(-3, 3, 256, dtype=np.float32)
    found = []
    for name in HOSTS:
        on_host(name)
        monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / name))
        out = np.zeros_like(x)
        kernel = triton.jit(functions)[(1,)](
            DeviceArray.wrap(x), DeviceArray.wrap(out), 4, BLOCK=64, device_kind="emulator"
        )
        found.append((kernel.asm[f"{BACKEND_NAME}ir"], kernel.asm[f"{BACKEND_NAME}asm"], out.tobytes()))
    assert found[0] == found[1]


def test_what_opt_prints_does_not_depend_on_the_host(on_host: Any) -> None:
    folder = Path(__file__).parent / "filecheck" / "passes"
    found = []
    for name in HOSTS:
        on_host(name)
        found.append(
            [
                run_command([DISTRIBUTION_NAME, "opt", "-p", f"{p},expand-special", str(folder / file)], "")
                for p, file in (
                    ("expand-act", "expand_act.mlir"),
                    ("streaming-stores", "streaming_stores.mlir"),
                )
            ]
        )
    assert found[0] == found[1]


def test_the_reference_device_uses_what_the_host_has(on_host: Any) -> None:
    reference, emulator = Options(device_kind="reference"), Options(device_kind="emulator")
    for name, (_, cache) in HOSTS.items():
        on_host(name)
        has = name == "rich"
        expected = machine.Machine(has and TARGET.looks_up, has and TARGET.scales_by_powers, cache)
        assert machine_of(reference) == expected
        assert machine_of(emulator) == machine_of(None) == TARGET


@pytest.mark.parametrize("fast", [False, True])
def test_formulas_follow_the_machine(fast: bool) -> None:
    made = LaneFunction("f", "f", lambda sink, v: sink.emit(alu.Exp, v, v[0].type), expand=False).module
    expand(made, FORMULAS, machine.Machine(fast, fast, 0))
    assert any(isinstance(op, alu.Ldexp) for op in made.walk()) == fast
