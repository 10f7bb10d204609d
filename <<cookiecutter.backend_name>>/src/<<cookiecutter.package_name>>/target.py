"""The machine: every name and number that a vendor edits first. Nothing else in the package spells them out.

Imports nothing and computes nothing slow: `import triton` reads this file on every host that has the package installed.
"""

from typing import Final

# ---- Names -------------------------------------------------------------------------------------------------------
# They also occur in pyproject.toml (distribution, entry point, command). Change them in both places, then reinstall:
# Triton reads entry points from the installed metadata, not from this file.

VENDOR_NAME: Final = << cookiecutter.vendor_name | quoted >>
BACKEND_NAME: Final = << cookiecutter.backend_name | quoted >>  # the entry point, GPUTarget.backend, the dialect's namespace
DISTRIBUTION_NAME: Final = << cookiecutter.distribution_name | quoted >>  # for pip; also the name of the command
PACKAGE_NAME: Final = << cookiecutter.package_name | quoted >>  # for import
ENV_PREFIX: Final = BACKEND_NAME.upper()  # environment variables of this package begin with it and an underscore

# ---- The chip ----------------------------------------------------------------------------------------------------
# All of these are part of the cache key: after a change, kernels are compiled anew.

ARCH: Final = << cookiecutter.arch | quoted >>  # GPUTarget.arch; compiled kernels of one chip are never loaded for another

VECTOR_LANES: Final = << cookiecutter.vector_lanes | int >>  # 32-bit elements of one vector register; a power of two
REGISTER_GROUP: Final = 4  # vector registers that one instruction works on at most: 1, 2, 4 or 8

MATRIX_TILE: Final = << cookiecutter.matrix_tile | tile_mnk >>  # M, N, K of one matrix instruction; powers of two
# A machine without a matrix unit: MATRIX_TILE: Final = None. Products of matrices are then vector multiply-adds.

SCRATCHPAD_BYTES: Final = << cookiecutter.scratchpad_kib | int >> * 1024  # on-chip memory of one core that a kernel may use
# What a kernel needs beyond lies in device memory. False: such a kernel is refused with OutOfResources, as on a GPU.
SCRATCHPAD_OVERFLOWS: Final = True

# What the machine computes in hardware. Passes expand the rest (docs/first-day-numbers.md).
# Element types of the vector unit; "f64" may be missing. Narrower floats (f16, bf16, fp8) are only converted.
VECTOR_TYPES: Final = frozenset({"i8", "i16", "i32", "i64", "f32", "f64"})
# Special functions of f32: any of ldexp, lookup, sqrt, rsqrt, exp, exp2, log, log2, sin, cos, tanh, erf, remf (fmod).
SPECIAL_FUNCTIONS: Final = frozenset({"ldexp", "lookup", "sqrt", "rsqrt"})

# Registers, for the assembler (assembler/registers.py): what does not fit is spilled to the scratchpad.
SCALAR_REGISTERS: Final = 32  # 64 bits each; these three at most 256
VECTOR_REGISTERS: Final = 32  # VECTOR_LANES times 32 bits each; a long vector takes several
PREDICATE_REGISTERS: Final = 16  # a bit for each byte of a vector register

# Time, for the emulator's cycles (emulator/cycles.py): for each unit the cycles until a result can be used, and the
# cycles for which an instruction keeps the unit busy: per register, per lane where lanes are accessed one by one, and
# per step of k in the matrix unit (0.5: two steps a cycle; the others are whole numbers).
LATENCIES: Final = {
    "scalar": (1, 1),
    "vector": (4, 1),
    "special": (16, 4),
    "memory": (20, 1),
    "matrix": (16, 1),
    "control": (2, 1),
}
DEVICE_BYTES_PER_CYCLE: Final = 64  # between one core and device memory
