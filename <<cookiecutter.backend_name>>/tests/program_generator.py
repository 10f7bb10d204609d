"""Random `Program`s: valid Triton, inside of their memory, and with one right answer to the last bit.

Floating-point values are only added up in an order that the program fixes; sums, scans and products along an axis are of
integers, and matrix products of small whole numbers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from program_oracle import (
    ATOMICS,
    For,
    If,
    Let,
    Program,
    ReturnIf,
    Shape,
    Statement,
    Store,
    Type,
    While,
    bits,
    is_float,
    is_signed,
)

SPAN = 2048
"""Indices that a program may use lie in 0..SPAN, but for what a loop moves them by."""
INTEGERS = ["int32", "int32", "int64", "int16", "int8", "uint32", "uint8"]
FLOATS = ["float32", "float32", "float16", "float64"]
FAMILIES: list[list[Shape]] = [
    [(64,), (64,), (8, 8)],
    [(128,), (128,), (8, 16), (16, 8)],
    [(256,), (16, 16), (16, 16), (4, 64)],
    [(16, 16), (16, 16), (16,), (16, 1), (1, 16)],
    [(8, 32), (8, 32), (8, 1), (1, 32), (8,), (32,)],
    [(4, 8, 4), (4, 8, 4), (32, 4), (4, 1, 4), (1, 8, 1)],
    [(2, 16, 8), (16, 8), (2, 1, 8)],
    [(1,), (1, 1), (16,), (1, 16), (2, 8)],
    [(512,), (512,), (32, 16)],
    [(2, 2, 4, 4), (4, 16), (2, 1, 4, 1)],
    [(32, 32), (32,), (1024,)],
]
Check = Callable[[Type], bool]


class Total(NamedTuple):
    """What combines lane by lane, what combines the lanes, and the number that changes neither."""

    update: str
    reduction: str
    neutral: int


BITWISE = [Total("or", "or_reduce", 0)]
NARROW = [*BITWISE, Total("mul", "mul_reduce", 1)]
"""Combined as they are: ``tl.sum`` and its like would widen them first."""
ORDERED = [Total("max", "reduce_max", 0), Total("min", "reduce_min", 1000)]
WIDE = [*NARROW, *ORDERED, Total("add", "sum", 0), Total("add", "sum", 0), Total("xor", "xor_sum", 0)]


def totals_of(dtype: str) -> list[Total]:
    if dtype == "bool":
        return BITWISE
    if is_float(dtype):
        return ORDERED
    return WIDE if bits(dtype) >= 32 else NARROW


def size(shape: Shape) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


def is_pointer(t: Type) -> bool:
    return t.dtype.startswith("*")


def is_value(t: Type) -> bool:
    return not is_pointer(t)


def is_whole(t: Type) -> bool:
    return is_value(t) and not is_float(t.dtype) and t.dtype != "bool"


def is_wide(t: Type) -> bool:
    """Integers that sums do not widen."""
    return is_whole(t) and bits(t.dtype) >= 32


@dataclass
class Variable:
    name: str
    type: Type


class Generator:
    def __init__(self, seed: int, length: int = 14) -> None:
        self.r = random.Random(seed)
        self.family = self.r.choice(FAMILIES)
        self.dtypes = [self.r.choice(INTEGERS), self.r.choice(FLOATS), *self.r.sample(INTEGERS, 1), "int32"]
        self.buffers = {
            f"b{number}": dtype for number, dtype in enumerate(dict.fromkeys([*self.dtypes, "bool"]))
        }
        self.scalars = {
            "one": 1,
            "three": 3,
            "minus": -1,
            "some": self.r.choice([0, *range(2, 40)]),
            "zero": 0,
        }
        self.pool: list[Variable] = []
        self.body: list[Statement] = []
        self.depth = 0
        self.counter = 0
        self.used: set[str] = set()
        self.sinks: dict[str, int] = {}
        self.length = length

    # --- the whole program ----------------------------------------------------------------------------------------

    def program(self) -> Program:
        for name in self.scalars:
            if name != "one":  # Triton makes a literal of it
                self.pool.append(Variable(name, Type("int32")))
        self.pool.append(self.let("pid", (), Type("int32"), {}))
        for dtype in self.dtypes[:2]:
            self.load(self.shape(), dtype)
        for _ in range(self.length):
            self.step()
        for variable in [v for v in self.pool if v.name not in self.used]:
            self.sink(variable)
        return Program({**self.buffers, **{f"o{d}": d for d in self.sinks}}, self.scalars, self.body)

    def step(self) -> None:
        choices: list[tuple[float, Callable[[], object]]] = [
            (5, self.elementwise),
            (2, lambda: self.load(self.shape(), self.r.choice(list(self.buffers.values())))),
            (1, self.load_again),
            (1.5, self.store),
            (0.4, self.flags),
            (0.4, self.store_scalar),
            (0.5, self.load_scalar),
            (0.5, self.atomic),
            (2, self.reshaping),
            (1.2, self.reduction),
            (0.7, self.scan),
            (0.6, self.make),
            (0.25, self.dot),
            (0.4, self.rare),
            (0.4, self.reductions_of_one_block),
        ]
        if self.depth < 2:
            choices += [(0.9, self.for_loop), (0.5, self.while_loop), (0.8, self.if_else)]
            choices.append((0.5, self.running_totals))
        if self.depth == 0:
            choices.append((0.15, self.early_return))
        weights, actions = zip(*choices, strict=True)
        self.r.choices(actions, weights)[0]()

    def sink(self, variable: Variable) -> None:
        """Stores a value that nothing used yet to an output of its own."""
        if not is_value(variable.type):
            return
        value = variable
        if variable.type.dtype == "bool":
            value = self.let("cast", (variable.name,), Type("int8", variable.type.shape), {"to": "int8"})
        dtype = value.type.dtype
        at = self.sinks.get(dtype, 0)
        if at + size(value.type.shape) > SPAN:
            return
        self.sinks[dtype] = at + size(value.type.shape)
        pointer = self.pointer(f"o{dtype}", value.type.shape, self.dense_index(value.type.shape, at))
        self.body.append(Store(pointer.name, value.name))

    # --- values -----------------------------------------------------------------------------------------------------

    def name(self, prefix: str = "v") -> str:
        self.counter += 1
        return f"{prefix}{self.counter}"

    def let(self, op: str, args: tuple, t: Type, attrs: dict | None = None) -> Variable:
        prefix = f"p_{t.dtype[1:]}_" if is_pointer(t) else "v"
        variable = Variable(self.name(prefix), t)
        self.body.append(Let(variable.name, op, args, t, attrs or {}))
        self.used.update(a for a in args if isinstance(a, str))
        return variable

    def add(self, op: str, args: tuple, t: Type, attrs: dict | None = None) -> Variable:
        variable = self.let(op, args, t, attrs)
        self.pool.append(variable)
        return variable

    def shape(self) -> Shape:
        return self.r.choice(self.family)

    def pick(self, *checks: Check, recent: bool = True) -> Variable | None:
        found = [v for v in self.pool if all(check(v.type) for check in checks)]
        if not found:
            return None
        if recent and self.r.random() < 0.6:
            return self.r.choice(found[-5:])
        return self.r.choice(found)

    def pick_tensor(self, *checks: Check) -> Variable | None:
        return self.pick(is_value, lambda t: bool(t.shape), *checks)

    def like(self, t: Type) -> Variable:
        """A value of exactly this type: one there is, or one made of another."""
        if self.r.random() < 0.8:
            found = self.pick(lambda u: u == t)
            if found is not None:
                return found
        source = self.pick(is_value, lambda u: u.shape == t.shape)
        if source is None:
            if not t.shape:
                return self.converted(self.pool[0], t.dtype)
            return self.load(t.shape, t.dtype) if t.dtype in self.buffers.values() else self.filled(t)
        return self.converted(source, t.dtype)

    def filled(self, t: Type) -> Variable:
        value: int | float = self.r.choice([0, 1, 2, 5])
        if is_float(t.dtype):
            value = float(value)
        return self.add("full", (value,), t, {"shape": t.shape, "dtype": t.dtype})

    def converted(self, v: Variable, dtype: str) -> Variable:
        source, t = v.type.dtype, Type(dtype, v.type.shape)
        if source == dtype:
            return v
        if dtype == "bool":
            return self.add("gt", (v.name, self.literal(source)), t)
        if is_float(source) and not is_float(dtype):
            wide = self.add("to_int", (v.name,), Type("int32", t.shape), {"to": "int32"})
            return self.converted(wide, dtype)
        if dtype == "float16" and not is_float(source) and bits(source) > 16:
            return self.converted(self.converted(v, "int8"), dtype)
        return self.add("cast", (v.name,), t, {"to": dtype})

    def literal(self, dtype: str) -> int | float:
        if is_float(dtype):
            return self.r.choice([0.0, 1.0, -1.5, 2.0, 0.5, 3.0])
        if dtype == "bool":
            return 1
        low = [-1, -3, -100] if is_signed(dtype) else [200]
        big = [2**31 - 1, -(2**31) + 1, 65537] if dtype in ("int32", "int64") else []
        return self.r.choice([1, 2, 3, 7, 10, 100, *low, *big])

    # --- elementwise ------------------------------------------------------------------------------------------------

    def elementwise(self) -> None:
        a = self.pick(is_value)
        assert a is not None
        dtype, shape = a.type.dtype, a.type.shape
        kind = self.r.random()
        if dtype == "bool":
            if kind < 0.4:
                b = self.partner(a)
                self.add(self.r.choice(["and", "or", "xor"]), (a.name, b.name), self.joint(a, b, "bool"))
            elif kind < 0.7:
                self.select(a)
            elif kind < 0.85:
                self.add("cast", (a.name,), Type("int32", shape), {"to": "int32"})
            else:
                self.add("not", (a.name,), a.type)
            return
        if kind < 0.15:
            self.converted(a, self.r.choice([*INTEGERS, *FLOATS]))
        elif kind < 0.3:
            b = self.operand(a)
            self.add(self.r.choice(["lt", "le", "gt", "ge", "eq", "ne"]), (a.name, b[0]), Type("bool", b[1]))
        elif kind < 0.4:
            condition = self.pick(lambda t: t == Type("bool", shape))
            if condition is None:
                b = self.operand(a)
                condition = self.add("gt", (a.name, b[0]), Type("bool", b[1]))
            self.select(condition)
        elif kind < 0.5:
            self.unary(a)
        elif kind < 0.6 and not is_float(dtype):
            op = self.r.choice(["shl", "shr", "div", "rem", "odd_rem"])
            if op in ("shl", "shr"):
                self.add(op, (a.name, self.r.randrange(0, bits(dtype))), a.type)
            elif op == "odd_rem":
                b = self.partner(a)
                self.add(op, (a.name, b.name), self.joint(a, b, dtype))
            else:
                divisor = self.r.choice([2, 3, 7, 10, 16, *([-3, -2] if is_signed(dtype) else [])])
                runtime = dtype == "int32" and divisor == 3
                self.add(op, (a.name, "three" if runtime else divisor), a.type)
        else:
            ops = ["add", "sub", "mul", "min", "max"]
            if is_float(dtype):
                if dtype != "float16":  # whose quotient is a float32
                    ops.append("ratio")
                b_name, b_shape = (lambda b: (b.name, self.joint(a, b, dtype).shape))(self.partner(a))
                op = self.r.choice(ops)
                self.add(op, (a.name, b_name), Type(dtype, b_shape))
            else:
                b2 = self.operand(a)
                op = self.r.choice([*ops, "add", "add", "and", "or", "xor"])
                order = (a.name, b2[0]) if self.r.random() < 0.8 or b2[1] != shape else (b2[0], a.name)
                if op in ("min", "max") and not isinstance(b2[0], str):
                    if dtype == "int32":
                        order = (a.name, b2[0])
                    else:  # a literal operand of these functions is an int32
                        op = "add"
                self.add(op, order, Type(dtype, b2[1]))

    def unary(self, a: Variable) -> None:
        dtype = a.type.dtype
        ops = ["abs"] if is_signed(dtype) or is_float(dtype) else ["not"]
        if is_float(dtype):
            ops.append("neg")
            if dtype != "float16":
                ops.append("floor")
        else:
            ops += ["not", "neg"] if is_signed(dtype) else ["not"]
        self.add(self.r.choice(ops), (a.name,), a.type)

    def select(self, condition: Variable) -> None:
        shape = condition.type.shape
        a = self.pick(is_value, lambda t: t.shape == shape and t.dtype != "bool")
        if a is None:
            a = self.like(Type("int32", shape))
        b = self.like(a.type)
        self.add("where", (condition.name, a.name, b.name), a.type)

    def operand(self, a: Variable) -> tuple[str | int | float, Shape]:
        """A literal or a partner, and the shape of the result."""
        if self.r.random() < 0.35:
            literal = self.literal(a.type.dtype)
            return literal, a.type.shape
        b = self.partner(a)
        return b.name, self.joint(a, b, a.type.dtype).shape

    def partner(self, a: Variable) -> Variable:
        """A value of the same dtype and a shape that broadcasts with `a`'s."""

        def fits(t: Type) -> bool:
            if not t.shape or not a.type.shape:
                return True
            if len(t.shape) != len(a.type.shape):
                return False
            pairs = list(zip(t.shape, a.type.shape, strict=True))
            return all(m == n or 1 in (m, n) for m, n in pairs) and size(tuple(max(p) for p in pairs)) <= 1024

        b = self.pick(is_value, lambda t: t.dtype == a.type.dtype, fits)
        if b is None or (b.name == a.name and self.r.random() < 0.7):
            other = self.pick(is_value, fits)
            b = a if other is None else self.converted(other, a.type.dtype)
        return b

    def joint(self, a: Variable, b: Variable, dtype: str) -> Type:
        x, y = a.type.shape, b.type.shape
        shape = x or y if not (x and y) else tuple(max(m, n) for m, n in zip(x, y, strict=True))
        return Type(dtype, shape)

    # --- memory -----------------------------------------------------------------------------------------------------

    def term(self, shape: Shape, dim: int, coefficient: int | str, *, flip: bool) -> Variable:
        """``coefficient * index`` along one dimension, in the rank of `shape`."""
        extent = shape[dim]
        v = self.let("arange", (), Type("int32", (extent,)), {"start": 0, "stop": extent})
        if flip:
            v = self.let("sub", (extent - 1, v.name), v.type)
        early = self.r.random() < 0.5
        if early and coefficient != 1:
            v = self.let("mul", (v.name, coefficient), v.type)
        for axis in range(len(shape)):
            if axis != dim:
                inner = list(v.type.shape)
                inner.insert(axis if axis < dim else len(inner), 1)
                at = axis if axis < dim else len(inner) - 1
                attrs = {"axis": at, "rank": len(inner), "index": self.r.random() < 0.7}
                v = self.let("expand", (v.name,), Type("int32", tuple(inner)), attrs)
        if not early and coefficient != 1:
            v = self.let("mul", (v.name, coefficient), v.type)
        return v

    def combined(self, shape: Shape, terms: list[Variable], base: int | str) -> Variable | str | int:
        if not terms:
            return base
        total = terms[0]
        for t in terms[1:]:
            total = self.let("add", (total.name, t.name), self.joint(total, t, "int32"))
        if base != 0:
            total = self.let("add", (total.name, base), total.type)
        return total

    def dense_index(self, shape: Shape, base: int) -> Variable | str | int:
        step, terms = 1, []
        for dim in reversed(range(len(shape))):
            if shape[dim] > 1:
                terms.append(self.term(shape, dim, step, flip=False))
            step *= shape[dim]
        if shape and not terms:
            terms.append(self.let("full", (0,), Type("int32", shape), {"shape": shape, "dtype": "int32"}))
        return self.combined(shape, terms, base)

    def index(self, shape: Shape, *, distinct: bool) -> Variable | str | int:
        """An index tile with values in 0..SPAN; `distinct` ones for a store."""
        if not shape:
            return self.r.choice([0, 3, "some", "one"])
        r = self.r
        if r.random() < 0.5:
            return self.dense_index(shape, r.choice([0, 0, 1, 5, 64]))
        if not distinct and r.random() < 0.5:
            data = self.pick(is_whole, lambda t: t.shape == shape)
            if data is not None:
                wide = self.converted(data, "int32")
                return self.add("and", (wide.name, r.choice([15, 127, 1023])), Type("int32", shape))
        dims = list(range(len(shape)))
        r.shuffle(dims)
        step, terms = r.choice([1, 1, 1, 2, 3]), []
        for dim in dims:
            extent = shape[dim]
            coefficient: int | str = step
            if step == 3 and r.random() < 0.5:
                coefficient = "three"
            if step == 1 and r.random() < 0.3:
                coefficient = "one"
            if not distinct and r.random() < 0.15:
                coefficient = 0
            if step * extent > SPAN:
                return self.dense_index(shape, 0)
            if extent > 1 or r.random() < 0.2:
                terms.append(self.term(shape, dim, coefficient, flip=r.random() < 0.2))
            step *= extent
            if r.random() < 0.2 and step * 2 * size(shape) < SPAN:
                step *= 2
        covered = {d for t in terms for d, n in enumerate(t.type.shape) if n > 1}
        if any(n > 1 and d not in covered for d, n in enumerate(shape)) or not terms:
            terms.append(self.let("full", (0,), Type("int32", shape), {"shape": shape, "dtype": "int32"}))
        total = self.combined(shape, terms, r.choice([0, 0, 1, "some"]))
        if isinstance(total, Variable) and not distinct and r.random() < 0.25:
            total = self.add("rem", (total.name, r.choice([7, 64, 100, "some_more"])), total.type)
            self.scalars.setdefault("some_more", r.choice([5, 32, 200]))
        return total

    def pointer(self, buffer: str, shape: Shape, index: Variable | str | int) -> Variable:
        value = index.name if isinstance(index, Variable) else index
        made = index.type.shape if isinstance(index, Variable) else ()
        if made != shape and isinstance(index, Variable):
            value = self.let("broadcast", (value,), Type("int32", shape), {"shape": shape}).name
        return self.let("pointer", (value,), Type(f"*{buffer}", shape), {"buffer": buffer})

    def mask(self, shape: Shape) -> Variable:
        """A bound along a dimension, several, or data."""
        r = self.r
        if r.random() < 0.35:
            known = self.pick(lambda t: t == Type("bool", shape))
            if known is not None:
                return known
        parts: list[Variable] = []
        for dim in r.sample(range(len(shape)), r.randint(1, len(shape))):
            offsets = self.term(shape, dim, r.choice([1, 1, 1, 2]), flip=r.random() < 0.1)
            bound = r.choice(["some", r.randint(0, 2 * shape[dim]), shape[dim] - 1, "three", "zero"])
            op = r.choice(["lt", "lt", "lt", "le", "gt", "ge", "ne"])
            parts.append(self.add(op, (offsets.name, bound), Type("bool", offsets.type.shape)))
        total = parts[0]
        for part in parts[1:]:
            op = r.choice(["and", "and", "or"])
            total = self.let(op, (total.name, part.name), self.joint(total, part, "bool"))
        if total.type.shape != shape:
            total = self.let("broadcast", (total.name,), Type("bool", shape), {"shape": shape})
        if r.random() < 0.2:
            known = self.pick(lambda t: t == Type("bool", shape))
            if known is not None:
                total = self.let("and", (total.name, known.name), Type("bool", shape))
        self.pool.append(total)
        return total

    def buffer_for(self, dtype: str) -> str:
        return self.r.choice([name for name, kind in self.buffers.items() if kind == dtype])

    def load(self, shape: Shape, dtype: str) -> Variable:
        buffer = self.buffer_for(dtype)
        pointer = self.pointer(buffer, shape, self.index(shape, distinct=False))
        self.pool.append(pointer)
        return self.load_from(pointer)

    def load_from(self, pointer: Variable) -> Variable:
        buffer, shape = pointer.type.dtype[1:], pointer.type.shape
        t = Type(self.buffers[buffer], shape)
        args: list = [pointer.name]
        if shape and self.r.random() < 0.5:
            args.append(self.mask(shape).name)
            if self.r.random() < 0.6:
                literal = t.dtype != "bool" and self.r.random() < 0.6
                args.append(self.literal(t.dtype) if literal else self.like(t).name)
        loaded = self.add("load", tuple(args), t, {"buffer": buffer})
        if len(args) > 1 and t.dtype != "bool" and self.r.random() < 0.3:
            # Once more with the mask, which a load under another name may share.
            sides = [loaded.name, self.like(t).name]
            if self.r.random() < 0.2:
                sides.reverse()
            loaded = self.add("where", (args[1], *sides), t)
        return loaded

    def load_again(self) -> None:
        pointer = self.pick(is_pointer)
        if pointer is not None:
            self.load_from(pointer)

    def load_scalar(self) -> None:
        self.load((), self.r.choice([d for d in self.buffers.values() if d != "bool"]))

    def store(self) -> None:
        value = self.pick_tensor(lambda t: t.dtype in self.buffers.values())
        if value is None:
            return
        shape = value.type.shape
        buffer = self.buffer_for(value.type.dtype)
        pointer = self.pointer(buffer, shape, self.index(shape, distinct=True))
        mask = self.mask(shape).name if self.r.random() < 0.4 else None
        self.body.append(Store(pointer.name, value.name, mask))
        self.used.add(value.name)
        if self.r.random() < 0.5:
            self.pool.append(pointer)

    def flags(self) -> None:
        """Overwrites numbers, and then stores elsewhere by what they were."""
        shape = self.shape()
        t = Type(self.r.choice([d for d in self.buffers.values() if d != "bool"]), shape)
        place = self.pointer(self.buffer_for(t.dtype), shape, self.index(shape, distinct=True))
        before = self.add("load", (place.name,), t, {"buffer": place.type.dtype[1:]})
        mask = self.add(self.r.choice(["gt", "ne"]), (before.name, 0), Type("bool", shape))
        self.body.append(Store(place.name, self.like(t).name, mask.name if self.r.random() < 0.3 else None))
        value = self.like(Type(self.r.choice([d for d in self.buffers.values() if d != "bool"]), shape))
        other = self.pointer(self.buffer_for(value.type.dtype), shape, self.index(shape, distinct=True))
        self.body.append(Store(other.name, value.name, mask.name))
        self.used.add(value.name)

    def store_scalar(self) -> None:
        value = self.pick(
            is_value, lambda t: not t.shape and t.dtype in self.buffers.values() and t.dtype != "bool"
        )
        if value is None:
            return
        pointer = self.pointer(self.buffer_for(value.type.dtype), (), self.index((), distinct=True))
        self.body.append(Store(pointer.name, value.name))
        self.used.add(value.name)

    def atomic(self) -> None:
        dtype = self.r.choice([d for d in self.buffers.values() if d in ("int32", "int64", "uint32")])
        shape = self.r.choice([(), self.shape(), self.shape()])
        value = self.like(Type(dtype, shape))
        pointer = self.pointer(self.buffer_for(dtype), shape, self.index(shape, distinct=True))
        args = [pointer.name, value.name]
        if shape and self.r.random() < 0.5:
            args.append(self.mask(shape).name)
        attrs = {"kind": self.r.choice(list(ATOMICS)), "buffer": pointer.type.dtype[1:]}
        # What a lane that was masked off gives back is not defined.
        made = self.let("atomic", tuple(args), Type(dtype, shape), attrs)
        if len(args) == 2:
            self.pool.append(made)

    # --- shapes -----------------------------------------------------------------------------------------------------

    def reshaping(self) -> None:
        v = self.pick_tensor()
        if v is None:
            return
        r, shape, dtype = self.r, v.type.shape, v.type.dtype
        rank = len(shape)
        options = ["expand", "broadcast", "reshape"]
        if rank == 2:
            options += ["trans", "trans"]
        if rank >= 2:
            options += ["permute"]
        if size(shape) <= 512:
            options += ["join", "interleave"]
        if shape[-1] == 2:
            options += ["split", "split"]
        if shape[-1] > 1 and dtype != "bool":
            options += ["flip"]
        if max(shape) > 1:
            options += ["shift"]
        match r.choice(options):
            case "expand" if rank < 4:
                axis = r.randint(0, rank)
                attrs = {"axis": axis, "rank": rank + 1, "index": r.random() < 0.5}
                self.add("expand", (v.name,), Type(dtype, (*shape[:axis], 1, *shape[axis:])), attrs)
            case "broadcast" if 1 in shape:
                wide = tuple(r.choice([1, 4, 16]) if n == 1 else n for n in shape)
                if size(wide) <= 1024:
                    self.add("broadcast", (v.name,), Type(dtype, wide), {"shape": wide})
            case "reshape":
                flat = size(shape)
                near = [s for s in self.family if size(s) == flat] + [(flat,)]
                if flat % 4 == 0:
                    near += [(flat // 4, 4), (2, flat // 2), (2, 2, flat // 4)]
                new = r.choice(near)
                self.add("reshape", (v.name,), Type(dtype, new), {"shape": new})
            case "trans":
                self.add("trans", (v.name,), Type(dtype, shape[::-1]))
            case "permute":
                order = tuple(r.sample(range(rank), rank))
                self.add("permute", (v.name,), Type(dtype, tuple(shape[d] for d in order)), {"order": order})
            case "join" if rank < 4:
                other = self.like(v.type)
                self.add("join", (v.name, other.name), Type(dtype, (*shape, 2)))
            case "interleave":
                other = self.like(v.type)
                self.add("interleave", (v.name, other.name), Type(dtype, (*shape[:-1], shape[-1] * 2)))
            case "split" if rank > 1:
                half = r.randint(0, 1)
                self.add("split", (v.name,), Type(dtype, shape[:-1]), {"half": half})
                if r.random() < 0.5:
                    self.add("split", (v.name,), Type(dtype, shape[:-1]), {"half": 1 - half})
            case "flip":
                self.add(
                    "flip", (v.name,), v.type, {"axis": r.choice([d for d in range(rank) if shape[d] > 1])}
                )
            case "shift":
                axis = r.choice([d for d in range(rank) if shape[d] > 1])
                for _ in range(r.choice([1, 1, 2, 3])):  # of one block, which they share, or share in part
                    by = r.choice([1, -1, 2, -3, r.randint(-shape[axis], shape[axis])])
                    fill = r.choice([0, 0, 1])
                    self.add("shift", (v.name,), v.type, {"axis": axis, "by": by, "fill": fill})
            case _:
                pass

    # --- along an axis ------------------------------------------------------------------------------------------------

    def reduction(self) -> None:
        r = self.r
        v = self.pick_tensor(lambda t: t.dtype == "float32" or is_wide(t))
        if v is None:
            return
        axis, keep = r.randrange(len(v.type.shape)), r.random() < 0.4
        ops = ["reduce_max", "reduce_min"]
        dtype = v.type.dtype
        if not is_float(dtype):
            ops += ["sum", "sum", "sum", "xor_sum", "or_reduce", "mul_reduce", "argmax", "argmin"]
        op = r.choice(ops)
        rest = list(v.type.shape)
        rest[axis : axis + 1] = [1] if keep else []
        out = Type("int32" if op.startswith("arg") else dtype, tuple(rest))
        made = self.add(op, (v.name,), out, {"axis": axis, "keep": keep})
        if keep and r.random() < 0.7:  # broadcast back
            self.add(r.choice(["sub", "add", "max"]), (v.name, self.converted(made, dtype).name), v.type)

    def reductions_of_one_block(self) -> None:
        """As of a mean and a deviation: one that needs another one's result, and one in between that does not."""
        r = self.r
        v = self.pick_tensor(lambda t: t.dtype == "float32" or is_wide(t))
        if v is None:
            return
        shape, dtype = v.type.shape, v.type.dtype
        axis = r.randrange(len(shape))
        ops = ["reduce_max", "reduce_min"] if is_float(dtype) else ["sum", "sum", "xor_sum", "reduce_max"]
        kept = Type(dtype, tuple(1 if d == axis else n for d, n in enumerate(shape)))
        keep = {"axis": axis, "keep": True}
        first = self.add(r.choice(ops), (v.name,), kept, keep)
        derived = self.add(r.choice(["add", "mul"]), (first.name, self.literal(dtype)), kept)
        other = self.add(r.choice(["add", "mul", "max"]), (v.name, self.like(v.type).name), v.type)
        between = self.add(r.choice(ops), (other.name,), kept, keep)
        centred = self.add("sub", (v.name, r.choice([first, derived]).name), v.type)
        self.add(r.choice(ops), (centred.name,), kept, keep)
        self.add("add", (derived.name, between.name), kept)

    def scan(self) -> None:
        r = self.r
        v = self.pick_tensor(is_wide)
        if v is None:
            return
        attrs = {"axis": r.randrange(len(v.type.shape)), "reverse": r.random() < 0.3}
        op = r.choice(["cumsum", "cumsum", "scan_max", "scan_mul", "scan_affine"])
        args = (v.name, self.like(v.type).name) if op == "scan_affine" else (v.name,)
        self.add(op, args, v.type, attrs)

    def make(self) -> None:
        shape = self.shape()
        if self.r.random() < 0.5:
            self.filled(Type(self.r.choice(self.dtypes), shape))
        else:
            self.pool.append(
                self.term(shape, self.r.randrange(len(shape)), self.r.choice([1, 2, -3]), flip=False)
            )

    def dot(self) -> None:
        r = self.r
        inputs = r.choice(["int8", "float16", "float32"])
        out = "int32" if inputs == "int8" else "float32"
        m, n, k = (r.choice([16, 16, 32]) for _ in range(3))
        sides = [self.small(inputs, shape) for shape in ((m, k), (k, n))]
        args = [side.name for side in sides]
        if r.random() < 0.4:
            args.append(self.small(out, (m, n)).name)
        attrs = {"input": inputs, "out": out}
        self.add("dot", tuple(args), Type(out, (m, n)), attrs)

    def small(self, dtype: str, shape: Shape) -> Variable:
        """Whole numbers from 0 to 7."""
        source = self.pick(lambda t: t.shape == shape and is_whole(t)) or self.load(shape, "int32")
        low = self.add("and", (source.name, 7), source.type)
        return self.converted(self.converted(low, "int8"), dtype)

    def rare(self) -> None:
        r = self.r
        v = self.pick_tensor(lambda t: is_wide(t) and size(t.shape) <= 64 and t.shape[-1] > 1)
        if v is None:
            return
        shape = v.type.shape
        match r.choice(["sort", "gather", "histogram"]):
            case "sort":
                self.add("sort", (v.name,), v.type, {"descending": r.random() < 0.3})
            case "gather":
                axis = r.randrange(len(shape))
                where = self.like(Type("int32", shape))
                where = self.add("and", (where.name, shape[axis] - 1), where.type)
                self.add("gather", (v.name, where.name), v.type, {"axis": axis})
            case _ if len(shape) == 1 and v.type.dtype == "int32":
                self.add("histogram", (v.name,), Type("int32", (16,)), {"bins": 16})
            case _:
                pass

    # --- control flow -------------------------------------------------------------------------------------------------

    @contextmanager
    def region(self) -> Iterable[list[Statement]]:
        """Statements made inside go to a list of their own; their values are not known after it."""
        outer, known = self.body, len(self.pool)
        saved = list(self.pool)
        self.body = []
        self.depth += 1
        yield self.body
        self.depth -= 1
        self.body = outer
        self.pool = saved[:known]

    def condition(self) -> Variable:
        scalar = self.pick(is_whole, lambda t: not t.shape)
        assert scalar is not None
        return self.add(
            self.r.choice(["gt", "eq", "lt", "ne"]), (scalar.name, self.r.choice([0, 1, 3, 20])), Type("bool")
        )

    def carried_types(self) -> list[Variable]:
        options = [v for v in self.pool if v.type.shape or v.type.dtype != "bool"]
        count = self.r.choice([0, 1, 1, 2, 2, 3])
        chosen: list[Variable] = []
        for _ in range(min(count, len(options))):
            favourites = [v for v in options if v.type.shape][-8:] if self.r.random() < 0.8 else options
            pick = self.r.choice(favourites or options)
            chosen.append(pick)
            if self.r.random() < 0.25:
                chosen.append(pick)  # two of one type can be swapped
        return chosen

    def fresh(self, v: Variable) -> Variable:
        """The same value as a new one."""
        if is_pointer(v.type):
            return self.let("advance", (v.name, 0), v.type)
        if v.type.dtype == "bool":
            return self.let("or", (v.name, v.name), v.type)
        return self.let("mul", (v.name, 1.0 if is_float(v.type.dtype) else 1), v.type)

    def inner_name(self, t: Type) -> str:
        return self.name(f"p_{t.dtype[1:]}_" if is_pointer(t) else "c")

    def finals(self, carried: list[tuple[Variable, str]]) -> list[tuple[str, str, str]]:
        """What each carried value is at the end of the body."""
        result: list[tuple[str, str, str]] = []
        r = self.r
        for init, name in carried:
            if is_pointer(init.type):
                step = r.choice([1, 4, 16, "three"])
                final = self.let("advance", (name, step), init.type).name
            else:
                same = [n for v, n in carried if v.type == init.type and n != name]
                kind = r.random()
                if same and kind < 0.4:
                    final = r.choice(same)
                elif kind < 0.8 and init.type.dtype != "bool":
                    other = self.like(init.type)
                    final = self.let(r.choice(["add", "sub", "max"]), (name, other.name), init.type).name
                else:
                    final = self.like(init.type).name
            result.append((name, init.name, final))
            self.used.update((init.name, final))
        return result

    def loop_body(
        self, index: Variable | None
    ) -> tuple[list[Statement], list[tuple[str, str, str]], list[Variable]]:
        """Statements, carried values, and those as they are after the loop."""
        chosen: list[Variable] = []
        for v in self.carried_types():
            # Triton's front end takes a carried value for unchanged if it becomes another that began as the same value.
            again = any(v.type == other.type for other in chosen)
            chosen.append(self.fresh(v) if again else v)
        carried = [(v, self.inner_name(v.type)) for v in chosen]
        with self.region() as body:
            if index is not None:
                self.pool.append(index)
            self.pool += [Variable(name, v.type) for v, name in carried]
            for _ in range(self.r.randint(1, 4)):
                self.step()
            triples = self.finals(carried)
            result = list(body)
        return result, triples, [Variable(name, v.type) for v, name in carried]

    def for_loop(self) -> None:
        index = self.name("i")
        kind = self.r.choice(["range", "range", "range", "tl.range", "tl.static_range"])
        bounds: tuple = self.r.choice([(0, 3, 1), (1, 4, 1), (0, 6, 2), (0, 1, 1), (0, 0, 1), (3, 0, -1)])
        if kind != "tl.static_range":
            bounds = self.r.choice([bounds, (0, "three", 1), (0, "zero", 1), ("one", "three", "one")])
        # The index of an unrolled loop is no value.
        known = None if kind == "tl.static_range" else Variable(index, Type("int32"))
        body, carried, after = self.loop_body(known)
        self.pool += after
        self.body.append(For(index, bounds, carried, body, kind))

    def running_totals(self) -> None:
        """A loop that adds up blocks lane by lane, and the sums of the lanes after it."""
        r = self.r
        index = self.name("i")
        bounds: tuple = r.choice(
            [
                (0, 3, 1),
                (0, 6, 2),
                (0, 0, 1),
                (3, 0, -1),
                (0, "three", 1),
                (0, "zero", 1),
                ("one", "three", "one"),
            ]
        )
        dtype = r.choice([d for d in self.buffers.values() if d not in ("float16", "float64")])
        t = Type(dtype, (r.choice([64, 128, 256, 512]),))
        kinds = [r.choice(totals_of(dtype)) for _ in range(r.choice([1, 1, 2]))]
        carried: list[tuple[str, str, str]] = []
        # What an iteration adds may be from the one before.
        before = (self.filled(t), self.inner_name(t)) if dtype != "bool" and r.random() < 0.3 else None
        starts: list[tuple[str, str]] = []
        for kind in kinds:
            neutral = kind.neutral if r.random() < 0.6 else self.literal(dtype)
            value = float(neutral) if is_float(dtype) else neutral
            made = self.let("full", (value,), t, {"shape": t.shape, "dtype": dtype})
            starts.append((made.name, self.inner_name(t)))
        with self.region() as body:
            self.pool.append(Variable(index, Type("int32")))
            if before is not None:
                self.pool.append(Variable(before[1], t))
            at = self.term(t.shape, 0, 1, flip=r.random() < 0.1)
            moved = self.let("mul", (index, r.choice([1, 16, t.shape[0]])), Type("int32"))
            at = self.let("add", (at.name, moved.name), at.type)
            args: list = [self.pointer(self.buffer_for(dtype), t.shape, at).name]
            if r.random() < 0.7:
                bound = r.choice(["some", "zero", r.randrange(4 * t.shape[0])])
                args.append(self.let("lt", (at.name, bound), Type("bool", t.shape)).name)
                args.append(self.literal(dtype))
            block = self.add("load", tuple(args), t, {"buffer": args[0].split("_")[1]})
            if len(args) > 1 and r.random() < 0.4:
                block = self.add("where", (args[1], block.name, self.like(t).name), t)
            for _ in range(r.choice([0, 0, 1, 2])):
                self.step()
            for kind, (init, name) in zip(kinds, starts, strict=True):
                added = block if r.random() < 0.6 else self.like(t)
                order = (name, added.name) if r.random() < 0.7 else (added.name, name)
                carried.append((name, init, self.let(kind.update, order, t).name))
            if before is not None:
                carried.append((before[1], before[0].name, block.name))
            statements = list(body)
        self.body.append(For(index, bounds, carried, statements, r.choice(["range", "tl.range"])))
        if before is not None:
            self.used.add(before[0].name)
            self.pool.append(Variable(before[1], t))
        if r.random() < 0.3:
            self.step()
        for kind, (_, name) in zip(kinds, starts, strict=True):
            self.add(kind.reduction, (name,), Type(dtype), {"axis": 0, "keep": False})
            if r.random() < 0.15:
                self.pool.append(Variable(name, t))  # somebody wants to see the lanes

    def while_loop(self) -> None:
        counter = self.name("k")
        limit = self.r.choice([2, 3, "three", "zero", "one"])
        body, carried, after = self.loop_body(Variable(counter, Type("int32")))
        self.pool += after
        self.body.append(While(counter, limit, carried, body))

    def if_else(self) -> None:
        condition = self.condition()
        types = [v.type for v in self.carried_types() if is_value(v.type) and v.type.dtype != "bool"]
        sides: list[tuple[list[Statement], list[str]]] = []
        for _ in range(2):
            with self.region() as body:
                for _ in range(self.r.randint(0, 3)):
                    self.step()
                chosen = [self.like(t).name for t in types]
                self.used.update(chosen)
                sides.append((list(body), chosen))
        names = [self.name("c") for _ in types]
        results = list(zip(names, sides[0][1], sides[1][1], strict=True))
        self.body.append(If(condition.name, sides[0][0], sides[1][0], results))
        self.used.add(condition.name)
        self.pool += [Variable(name, t) for name, t in zip(names, types, strict=True)]

    def early_return(self) -> None:
        condition = self.condition()
        self.body.append(ReturnIf(condition.name))
        self.used.add(condition.name)


def make_program(seed: int, length: int = 14) -> Program:
    return Generator(seed, length).program()
