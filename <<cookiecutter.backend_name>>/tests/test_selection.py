"""Which backend Triton takes: ours only where somebody asked for it."""

from __future__ import annotations

import pytest
from native import run_python

from <<cookiecutter.package_name>>.target import BACKEND_NAME, PACKAGE_NAME

RIVAL = f"""
import triton.backends
from triton.backends import backends, Backend
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
ours = backends["{BACKEND_NAME}"]
class Rival(DriverBase):
    @classmethod
    def is_active(cls): return True
    def map_python_to_cpp_type(self, ty): return ty
    def get_current_target(self): return GPUTarget("rival", 1, 32)
    def get_active_torch_device(self): return None
    def get_benchmarker(self): return None
for name in list(backends):
    if name != "{BACKEND_NAME}": del backends[name]
backends["rival"] = Backend(ours.compiler, Rival)
from triton.runtime import driver
def active(): return driver.active.get_current_target().backend
"""


def ask(code: str, selected: str = "") -> str:
    done = run_python(RIVAL + code, TRITON_DEFAULT_BACKEND=selected)
    assert done.stderr == ""
    return done.stdout.strip()


def test_a_rival_is_left_alone() -> None:
    assert ask("print(ours.driver.is_active(), active())") == "False rival"


@pytest.mark.parametrize("name", [BACKEND_NAME, "rival"])
def test_the_environment_decides(name: str) -> None:
    assert ask("print(active())", selected=name) == name


def test_a_name_that_is_mistyped() -> None:
    code = "try: active()\nexcept RuntimeError as error: print(error)"
    assert "Unknown backend device 'acmee'" in ask(code.replace("acmee", "x"), selected="acmee")


def test_activate_and_deactivate() -> None:
    code = f"""
from {PACKAGE_NAME} import activate, deactivate
print(active())
activate(); activate()
print(active(), ours.driver.is_active())
deactivate(); deactivate()
print(active(), ours.driver.is_active())
activate()
driver.reset_active()
print(active())
"""
    assert ask(code).split("\n") == ["rival", f"{BACKEND_NAME} True", "rival False", "rival"]


def test_deactivate_where_nothing_else_is_active() -> None:
    code = f"""
del backends["rival"]
from {PACKAGE_NAME} import activate, deactivate
activate()
print(active())
deactivate()
try: active()
except RuntimeError as error: print(str(error)[:16])
"""
    assert ask(code).split("\n") == [BACKEND_NAME, "0 active drivers"]


def test_kernels_of_drivers_do_not_mix() -> None:
    """Triton keeps compiled kernels by device number: ours must not be a GPU's."""
    from <<cookiecutter.package_name>>.backend.driver import Driver

    device = Driver().get_current_device()
    assert isinstance(device, int) and device > 255


def test_only_our_target_is_ours() -> None:
    from triton.backends.compiler import GPUTarget

    from <<cookiecutter.package_name>>.backend.compiler import Backend

    assert Backend.supports_target(GPUTarget(BACKEND_NAME, "", 32))
    assert not any(Backend.supports_target(GPUTarget(name, 90, 32)) for name in ("cuda", "hip", "cpu", ""))
