"""Small Triton kernels as data: printed as Triton source, and executed with NumPy in program order.

A `Program` is a list of statements over named values. Every operation has one line in `OPERATIONS`, which says how it is
written in Triton and what it computes. A pointer value is an array of element numbers of one buffer. Every program
instance owns a part of every buffer (`REGION` elements, of which it uses the middle), so that instances cannot race.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

REGION = 8192
"""Elements of a buffer that belong to one program instance."""
ORIGIN = 2048
"""Where in its region an instance's index 0 is: pointers may move this far in either direction."""
GRID = 3

Shape = tuple[int, ...]
Arg = str | int | float
"""The name of a value, or a literal."""


@dataclass(frozen=True)
class Type:
    """``dtype`` is NumPy's name; for a pointer it is "*" and the name of its buffer."""

    dtype: str
    shape: Shape = ()


@dataclass
class Let:
    """``name = op(args)``."""

    name: str
    op: str
    args: tuple[Arg, ...]
    type: Type
    attrs: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Store:
    pointer: str
    value: Arg
    mask: str | None = None


@dataclass
class For:
    """``carried``: (name, initial value, value at the end of the body)."""

    index: str
    bounds: tuple[Arg, Arg, Arg]
    carried: list[tuple[str, str, str]]
    body: list[Statement]
    kind: str = "range"


@dataclass
class While:
    """Runs while ``counter < limit``; the counter goes up by one."""

    counter: str
    limit: Arg
    carried: list[tuple[str, str, str]]
    body: list[Statement]


@dataclass
class If:
    """``results``: (name, value if true, value if false)."""

    condition: str
    then: list[Statement]
    other: list[Statement]
    results: list[tuple[str, str, str]]


@dataclass
class ReturnIf:
    condition: str


Statement = Let | Store | For | While | If | ReturnIf


@dataclass
class Program:
    buffers: dict[str, str]
    """Name to dtype."""
    scalars: dict[str, int]
    """Runtime arguments (int32)."""
    body: list[Statement]


# --- what operations are ----------------------------------------------------------------------------------------

Values = Sequence[Any]
Attrs = Mapping[str, Any]


@dataclass(frozen=True)
class Operation:
    """``text(arguments as text, attrs)`` and ``run(arguments, attrs, result type)``."""

    text: Callable[[Sequence[str], Attrs], str]
    run: Callable[[Values, Attrs, Type], Any]


def triton_name(dtype: str) -> str:
    return "tl.int1" if dtype == "bool" else f"tl.{dtype}"


def is_float(dtype: str) -> bool:
    return dtype.startswith("float")


def bits(dtype: str) -> int:
    return 1 if dtype == "bool" else np.dtype(dtype).itemsize * 8


def is_signed(dtype: str) -> bool:
    return dtype.startswith("int")


def infix(sign: str, run: Callable[[Any, Any], Any]) -> Operation:
    return Operation(lambda a, _: f"{a[0]} {sign} {a[1]}", lambda v, _, t: run(v[0], v[1]))


def prefix(text: str, run: Callable[[Any], Any]) -> Operation:
    return Operation(lambda a, _: text.format(a[0]), lambda v, _, t: run(v[0]))


