"""Work on the template as if it were an ordinary package.

    python ci/dev.py generate DIR   generate a package with the default answers into DIR/<backend_name>
    python ci/dev.py back DIR       bring edits made in such a package, at DIR, back into the template

`generate DIR --gpu` makes one with gpu_reference=nvidia; `back` sees which one it is.

A template cannot be linted, type-checked or run; the package that it generates can. So edit there, test
there, and go back. Files that the template copies verbatim (the engine) go back verbatim. In rendered files
the default names become placeholders again. Where the template holds more than placeholders (conditions,
escaped text), the edit is merged like a branch, and refused if it touches such a line. Nothing goes back
that does not render to exactly the edited file. Files missing from the package are reported and kept.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from binaryornot.check import is_binary
from cookiecutter.generate import generate_context, is_copy_only_path
from cookiecutter.main import cookiecutter
from cookiecutter.prompt import prompt_for_config
from cookiecutter.utils import create_env_with_context
from jinja2 import TemplateError

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.append(str(REPOSITORY))  # for hooks.answers: the Jinja extension, and what a hook does
TEMPLATE = REPOSITORY / "<<cookiecutter.backend_name>>"

# What is not source: made by tools, or the developer's own.
IGNORED_FOLDERS = frozenset(
    {
        ".git",
        ".venv",
        "venv",
        ".tox",
        ".nox",
        "__pycache__",
        "build",
        "dist",
        ".idea",
        ".vscode",
        "htmlcov",
        "Output",
    }
)
IGNORED_NAMES = re.compile(
    r".*\.(egg-info|pyc|pyo|whl|tmp|orig|rej)|\.[a-z]+_cache|\.hypothesis|\.coverage.*|\.lit_test_times\.txt"
    r"|\.triton-backend\.json"  # names the template's commit: another one by the time of `back`
)


class Template:
    """The template, its default answers, and what each of its files is called in a generated package."""

    def __init__(self, *, gpu: bool = False) -> None:
        self.context: dict[str, Any] = generate_context(
            str(REPOSITORY / "cookiecutter.json"), extra_context=answers_of(gpu)
        )
        self.context["cookiecutter"].update(prompt_for_config(self.context, no_input=True))
        self.answers: dict[str, Any] = self.context["cookiecutter"]
        self.environment = create_env_with_context(self.context)
        self.file_of: dict[str, str] = {}
        for file in files_under(TEMPLATE):
            name = self.render(file)
            if not name.endswith("/"):  # an optional file that the default answers leave out
                self.file_of[name] = file

    def render(self, text: str) -> str:
        return str(self.environment.from_string(text).render(**self.context))

    def is_verbatim(self, file: str) -> bool:
        return bool(is_copy_only_path(file, self.context))

    def with_placeholders(self, text: str, file: str) -> str:
        """The text with default names replaced by what renders to them; `file` decides which names.

        Template delimiters in the text, such as the shift operator of a kernel in a test, stay themselves.
        """
        answers = self.answers
        text = re.sub("<[<%#]", r"<<'\g<0>'>>", text)
        text = text.replace(answers["package_name"], "<<cookiecutter.package_name>>")
        text = text.replace(answers["distribution_name"], "<<cookiecutter.distribution_name>>")
        if file.endswith(".md"):
            variables = answers["backend_name"].upper() + "_"  # that begin the names of environment variables
            text = text.replace(variables, "<<cookiecutter.backend_name | upper>>_")
        if file.startswith("tests/filecheck/"):
            dialect = re.escape(answers["backend_name"])
            text = re.sub(rf"\b{dialect}\.", "<<cookiecutter.backend_name>>.", text)
        return text

    def place_of(self, file: str) -> str:
        """Where a file of the generated package belongs in the template."""
        return self.file_of.get(file) or self.with_placeholders(file, "")


@dataclass
class Outcome:
    """What `back` did with each file, and why not."""

    changed: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)


def files_under(root: Path) -> Iterator[str]:
    """Every source file below `root` as a relative path with slashes, in order."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in IGNORED_FOLDERS and not IGNORED_NAMES.fullmatch(f))
        for file in sorted(files):
            if not IGNORED_NAMES.fullmatch(file):
                yield Path(folder, file).relative_to(root).as_posix()


def answers_of(gpu: bool) -> dict[str, str]:
    """The answers that are not the default ones."""
    return {"gpu_reference": "nvidia" if gpu else "none"}


