"""What the ``triton.backends`` entry point names: Triton imports ``compiler`` and ``driver`` from here."""