def quotient(a: Any, b: Any) -> Any:
    """Division that rounds to zero, of wide integers."""
    wide_a, wide_b = np.asarray(a).astype(object), np.asarray(b).astype(object)
    sign = np.where((wide_a < 0) == (wide_b < 0), 1, -1)
    return sign * (abs(wide_a) // abs(wide_b))


def divide(v: Values, _: Attrs, t: Type) -> Any:
    return np.asarray(quotient(v[0], v[1])).astype(t.dtype)


def remainder(v: Values, _: Attrs, t: Type) -> Any:
    wide_a, wide_b = np.asarray(v[0]).astype(object), np.asarray(v[1]).astype(object)
    return np.asarray(wide_a - wide_b * quotient(v[0], v[1])).astype(t.dtype)


def shifted(text: str, run: Callable[[Any, Any], Any]) -> Operation:
    """``x`` shifted by a literal."""
    return Operation(
        lambda a, _: f"{a[0]} {text} {a[1]}", lambda v, _, t: run(v[0], np.asarray(v[1], t.dtype))
    )


def clamped_to_int(v: Values, _: Attrs, t: Type) -> Any:
    return np.fmin(np.fmax(v[0], -100), 100).astype(t.dtype)


def index_text(a: Sequence[str], attrs: Attrs) -> str:
    where = "" if a[0] == "0" else f" + {a[0]}"
    return f"{attrs['buffer']} + (tl.program_id(0) * {REGION} + {ORIGIN}){where}"


def expand_text(a: Sequence[str], attrs: Attrs) -> str:
    """An index of ``None`` and ``:`` where there is a choice, else the function."""
    rank, axis = attrs["rank"], attrs["axis"]
    if attrs.get("index"):
        return f"{a[0]}[{', '.join('None' if d == axis else ':' for d in range(rank))}]"
    return f"tl.expand_dims({a[0]}, {axis})"


def reduction(name: str, run: Callable[..., Any]) -> Operation:
    def text(a: Sequence[str], attrs: Attrs) -> str:
        keep = ", keep_dims=True" if attrs.get("keep") else ""
        return f"{name.format(a[0])}, axis={attrs['axis']}{keep})"

    def reduced(v: Values, attrs: Attrs, t: Type) -> Any:
        return np.asarray(run(v[0], axis=attrs["axis"], keepdims=bool(attrs.get("keep")))).astype(t.dtype)

    return Operation(text, reduced)


def moved_along(v: Values, attrs: Attrs, t: Type) -> Any:
    """``result[i] = x[i - by]`` along an axis, or the fill."""
    x = np.moveaxis(v[0], attrs["axis"], 0)
    source = np.arange(len(x)) - attrs["by"]
    inside = ((source >= 0) & (source < len(x))).reshape(-1, *[1] * (x.ndim - 1))
    moved = np.where(inside, x[source % len(x)], np.array(attrs["fill"], x.dtype))
    return np.moveaxis(moved, 0, attrs["axis"])


def scan(name: str, ufunc: np.ufunc) -> Operation:
    def text(a: Sequence[str], attrs: Attrs) -> str:
        return f"{name.format(a[0], attrs['axis'])}, reverse={bool(attrs['reverse'])})"

    def run(v: Values, attrs: Attrs, t: Type) -> Any:
        x = np.flip(v[0], attrs["axis"]) if attrs["reverse"] else v[0]
        out = ufunc.accumulate(x, axis=attrs["axis"]).astype(t.dtype)
        return np.flip(out, attrs["axis"]) if attrs["reverse"] else out

    return Operation(text, run)


def affine_scan(v: Values, attrs: Attrs, t: Type) -> Any:
    """The second component of the scan of (a, b) pairs under composition of ``x -> a * x + b``."""
    axis = attrs["axis"]
    a, b = (np.moveaxis(np.flip(x, axis) if attrs["reverse"] else x, axis, 0) for x in v)
    out = np.empty_like(b)
    out[0] = b[0]
    for i in range(1, len(b)):
        out[i] = out[i - 1] * a[i] + b[i]
    out = np.moveaxis(out, 0, axis)
    return np.flip(out, axis) if attrs["reverse"] else out


def taken(v: Values, attrs: Attrs, t: Type) -> Any:
    return np.take_along_axis(v[0], v[1].astype(np.int64), attrs["axis"])


def product(v: Values, attrs: Attrs, t: Type) -> Any:
    return (v[0].astype(np.float64) @ v[1].astype(np.float64)).astype(t.dtype)


def dot_text(a: Sequence[str], attrs: Attrs) -> str:
    precision = ', input_precision="ieee"' if attrs["input"] == "float32" else ""
    total = f", {a[2]}" if len(a) > 2 else ""
    return f"tl.dot({a[0]}, {a[1]}{total}{precision}, out_dtype={triton_name(attrs['out'])})"


def dotted(v: Values, attrs: Attrs, t: Type) -> Any:
    result = product(v[:2], attrs, t)
    return result + v[2] if len(v) > 2 else result


OPERATIONS: dict[str, Operation] = {
    # Elementwise.
    "add": infix("+", operator.add),
    "sub": infix("-", operator.sub),
    "mul": infix("*", operator.mul),
    "and": infix("&", operator.and_),
    "or": infix("|", operator.or_),
    "xor": infix("^", operator.xor),
    "div": Operation(lambda a, _: f"{a[0]} // {a[1]}", divide),
    "rem": Operation(lambda a, _: f"{a[0]} % {a[1]}", remainder),
    "odd_rem": Operation(
        lambda a, _: f"{a[0]} % (({a[1]} & 7) | 1)", lambda v, _, t: remainder((v[0], (v[1] & 7) | 1), _, t)
    ),
    "shl": shifted("<" * 2, np.left_shift),
    "shr": shifted(">" * 2, np.right_shift),
    "lt": infix("<", operator.lt),
    "le": infix("<=", operator.le),
    "gt": infix(">", operator.gt),
    "ge": infix(">=", operator.ge),
    "eq": infix("==", operator.eq),
    "ne": infix("!=", operator.ne),
    "min": Operation(lambda a, _: f"tl.minimum({a[0]}, {a[1]})", lambda v, _, t: np.fmin(v[0], v[1])),
    "max": Operation(lambda a, _: f"tl.maximum({a[0]}, {a[1]})", lambda v, _, t: np.fmax(v[0], v[1])),
    "neg": prefix("-{}", operator.neg),
    "not": prefix("~{}", np.invert),
    "abs": prefix("tl.abs({})", np.abs),
    "floor": prefix("tl.floor({})", np.floor),
    "ratio": Operation(
        lambda a, _: f"{a[0]} / (tl.abs({a[1]}) + 1)",
        lambda v, _, t: v[0] / (np.abs(v[1]) + v[1].dtype.type(1)),
    ),
    "where": Operation(
        lambda a, _: f"tl.where({a[0]}, {a[1]}, {a[2]})",
        lambda v, _, t: np.where(v[0], v[1], v[2]).astype(t.dtype),
    ),
    "cast": Operation(
        lambda a, attrs: f"{a[0]}.to({triton_name(attrs['to'])})", lambda v, _, t: v[0].astype(t.dtype)
    ),
    "to_int": Operation(
        lambda a, attrs: f"tl.minimum(tl.maximum({a[0]}, -100.0), 100.0).to({triton_name(attrs['to'])})",
        clamped_to_int,
    ),
    # Making tensors.
    "pid": Operation(lambda a, _: "tl.program_id(0)", lambda v, attrs, t: None),
    "arange": Operation(
        lambda a, attrs: f"tl.arange({attrs['start']}, {attrs['stop']})",
        lambda v, attrs, t: np.arange(attrs["start"], attrs["stop"], dtype=t.dtype),
    ),
    "full": Operation(
        lambda a, attrs: f"tl.full({attrs['shape']}, {a[0]}, {triton_name(attrs['dtype'])})",
        lambda v, _, t: np.full(t.shape, v[0], t.dtype),
    ),
    # Shapes.
    "expand": Operation(expand_text, lambda v, attrs, t: np.expand_dims(v[0], attrs["axis"])),
    "broadcast": Operation(
        lambda a, attrs: f"tl.broadcast_to({a[0]}, {attrs['shape']})",
        lambda v, _, t: np.broadcast_to(v[0], t.shape),
    ),
    "reshape": Operation(
        lambda a, attrs: f"tl.reshape({a[0]}, {attrs['shape']})", lambda v, _, t: np.reshape(v[0], t.shape)
    ),
    "permute": Operation(
        lambda a, attrs: f"tl.permute({a[0]}, {attrs['order']})",
        lambda v, attrs, t: np.transpose(v[0], attrs["order"]),
    ),
    "trans": prefix("tl.trans({})", np.transpose),
    "join": Operation(lambda a, _: f"tl.join({a[0]}, {a[1]})", lambda v, _, t: np.stack(v, -1)),
    "split": Operation(
        lambda a, attrs: f"tl.split({a[0]})[{attrs['half']}]", lambda v, attrs, t: v[0][..., attrs["half"]]
    ),
    "interleave": Operation(
        lambda a, _: f"tl.interleave({a[0]}, {a[1]})", lambda v, _, t: np.stack(v, -1).reshape(t.shape)
    ),
    "flip": Operation(
        lambda a, attrs: f"tl.flip({a[0]}, {attrs['axis']})", lambda v, attrs, t: np.flip(v[0], attrs["axis"])
    ),
    "shift": Operation(
        lambda a, attrs: f"shift({a[0]}, {attrs['by']}, axis={attrs['axis']}, fill={attrs['fill']})",
        moved_along,
    ),
    "gather": Operation(lambda a, attrs: f"tl.gather({a[0]}, {a[1]}, {attrs['axis']})", taken),
    # Along an axis.
    "sum": reduction("tl.sum({}", np.sum),
    "reduce_max": reduction("tl.max({}", np.fmax.reduce),
    "reduce_min": reduction("tl.min({}", np.fmin.reduce),
    "xor_sum": reduction("tl.xor_sum({}", np.bitwise_xor.reduce),
    "or_reduce": reduction("tl.reduce({}, combine_fn=either", np.bitwise_or.reduce),
    "mul_reduce": reduction("tl.reduce({}, combine_fn=times", np.multiply.reduce),
    "argmax": reduction("tl.argmax({}", np.argmax),
    "argmin": reduction("tl.argmin({}", np.argmin),
    "cumsum": scan("tl.cumsum({}, {}", np.add),
    "scan_max": scan("tl.associative_scan({}, {}, larger", np.maximum),
    "scan_mul": scan("tl.associative_scan({}, {}, times", np.multiply),
    "scan_affine": Operation(
        lambda a, attrs: (
            f"tl.associative_scan(({a[0]}, {a[1]}), {attrs['axis']}, compose, reverse={bool(attrs['reverse'])})[1]"
        ),
        affine_scan,
    ),
    "sort": Operation(
        lambda a, attrs: f"tl.sort({a[0]}, descending={attrs['descending']})",
        lambda v, attrs, t: np.flip(np.sort(v[0], -1), -1) if attrs["descending"] else np.sort(v[0], -1),
    ),
    "histogram": Operation(
        lambda a, attrs: f"tl.histogram({a[0]} & {attrs['bins'] - 1}, {attrs['bins']})",
        lambda v, attrs, t: np.bincount(v[0] & (attrs["bins"] - 1), minlength=attrs["bins"]).astype(t.dtype),
    ),
    "dot": Operation(dot_text, dotted),
    # Memory: `Machine` executes these.
    "pointer": Operation(index_text, lambda v, attrs, t: None),
    "advance": infix("+", operator.add),
    "load": Operation(lambda a, attrs: load_text(a, attrs), lambda v, attrs, t: None),
    "atomic": Operation(
        lambda a, attrs: (
            f"tl.atomic_{attrs['kind']}({', '.join(a[:2])}{', mask=' + a[2] if len(a) > 2 else ''})"
        ),
        lambda v, attrs, t: None,
    ),
}
ATOMICS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "max": max,
    "min": min,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "xchg": lambda old, new: new,
}


