"""The doctor on this machine: Python, platform, processor, and this package's environment variables."""

from __future__ import annotations

import difflib
import platform as platform_module
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from .. import target
from ..device_kinds import DEVICE_VARIABLE, KINDS
from ..installed import PACKAGE_FOLDER, install_ourselves_command
from ..requirements_check import own_requirements, satisfies
from ..target import ENV_PREFIX
from . import target_fallback
from .environment import Environment
from .report import Finding, fail, ok, warn

PLATFORMS = (("Linux", "x86_64"), ("Linux", "aarch64"))

X86_FEATURES = (
    *("sse2", "sse4_2", "avx", "f16c", "fma", "avx2", "avx512f", "avx512bw", "avx512vl"),
    *("avx512_bf16", "avx512_fp16", "amx_tile", "amx_bf16"),
)
ARM_FEATURES = ("asimd", "asimdhp", "fphp", "bf16", "i8mm", "sve", "sve2", "svebf16", "sme")


def python_version(environment: Environment) -> Iterator[Finding]:
    running = platform_module.python_version()
    supported, _ = own_requirements()
    if satisfies(running, supported):
        yield ok("python", f"{running}, {sys.executable}")
        return
    yield fail(
        "python",
        f"Python {running} ({sys.executable}) is not supported, Python {supported} is.",
        "Make an environment with a newer Python and install this package there.",
        f"python3.12 -m venv env && {install_ourselves_command('env/bin/python')}",
    )


def platform(environment: Environment) -> Iterator[Finding]:
    here = (platform_module.system(), platform_module.machine())
    if here in PLATFORMS:
        yield ok("platform", " ".join(here))
        return
    supported = " or ".join(" ".join(pair) for pair in PLATFORMS)
    yield fail(
        "platform",
        f"{' '.join(here)} is not supported: the reference device generates code for {supported}.",
        "Work in a Linux container.",
        "docker run -it python:3.12 bash",
    )


def environment_variables(environment: Environment) -> Iterator[Finding]:
    """Our variables that are set. Known is what some source file of this package reads, so no list can go
    stale.
    """
    prefix = f"{ENV_PREFIX}_"
    names = sorted(name for name in environment.environ if name.startswith(prefix))
    if not names:
        yield ok("environment", f"no variable {prefix}* is set")
        return
    known = _variables_read()
    # The longer the prefix, the more alike it would make them.
    bare = [name.removeprefix(prefix) for name in known]
    for name in names:
        setting = f"{name}={environment.environ[name]}"
        if name == DEVICE_VARIABLE and environment.environ[name] not in ("", *KINDS):
            yield _unknown_device(setting)
            continue
        if name in known:
            yield ok("environment", setting)
            continue
        near = difflib.get_close_matches(name.removeprefix(prefix), bare, 1, cutoff=0.75)
        yield warn(
            "environment.unknown",
            f"{setting}: nothing in this package reads {name}"
            + (f"; did you mean {prefix}{near[0]}?" if near else "."),
            "Rename it." if near else "Unset it, unless it belongs to other software.",
            f"unset {name}" + (f"; export {prefix}{near[0]}={environment.environ[name]}" if near else ""),
        )


def _unknown_device(setting: str) -> Finding:
    name, _, value = setting.partition("=")
    near = difflib.get_close_matches(value, KINDS, 1)
    return fail(
        "environment.device",
        f"{setting}: there is no such device, and no kernel is compiled for it; there are {', '.join(KINDS)}.",
        "Name one of them, or unset it.",
        f"export {name}={near[0]}" if near else f"unset {name}",
    )


def machine_numbers(environment: Environment) -> Iterator[Finding]:
    from ..target_rules import broken_rules

    sentences = target_fallback.problems or [
        f"{sentence}{'' if sentence.endswith('?') else '.'} No kernel is compiled for such a machine."
        for sentence in broken_rules()
    ]
    if not sentences:
        tile = target.MATRIX_TILE
        matrix = "no matrix unit" if tile is None else f"matrix tile {tile}"
        yield ok(
            "target", f"{target.VECTOR_LANES} lanes, {matrix}, {target.SCRATCHPAD_BYTES} bytes of scratchpad"
        )
    for sentence in sentences:
        yield fail(
            "target",
            sentence,
            "Change it there.",
            f"edit {PACKAGE_FOLDER / 'target.py'}",
        )


def _variables_read() -> list[str]:
    """Names of the environment variables that the sources of this package mention."""
    pattern = re.compile(rf"""(?:\{{ENV_PREFIX\}}|ENV_PREFIX \+ f?["']|["']{ENV_PREFIX})_([A-Z0-9_]+)""")
    found: set[str] = set()
    for source in PACKAGE_FOLDER.rglob("*.py"):
        found |= set(pattern.findall(source.read_text(encoding="utf-8", errors="replace")))
    return sorted(f"{ENV_PREFIX}_{name}" for name in found)


def processor(environment: Environment) -> Iterator[Finding]:
    name, features = read_processor(Path("/proc/cpuinfo"))
    present = " ".join(feature for feature in (*X86_FEATURES, *ARM_FEATURES) if feature in features)
    yield ok("processor", f"{name or 'unknown'}; vector features: {present or 'none known'}")


def read_processor(cpuinfo: Path) -> tuple[str, set[str]]:
    """Name and feature flags of the first processor that a ``/proc/cpuinfo`` lists; both may be empty."""
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform_module.processor(), set()
    fields: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    name = fields.get("model name", "")
    if not name and "CPU part" in fields:  # AArch64 kernels give numbers only
        name = f"implementer {fields.get('CPU implementer', '?')} part {fields['CPU part']}"
    return name, set((fields.get("flags") or fields.get("Features") or "").split())
