"""The commands of the command line (`main.py`): ``<distribution> <command> ...``.

A command is a module with ``add_arguments(parser)`` and ``run(arguments) -> exit status``. It
is imported only when it is called, so that ``doctor`` works where the others cannot even be imported. To add
one, write the module and give it a line in COMMANDS. Readable by Python 3.10.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from ..errors import BackendError
from ..installed import find_module
from ..requirements_check import require_toolchain
from ..target import BACKEND_NAME, DISTRIBUTION_NAME, VENDOR_NAME
from . import target_fallback


class CommandModule(Protocol):
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


@dataclass(frozen=True)
class Command:
    """One command. ``module`` is relative to this folder; ``needs_toolchain``: Triton, xDSL and llvmlite
    have to be there.
    """

    name: str
    help: str
    module: str
    needs_toolchain: bool = True

    @property
    def is_there(self) -> bool:
        """Is its module part of this package? Folders like the demo are the vendor's to delete."""
        return find_module(importlib.util.resolve_name(self.module, __package__)) is not None

    def load(self) -> CommandModule:
        return cast(CommandModule, importlib.import_module(self.module, __package__))


COMMANDS: tuple[Command, ...] = (
    Command(
        "doctor",
        "say what is installed, what is wrong with it and what to do",
        ".doctor",
        needs_toolchain=False,
    ),
    Command(
        "version",
        "print the versions of this package and of what it stands on",
        ".version",
        needs_toolchain=False,
    ),
    Command("demo", "compile and run kernels on this machine and compare the results", "..examples.demo"),
    Command("opt", "run passes over a file", ".opt"),
    Command("passes", "list the passes", ".passes"),
    Command("bench", "measure the kernels against a named peer", ".bench"),
    Command("profile", "run a script on the emulator and say what its kernels did there", ".profile"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. 0: done; 1: it failed, with a sentence on stderr; 2: it was called wrongly; 130:
    interrupted.
    """
    _never_fail_to_print()
    words = list(sys.argv[1:] if arguments is None else arguments)
    commands = [command for command in COMMANDS if command.is_there]
    if not words or words[0] in ("-h", "--help", "help"):
        print(_overview(commands))
        return 0 if words else 2
    if words[0] in ("-V", "--version"):
        words[0] = "version"
    command = next((command for command in commands if command.name == words[0]), None)
    if command is None:
        print(_unknown(words[0], [command.name for command in commands]), file=sys.stderr)
        return 2
    try:
        return _run(command, words[1:])
    except BackendError as error:
        print(f"{DISTRIBUTION_NAME} {command.name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run(command: Command, words: Sequence[str]) -> int:
    if command.needs_toolchain:
        for problem in target_fallback.problems:
            raise BackendError(f"{BACKEND_NAME}: {problem}")
        from ..target_rules import check_target

        check_target()
        require_toolchain()
    module = command.load()
    parser = argparse.ArgumentParser(
        prog=f"{DISTRIBUTION_NAME} {command.name}", description=f"{command.help}."
    )
    module.add_arguments(parser)
    status = module.run(parser.parse_args(words))
    sys.stdout.flush()
    return status


def _overview(commands: Sequence[Command]) -> str:
    width = max(len(command.name) for command in commands)
    lines = [f"  {command.name:<{width}}  {command.help}" for command in commands]
    return "\n".join(
        [
            f"usage: {DISTRIBUTION_NAME} <command> [options]",
            "",
            f"The {BACKEND_NAME} Triton backend of {VENDOR_NAME}. Commands (each has --help):",
            "",
            *lines,
        ]
    )


def _unknown(word: str, names: Sequence[str]) -> str:
    near = difflib.get_close_matches(word, names, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"it must be one of {', '.join(names)}."
    return f"{DISTRIBUTION_NAME}: no command {word!r}; {hint}"


def _never_fail_to_print() -> None:
    """Vendor names may hold any character; the terminal's encoding may not."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
