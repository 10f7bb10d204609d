"""Benchmarks of the reference device: what they run, how they are measured, how results are shown and compared.

    works     what is measured: a kernel of ours, torch doing the same, the goal
    timing    interleaved calls of two functions
    worker    one process that measures one pair
    suite     starts the workers, one after the other
    results   what came out, as JSON; comparing two runs
    report    the tables; plot: the picture

`cli/bench.py` is the command. Only `works` and `worker` import torch and Triton.
"""
