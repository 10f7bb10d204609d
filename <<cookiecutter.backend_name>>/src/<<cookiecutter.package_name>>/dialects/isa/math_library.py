"""The math library behind `alu.MathCall`: for the reference device C's libm, which the process has loaded.

The functions are those of C99 and POSIX, and glibc's ``exp10``; each has a form for f64 and one, with an "f" at its
end, for f32. Errors are libm's (glibc: up to 2 ulp, some 10 ulp for the Bessel and gamma functions, near zeros more).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ...errors import UnsupportedOperation


class Signature(NamedTuple):
    """``arguments``: a letter for each, "x" for a number of the function's own format, "i" for an i32.

    The result is an "x".
    """

    symbol: str
    arguments: str


_BY_ARGUMENTS: Final = {
    "x": """
        acos acosh asin asinh atan atanh cbrt ceil cos cosh erf erfc exp exp10 exp2 expm1 fabs floor j0 j1 lgamma
        log log10 log1p log2 logb nearbyint rint round sin sinh sqrt tan tanh tgamma trunc y0 y1
    """,
    "xx": "atan2 copysign fdim fmax fmin fmod hypot nextafter pow remainder",
    "xi": "ldexp scalbn",
    "ix": "jn yn",
    "xxx": "fma",
}

FUNCTIONS: Final = {
    name: Signature(name, arguments) for arguments, names in _BY_ARGUMENTS.items() for name in names.split()
}
"""Function name -> its symbol for f64 and its arguments."""

SUFFIX: Final = {"f32": "f", "f64": ""}


def signature_of(callee: str) -> Signature:
    """The signature of a function; raises `UnsupportedOperation` for one that the library lacks."""
    signature = FUNCTIONS.get(callee)
    if signature is None:
        raise UnsupportedOperation(
            f"the math library has no function {callee!r}", add_support_in="dialects/isa/math_library.py"
        )
    return signature


def symbol_for(callee: str, element: str) -> str:
    """The symbol of function `callee` for `element`, "f32" or "f64": ``symbol_for("asin", "f32") == "asinf"``.

    Raises `UnsupportedOperation` for an unknown function or another element.
    """
    symbol = signature_of(callee).symbol
    suffix = SUFFIX.get(element)
    if suffix is None:
        raise UnsupportedOperation(
            f"the math library has no {callee!r} for {element}", add_support_in="dialects/isa/math_library.py"
        )
    return symbol + suffix
