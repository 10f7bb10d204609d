"""Conversions. Those of the narrow floats are integer sequences, except where the host has instructions for f16."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..dialects.isa import convert as isa
from ..dialects.locations import location_of
from ..errors import UnsupportedOperation
from .emission import Emitter, emits
from .registers import RegisterType, fill, float_literal, mangle, spell

# --- integers -------------------------------------------------------------------------------------------------


@emits(isa.ExtS)
def extend_signed(e: Emitter, op: isa.ExtS) -> None:
    _cast(e, op, "sext")


@emits(isa.ExtU)
def extend_unsigned(e: Emitter, op: isa.ExtU) -> None:
    _cast(e, op, "zext")


@emits(isa.TruncI)
def truncate_integer(e: Emitter, op: isa.TruncI) -> None:
    _cast(e, op, "trunc")


@emits(isa.SIToF)
def signed_to_float(e: Emitter, op: isa.SIToF) -> None:
    _cast(e, op, "sitofp")


@emits(isa.UIToF)
def unsigned_to_float(e: Emitter, op: isa.UIToF) -> None:
    _cast(e, op, "uitofp")


@emits(isa.Bitcast)
def bitcast(e: Emitter, op: isa.Bitcast) -> None:
    _cast(e, op, "bitcast")


def _cast(e: Emitter, op: isa.Conversion, instruction: str) -> None:
    to = e.type(op.result).text
    if to == e.type(op.source).text:
        e.bind(op.result, e.ref(op.source))
    else:
        e.result(op, f"{instruction} {e.typed(op.source)} to {to}")


@emits(isa.FToSI, isa.FToUI)
def float_to_integer(e: Emitter, op: isa.Conversion) -> None:
    signed = isinstance(op, isa.FToSI)
    value = integer_of_float(e, e.ref(op.source), e.type(op.source), e.type(op.result), signed=signed)
    e.bind(op.result, value)


def integer_of_float(
    e: Emitter, value: str, source: RegisterType, result: RegisterType, *, signed: bool
) -> str:
    """Towards zero; saturates, NaN gives 0.

    LLVM's saturating conversions work lane by lane on x86; these selects stay vectors.
    """
    predicate = result.of("i1")
    converted = e.let(f"fpto{'s' if signed else 'u'}i {source.text} {value} to {result.text}")
    end = 1 << (result.bits - signed)

    def where(comparison: str, bound: float, instead: int) -> None:
        nonlocal converted
        outside = e.let(
            f"fcmp {comparison} {source.text} {value}, {source.fill(float_literal(bound, source))}"
        )
        constant = result.fill(instead)
        converted = e.let(
            f"select {predicate} {outside}, {result.text} {constant}, {result.text} {converted}"
        )

    where("oge", float(end), end - 1)
    if signed:
        where("olt", -float(end), -end)
        where("uno", 0.0, 0)
    else:
        where("ule", 0.0, 0)
    return converted


# --- saturation -----------------------------------------------------------------------------------------------

EXACT_BITS: Final = {"f32": 24, "f64": 53}
"""Integers of so many bits are numbers of the format."""


@emits(isa.SatS, isa.SatU)
def saturate(e: Emitter, op: isa.Conversion) -> None:
    source, result = e.type(op.source), e.type(op.result)
    signed = isinstance(op, isa.SatS)
    low, high = (-(1 << (result.bits - 1)) if signed else 0), (1 << (result.bits - signed)) - 1
    if source.is_float:
        value = _nearest_integer(e, e.ref(op.source), source, result, low, high)
    else:
        value = _clamped(e, e.ref(op.source), source, result, low, high)
    e.bind(op.result, value)


def _nearest_integer(
    e: Emitter, value: str, source: RegisterType, result: RegisterType, low: int, high: int
) -> str:
    whole = e.call(source.text, f"llvm.roundeven.{source.mangled}", (source.text, value))
    if result.bits > EXACT_BITS[source.format]:
        return integer_of_float(e, whole, source, result, signed=low < 0)
    # These pairs are the host's vector maximum and minimum, which give the second operand for a NaN.
    for comparison, bound in (("ogt", low), ("olt", high)):
        limit = source.fill(float_literal(float(bound), source))
        inside = e.let(f"fcmp {comparison} {source.text} {whole}, {limit}")
        whole = e.let(f"select {source.of('i1')} {inside}, {source.text} {whole}, {source.text} {limit}")
    # Hosts convert to 32 bits; of narrower numbers these are the low bits.
    step = result.of(f"i{max(result.bits, 32)}")
    sign = "s" if low < 0 or result.bits < 32 else "u"
    number = e.let(f"fpto{sign}i {source.text} {whole} to {step}")
    if low < 0:
        nan = e.let(f"fcmp uno {source.text} {value}, {value}")
        number = e.let(f"select {source.of('i1')} {nan}, {step} zeroinitializer, {step} {number}")
    return number if step == result.text else e.let(f"trunc {step} {number} to {result.text}")


def _clamped(e: Emitter, value: str, source: RegisterType, result: RegisterType, low: int, high: int) -> str:
    """An integer, taken as signed, between `low` and `high`."""
    least, most = -(1 << (source.bits - 1)), (1 << (source.bits - 1)) - 1
    for name, bound, needed in (("smax", low, low > least), ("smin", high, high < most)):
        if needed:
            limit = (source.text, source.fill(bound))
            value = e.call(source.text, f"llvm.{name}.{source.mangled}", (source.text, value), limit)
    if source.bits == result.bits:
        return value
    return e.let(f"{'trunc' if source.bits > result.bits else 'sext'} {source.text} {value} to {result.text}")


# --- floating point -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NarrowFloat:
    """A format of 8 or 16 bits: a sign, an exponent, `mantissa` bits.

    ``largest`` is the code of the largest finite number, ``nan`` that of the NaN we make. ``saturates``: what
    is too large, infinity included, becomes the largest finite number when rounded to nearest, as Triton
    converts to fp8; otherwise code ``largest + 1`` is infinity.
    """

    bits: int
    mantissa: int
    bias: int
    largest: int
    nan: int
    saturates: bool = False

    @property
    def integer(self) -> str:
        return f"i{self.bits}"

    @property
    def dropped(self) -> int:
        """Bits of an f32's mantissa that have no place."""
        return 23 - self.mantissa

    @property
    def rebias(self) -> int:
        """What the exponents of an f32 are larger by, as a number in the place of this format's exponent."""
        return (127 - self.bias) << self.mantissa


