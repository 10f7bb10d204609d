"""Where passes come from and in which order they run.

A pass is a function with a decorator::

    @register_pass(stage="isa", name="my-peephole", after="expand-special")
    def my_peephole(module: ModuleOp, options: Options) -> None: ...

in a module of this folder, of any installed package (see `extensions.py`), or of a script. What the function gets
depends on the stage, see `STAGES`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from ..errors import BackendError
from ..extensions import is_own, source_digest
from ..target import BACKEND_NAME, ENV_PREFIX

STAGES: Final[dict[str, str]] = {
    "ttir": "run(pass_manager): adds libtriton passes to the pass manager that makes the final TTIR",
    "module": "run(module, options): rewrites the imported TTIR, an xDSL ModuleOp, in place",
    "isa": "run(module, options): rewrites the instructions, an xDSL ModuleOp, in place",
    "llir": "run(text, options) -> text: LLVM IR before it is compiled",
}
"""Stage -> what a pass of that stage is called with and returns."""

DISABLE_VARIABLE: Final = f"{ENV_PREFIX}_DISABLE_PASSES"
"""Environment variable: comma-separated names of passes that are left out."""

Function = TypeVar("Function", bound=Callable[..., Any])


class PassError(BackendError, ValueError):
    """Passes that cannot be put in order: an unknown stage or anchor, a name used twice, a contradiction."""


class Pass:
    """A registered pass. ``before`` and ``after`` name passes of the same stage. (No data class: every process that
    launches a kernel imports this, and making one takes longer.)"""

    def __init__(
        self,
        stage: str,
        name: str,
        run: Callable[..., Any],
        before: tuple[str, ...] = (),
        after: tuple[str, ...] = (),
    ) -> None:
        self.stage = stage
        self.name = name
        self.run = run
        self.before = before
        self.after = after

    @property
    def origin(self) -> str:
        """The module that defines the function."""
        return str(self.run.__module__)


class Registry:
    """The passes of a process. `REGISTRY` is the one that compiles kernels; tests and other targets make their own.

    ``stages`` is like `STAGES`; ``disable_variable`` names the environment variable that leaves passes out.
    """

    def __init__(self, stages: Mapping[str, str] = STAGES, disable_variable: str = DISABLE_VARIABLE) -> None:
        self.stages = stages
        self.disable_variable = disable_variable
        self._passes: dict[tuple[str, str], Pass] = {}
        self._ordered: dict[str, list[Pass]] = {}

    def register(
        self, *, stage: str, name: str, before: str | Iterable[str] = (), after: str | Iterable[str] = ()
    ) -> Callable[[Function], Function]:
        """Decorator that registers a pass; the function itself is returned unchanged.

        Without anchors it runs after everything registered earlier. Registering the same function again (a module that
        was reloaded) replaces it. Raises PassError for an unknown stage or a name that is taken.
        """
        if stage not in self.stages:
            raise PassError(
                f"{BACKEND_NAME}: pass {name!r}: the stage must be one of {', '.join(self.stages)}, not {stage!r}"
            )

        def decorate(function: Function) -> Function:
            new = Pass(stage, name, function, _names(before), _names(after))
            old = self._passes.get((stage, name))
            if old is not None and (old.origin, old.run.__qualname__) != (new.origin, function.__qualname__):
                raise PassError(
                    f"{BACKEND_NAME}: two passes of stage {stage!r} are named {name!r}: one in {old.origin}, "
                    f"one in {new.origin}"
                )
            self._passes[stage, name] = new
            self._ordered.clear()
            return function

        return decorate

    def unregister(self, stage: str, name: str) -> None:
        """Take a pass out again. Raises KeyError if it is not there."""
        del self._passes[stage, name]
        self._ordered.clear()

    def passes(self, stage: str) -> list[Pass]:
        """All passes of a stage, disabled ones included, in the order in which they run. Raises PassError."""
        if stage not in self._ordered:
            self._ordered[stage] = order([p for p in self._passes.values() if p.stage == stage])
        return self._ordered[stage]

    def enabled(self, stage: str) -> list[Pass]:
        """The passes of a stage that ``disable_variable`` does not name. Raises PassError, also for names that
        nobody has."""
        left_out = names_in(self.disable_variable)
        unknown = sorted(left_out - {p.name for p in self._passes.values()})
        if unknown:
            raise PassError(
                f"{self.disable_variable} names {', '.join(unknown)}; the passes are "
                f"{', '.join(p.name for s in self.stages for p in self.passes(s))}"
            )
        return [p for p in self.passes(stage) if p.name not in left_out]

    def fingerprint(self) -> str:
        """Changes with foreign passes, their anchors and sources. Empty without one.

        The sources of this package are digested elsewhere, so its passes need not even be imported; and what is
        disabled stands in the environment.
        """
        return ";".join(
            f"{p.stage}:{p.name}:{p.before}:{p.after}:{source_digest(p.run)}"
            for p in self._passes.values()
            if not is_own(p.run)
        )


def _names(anchors: str | Iterable[str]) -> tuple[str, ...]:
    return (anchors,) if isinstance(anchors, str) else tuple(anchors)


def names_in(variable: str) -> frozenset[str]:
    """The names in an environment variable, which separates them by commas."""
    return frozenset(filter(None, (name.strip() for name in os.environ.get(variable, "").split(","))))


def order(passes: list[Pass]) -> list[Pass]:
    """Passes in registration order, each anchored one moved right after its ``after`` or right before its ``before``.

    Passes with the same anchor keep their registration order. Raises PassError for anchors that do not exist, that form
    a cycle or that cannot both hold.
    """
    by_name = {p.name: p for p in passes}
    placed: list[Pass] = []
    in_progress: list[str] = []

    def place(p: Pass) -> None:
        if p in placed:
            return
        if p.name in in_progress:
            cycle = " -> ".join([*in_progress[in_progress.index(p.name) :], p.name])
            raise PassError(
                f"{BACKEND_NAME}: passes of stage {p.stage!r} are anchored to each other in a circle: {cycle}"
            )
        in_progress.append(p.name)
        for anchor in (*p.after, *p.before):
            if anchor not in by_name:
                raise PassError(
                    f"{BACKEND_NAME}: pass {p.name!r} ({p.origin}) is anchored to {anchor!r}, but an anchor in "
                    f"stage {p.stage!r} must be one of {', '.join(name for name in by_name if name != p.name)}"
                )
            place(by_name[anchor])
        in_progress.pop()
        placed.insert(_position(p, placed), p)

    for p in sorted(passes, key=lambda p: bool(p.after or p.before)):
        place(p)
    return placed


def _position(p: Pass, placed: list[Pass]) -> int:
    where = {other.name: index for index, other in enumerate(placed)}
    earliest = max((where[name] + 1 for name in p.after), default=0)
    latest = min((where[name] for name in p.before), default=len(placed))
    if earliest > latest:
        raise PassError(
            f"{BACKEND_NAME}: pass {p.name!r} ({p.origin}) wants to run after {', '.join(p.after)} and before "
            f"{', '.join(p.before)}, but the order of those is {', '.join(other.name for other in placed)}"
        )
    if not p.after:
        return latest
    # After passes that were put here for the same reason earlier.
    while earliest < latest and set(placed[earliest].after) & set(p.after):
        earliest += 1
    return earliest


REGISTRY: Final = Registry()
register_pass = REGISTRY.register
