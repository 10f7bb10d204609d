"""Makes a torch without CUDA harmless to tests that name "cuda": loaded by every Python that a run starts.

Triton's tests take the device from ``--device`` nearly everywhere, and name CUDA in some places:
 - questions about the CUDA device get the answers of one that can do nothing special, and it is never busy;
 - a "cuda" device written into a test means the device of the run ($CONFORMANCE_DEVICE), as does a device index;
 - torch's current device is the one that Triton's driver names: tests look into kernel caches by it.
It is here, and not in the pytest plugin, because tests start processes too. torch itself is never imported by it.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import os
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

DEVICE = os.environ.get("CONFORMANCE_DEVICE", "")
HERE = os.path.dirname(os.path.abspath(__file__))


def patch(torch: Any) -> None:
    if torch.cuda.is_available():
        return
    device = SimpleNamespace(name="none", major=0, minor=0, multi_processor_count=1, total_memory=2**33)
    answers: dict[str, Any] = {
        "get_device_capability": (0, 0),
        "get_device_name": device.name,
        "get_device_properties": device,
        "current_device": 0,
        "synchronize": None,
        "empty_cache": None,
        "device": contextlib.nullcontext(),
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, lambda *_args, _answer=answer, **_keywords: _answer)
    of_device = getattr(torch, DEVICE, None)
    if of_device is not None and hasattr(of_device, "current_device"):
        of_device.current_device = current_device

    class OnDevice(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = dict(kwargs or {})
            if names_cuda(torch, kwargs.get("device")):
                kwargs["device"] = DEVICE
            name = getattr(function, "__name__", "")
            if name == "cuda" and args:
                return args[0].to(DEVICE)
            if name == "to" and len(args) > 1 and names_cuda(torch, args[1]):
                args = (args[0], DEVICE, *args[2:])
            return function(*args, **kwargs)

    OnDevice().__enter__()


def names_cuda(torch: Any, device: Any) -> bool:
    if isinstance(device, torch.device):
        return bool(device.type == "cuda")
    if isinstance(device, str):
        return device.partition(":")[0] == "cuda"
    return isinstance(device, int) and not isinstance(device, bool)


def current_device() -> Any:
    from triton.runtime import driver

    return driver.active.get_current_device()


class TorchFinder:
    """Finds torch once, as the next finder would, and has it patched as soon as it has been loaded."""

    @classmethod
    def find_spec(cls, name: str, path: Any = None, _target: Any = None) -> Any:
        if name != "torch":
            return None
        sys.meta_path.remove(cls)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_patch(module: ModuleType) -> None:
                load(module)
                patch(module)

            spec.loader.exec_module = load_and_patch  # type: ignore[method-assign]
        return spec


if DEVICE:
    sys.meta_path.insert(0, TorchFinder)

# The environment's own sitecustomize, which this one hides.
_hidden = importlib.machinery.PathFinder.find_spec(
    "sitecustomize", [folder for folder in sys.path if os.path.abspath(folder) != HERE]
)
if _hidden is not None and _hidden.origin:
    with open(_hidden.origin, encoding="utf-8") as _source:
        _code = compile(_source.read(), _hidden.origin, "exec")
    exec(_code, {"__name__": "sitecustomize", "__file__": _hidden.origin})