def generate(folder: Path, *, gpu: bool = False) -> Path:
    """Generate the default package below `folder`, without git, and return its root."""
    package = Path(
        cookiecutter(
            str(REPOSITORY),
            no_input=True,
            extra_context=answers_of(gpu),
            output_dir=str(folder),
            default_config=True,
            accept_hooks=False,
        )
    )
    hooks = importlib.import_module("hooks.answers")
    hooks.leave_out(package, {"package_name": "triton_acme", **answers_of(gpu)})
    return package


def merge(template: str, before: str, after: str) -> str | None:
    """Apply the edit before -> after to `template`; None if it touches lines that differ there."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("template", "before", "after")]
        for path, text in zip(paths, (template, before, after), strict=True):
            path.write_bytes(text.encode())
        result = subprocess.run(
            ["git", "merge-file", "-p", "-q", *map(str, paths)], capture_output=True, check=False
        )
    return result.stdout.decode() if result.returncode == 0 else None


def template_text(template: Template, file: str, edited: str, rendered: str | None, place: Path) -> str:
    """The template for the edited file. Raises ValueError with the reason where there is none."""
    text = template.with_placeholders(edited, file)
    if rendered is not None:
        merged = merge(place.read_bytes().decode(), template.with_placeholders(rendered, file), text)
        if merged is None:
            raise ValueError(
                "the edit touches lines that the template computes: make it in the template by hand"
            )
        text = merged
    try:
        result = template.render(text)
    except TemplateError as error:
        line = getattr(error, "lineno", "?")
        raise ValueError(
            f"it does not render (line {line}: {error}): is there a template delimiter in it?"
        ) from error
    if result != edited:
        raise ValueError("it would render to something else: is there a template delimiter in it?")
    return text


def back(package: Path) -> Outcome:
    """Bring the edits in `package` back into the template, file by file."""
    gpu = any(package.glob("src/*/gpu_reference"))
    template, outcome = Template(gpu=gpu), Outcome()
    with tempfile.TemporaryDirectory() as scratch:
        baseline = generate(Path(scratch), gpu=gpu)
        before = set(files_under(baseline))
        present = set(files_under(package))
        outcome.deleted = sorted(before - present)
        for file in sorted(present):
            edited = (package / file).read_bytes()
            old = (baseline / file).read_bytes() if file in before else None
            if edited == old:
                continue
            place = TEMPLATE / template.place_of(file)
            try:
                if template.is_verbatim(template.place_of(file)) or is_binary(str(package / file)):
                    new = edited
                else:
                    rendered = None if old is None else old.decode()
                    new = template_text(template, file, edited.decode(), rendered, place).encode()
            except ValueError as reason:  # including UnicodeDecodeError
                outcome.refused[file] = str(reason)
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(new)
            shutil.copymode(package / file, place)
            (outcome.changed if file in before else outcome.added).append(file)
    verify(package, outcome, gpu=gpu)
    return outcome


def verify(package: Path, outcome: Outcome, *, gpu: bool) -> None:
    """Generate once more; what went back must come out again, byte for byte."""
    with tempfile.TemporaryDirectory() as scratch:
        again = generate(Path(scratch), gpu=gpu)
        for file in [*outcome.changed, *outcome.added]:
            if not (again / file).is_file() or (again / file).read_bytes() != (package / file).read_bytes():
                outcome.refused[file] = "went back, but generates differently: mend it in the template"


def report(outcome: Outcome) -> int:
    for file in outcome.changed:
        print(f"changed  {file}")
    for file in outcome.added:
        print(f"added    {file}")
    for file in outcome.deleted:
        print(f"missing  {file}: still in the template; if it is meant to go, delete it there")
    for file, reason in outcome.refused.items():
        print(f"REFUSED  {file}: {reason}")
    print(f"{len(outcome.changed)} changed, {len(outcome.added)} added, {len(outcome.refused)} refused")
    return 1 if outcome.refused else 0


def main() -> int:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    generating = commands.add_parser("generate", help="generate a package with default answers")
    generating.add_argument("dir", type=Path)
    generating.add_argument("--gpu", action="store_true", help="with gpu_reference=nvidia")
    commands.add_parser("back", help="bring edits back into the template").add_argument("dir", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "generate":
        arguments.dir.mkdir(parents=True, exist_ok=True)
        print(generate(arguments.dir, gpu=arguments.gpu))
        return 0
    if not (arguments.dir / "pyproject.toml").is_file():
        parser.error(f"{arguments.dir} is not the root of a generated package: it has no pyproject.toml")
    return report(back(arguments.dir))


if __name__ == "__main__":
    sys.exit(main())
