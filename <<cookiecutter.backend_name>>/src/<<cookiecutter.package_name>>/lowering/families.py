"""In which file an operation that nothing lowers yet would be lowered, for the error that says so."""

from __future__ import annotations

from typing import Final

FAMILIES: Final = {
    "math.": "math_ops.py",
    "arith.": "elementwise.py",
    "scf.": "control_flow.py",
    "cf.": "unstructured.py",
    "dot_scaled": "dot_scaled.py",
    "dot": "dot.py",
    "reduce scan gather histogram": "reduce_ops.py",
    "load store atomic barrier descriptor": "memory_ops.py",
    "print assert": "debug_ops.py",
    "elementwise bitcast fp_to ptr_to to_ptr clamp precise_ mulhi": "elementwise.py",
}
"""What names of operations begin with or contain -> the file whose table has their like; the first that fits counts."""

OTHERS: Final = "simple_ops.py"


def file_for(operation: str) -> str:
    """``"tt.descriptor_load"`` -> ``"lowering/memory_ops.py"``."""
    fitting = (
        file for words, file in FAMILIES.items() if any(is_like(operation, word) for word in words.split())
    )
    return f"lowering/{next(fitting, OTHERS)}"


def is_like(operation: str, word: str) -> bool:
    return operation.startswith(word) if word.endswith(".") else word in operation
