"""The doctor on packages: this one, what it depends on, and who else brings files of Triton."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from ..installed import (
    PACKAGE_FOLDER,
    Installed,
    find_module,
    install_ourselves_command,
    module_source,
    normalize,
    pip_command,
)
from ..requirements_check import MODULES, SKIP_VARIABLE, Requirement, own_requirements, parse_requirement
from ..target import DISTRIBUTION_NAME, PACKAGE_NAME
from .environment import Environment
from .report import Finding, fail, ok, warn

NATIVE_PARTS = {"triton": "_C/libtriton*", "llvmlite": "binding/libllvmlite*"}
"""Files below a package's folder without which importing it fails, and which half-finished installs lose."""


def own_package(environment: Environment) -> Iterator[Finding]:
    own = environment.own
    if own is None:
        yield fail(
            "package",
            f"{DISTRIBUTION_NAME} runs from {PACKAGE_FOLDER} but is not installed: Triton cannot find it.",
            "Install it.",
            install_ourselves_command(),
        )
        return
    for other in environment.distributions:
        if normalize(other.name) == normalize(own.name) and other is not own:
            yield warn(
                "package.twice",
                f"{own.name} is installed twice: version {own.version} in {own.folder.parent} is used, "
                f"version {other.version} in {other.folder} is not.",
                "Remove the one that is not used.",
                # pip would uninstall the first of that name it meets, which is the wrong one.
                shlex.join(["rm", "-r", str(other.folder)]),
            )
    source = own.editable_source
    kind = f"editable from {source}" if source is not None else f"in {own.folder.parent}"
    home = source if source is not None else own.folder.parent
    if (
        home.resolve() not in PACKAGE_FOLDER.resolve().parents
        and PACKAGE_FOLDER.parent.resolve() != home.resolve()
    ):
        yield warn(
            "package.elsewhere",
            f"{own.name} {own.version} is installed {kind}, but this is running from {PACKAGE_FOLDER}.",
            "Make the installed one the one that runs: leave this folder, clear PYTHONPATH, or install "
            "again.",
            own.reinstall_command,
        )
        return
    yield ok("package", f"{own.name} {own.version}, {'' if source is not None else 'wheel '}{kind}")


def dependencies(environment: Environment) -> Iterator[Finding]:
    """Each package that is always needed: there, whole, and in the supported range?"""
    _, requirements = own_requirements()
    for requirement in requirements:
        if not requirement.extra:
            yield _dependency(environment, requirement)


def _dependency(environment: Environment, requirement: Requirement) -> Finding:
    name = requirement.name
    check = f"package.{name}"
    install = pip_command("install", str(requirement))
    installed = environment.distribution(name)
    if name not in MODULES:  # a dependency that the vendor added: the name of its package is not known
        if installed is None:
            return fail(
                check, f"{name} is not installed; {requirement.in_words} is needed.", "Install it.", install
            )
        return _in_range(environment, check, requirement, installed.version, installed.folder.parent, install)
    spec = find_module(name)
    if spec is None and installed is None:
        return fail(
            check, f"{name} is not installed; {requirement.in_words} is needed.", "Install it.", install
        )
    if installed is not None and not installed.header("Version"):
        return fail(
            check,
            f"the metadata of {name} in {installed.folder} is damaged: it says no version.",
            "Delete what is left of it and install it again.",
            f"{shlex.join(['rm', '-r', str(installed.folder)])} && {install}",
        )
    if installed is not None and (lost := _lost_part(installed)):
        return fail(
            check,
            f"{name} {installed.version} is half installed: {lost} is missing.",
            "Install it again.",
            pip_command("install", "--force-reinstall", "--no-deps", f"{name}=={installed.version}"),
        )
    source = module_source(spec) if spec is not None else None
    written = _written_version(source)
    if installed is None:
        if not written:
            return warn(
                check,
                f"a package {name} is in {source or 'a folder without __init__.py'}, but nothing says its "
                f"version; {requirement.in_words} is supported.",
                "Install the package under its own name.",
                install,
            )
        return _in_range(environment, check, requirement, written, source, install)
    if written and _release(written) != _release(installed.version):
        return fail(
            check,
            f"{name} is recorded as {installed.version}, but the files in {source} are of version {written}: "
            "another package has overwritten them, or an earlier folder on sys.path hides them.",
            "Install it again, after removing what overwrote it.",
            pip_command("install", "--force-reinstall", "--no-deps", f"{name}=={installed.version}"),
        )
    return _in_range(environment, check, requirement, installed.version, installed.folder.parent, install)


