"""Formulas: how functions of registers are computed by plain instructions, lane by lane.

A room of arithmetic, below the lowering and the passes, which both use it. `formula.py` is what formulas are written
with; each other file is a family of functions: the special functions and the math library in f32 (``f32_*.py``), f64 on
the bits of integers (`soft_f64.py`), and the functions for kernels that nothing else computes (the rest). Nothing here
knows when a formula is used: passes and lowering decide.
"""