F16: Final = NarrowFloat(16, 10, 15, largest=0x7BFF, nan=0x7E00)
BF16: Final = NarrowFloat(16, 7, 127, largest=0x7F7F, nan=0x7FC0)
NARROW: Final = {
    "f16": F16,
    "bf16": BF16,
    "f8E5M2": NarrowFloat(8, 2, 15, largest=0x7B, nan=0x7F, saturates=True),
    "f8E4M3FN": NarrowFloat(8, 3, 7, largest=0x7E, nan=0x7F, saturates=True),
}


@emits(isa.ExtF)
def extend_float(e: Emitter, op: isa.ExtF) -> None:
    e.bind(op.result, convert_float(e, e.ref(op.source), e.type(op.source), e.type(op.result), "rtne"))


@emits(isa.TruncF)
def truncate_float(e: Emitter, op: isa.TruncF) -> None:
    rounding = op.rounding.data
    if rounding not in isa.ROUNDINGS:
        raise UnsupportedOperation(
            f"no rounding called {rounding!r} (known: {', '.join(isa.ROUNDINGS)})",
            location=location_of(op),
            add_support_in="codegen/convert.py",
        )
    e.bind(op.result, convert_float(e, e.ref(op.source), e.type(op.source), e.type(op.result), rounding))


def convert_float(e: Emitter, value: str, source: RegisterType, result: RegisterType, rounding: str) -> str:
    """`value` in another float format, rounded at most once."""
    lanes = result.lanes
    if source.format == result.format:
        return value
    if source.format == "f64":
        if result.format == "f32" and rounding == "rtne":
            return e.let(f"fptrunc {source.text} {value} to {result.text}")
        value = narrow_double(e, value, lanes, sticky=result.format != "f32")
    elif source.format in NARROW:
        value = widen(e, value, lanes, NARROW[source.format])
    if result.format == "f64":
        return e.let(f"fpext {spell('float', lanes)} {value} to {result.text}")
    if result.format in NARROW:
        return narrow(e, value, lanes, NARROW[result.format], rounding)
    return value


