"""The doctor on Triton's backends: who registers one, can each be imported, and which one would be chosen.

What Triton does, in every supported release: while ``import triton`` runs, it imports ``<value>.compiler``
and ``<value>.driver`` of every entry point of the group ``triton.backends``; any error there ends ``import
triton``. At the first launch the driver named by TRITON_DEFAULT_BACKEND is taken if it says it is active; if
the variable is not set, exactly one driver has to say so.
"""

from __future__ import annotations

import ast
import difflib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from ..installed import find_module, install_ourselves_command, module_source
from ..target import BACKEND_NAME, DISTRIBUTION_NAME, PACKAGE_NAME
from .backend_source import borrowed_classes, claimed_targets, import_of, is_always_active, string_constant
from .environment import ENTRY_POINT_GROUP, OWN_ENTRY_POINT, Claim, Environment
from .report import Finding, fail, ok, warn

SELECT = "TRITON_DEFAULT_BACKEND"
IN_TREE_ONLY = "TRITON_BACKENDS_IN_TREE"
SELECT_US = f"export {SELECT}={BACKEND_NAME}"

DEVICE_NODES = {"nvidia": ("/dev/nvidiactl", "/dev/dxg"), "amd": ("/dev/kfd",)}
"""Files whose presence lets the driver of one of Triton's own backends expect a GPU."""


def entry_points(environment: Environment) -> Iterator[Finding]:
    """Can each registered backend be imported, as far as its files show?"""
    for installed in environment.distributions:
        if installed.hidden:
            continue
        try:
            installed.entry_points(ENTRY_POINT_GROUP)
        except Exception as error:
            yield fail(
                "entry-point.damaged",
                f"{installed.folder / 'entry_points.txt'} cannot be read ({error}): `import triton` fails on "
                "it.",
                f"Install {installed.name} again.",
                installed.reinstall_command,
            )
    for claim in environment.claims:
        yield _importable(claim)


def _importable(claim: Claim) -> Finding:
    owner = claim.owner
    breaks = "`import triton` fails for everybody in this environment"
    if not re.fullmatch(r"\w+(\.\w+)*", claim.package):
        return fail(
            "entry-point.malformed",
            f"{claim} does not name a package: {breaks}.",
            f"Correct the entry point in the pyproject.toml of {owner.name} (write a dotted package name), "
            "or remove it.",
            owner.remove_command,
        )
    if find_module(claim.package) is None:
        source = owner.editable_source
        gone = f": its source folder {source} is gone" if source is not None and not source.is_dir() else ""
        return fail(
            "entry-point.stale",
            f"{claim} points at a package that is not there{gone}; {breaks}.",
            f"Remove what is left of {owner.name}.",
            owner.remove_command,
        )
    for part in ("compiler", "driver"):
        spec = find_module(f"{claim.package}.{part}")
        if spec is None or not spec.has_location:
            return fail(
                "entry-point.incomplete",
                f"{claim} has no module {claim.package}.{part}; {breaks}.",
                f"Install {owner.name} again, or remove it ({owner.remove_command}).",
                owner.reinstall_command,
            )
        try:
            borrowed = borrowed_classes(_parse(claim, part))
        except (SyntaxError, ValueError) as error:
            return fail(
                "entry-point.syntax",
                f"{module_source(spec)} is not valid Python ({error}); {breaks}.",
                f"Correct it, or install {owner.name} again.",
                owner.reinstall_command,
            )
        if borrowed:
            return warn(
                "entry-point.ambiguous",
                f"{module_source(spec)} imports {', '.join(borrowed)} by name: Triton counts those among the "
                "classes of this backend and `import triton` fails if it then finds more than one.",
                "Import the module and use the class through it (`from ..nvidia import driver`), or remove "
                "the package.",
                owner.remove_command,
            )
    return ok("entry-point", str(claim))


