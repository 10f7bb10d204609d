"""The entry point of the command line. Says in a line what is wrong where the package cannot even say that.

Readable by Python 3.10.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .failure import sentence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. 0: done; 1: it failed, with a sentence on stderr; 2: it was called wrongly; 130: interrupted."""
    try:
        from . import commands
    except Exception as error:
        print(sentence(error), file=sys.stderr)
        return 1
    return commands.main(arguments)


if __name__ == "__main__":
    sys.exit(main())
