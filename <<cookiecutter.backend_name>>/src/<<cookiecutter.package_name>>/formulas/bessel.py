"""Modified Bessel functions of the first kind, orders 0 and 1, in f64: errors of a few ulp.

For |x| < 8 a polynomial in x^2; beyond, where they grow like e^x / sqrt(x), that factor times a polynomial in
16/x - 1. The polynomials are minimax fits of the relative error (``tests/derive_coefficients.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from xdsl.ir import SSAValue

from ..dialects.isa import alu
from .formula import Formula

# Errors: 2^-53.9, 2^-55.6, 2^-56.5, 2^-55.5.
I0_NEAR: Final = (
    *(1.0, 0.2499999999999993, 0.015625000000001228, 0.00043402777777696205),
    *(6.781684028047964e-06, 6.781684022606376e-08, 4.70950285947782e-10, 2.4028070480247273e-12),
    *(9.385994748909873e-15, 2.896795538346032e-17, 7.245217368149417e-20, 1.4906480009364426e-22),
    *(2.672375217820409e-25, 3.212699696612717e-28, 7.919863592847846e-31),
)
I0_FAR: Final = (
    *(0.4021765094450081, 0.0033605519836678453, 0.00013621607439017692, 1.1143033792373581e-05),
    *(1.483847651950714e-06, 2.973598208677981e-07, 8.872054929861291e-08, 3.932630445025638e-08),
    *(2.1564607927305097e-08, 7.551587311261772e-09, -6.841668808649379e-09, -1.3396163179944067e-08),
    *(-5.060417082356862e-09, 7.51896740366843e-09, 6.601818292080474e-09, -3.4479412824188017e-09),
    *(-4.625570211444205e-09, 1.4548269999900566e-09, 2.234160978314633e-09, -5.255346337226547e-10),
    *(-6.790215878795078e-10, 1.3427834700743073e-10, 9.650426950754724e-11, -1.702590215645411e-11),
)
I1_NEAR: Final = (
    *(0.5, 0.06249999999999995, 0.0026041666666667407, 5.4253472222178106e-05),
    *(6.781684027911122e-07, 5.6514033541193065e-09, 3.3639305960173114e-11, 1.501754515926648e-13),
    *(5.214436773340631e-16, 1.4484120096057014e-18, 3.2929835803526873e-21, 6.2152576983081806e-24),
    *(1.0239340337839911e-26, 1.1684934248786736e-29, 2.589302213160865e-32),
)
I1_FAR: Final = (
    *(0.38939845902587233, -0.009749577193235725, -0.00021923576383205782, -1.5038547201580486e-05),
    *(-1.834910222577351e-06, -3.4838554971021263e-07, -1.0001116414451726e-07, -4.312949491839778e-08),
    *(-2.339084457081859e-08, -8.425641938721627e-09, 6.8324004666999236e-09, 1.402556050148964e-08),
    *(5.615872242169369e-09, -7.619628613454996e-09, -7.02586143414975e-09, 3.387096560124803e-09),
    *(4.8610085368109566e-09, -1.3948668257722972e-09, -2.3345560492963644e-09, 4.987087403598998e-10),
    *(7.075169478901614e-10, -1.2774637038819566e-10, -1.0039765141550841e-10, 1.6359240805310196e-11),
)


def bessel_i0(f: Formula, x: SSAValue) -> SSAValue:
    """I0(x), an even function."""
    return _bessel(f, f(alu.AbsF, x), lambda a: f.horner(f(alu.MulF, a, a), I0_NEAR), I0_FAR)


def bessel_i1(f: Formula, x: SSAValue) -> SSAValue:
    """I1(x), an odd function."""
    value = _bessel(f, f(alu.AbsF, x), lambda a: f(alu.MulF, f.horner(f(alu.MulF, a, a), I1_NEAR), a), I1_FAR)
    return f(alu.CopySign, value, x)


def _bessel(
    f: Formula, a: SSAValue, near: Callable[[SSAValue], SSAValue], far: tuple[float, ...]
) -> SSAValue:
    a = f.select(f.compare("ogt", a, 1000.0), 1000.0, a)  # the functions overflow from 714 on
    series = f.horner(f(alu.AddF, f(alu.DivF, f.const(16.0, a.type), a), -1.0), far)
    half = f.call("exp", f(alu.MulF, a, 0.5))  # e^a would overflow too early
    growing = f(alu.MulF, f(alu.MulF, f(alu.DivF, series, f(alu.Sqrt, a)), half), half)
    return f.select(f.compare("olt", a, 8.0), near(a), growing)