def own_entry_point(environment: Environment) -> Iterator[Finding]:
    names = [claim.name for claim in environment.claims if claim.is_ours]
    if BACKEND_NAME in names:
        return
    if names:  # installing it again would register the same name again
        yield fail(
            "entry-point.renamed",
            f"BACKEND_NAME in target.py is {BACKEND_NAME!r}, but the installed entry point in the group "
            f"{ENTRY_POINT_GROUP} is {names[0]} = {OWN_ENTRY_POINT}: Triton knows this backend as {names[0]!r}.",
            f'In pyproject.toml, [project.entry-points."{ENTRY_POINT_GROUP}"] must say {BACKEND_NAME} = '
            f'"{OWN_ENTRY_POINT}"; then install {DISTRIBUTION_NAME} again. (Or give BACKEND_NAME its old value.)',
            install_ourselves_command(),
        )
        return
    yield fail(
        "entry-point.missing",
        f"no entry point {BACKEND_NAME} = {OWN_ENTRY_POINT} in the group {ENTRY_POINT_GROUP}: Triton does "
        "not know this backend.",
        f"Install {DISTRIBUTION_NAME} (again).",
        install_ourselves_command(),
    )


def clashes(environment: Environment) -> Iterator[Finding]:
    """Two backends of one name, and two that answer for one target."""
    names: dict[str, list[Claim]] = {}
    targets: dict[str, list[Claim]] = {}
    for claim in environment.claims:
        names.setdefault(claim.name, []).append(claim)
        for target in _targets(claim):
            targets.setdefault(target, []).append(claim)
    for name, claims in names.items():
        if len(claims) > 1:
            yield _name_clash(name, claims)
    for target, claims in targets.items():
        count = len({claim.name for claim in claims})  # one package under two names counts twice for Triton
        if count > 1:
            level = fail if any(claim.is_ours for claim in claims) else warn
            yield level(
                "backend.target-clash",
                f"{_listed(claims)} all compile for the target {target!r}: Triton stops with '{count} "
                "compatible backends'.",
                "Keep one of them; each backend needs a target name of its own.",
                _intruder(claims).owner.remove_command,
            )


def _name_clash(name: str, claims: list[Claim]) -> Finding:
    packages = {claim.package for claim in claims}
    intruder = _intruder(claims)
    if len(packages) == 1:
        return warn(
            "backend.registered-twice",
            f"{_listed(claims)} register the same package, as after a rename of the distribution.",
            f"Remove {intruder.owner.name}, then install {DISTRIBUTION_NAME} again, as they share files.",
            f"{intruder.owner.remove_command} && {install_ourselves_command()}",
        )
    level = fail if name == BACKEND_NAME else warn
    return level(
        "backend.name-clash",
        f"{_listed(claims)} claim the name {name!r}: Triton uses the one it meets last "
        f"({claims[-1].package}).",
        f"Remove {intruder.owner.name}, or give one of the backends another name.",
        intruder.owner.remove_command,
    )


def _listed(claims: list[Claim]) -> str:
    return " and ".join(f"{claim.package} of {claim.owner.name} {claim.owner.version}" for claim in claims)


def _intruder(claims: list[Claim]) -> Claim:
    """The one to remove: not ours and not Triton's own, if that leaves anything."""
    strangers = [c for c in claims if c.owner.name not in (DISTRIBUTION_NAME, "triton")]
    others = [c for c in claims if c.owner.name != DISTRIBUTION_NAME]
    return (strangers or others or claims)[-1]


def selection(environment: Environment) -> Iterator[Finding]:
    """Which backend would Triton choose, and why?"""
    if environment.environ.get(IN_TREE_ONLY) == "1":
        yield fail(
            "selection.hidden",
            f"{IN_TREE_ONLY}=1 makes Triton look at its own backends only: {BACKEND_NAME} does not exist for "
            "it.",
            "Unset it.",
            f"unset {IN_TREE_ONLY}",
        )
        return
    names = list(dict.fromkeys(claim.name for claim in environment.claims))
    requested = environment.environ.get(SELECT, "")
    always = [claim for claim in environment.claims if _is_always_active(claim)]
    for claim in always:
        yield _always_active(claim, requested)
    if not requested:
        yield _nothing_requested(environment, always)
    elif requested == BACKEND_NAME:
        if requested in names:  # else own_entry_point has said what is wrong
            yield ok("selection", f"{BACKEND_NAME}, because {SELECT}={requested}")
    elif requested in names:
        yield ok(
            "selection",
            f"{requested}, because {SELECT}={requested}; {BACKEND_NAME} stays out of the way",
            f"To use {BACKEND_NAME} instead, select it.",
            SELECT_US,
        )
    else:
        near = difflib.get_close_matches(requested.strip().lower(), names, 1, cutoff=0.5)
        meant = near[0] if near else BACKEND_NAME
        yield fail(
            "selection.unknown",
            f"{SELECT}={requested!r} names no backend: every launch fails. Registered: "
            f"{', '.join(names) or 'none'}.",
            f"Did you mean {meant!r}?" if near else "Select one that exists.",
            f"export {SELECT}={shlex.quote(meant)}",
        )