def _in_range(
    environment: Environment,
    check: str,
    requirement: Requirement,
    version: str,
    where: Path | None,
    install: str,
) -> Finding:
    if requirement.accepts(version):
        return ok(check, f"{version} (supported: {requirement.in_words}), {where}")
    what = f"{requirement.name} {version} in {where} is not supported, {requirement.in_words} is"
    do = f"Install a supported version, or a newer {DISTRIBUTION_NAME} that supports this one"
    if environment.environ.get(SKIP_VARIABLE) == "1":
        return warn(check, f"{what}; it is tried nevertheless, as {SKIP_VARIABLE}=1.", f"{do}.", install)
    return fail(check, f"{what}.", f"{do}; or set {SKIP_VARIABLE}=1 to try nevertheless.", install)


def _lost_part(installed: Installed) -> str:
    spec = find_module(installed.name)
    if spec is None:
        return f"the package {installed.name}"
    part = NATIVE_PARTS.get(installed.name)
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    if part is None or any(found for folder in folders for found in folder.glob(part)):
        return ""
    return f"{part} in {' or '.join(map(str, folders))}"


def _written_version(source: Path | None) -> str:
    """The literal ``__version__`` in a package's ``__init__.py``; '' where it is computed or absent."""
    if source is None:
        return ""
    match = re.search(
        r"""^__version__\s*(?::\s*\w+\s*)?=\s*["']([^"']+)["']""",
        source.read_text(encoding="utf-8", errors="replace"),
        re.MULTILINE,
    )
    return match.group(1) if match else ""


def _release(version: str) -> str:
    return re.sub(r"[^0-9.].*", "", version)


def triton_owners(environment: Environment) -> Iterator[Finding]:
    """Two distributions that both wrote ``triton/__init__.py``: forks are installed over the stock
    package.
    """
    owners = [d for d in environment.distributions if not d.hidden and d.owns("triton/__init__.py")]
    if len(owners) < 2:
        return
    for other in owners:
        if normalize(other.name) != "triton":
            yield fail(
                "package.triton.overwritten",
                f"{other.name} {other.version} has written its own files over Triton's: "
                f"{', '.join(f'{d.name} {d.version}' for d in owners)} share one folder.",
                "Remove it and install Triton again; keep the fork in an environment of its own.",
                f"{other.remove_command} && "
                f"{pip_command('install', '--force-reinstall', '--no-deps', 'triton')}",
            )


def torch(environment: Environment) -> Iterator[Finding]:
    """torch is optional; what matters is the Triton that it was made for."""
    _, requirements = own_requirements()
    installed = environment.distribution("torch")
    wanted = next(
        (r for r in requirements if r.extra and normalize(r.name) == "torch"), Requirement("torch", "")
    )
    if installed is None:
        yield ok("package.torch", f"not installed ({PACKAGE_NAME} works without it)")
        return
    if not wanted.accepts(installed.version):
        yield warn(
            "package.torch",
            f"torch {installed.version} is outside the range this package was tested with: {wanted}.",
            "Install a version in that range.",
            pip_command("install", str(wanted)),
        )
        return
    triton = environment.distribution("triton")
    pins = [parse_requirement(line) for line in installed.requires]
    pin = next((p for p in pins if normalize(p.name) == "triton" and p.specifiers and not p.extra), None)
    if triton is not None and pin is not None and not pin.accepts(triton.version):
        yield warn(
            "package.torch.triton",
            f"torch {installed.version} was built for {pin}, triton {triton.version} is installed: "
            "torch.compile may fail.",
            "Install the newest torch, which brings its Triton.",
            pip_command("install", "--upgrade", "torch"),
        )
        return
    yield ok("package.torch", f"{installed.version} (optional), {installed.folder.parent}")
