"""What Triton's core reads of our objects by name, without declaring it: the error where we do not have it.

The next release of Triton may read an attribute more. Python's own message names the object, not what to do about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Never

from ..target import BACKEND_NAME


class ReadByTriton:
    """Base of the classes of which Triton reads attributes by name."""

    if not TYPE_CHECKING:  # to a type checker every name would be there

        def __getattr__(self, name: str) -> Never:
            """Python asks for what is not there. It stays an AttributeError: programs use ``hasattr``."""
            raise missing(self, name, f"add it to {type(self).__module__}.{type(self).__qualname__}")


def missing(owner: object, name: str, do: str) -> AttributeError:
    """The error of an attribute that is not there."""
    kind = type(owner).__name__
    text = f"{kind!r} object has no attribute {name!r}"
    if not name.startswith("_"):
        text = f"{BACKEND_NAME}: {text}. If Triton reads it, its release is new to this package: {do}"
    return AttributeError(text, name=name, obj=owner)


class DeviceProperties(dict[str, int]):
    """Facts of the device by name; the error for a name that is not there says where it belongs."""

    def __missing__(self, name: str) -> Never:
        raise KeyError(
            f"{BACKEND_NAME}: the device has no property {name!r}. If Triton reads it, its release is new to this "
            "package: add it to get_device_properties in backend/driver.py"
        )


def explain_missing_metadata(metadata: Any) -> None:
    """Let a kernel's ``metadata`` say where a field belongs that it lacks. Triton makes a class for each of them."""
    kind = type(metadata)
    if kind.__name__ == "KernelMetadata":
        kind.__getattr__ = _missing_metadata


def _missing_metadata(metadata: object, name: str) -> Never:
    raise missing(
        metadata,
        name,
        "add it to Options in backend/options.py (every option is metadata), or to what the stages in "
        "backend/compiler.py write",
    )