def _always_active(claim: Claim, requested: str) -> Finding:
    source = _source(claim, "driver")
    effect = f"not asked, as {SELECT}={requested}" if requested else "Triton wants exactly one active driver"
    if claim.is_ours:
        return warn(
            "selection.always-active",
            f"is_active in {source} always returns True ({effect}): on a host with another device Triton "
            "then refuses every launch of everybody.",
            f"Return True only when {BACKEND_NAME} was asked for or your device is there; until then, select "
            "it by name.",
            SELECT_US,
        )
    return warn(
        "selection.always-active",
        f"the driver of {claim} always says it is active ({source}; {effect}).",
        f"Select {BACKEND_NAME} by name wherever it is to be used, or remove {claim.owner.name}.",
        SELECT_US,
    )


def _nothing_requested(environment: Environment, always: list[Claim]) -> Finding:
    do = f"To use {BACKEND_NAME}, select it, or call {PACKAGE_NAME}.activate() in the program."
    others = sorted({claim.name for claim in always if not claim.is_ours})
    if len(always) > 1:
        return fail(
            "selection.conflict",
            f"{SELECT} is not set and {len(always)} drivers always say they are active ({_listed(always)}): "
            f"Triton stops with '{len(always)} active drivers'.",
            do,
            SELECT_US,
        )
    likely = others + [
        f"{claim.name} ({node} exists)"
        for claim in environment.claims
        for node in DEVICE_NODES.get(claim.name, ())
        if claim.name not in others and Path(node).exists()
    ]
    text = (
        f"{SELECT} is not set: Triton takes the one driver that says it is active; {BACKEND_NAME} says so "
        "only when asked for"
    )
    if any(claim.is_ours for claim in always):
        text = f"{BACKEND_NAME}, because its driver always says it is active and {SELECT} is not set"
    elif likely:
        text += f". Likely active: {', '.join(likely)}"
    else:
        text += ". No other device was seen: without it, launches stop with '0 active drivers'"
    return ok("selection", f"{text}.", do, SELECT_US)


def interpreter(environment: Environment) -> Iterator[Finding]:
    if environment.is_set("TRITON_INTERPRET"):
        yield warn(
            "selection.interpreter",
            f"TRITON_INTERPRET={environment.environ['TRITON_INTERPRET']}: kernels run in Triton's Python "
            "interpreter, no backend compiles them.",
            "Unset it.",
            "unset TRITON_INTERPRET",
        )


def _source(claim: Claim, part: str) -> Path | None:
    if not re.fullmatch(r"\w+(\.\w+)*", claim.package):
        return None
    spec = find_module(f"{claim.package}.{part}")
    return module_source(spec) if spec is not None else None


def _parse(claim: Claim, part: str) -> ast.Module:
    """The syntax tree of one of a backend's modules; empty where there is no source. Raises SyntaxError,
    ValueError.
    """
    source = _source(claim, part)
    return ast.parse(source.read_bytes() if source is not None else b"", str(source))


def _is_always_active(claim: Claim) -> bool:
    try:
        return is_always_active(_parse(claim, "driver"))
    except (SyntaxError, ValueError):  # reported by entry_points
        return False


def _targets(claim: Claim) -> set[str]:
    try:
        compiler = _parse(claim, "compiler")
        found = claimed_targets(compiler, lambda name: _constant(claim, compiler, name))
    except (SyntaxError, ValueError):  # reported by entry_points
        return set()
    return found | {BACKEND_NAME} if claim.is_ours else found


def _constant(claim: Claim, module: ast.Module, name: str) -> str | None:
    """The string that a global name of a backend's module stands for, here or in the module it is imported from."""
    value = string_constant(module, name)
    place = import_of(module, name, claim.package) if value is None else None
    if place is None:
        return value
    spec = find_module(place[0])
    source = module_source(spec) if spec is not None else None
    return (
        string_constant(ast.parse(source.read_bytes(), str(source)), place[1]) if source is not None else None
    )
