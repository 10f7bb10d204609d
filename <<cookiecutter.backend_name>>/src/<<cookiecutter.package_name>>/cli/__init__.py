"""What is run from a shell. Whatever of it is imported first, `target.py` can be read from here on, see `stand_in`."""

from . import stand_in

stand_in.prepare()
