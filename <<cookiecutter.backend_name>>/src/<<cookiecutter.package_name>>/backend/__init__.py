"""What the ``triton.backends`` entry point names: Triton imports ``compiler`` and ``driver`` from here."""

# Triton first. Were one of our modules imported before it, that module's own import of Triton would make Triton
# look into the module while it is half done. Where Triton is what imports us, this changes nothing.
import triton as triton