def narrow_double(e: Emitter, value: str, lanes: int, *, sticky: bool) -> str:
    """f64 -> f32 towards zero; with `sticky`, the last bit of an inexact result is 1.

    Such a result ("rounded to odd") can be rounded again, to a format with at least two bits less, as if it were exact.
    """
    double, single, ints, predicate = (spell(t, lanes) for t in ("double", "float", "i32", "i1"))
    nearest = e.let(f"fptrunc {double} {value} to {single}")
    back = e.let(f"fpext {single} {nearest} to {double}")
    sizes = [e.call(double, f"llvm.fabs.{mangle('double', lanes)}", (double, v)) for v in (back, value)]
    above = e.let(f"fcmp ogt {double} {sizes[0]}, {sizes[1]}")
    bits = e.let(f"bitcast {single} {nearest} to {ints}")
    bits = e.let(f"sub {ints} {bits}, {e.let(f'zext {predicate} {above} to {ints}')}")
    if sticky:
        inexact = e.let(f"fcmp one {double} {back}, {value}")
        bits = e.let(f"or {ints} {bits}, {e.let(f'zext {predicate} {inexact} to {ints}')}")
    return e.let(f"bitcast {ints} {bits} to {single}")


def widen(e: Emitter, value: str, lanes: int, form: NarrowFloat) -> str:
    """A narrow float as f32."""
    single, ints, predicate, narrow_ints = (spell(t, lanes) for t in ("float", "i32", "i1", form.integer))
    if form.bits == 8 and form.bias == F16.bias and e.host.converts_half:
        # f8E5M2 is the upper half of an f16.
        wide = e.let(f"zext {narrow_ints} {value} to {spell('i16', lanes)}")
        value = e.let(f"shl {spell('i16', lanes)} {wide}, {fill('i16', lanes, 8)}")
        return widen(e, value, lanes, F16)
    if form is F16 and e.host.converts_half:
        half = e.let(f"bitcast {narrow_ints} {value} to {spell('half', lanes)}")
        return e.let(f"fpext {spell('half', lanes)} {half} to {single}")
    code = e.let(f"zext {narrow_ints} {value} to {ints}")
    if form is BF16:
        code = e.let(f"shl {ints} {code}, {fill('i32', lanes, 16)}")
        return e.let(f"bitcast {ints} {code} to {single}")

    def i32(number: int) -> str:
        return fill("i32", lanes, number)

    sign_bit = 1 << (form.bits - 1)
    size = e.let(f"and {ints} {code}, {i32(sign_bit - 1)}")
    shifted = e.let(f"shl {ints} {size}, {i32(form.dropped)}")
    normal = e.let(f"add {ints} {shifted}, {i32(form.rebias << form.dropped)}")
    # Subnormal numbers count units of 2^(1 - bias - mantissa).
    count = e.let(f"sitofp {ints} {size} to {single}")
    tiny = e.let(
        f"fmul {single} {count}, {fill('float', lanes, _power_of_two(1 - form.bias - form.mantissa))}"
    )
    tiny = e.let(f"bitcast {single} {tiny} to {ints}")
    is_tiny = e.let(f"icmp ult {ints} {size}, {i32(1 << form.mantissa)}")
    result = e.let(f"select {predicate} {is_tiny}, {ints} {tiny}, {ints} {normal}")
    special = e.let(f"or {ints} {shifted}, {i32(0x7F800000)}")
    is_special = e.let(f"icmp ugt {ints} {size}, {i32(form.largest)}")
    result = e.let(f"select {predicate} {is_special}, {ints} {special}, {ints} {result}")
    sign = e.let(f"and {ints} {code}, {i32(sign_bit)}")
    sign = e.let(f"shl {ints} {sign}, {i32(32 - form.bits)}")
    return e.let(f"bitcast {ints} {e.let(f'or {ints} {result}, {sign}')} to {single}")


