"""An import that failed, in a sentence. Imports nothing of this package: it may be what is broken. Readable by Python
3.10.
"""

from __future__ import annotations

import traceback
from pathlib import Path

PACKAGE_FOLDER = Path(__file__).parents[1]


def place(error: BaseException) -> tuple[str, int]:
    """File and line that an error comes from: of a syntax error where it is, else the last one in this package, or
    the last one at all. ("", 0) where neither is known."""
    first = error
    while first.__cause__ is not None:
        first = first.__cause__
    if isinstance(first, SyntaxError) and first.filename:
        return first.filename, first.lineno or 0
    frames = [(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(first.__traceback__)]
    frames = [frame for frame in frames if not frame[0].startswith("<")]
    ours = [frame for frame in frames if PACKAGE_FOLDER in Path(frame[0]).parents]
    return (ours or frames or [("", 0)])[-1]


def in_words(error: BaseException) -> str:
    """Type and message on one line; a syntax error without its place, which `place` gives."""
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    lines = message.strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def sentence(error: BaseException) -> str:
    """What to do about a file of this package that cannot be imported."""
    file, line = place(error)
    return (
        f"{PACKAGE_FOLDER.name} cannot be imported: {in_words(error)} ({file}, line {line}). Fix that file."
    )
