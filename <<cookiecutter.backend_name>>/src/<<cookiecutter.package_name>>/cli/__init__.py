"""What is run from a shell. Whatever is imported first, `target.py` can be read from here on: see `target_fallback`."""

from . import target_fallback

target_fallback.prepare()
