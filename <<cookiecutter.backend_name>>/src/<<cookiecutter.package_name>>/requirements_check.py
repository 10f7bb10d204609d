"""Is the toolchain that this package asks for really there? Asked once a process, before the first
compilation.

The supported ranges are written in one place, ``pyproject.toml``; they are read back from the installed
metadata. ``packaging`` may be absent, so the part of PEP 440 and PEP 508 that dependency lines use is
implemented here. Stays readable by Python 3.10, whose users it has to turn away.
"""

from __future__ import annotations

import functools
import importlib.metadata
import os
import re
import sys
from dataclasses import dataclass

from .errors import InstallationError
from .installed import find_module, install_ourselves_command, normalize, pip_command, read_headers
from .target import BACKEND_NAME, DISTRIBUTION_NAME, ENV_PREFIX

SKIP_VARIABLE = f"{ENV_PREFIX}_SKIP_VERSION_CHECK"
"""Environment variable: ``1`` lets unsupported versions through (to try the next Triton, say). Missing
stays missing.
"""

MODULES = ("triton", "xdsl", "llvmlite", "numpy")
"""What compiling imports. Each is the name of a distribution and of the package in it."""

OLDEST_PYTHON = ">=3.11"
"""Used only where our own metadata, which says it too, is not there."""


@dataclass(frozen=True)
class Requirement:
    """One dependency: a name, version specifiers (may be empty) and the extra that asks for it ('' for
    always).
    """

    name: str
    specifiers: str
    extra: str = ""

    def __str__(self) -> str:
        return self.name + self.specifiers

    @property
    def in_words(self) -> str:
        return str(self) if self.specifiers else f"{self.name} of any version"

    def accepts(self, version: str) -> bool:
        return satisfies(version, self.specifiers)


_REQUIREMENT = re.compile(
    r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(@[^;]*)?\(?([^;()]*)\)?\s*(?:;(.*))?"
)
_EXTRA = re.compile(r"""\bextra\s*==\s*["']([^"']+)["']""")


def parse_requirement(line: str) -> Requirement:
    """A ``Requires-Dist`` line. Of the environment marker only ``extra`` is looked at. Raises ValueError."""
    match = _REQUIREMENT.fullmatch(line)
    if match is None:
        raise ValueError(f"not a dependency: {line!r}")
    name, _url, specifiers, marker = match.groups()
    extra = _EXTRA.search(marker or "")
    return Requirement(name, re.sub(r"\s+", "", specifiers), extra.group(1) if extra else "")


_VERSION = re.compile(r"\s*v?(?:(\d+)!)?(\d+(?:\.\d+)*)([^+\s]*)(?:\+\S*)?\s*", re.IGNORECASE)
_SUFFIX = re.compile(
    r"[-_.]?(dev|alpha|a|beta|b|preview|pre|rc|c|post|rev|r|(?<=-))[-_.]?(\d*)(?:[-_.]?(?:post|dev)\d*)*",
    re.I,
)
_FINAL = 0
_STAGES = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "c": -1, "rc": -1, "pre": -1, "preview": -1}
_POST = 1  # every other suffix


@dataclass(frozen=True, order=True)
class _Version:
    """A version in the order of PEP 440, as far as the bounds of a dependency ask: development and
    pre-releases come before, post releases after the release itself; a local part (``+cpu``, ``+git1a2b``)
    says nothing.
    """

    epoch: int
    release: tuple[int, ...]
    stage: int
    number: int

    @property
    def base(self) -> tuple[int, tuple[int, ...]]:
        return self.epoch, self.release


