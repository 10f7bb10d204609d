"""Triton IR (tiles) to the instruction set (registers, loops, scratchpad)."""

from .lower import lower_module

__all__ = ["lower_module"]