def load_text(a: Sequence[str], attrs: Attrs) -> str:
    words = [a[0], *(f"mask={m}" for m in a[1:2]), *(f"other={o}" for o in a[2:3])]
    return f"tl.load({', '.join(words)})"


# --- printing -------------------------------------------------------------------------------------------------

HEADER = '''"""Made by tests/program_generator.py."""

import triton
import triton.language as tl
from <<cookiecutter.package_name>>.language.blocks import shift


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def times(a, b):
    return a * b


@triton.jit
def either(a, b):
    return a | b


@triton.jit
def compose(a0, b0, a1, b1):
    return a0 * a1, b0 * a1 + b1


@triton.jit
def kernel({}):
'''


def source_of(program: Program) -> str:
    """The program as a Triton module with a function ``kernel``."""
    lines: list[str] = []
    print_block(program.body, "    ", lines)
    return HEADER.format(", ".join([*program.buffers, *program.scalars])) + "\n".join(
        [*lines, "    return", ""]
    )


def print_block(body: Sequence[Statement], indent: str, lines: list[str]) -> None:
    inner = indent + "    "
    for s in body:
        match s:
            case Let():
                lines.append(f"{indent}{s.name} = {OPERATIONS[s.op].text([str(a) for a in s.args], s.attrs)}")
            case Store():
                mask = f", mask={s.mask}" if s.mask else ""
                lines.append(f"{indent}tl.store({s.pointer}, {s.value}{mask})")
            case For():
                lines.extend(f"{indent}{name} = {init}" for name, init, _ in s.carried)
                lines.append(f"{indent}for {s.index} in {s.kind}({', '.join(map(str, s.bounds))}):")
                print_block(s.body, inner, lines)
                lines.append(inner + (assignment(s.carried) or "pass"))
            case While():
                lines.extend(f"{indent}{name} = {init}" for name, init, _ in s.carried)
                lines.append(f"{indent}{s.counter} = 0")
                lines.append(f"{indent}while {s.counter} < {s.limit}:")
                print_block(s.body, inner, lines)
                if s.carried:
                    lines.append(inner + assignment(s.carried))
                lines.append(f"{inner}{s.counter} += 1")
            case If():
                for word, branch, number in ((f"if {s.condition}", s.then, 1), ("else", s.other, 2)):
                    lines.append(f"{indent}{word}:")
                    print_block(branch, inner, lines)
                    lines.extend(f"{inner}{result[0]} = {result[number]}" for result in s.results)
                    if not branch and not s.results:
                        lines.append(f"{inner}pass")
            case ReturnIf():
                lines.extend([f"{indent}if {s.condition}:", f"{inner}return"])