def _parse_version(text: str) -> _Version | None:
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    epoch, digits, rest = match.groups()
    release = [int(part) for part in digits.split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    stage, number = _FINAL, 0
    if rest:
        suffix = _SUFFIX.fullmatch(rest)
        if suffix is None:
            return None
        stage, number = _STAGES.get(suffix.group(1).lower(), _POST), int(suffix.group(2) or 0)
    return _Version(int(epoch or 0), tuple(release), stage, number)


def satisfies(version: str, specifiers: str) -> bool:
    """Does an installed ``version`` lie in comma-separated PEP 440 ``specifiers``? False if either cannot be
    read.

    An installed pre-release counts like any other version: it is there, the question is only where it stands.
    """
    return all(_satisfies_one(version, item.strip()) for item in specifiers.split(",") if item.strip())


def _satisfies_one(version: str, specifier: str) -> bool:
    match = re.fullmatch(r"(===|==|!=|~=|<=|>=|<|>)\s*(\S+)", specifier)
    if match is None:
        return False
    operator, bound_text = match.groups()
    if operator == "===":
        return version == bound_text
    have = _parse_version(version)
    if have is None:
        return False
    if bound_text.endswith(".*"):
        inside = _has_prefix(have, bound_text[:-2])
        return inside if operator == "==" else operator == "!=" and not inside
    bound = _parse_version(bound_text)
    if bound is None:
        return False
    if operator == "==":
        return have == bound
    if operator == "!=":
        return have != bound
    if operator == "<=":
        return have <= bound
    if operator == ">=":
        return have >= bound
    if operator == "<":  # 3.10.0rc1 is not meant by <3.10
        return have < bound and not (have.stage < _FINAL <= bound.stage and have.base == bound.base)
    if operator == ">":  # nor 3.7.post1 by >3.7
        return have > bound and not (have.stage > _FINAL >= bound.stage and have.base == bound.base)
    return have >= bound and _has_prefix(have, _VERSION.sub(r"\2", bound_text).rpartition(".")[0])  # ~=


def _has_prefix(version: _Version, prefix: str) -> bool:
    wanted = [int(part) for part in prefix.split(".") if part.isdigit()]
    have = list(version.release) + [0] * len(wanted)
    return bool(wanted) and have[: len(wanted)] == wanted


@dataclass(frozen=True)
class Problem:
    """A dependency that is missing (``version`` is None) or outside the supported range."""

    requirement: Requirement
    version: str | None

    def __str__(self) -> str:
        if self.version is None:
            return f"{self.requirement.name} is not installed (supported: {self.requirement.in_words})"
        return f"{self.requirement.name} {self.version} is installed (supported: {self.requirement.in_words})"


def own_requirements() -> tuple[str, list[Requirement]]:
    """The Python specifiers and the dependencies of this package, from its installed metadata.

    Run from a source tree that is not installed, there is no metadata: the names are known, the ranges are
    not.
    """
    try:
        headers = read_headers(importlib.metadata.distribution(DISTRIBUTION_NAME))
    except importlib.metadata.PackageNotFoundError:
        headers = []
    requirements = [parse_requirement(value) for key, value in headers if key == "Requires-Dist"]
    python = next((value for key, value in headers if key == "Requires-Python"), OLDEST_PYTHON)
    return python, requirements or [Requirement(name, "") for name in MODULES]


def installed_version(name: str) -> str | None:
    """The version of a distribution, or None. Of an imported package its own ``__version__`` counts: it is
    what runs.

    '' where the package can be imported but no distribution says its version (some forks of Triton are
    installed so).
    """
    loaded = getattr(sys.modules.get(name), "__version__", None) if name in MODULES else None
    if isinstance(loaded, str):
        return loaded
    if name in MODULES and find_module(name) is None:
        return None
    try:
        headers = dict(read_headers(importlib.metadata.distribution(name)))
    except importlib.metadata.PackageNotFoundError:
        return "" if find_module(normalize(name).replace("-", "_")) else None
    return headers.get("Version", "")


def find_problems(requirements: list[Requirement]) -> list[Problem]:
    """The always needed ones of ``requirements`` that are missing or of the wrong version."""
    problems: list[Problem] = []
    for requirement in requirements:
        if requirement.extra:
            continue
        version = installed_version(requirement.name)
        if version is None or (version and not requirement.accepts(version)):
            problems.append(Problem(requirement, version))
    return problems


@functools.cache
def require_toolchain() -> None:
    """Raise InstallationError, one sentence, if compiling cannot work in this Python; about a millisecond,
    once a process.
    """
    python, requirements = own_requirements()
    skip = os.environ.get(SKIP_VARIABLE, "") == "1"
    running = ".".join(str(part) for part in sys.version_info[:3])
    if not satisfies(running, python) and not skip:
        raise InstallationError(
            f"{BACKEND_NAME}: Python {running} is too old for this backend (supported: Python {python}): "
            "make an environment with a newer Python (`python3.12 -m venv env`) and run "
            f"`{install_ourselves_command('env/bin/python')}`."
        )
    problems = [p for p in find_problems(requirements) if p.version is None or not skip]
    if problems:
        command = pip_command("install", *(str(problem.requirement) for problem in problems))
        ways_out = f"run `{command}`, or `{DISTRIBUTION_NAME} doctor` for the whole picture"
        if all(problem.version is not None for problem in problems):
            ways_out += f"; a newer {DISTRIBUTION_NAME} may support more versions"
            ways_out += f" ({SKIP_VARIABLE}=1 tries these nevertheless)"
        listed = "; ".join(map(str, problems))
        raise InstallationError(f"{BACKEND_NAME}: {listed} in {sys.prefix}: {ways_out}.")
