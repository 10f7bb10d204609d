"""Kernels to start from, in reading order, each beside the same thing written in NumPy:

vector_add, fused_softmax, matmul, dropout, layer_norm, fused_attention, libdevice, grouped_gemm, persistent_matmul;
and with functions of this package: quantized_linear, causal_conv.

`demo` runs them all. Nothing else in the package imports this folder: delete it as a whole.
"""