def assignment(carried: Sequence[tuple[str, str, str]]) -> str:
    moved = [(name, final) for name, _, final in carried if name != final]
    return f"{', '.join(n for n, _ in moved)} = {', '.join(f for _, f in moved)}" if moved else ""


# --- executing --------------------------------------------------------------------------------------------------


class OutOfBounds(Exception):
    """A program touches memory outside of its region: the generator's mistake."""


class Returned(Exception):
    """The program instance ended early."""


def execute(program: Program, memory: dict[str, np.ndarray]) -> None:
    """Runs every instance of `program` on ``memory`` (a flat array for every buffer)."""
    with np.errstate(all="ignore"):
        for pid in range(GRID):
            scalars = {name: np.int32(value) for name, value in program.scalars.items()}
            try:
                Machine(memory, pid, scalars).block(program.body)
            except Returned:
                pass


class Machine:
    """One program instance."""

    def __init__(self, memory: dict[str, np.ndarray], pid: int, scalars: Mapping[str, Any]) -> None:
        self.memory = memory
        self.pid = pid
        self.values: dict[str, Any] = dict(scalars)

    def get(self, arg: Arg) -> Any:
        return self.values[arg] if isinstance(arg, str) else arg

    def block(self, body: Sequence[Statement]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, s: Statement) -> None:
        match s:
            case Let():
                self.values[s.name] = self.let(s)
            case Store():
                self.store(s)
            case For():
                self.bind([(name, init) for name, init, _ in s.carried])
                for index in range(*(int(self.get(bound)) for bound in s.bounds)):
                    self.values[s.index] = np.int32(index)
                    self.block(s.body)
                    self.bind([(name, final) for name, _, final in s.carried])
            case While():
                self.bind([(name, init) for name, init, _ in s.carried])
                for count in range(max(0, int(self.get(s.limit)))):
                    self.values[s.counter] = np.int32(count)
                    self.block(s.body)
                    self.bind([(name, final) for name, _, final in s.carried])
            case If():
                taken_branch = bool(self.get(s.condition))
                self.block(s.then if taken_branch else s.other)
                self.bind([(name, then if taken_branch else other) for name, then, other in s.results])
            case ReturnIf():
                if bool(self.get(s.condition)):
                    raise Returned

    def bind(self, pairs: Sequence[tuple[str, str]]) -> None:
        """All at once."""
        self.values.update({name: self.values[value] for name, value in pairs})

    def let(self, s: Let) -> Any:
        values = [self.get(arg) for arg in s.args]
        match s.op:
            case "pid":
                return np.int32(self.pid)
            case "pointer":
                start = self.pid * REGION + ORIGIN
                return np.broadcast_to(start + np.asarray(values[0], np.int64), s.type.shape)
            case "advance":
                return np.asarray(values[0]) + np.asarray(values[1], np.int64)
            case "load":
                return self.load(s, values)
            case "atomic":
                return self.atomic(s, values)
            case _:
                literal = [self.literal(v, s, values) for v in values]
                result = OPERATIONS[s.op].run(literal, s.attrs, s.type)
                result = np.asarray(result)
                assert result.shape == s.type.shape, (s, result.shape)
                return result.astype(s.type.dtype)

    def literal(self, value: Any, s: Let, values: Sequence[Any]) -> Any:
        """A literal takes the type of the other operand."""
        if not isinstance(value, int | float):
            return value
        others = [v.dtype for v in values[-2:] if not isinstance(v, int | float)]
        return others[-1].type(value) if others else np.dtype(s.type.dtype).type(value)

    def cells(self, buffer: str, where: Any, active: Any) -> Any:
        """The element numbers where `active` is set; raises `OutOfBounds`."""
        first = self.pid * REGION
        chosen = where[active]
        if np.any((chosen < first) | (chosen >= first + REGION)):
            raise OutOfBounds(buffer)
        return chosen

    def load(self, s: Let, values: Sequence[Any]) -> Any:
        buffer, shape = s.attrs["buffer"], s.type.shape
        where = np.broadcast_to(values[0], shape)
        active = np.broadcast_to(values[1] if len(values) > 1 else True, shape)
        other = values[2] if len(values) > 2 else 0
        result = np.array(np.broadcast_to(np.asarray(other, s.type.dtype), shape))
        result[active] = self.memory[buffer][self.cells(buffer, where, active)]
        return result

    def store(self, s: Store) -> None:
        where = np.asarray(self.get(s.pointer))
        value = np.broadcast_to(self.get(s.value), where.shape)
        active = np.broadcast_to(True if s.mask is None else self.get(s.mask), where.shape)
        buffer = self.buffer_of(s.pointer)
        self.memory[buffer][self.cells(buffer, where, active)] = value[active]

    def buffer_of(self, pointer: str) -> str:
        return pointer.split("_")[1]

    def atomic(self, s: Let, values: Sequence[Any]) -> Any:
        buffer = s.attrs["buffer"]
        where = np.asarray(values[0])
        value = np.broadcast_to(np.asarray(values[1], s.type.dtype), where.shape)
        active = np.broadcast_to(values[2] if len(values) > 2 else True, where.shape)
        self.cells(buffer, where, active)
        memory, combine = self.memory[buffer], ATOMICS[s.attrs["kind"]]
        old = np.zeros(where.shape, s.type.dtype)
        for at in np.ndindex(where.shape):
            if active[at]:
                old[at] = memory[where[at]]
                memory[where[at]] = combine(old[at], value[at])
        return old


