"""What the doctor's checks look at, gathered once. Readable by Python 3.10."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ..installed import Installed, installed_distributions, normalize
from ..target import DISTRIBUTION_NAME, PACKAGE_NAME

ENTRY_POINT_GROUP = "triton.backends"
OWN_ENTRY_POINT = f"{PACKAGE_NAME}.backend"


@dataclass(frozen=True)
class Claim:
    """One entry point of Triton's group: ``owner`` says that backend ``name`` lives in package
    ``package``.
    """

    name: str
    package: str
    owner: Installed

    @property
    def is_ours(self) -> bool:
        return self.package == OWN_ENTRY_POINT

    def __str__(self) -> str:
        return f"{self.name} = {self.package} (of {self.owner.name} {self.owner.version})"


@dataclass(frozen=True)
class Environment:
    """``distributions`` in the order of ``sys.path``, hidden ones included; ``environ`` the environment
    variables.
    """

    distributions: tuple[Installed, ...]
    environ: Mapping[str, str]

    @classmethod
    def of_this_process(cls) -> Environment:
        return cls(tuple(installed_distributions()), dict(os.environ))

    def distribution(self, name: str) -> Installed | None:
        return next((d for d in self.distributions if normalize(d.name) == normalize(name)), None)

    @property
    def own(self) -> Installed | None:
        return self.distribution(DISTRIBUTION_NAME)

    @property
    def own_version(self) -> str:
        return self.own.version if self.own is not None else "(not installed)"

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """Every entry point that Triton will try to import, in its order. Damaged entry point files are
        left out.
        """
        found: list[Claim] = []
        for installed in self.distributions:
            if installed.hidden:
                continue
            try:
                points = installed.entry_points(ENTRY_POINT_GROUP)
            except Exception:  # reported by check_backends.entry_points, which reads the file again
                continue
            found += [Claim(name, package, installed) for name, package in points]
        return tuple(found)

    def is_set(self, variable: str) -> bool:
        """Is a boolean variable on, in the spelling Triton accepts?"""
        return self.environ.get(variable, "").lower() in ("1", "y", "on", "true", "yes")
