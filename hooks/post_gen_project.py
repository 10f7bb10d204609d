"""After the package is written: leave out what nobody wants, start a git repository, say what to do next."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

CONTEXT = json.loads(r'''<< cookiecutter | handover >>''')  # fmt: skip

NEXT_STEPS = """
{distribution_name} is complete. Next:

  cd {folder}
  git add --all && git commit -m "As generated"   # first: a base for your changes
  python -m pip install -e ".[test]"   # beside a stock Triton
  {distribution_name} doctor   # what is installed, and does it fit together?
  {distribution_name} demo     # kernels on the reference device

Then open src/{package_name}/target.py, the numbers of your machine, and docs/first-day-numbers.md.
"""


def leave_out_what_was_not_asked_for() -> None:
    sys.path[0] = CONTEXT["_repo_dir"]  # in place of the folder of this (temporary) script
    from hooks.answers import leave_out

    leave_out(Path.cwd(), CONTEXT)


def start_git() -> None:
    """`git init`, if there is a git; without GIT_DIR and the like, by which a calling git redirects it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        subprocess.run(
            ["git", "-c", "init.defaultBranch=main", "init", "--quiet"],
            env=environment,
            timeout=30,
            check=False,
            **quiet,
        )
    except (OSError, subprocess.SubprocessError):
        pass  # A package without history is complete.


def print_next_steps() -> None:
    """Neither a terminal that cannot show the path nor a closed pipe is a reason to fail."""
    sys.stdout.reconfigure(errors="backslashreplace")
    try:
        print(NEXT_STEPS.format(folder=shlex.quote(os.getcwd()), **CONTEXT), flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


leave_out_what_was_not_asked_for()
start_git()
print_next_steps()