def narrow(e: Emitter, value: str, lanes: int, form: NarrowFloat, rounding: str) -> str:
    """An f32 as a narrow float."""
    if form is BF16:
        return _narrow_to_bfloat(e, value, lanes, rounding)
    single, ints, predicate, narrow_ints = (spell(t, lanes) for t in ("float", "i32", "i1", form.integer))
    if form is F16 and rounding == "rtne" and e.host.converts_half:
        half = e.let(f"fptrunc {single} {value} to {spell('half', lanes)}")
        return e.let(f"bitcast {spell('half', lanes)} {half} to {narrow_ints}")

    def i32(number: int) -> str:
        return fill("i32", lanes, number)

    bits = e.let(f"bitcast {single} {value} to {ints}")
    size = e.let(f"and {ints} {bits}, {i32(0x7FFFFFFF)}")
    absolute = e.let(f"bitcast {ints} {size} to {single}")
    # Subnormal results count units of 2^(1 - bias - mantissa).
    unit = 1 - form.bias - form.mantissa
    if rounding == "rtne":
        normal = _round_to_even(e, size, lanes, form.dropped)
        # In the sum the unit is the last bit: the addition rounds.
        aligner = e.let(f"fadd {single} {absolute}, {fill('float', lanes, _power_of_two(unit + 23))}")
        aligned = e.let(f"bitcast {single} {aligner} to {ints}")
        tiny = e.let(f"sub {ints} {aligned}, {i32((unit + 23 + 127) << 23)}")
    else:
        normal = size
        units = e.let(f"fmul {single} {absolute}, {fill('float', lanes, _power_of_two(-unit))}")
        tiny = e.let(f"fptosi {single} {units} to {ints}")
    normal = e.let(f"lshr {ints} {normal}, {i32(form.dropped)}")
    normal = e.let(f"sub {ints} {normal}, {i32(form.rebias)}")
    infinity_follows = rounding == "rtne" and not form.saturates
    bound = i32(form.largest + infinity_follows)
    normal = e.call(ints, f"llvm.umin.{mangle('i32', lanes)}", (ints, normal), (ints, bound))
    is_tiny = e.let(f"icmp ult {ints} {size}, {i32((128 - form.bias) << 23)}")
    result = e.let(f"select {predicate} {is_tiny}, {ints} {tiny}, {ints} {normal}")
    if rounding == "rtz" and not form.saturates:
        infinite = e.let(f"icmp eq {ints} {size}, {i32(0x7F800000)}")
        result = e.let(f"select {predicate} {infinite}, {ints} {i32(form.largest + 1)}, {ints} {result}")
    nan = e.let(f"fcmp uno {single} {value}, {value}")
    result = e.let(f"select {predicate} {nan}, {ints} {i32(form.nan)}, {ints} {result}")
    sign = e.let(f"lshr {ints} {bits}, {i32(31)}")
    sign = e.let(f"shl {ints} {sign}, {i32(form.bits - 1)}")
    return e.let(f"trunc {ints} {e.let(f'or {ints} {result}, {sign}')} to {narrow_ints}")


def _narrow_to_bfloat(e: Emitter, value: str, lanes: int, rounding: str) -> str:
    """bf16 is the upper half of an f32: rounding carries into the exponent and up to infinity by itself.

    The CPU instructions for this turn subnormal numbers into zeros.
    """
    single, ints, predicate = (spell(t, lanes) for t in ("float", "i32", "i1"))
    bits = e.let(f"bitcast {single} {value} to {ints}")
    rounded = _round_to_even(e, bits, lanes, 16) if rounding == "rtne" else bits
    nan = e.let(f"fcmp uno {single} {value}, {value}")
    quiet = e.let(f"or {ints} {bits}, {fill('i32', lanes, 1 << 22)}")
    result = e.let(f"select {predicate} {nan}, {ints} {quiet}, {ints} {rounded}")
    upper = e.let(f"lshr {ints} {result}, {fill('i32', lanes, 16)}")
    return e.let(f"trunc {ints} {upper} to {spell('i16', lanes)}")


def _round_to_even(e: Emitter, bits: str, lanes: int, dropped: int) -> str:
    """`bits` after which cutting off `dropped` bits is rounding to nearest, ties to even."""
    ints = spell("i32", lanes)
    odd = e.let(f"lshr {ints} {bits}, {fill('i32', lanes, dropped)}")
    odd = e.let(f"and {ints} {odd}, {fill('i32', lanes, 1)}")
    below_half = e.let(f"add {ints} {bits}, {fill('i32', lanes, (1 << (dropped - 1)) - 1)}")
    return e.let(f"add {ints} {below_half}, {odd}")


def _power_of_two(exponent: int) -> str:
    """2^exponent as an LLVM literal."""
    return f"0x{(exponent + 1023) << 52:016X}"