# --- making a failing program smaller -----------------------------------------------------------------------------


def size_of(program: Program) -> int:
    """How many statements a program has."""
    return len(list(every_statement(program.body)))


def without_range(program: Program, first: int, last: int) -> Program:
    """`program` without the statements first..last, and without what depended on them."""
    body = without(program.body, range(first, last), iter(range(size_of(program))))
    return replace(program, body=repaired(body, {*program.scalars}))


def every_statement(body: Sequence[Statement]) -> Iterator[Statement]:
    for s in body:
        yield s
        for part in bodies_of(s):
            yield from every_statement(part)


def bodies_of(s: Statement) -> list[list[Statement]]:
    match s:
        case For() | While():
            return [s.body]
        case If():
            return [s.then, s.other]
        case _:
            return []


def without(body: Sequence[Statement], victims: range, counter: Iterator[int]) -> list[Statement]:
    kept: list[Statement] = []
    for s in body:
        gone = next(counter) in victims
        inner = [without(part, victims, counter) for part in bodies_of(s)]
        if not gone:
            kept.append(rebuilt(s, inner))
    return kept


def rebuilt(s: Statement, inner: list[list[Statement]]) -> Statement:
    match s:
        case For() | While():
            return replace(s, body=inner[0])
        case If():
            return replace(s, then=inner[0], other=inner[1])
        case _:
            return s


