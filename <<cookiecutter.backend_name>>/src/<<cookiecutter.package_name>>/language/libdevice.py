"""What ``triton.language.extra.libdevice`` is on this backend: Triton's 198 functions, made from one table.

``lowering/extern_elementwise.py`` turns the calls into instructions. To add a function, enter it in
``formulas/functions.py`` and here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .extern import extern_function

SIGNATURES: Final[dict[str, str]] = {
    "f>f d>d": """
        acos acosh asin asinh atan atanh cbrt ceil cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 erf erfc
        erfcinv erfcx erfinv exp exp10 exp2 expm1 floor j0 j1 lgamma log log10 log1p log2 logb nearbyint
        normcdf normcdfinv rcbrt rcp_rd rcp_rn rcp_ru rcp_rz rint round rsqrt sin sinh sinpi sqrt sqrt_rd
        sqrt_rn sqrt_ru sqrt_rz tan tanh tgamma trunc y0 y1
    """,
    "ff>f dd>d": """
        add_rd add_rn add_ru add_rz atan2 copysign div_rd div_rn div_ru div_rz fdim fmod hypot mul_rd mul_rn
        mul_ru mul_rz nextafter remainder rhypot sub_rd sub_rn sub_ru sub_rz
    """,
    "fff>f ddd>d": "fma fma_rd fma_rn fma_ru fma_rz norm3d rnorm3d",
    "ffff>f dddd>d": "norm4d rnorm4d",
    "ff>f dd>d fi>f di>d": "pow",
    "fi>f di>d": "ldexp scalbn",
    "if>f id>d": "jn yn",
    "f>f": """
        fast_cosf fast_exp10f fast_expf fast_log10f fast_log2f fast_logf fast_sinf fast_tanf fast_tanhf
        rsqrt_rn saturatef
    """,
    "ff>f": "fast_dividef fast_powf",
    "d>d": "rcp64h",
    # Classification
    "f>b d>b": "isinf isnan",
    "f>b": "finitef",
    "d>b": "isfinited",
    "f>i d>i": "ilogb signbit",
    # Integers
    "i>i l>i": "clz ffs popc",
    "i>i l>l": "brev",
    "i>i l>l f>f d>d": "abs",
    "ii>i uu>u ll>l vv>v": "mulhi",
    "ii>i uu>u": "hadd mul24 rhadd",
    "iiu>i uuu>u": "sad",
    "iii>i": "byte_perm",
    # Conversions. Unsigned results are declared as signed ones, as Triton's own tables have them.
    "f>l d>l": "llrint llround",
    "d>f": "double2float_rd double2float_rn double2float_ru double2float_rz",
    "d>i": """
        double2hiint double2int_rd double2int_rn double2int_ru double2int_rz double2loint double2uint_rd
        double2uint_rn double2uint_ru double2uint_rz
    """,
    "d>l": """
        double2ll_rd double2ll_rn double2ll_ru double2ll_rz double2ull_rd double2ull_rn double2ull_ru
        double2ull_rz double_as_longlong
    """,
    "f>i": """
        float2int_rd float2int_rn float2int_ru float2int_rz float2uint_rd float2uint_rn float2uint_ru
        float2uint_rz float_as_int float_as_uint
    """,
    "f>l": """
        float2ll_rd float2ll_rn float2ll_ru float2ll_rz float2ull_rd float2ull_rn float2ull_ru float2ull_rz
    """,
    "i>f": "int2float_rd int2float_rn int2float_ru int2float_rz int_as_float",
    "u>f": "uint2float_rd uint2float_rn uint2float_ru uint2float_rz uint_as_float",
    "l>f": "ll2float_rd ll2float_rn ll2float_ru ll2float_rz",
    "v>f": "ull2float_rd ull2float_rn ull2float_ru ull2float_rz",
    "i>d": "int2double_rn",
    "u>d": "uint2double_rn",
    "l>d": "ll2double_rd ll2double_rn ll2double_ru ll2double_rz longlong_as_double",
    "v>d": "ull2double_rd ull2double_rn ull2double_ru ull2double_rz",
    "ii>d": "hiloint2double",
}
"""Signatures -> the functions that have them."""

NAMES: Final = tuple(sorted(name for names in SIGNATURES.values() for name in names.split()))


# Some of these hide Python's own functions (abs, pow, round) from here on.
globals().update(
    {
        name: extern_function(name, signatures, module=__name__)
        for signatures, names in SIGNATURES.items()
        for name in names.split()
    }
)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """The functions, for tools that do not run what is above."""
