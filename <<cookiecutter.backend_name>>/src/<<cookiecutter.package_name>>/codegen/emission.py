"""Writing one LLVM function: values, temporaries, blocks, and the table of what emits which instruction.

A family of instructions has a file of its own, named as in ``dialects/isa``. Its functions enter themselves
into the table with `emits`; each takes the `Emitter` and the instruction, and binds the instruction's results.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from xdsl.ir import Block, Operation, SSAValue

from ..dialects.isa.base import Instruction
from ..dialects.isa.definitions import belongs_in, check_class
from ..dialects.locations import location_of, place_of
from ..errors import BackendError, CompileError, UnsupportedOperation
from ..extensions import note
from ..host_features import HostFeatures
from .registers import RegisterType, literal, register_type, spell

Op = TypeVar("Op", bound=Operation)

EMITTERS: dict[type[Operation], Callable[[Emitter, Any], None]] = {}
"""Instruction class -> the function that emits it."""


def emits(
    *instructions: type[Op],
) -> Callable[[Callable[[Emitter, Op], None]], Callable[[Emitter, Op], None]]:
    """Enters the decorated function into the table for `instructions`.

    Raises DefinitionError for a class that is not an instruction."""
    for instruction in instructions:
        check_class(instruction)

    def enter(function: Callable[[Emitter, Op], None]) -> Callable[[Emitter, Op], None]:
        for instruction in instructions:
            EMITTERS[instruction] = function
        note(function)
        return function

    return enter


class Phi:
    """A phi whose incoming edges are added while code is emitted; `name` is its value."""

    __slots__ = ("edges", "name", "type")

    def __init__(self, name: str, ty: str) -> None:
        self.name = name
        self.type = ty
        self.edges: list[str] = []

    def add(self, value: str, label: str) -> None:
        """`value` arrives from the block `label`."""
        self.edges.append(f"[ {value}, %{label} ]")

    def __str__(self) -> str:
        return f"  {self.name} = phi {self.type} {', '.join(self.edges)}"


class Module:
    """What the functions of one LLVM module share: declarations, constants, helper functions."""

    def __init__(self, host: HostFeatures) -> None:
        self.host = host
        self.declarations: dict[str, str] = {}
        self.constants: dict[bytes, str] = {}
        self.functions: dict[str, str] = {}

    def declare(self, result: str, name: str, parameters: str) -> None:
        """Declares an intrinsic or a function of the C library."""
        if name not in self.declarations:
            self.declarations[name] = f"declare {result} @{name}({parameters})"

    def attributes(self, bits: int) -> str:
        """Attributes of a function that works on vectors of `bits`.

        Without them LLVM splits registers on CPUs whose tuning prefers short ones.
        """
        return f'nounwind "prefer-vector-width"="{bits}" "min-legal-vector-width"="{bits}"'

    def constant(self, data: bytes) -> str:
        """The address of constant bytes."""
        return self.constants.setdefault(data, f"@bytes.{len(self.constants)}")

    def text(self) -> str:
        """The module as LLVM IR."""
        constants = [
            f'{name} = private unnamed_addr constant [{len(data)} x i8] c"{_escape(data)}"'
            for data, name in self.constants.items()
        ]
        return "\n\n".join(
            "\n".join(part)
            for part in (constants, self.declarations.values(), self.functions.values())
            if part
        )


class Emitter:
    """Emits the body of one function."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.host = module.host
        self.vector_bits = module.host.vector_bits
        """Width of the vectors that the function at hand is compiled for."""
        self.streams = False
        """Whether the function stores past the caches, see `drain`."""
        self.lines: list[str | Phi] = []
        self.block = "entry"
        self.names: dict[SSAValue, str] = {}
        self.reciprocals: dict[SSAValue, Reciprocal] = {}
        """Of the numbers that loops divide by, see `division`."""
        self.program: Program | None = None
        """What instructions about the program refer to; set while a kernel is emitted."""
        self.edges: dict[Block, list[Phi]] = {}
        """The phis that stand for the arguments of a block of the kernel's control flow graph."""
        self.labels: dict[Block, str] = {}
        self.exits: list[tuple[str, list[Phi]]] = []
        """Where each open ``scf.execute_region`` goes on, and the phis of its results."""
        self._stack: dict[str, str] = {}
        self._once: dict[str, str] = {}
        self._count = 0

    # --- values of the instruction set ----------------------------------------------------------------------

    def type(self, value: SSAValue) -> RegisterType:
        return register_type(value.type)

    def ref(self, value: SSAValue) -> str:
        """The LLVM name or literal that stands for `value`."""
        try:
            return self.names[value]
        except KeyError:
            raise _unwritten(value) from None

    def typed(self, value: SSAValue) -> str:
        """Type and name, as LLVM writes an operand."""
        return f"{register_type(value.type).text} {self.ref(value)}"

    def bind(self, value: SSAValue, name: str) -> None:
        """Lets `value` stand for the LLVM value `name`."""
        self.names[value] = name

    def result(self, op: Operation, expression: str) -> None:
        """Computes the only result of `op`."""
        self.names[op.results[0]] = self.let(expression)

    def constant(self, value: SSAValue) -> int | None:
        """The number in every lane of an integer `value` known while compiling, else None."""
        name = self.ref(value)
        if name.startswith("splat ("):
            name = name[name.index(" ", 7) + 1 : -1]
        try:
            return int(name)
        except ValueError:
            return {"true": 1, "false": 0}.get(name)

    # --- LLVM -----------------------------------------------------------------------------------------------

    def fresh(self) -> str:
        self._count += 1
        return f"%v{self._count}"

    def let(self, expression: str) -> str:
        """Computes `expression`; gives the name of its value."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"  {name} = {expression}")
        return name

    def once(self, expression: str) -> str:
        """The name of the value of `expression`, which depends on nothing, computed where the function begins."""
        name = self._once.get(expression)
        if name is None:
            name = self._once[expression] = self.fresh()
        return name

    def do(self, instruction: str) -> None:
        """An instruction without a value."""
        self.lines.append(f"  {instruction}")

    def call(self, result: str, name: str, *arguments: tuple[str, str]) -> str:
        """Calls an intrinsic or a C function; `arguments` are pairs of type and value."""
        self.module.declare(result, name, ", ".join(ty for ty, _ in arguments))
        call = f"call {result} @{name}({', '.join(f'{ty} {value}' for ty, value in arguments)})"
        if result == "void":
            self.do(call)
            return ""
        return self.let(call)

    def intrinsic(self, name: str, ty: RegisterType, *values: str) -> str:
        """Calls an LLVM intrinsic whose operands and result are all of one type."""
        return self.call(ty.text, f"llvm.{name}.{ty.mangled}", *[(ty.text, value) for value in values])

    def broadcast(self, scalar: str, element: str, lanes: int) -> str:
        """`scalar` in every lane of a vector of `lanes` elements."""
        if lanes == 1:
            return scalar
        if not scalar.startswith("%"):
            return f"splat ({element} {scalar})"
        vector = spell(element, lanes)
        first = self.let(f"insertelement {vector} poison, {element} {scalar}, i64 0")
        return self.let(f"shufflevector {vector} {first}, {vector} poison, <{lanes} x i32> zeroinitializer")

    def stack(self, ty: str, role: str) -> str:
        """The address of a 64-byte aligned stack slot of LLVM type `ty`; instructions share those of one `role`."""
        name = f"%{role}.{''.join(c if c.isalnum() else '_' for c in ty)}"
        self._stack[name] = f"  {name} = alloca {ty}, align 64"
        return name

    # --- blocks ---------------------------------------------------------------------------------------------

    def label(self, hint: str) -> str:
        """A new label."""
        self._count += 1
        return f"{hint}.{self._count}"

    def begin(self, label: str) -> None:
        """Starts the block `label`."""
        self.lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str) -> None:
        self.lines.append(f"  br label %{label}")

    def drain(self) -> None:
        """Waits until what was stored past the caches is where other cores see it, if the function does that."""
        if self.streams and self.host.is_x86:
            self.call("void", "llvm.x86.sse.sfence")
        elif self.streams:
            self.do("fence seq_cst")

    def branch(self, condition: str, if_true: str, if_false: str) -> None:
        self.lines.append(f"  br i1 {condition}, label %{if_true}, label %{if_false}")

    def phi(self, ty: str) -> Phi:
        """A phi at the start of the current block."""
        phi = Phi(self.fresh(), ty)
        self.lines.append(phi)
        return phi

    @contextmanager
    def when(self, condition: str) -> Generator[str]:
        """Makes what the ``with`` block emits run only if `condition` is set; gives the label of the block before."""
        before, then, after = self.block, self.label("then"), self.label("endif")
        self.branch(condition, then, after)
        self.begin(then)
        yield before
        self.jump(after)
        self.begin(after)

    @contextmanager
    def loop(self, count: int | str, step: int = 1) -> Generator[str]:
        """A loop over an i64 from 0 to `count` (at least 1; a multiple of `step`); gives the counter."""
        before, body, after = self.block, self.label("loop"), self.label("endloop")
        self.jump(body)
        self.begin(body)
        counter = self.phi("i64")
        counter.add("0", before)
        yield counter.name
        following = self.let(f"add nuw nsw i64 {counter.name}, {step}")
        counter.add(following, self.block)
        self.branch(self.let(f"icmp ult i64 {following}, {count}"), body, after)
        self.begin(after)

    # --- lanes one by one -----------------------------------------------------------------------------------

    def spread(self, role: str, ty: RegisterType, value: str) -> str:
        """Stores a vector to the stack so that lanes can be addressed; gives the address."""
        text = ty.text
        if ty.is_predicate:
            text = ty.of("i8")
            value = self.let(f"zext {ty.text} {value} to {text}")
        slot = self.stack(text, role)
        self.do(f"store {text} {value}, ptr {slot}, align 64")
        return slot

    def by_lane(
        self,
        result: RegisterType,
        arguments: Sequence[tuple[RegisterType, str]],
        compute: Callable[[list[str]], str],
    ) -> str:
        """Computes a register lane by lane in ascending order: `compute` maps the scalars of one lane to its result."""
        if result.lanes == 1:
            return compute([value for _, value in arguments])
        slots = [self.spread(f"lanes{i}", ty, value) for i, (ty, value) in enumerate(arguments)]
        out = self.stack(result.text, "lanes.out")
        with self.loop(result.lanes) as lane:
            scalars: list[str] = []
            for (ty, _), slot in zip(arguments, slots, strict=True):
                element = "i8" if ty.is_predicate else ty.element
                address = self.let(f"getelementptr {element}, ptr {slot}, i64 {lane}")
                scalar = self.let(f"load {element}, ptr {address}")
                scalars.append(self.let(f"trunc i8 {scalar} to i1") if ty.is_predicate else scalar)
            value = compute(scalars)
            address = self.let(f"getelementptr {result.element}, ptr {out}, i64 {lane}")
            self.do(f"store {result.element} {value}, ptr {address}")
        return self.let(f"load {result.text}, ptr {out}, align 64")

    # --- the instructions -----------------------------------------------------------------------------------

    def emit(self, ops: Iterable[Operation]) -> None:
        """Emits instructions one after the other."""
        for op in ops:
            emitter = EMITTERS.get(type(op))
            if emitter is None:
                raise _unknown(op)
            try:
                emitter(self, op)
            except BackendError:
                raise
            except Exception as error:
                raise CompileError(
                    f"{_described(emitter)}, which emits {op.name}, failed: {type(error).__name__}: {error}",
                    location=place_of(op),
                ) from error

    def function(self, header: str) -> str:
        """The finished function; `header` is its ``define`` line."""
        once = [f"  {name} = {expression}" for expression, name in self._once.items()]
        return "\n".join([f"{header} {{", "entry:", *self._stack.values(), *once, *map(str, self.lines), "}"])


@dataclass(frozen=True)
class Reciprocal:
    """LLVM names of what a division by one number is replaced with: registers with one value in all lanes."""

    value: str
    least: str
    """The `rank` of a dividend has to be above it."""


class Program:
    """LLVM names of what a kernel's instructions share: its place in the grid, workspace, and where it ends."""

    def __init__(
        self, number: str, coordinates: Sequence[str], extents: Sequence[str], scratch: str, end: str
    ) -> None:
        self.number = number
        """Its id in the launch, an i64."""
        self.coordinates = coordinates
        self.extents = extents
        self.scratch = scratch
        """The workspace's address as an i64."""
        self.end = end
        """Label of the block that goes on to the next program."""