def repaired(body: Sequence[Statement], known: set[str]) -> list[Statement]:
    """`body` without what uses names that are not known any more."""
    kept: list[Statement] = []
    for s in body:
        used = [a for a in uses_of(s) if isinstance(a, str)]
        if any(name not in known for name in used):
            continue
        match s:
            case Let():
                known.add(s.name)
            case For() | While():
                names = {name for name, init, _ in s.carried if init in known}
                index = s.index if isinstance(s, For) else s.counter
                inside = {*known, *names, index}
                inner = repaired(s.body, inside)
                carried = [
                    (name, init, final if final in inside else name)
                    for name, init, final in s.carried
                    if name in names
                ]
                s = replace(s, body=inner, carried=carried)
                known.update(names)
            case If():
                sides = [{*known}, {*known}]
                then, other = repaired(s.then, sides[0]), repaired(s.other, sides[1])
                results = [r for r in s.results if r[1] in sides[0] and r[2] in sides[1]]
                s = replace(s, then=then, other=other, results=results)
                known.update(name for name, _, _ in results)
            case _:
                pass
        kept.append(s)
    return kept


def uses_of(s: Statement) -> Sequence[Arg | None]:
    match s:
        case Let():
            return s.args
        case Store():
            return [a for a in (s.pointer, s.value, s.mask) if a is not None]
        case For():
            return s.bounds
        case While():
            return [s.limit]
        case If() | ReturnIf():
            return [s.condition]
