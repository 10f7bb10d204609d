"""Kernels to measure, written as their authors would write them for any device; `..examples` has the others."""