def _described(emitter: Callable[..., object]) -> str:
    return f"the function {emitter.__module__}.{emitter.__qualname__}"


def _unwritten(value: SSAValue) -> CompileError:
    """The error for a register that no emitter has set."""
    op = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    emitter = EMITTERS.get(type(op)) if isinstance(value.owner, Operation) and op is not None else None
    if op is None or emitter is None:
        why = "a bug of this backend, or of a pass"
    else:
        why = (
            f"it is a result of {op.name}. Either {_described(emitter)}, which emits that, calls neither e.result nor "
            "e.bind for it, or a pass has put something that uses it before it"
        )
    return CompileError(
        f"a register of type {value.type} is used before it is written: {why}", location=location_of(op)
    )


def _unknown(op: Operation) -> UnsupportedOperation:
    """The error for an operation that nothing in the table emits."""
    where = (
        belongs_in("codegen", type(op), f"with a function under @emits({type(op).__name__})")
        if isinstance(op, Instruction)
        else "codegen/control.py, with a function under @emits (or a pass in passes/ replaces it)"
    )
    return UnsupportedOperation(
        f"the reference device does not know {op.name}: no LLVM IR is emitted for it",
        location=place_of(op),
        add_support_in=where,
    )


def spelled_constant(value: Any, ty: RegisterType) -> str:
    """An IntegerAttr or FloatAttr in every lane of `ty`, as LLVM writes it."""
    return ty.fill(literal(value, ty))


def integer_type(ty: RegisterType) -> str:
    """The LLVM integer type of the same width and lanes."""
    return spell(f"i{ty.bits}", ty.lanes)


def _escape(data: bytes) -> str:
    return "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)
