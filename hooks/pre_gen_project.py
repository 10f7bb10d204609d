"""Last gate before a file is written: check the answers again, then rehearse.

The answers were checked when they were given (hooks/answers.py), except for those of a replay file. The
rehearsal generates the whole package into a temporary folder beside its place: cookiecutter cleans up after
a hook that fails, but a syntax error, an undecodable file or a full disk in the middle of writing would
leave half a package.
"""

import json
import sys
import tempfile

CONTEXT = json.loads(r'''<< cookiecutter | handover >>''')  # fmt: skip

# In place of the folder of this (temporary) script, which is shared with the rest of the machine.
sys.path[0] = CONTEXT["_repo_dir"]

from cookiecutter.generate import generate_files  # noqa: E402

from hooks.answers import Refused, accept_all  # noqa: E402


def main() -> None:
    try:
        accept_all(CONTEXT)
    except Refused as refusal:
        sys.exit(str(refusal))
    try:
        with tempfile.TemporaryDirectory(prefix=".rehearsal-", dir=".") as folder:
            generate_files(CONTEXT["_repo_dir"], {"cookiecutter": CONTEXT}, folder, accept_hooks=False)
    except Exception as error:
        where = f" (file {error.filename}, line {error.lineno})" if hasattr(error, "lineno") else ""
        sentence = f"The package cannot be generated here: {type(error).__name__}: {error}{where}."
        sys.exit(ascii(sentence)[1:-1])


main()
