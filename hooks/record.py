"""What a generated package remembers of the template: its version, its commit, and the answers.

With them the package can be generated again, and a newer template be merged into it (CONTRIBUTING.md there).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

TEMPLATE_VERSION = "0.2.0"


def commit_of_the_template() -> str | None:
    """That of the clone that this file lies in, if it is one; with "-dirty" if files were changed since."""
    root = Path(__file__).resolve().parent.parent
    if not (root / ".git").exists():  # git would find that of a folder around it
        return None
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]
    try:
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def record(answers: Mapping[str, Any]) -> str:
    """Filter: what this package was generated from, as JSON that cookiecutter reads as a configuration.

    It reads it as YAML: hence no surrogates, in which JSON would escape characters beyond U+FFFF. And it
    renders every answer: hence the escaped delimiters.
    """
    given = {name: re.sub("<[<%#]", r"<<'\g<0>'>>", str(answers[name])) for name in answers if name[0] != "_"}
    complete = {
        "template": {"version": TEMPLATE_VERSION, "commit": commit_of_the_template()},
        "default_context": given,
    }
    text = json.dumps(complete, ensure_ascii=False, indent=2)
    return "".join(
        f"\\u{ord(character):04x}"
        if not character.isprintable() and character != "\n" and ord(character) <= 0xFFFF
        else character
        for character in text
    )
