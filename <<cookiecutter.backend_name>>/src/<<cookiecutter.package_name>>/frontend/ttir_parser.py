"""TTIR in MLIR's generic form -> xDSL module.

MLIR prints one operation a line. A line is cut into its head (results, name, operands, successors) and the
rest (properties, attributes, types); the rest is read once per text in the life of the process. Locations are
resolved to `SourceLoc` and put in ``op.attributes["loc"]``.

What is not understood raises `CompileError` with the line and what was expected there. The module is not
verified.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import traits_def
from xdsl.traits import IsolatedFromAbove
from xdsl.utils.exceptions import VerifyException

from ..dialects.locations import LOC, SourceLoc
from ..dialects.op_table import AS_ATTRIBUTES, check_known, library_wanted, operation_class
from ..errors import CompileError
from .aliases import Aliases, remember
from .attributes import AttributeReader
from .cursor import Unreadable
from .source_locations import LocationReader

_PARSER_FILE = "frontend/ttir_parser.py"

_HEAD = re.compile(r'\s*(?:(%[^="]*?) = )?"([^"\\]+)"\(([^()]*)\)(?: ?\[([^\[\]]*)\])?')
_ALIASED_LOCATION = re.compile(r" loc\((#[\w$.-]+)\)$")
_RESULT = re.compile(r"(%[\w$.-]+)(?::(\d+))?")
_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_BLOCK = re.compile(r"\^[\w$.-]+")
_HINT = re.compile(r"%([A-Za-z_][\w$.-]*?)(?:_\d+)?$")


@dataclass(frozen=True, slots=True)
class _Rest:
    """What follows the head of an operation on its line."""

    properties: dict[str, Attribute]
    attributes: dict[str, Attribute]
    operand_types: list[Attribute]
    result_types: list[Attribute]
    location: SourceLoc | None
    empty_regions: int
    opens_region: bool
    fits: set[str] = field(default_factory=set[str])
    """Names of operations that may have all this: looked up once a text."""


_rests: dict[str, _Rest] = {}
"""By text: the same few property dictionaries and types make up every kernel."""


@dataclass(slots=True)
class _Scope:
    """The values of one isolated region tree (a function), by name."""

    values: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    forward: dict[str, tuple[SSAValue, int]] = field(default_factory=dict[str, "tuple[SSAValue, int]"])
    """Values used before their definition, with the line of the first use (blocks need not be in order)."""


@dataclass(slots=True)
class _OpenOp:
    """An operation whose regions are being read."""

    line: int
    results: str
    name: str
    operands: str
    successors: str
    properties: dict[str, Attribute]
    scope: _Scope
    regions: list[Region] = field(default_factory=list[Region])
    blocks: dict[str, Block] = field(default_factory=dict[str, Block])
    """The blocks of the region being read, by label."""
    mentioned: dict[str, int] = field(default_factory=dict[str, int])
    """Labels that were branched to and not seen yet, with the line of the branch."""


class _Placeholder(Operation):
    """Stands for a value that is used on an earlier line than the one that defines it."""

    name = "tt.placeholder"
    traits = traits_def()


def parse_ttir(text: str) -> ModuleOp:
    """Read a module that MLIR printed in generic form, with or without locations.

    Every operation keeps its MLIR name as ``op.name``: `tt` operations and those of xDSL's dialects have
    their classes, any other gets a class of its own (`dialects.op_table`). Raises `CompileError`.
    """
    return _Parser(text).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        text = text.replace("\r\n", "\n")
        self.lines = text.split("\n")
        self.aliases = Aliases(text)
        self.locations = LocationReader("", self.aliases)
        self.line = 0
        self.open: list[_OpenOp] = []
        self.scope = _Scope()
        self.block: Block | None = None
        self.module: ModuleOp | None = None

    # --- lines ----------------------------------------------------------------------------------------------

    def parse(self) -> ModuleOp:
        try:
            for number, line in enumerate(self.lines):
                self.line = number
                stripped = line.lstrip()
                first = stripped[:1]
                if first in ('"', "%"):
                    self._operation(stripped)
                elif first == "^":
                    self._block_header(stripped)
                elif first == "}":
                    self._close(stripped)
                elif first and first not in ("#", "!") and not stripped.startswith("//"):
                    raise Unreadable('an operation in generic form, such as `"tt.load"(...)`', 0)
        except Unreadable as error:
            raise self._error(error.expected) from None
        except (VerifyException, ValueError, TypeError, NotImplementedError) as error:
            raise self._error(f"attributes and types that xDSL takes ({error})") from error
        except RecursionError as error:
            raise self._error("types and attributes that are not nested so deeply") from error
        if self.open:
            self.line = self.open[-1].line
            raise self._error("the end of this operation's regions: the text is cut off")
        if self.module is None:
            raise self._error('"builtin.module"(...)')
        return self.module

    def _error(self, expected: str) -> CompileError:
        line = self.lines[self.line].strip() if self.line < len(self.lines) else ""
        return CompileError(
            f"line {self.line + 1} of the Triton IR is not understood: expected {expected}\n    {line[:400]}",
            location=self._kernel_location(),
            add_support_in=_PARSER_FILE,
        )

    def _kernel_location(self) -> str:
        """Where in the kernel the current line comes from, if that much can be read."""
        try:
            line = self.lines[self.line]
            start = line.rfind(" loc(")
            location = AttributeReader(line, self.aliases, start).location() if start >= 0 else None
        except (Unreadable, IndexError, RecursionError, ValueError):
            return ""
        return str(location) if location else ""

    def _operation(self, line: str) -> None:
        head = _HEAD.match(line)
        if head is None:
            raise Unreadable('`%result = "dialect.name"(%operand, ...)`', 0)
        results, name, operands, successors = head.groups("")
        rest, location = self._rest(line[head.end() :])
        if rest.opens_region:
            op = _OpenOp(self.line, results, name, operands, successors, rest.properties, self.scope)
            op.regions.extend(Region() for _ in range(rest.empty_regions))
            self.open.append(op)
            if operation_class(name).has_trait(IsolatedFromAbove):
                self.scope = _Scope()
            self._open_region()
            return
        regions = [Region() for _ in range(rest.empty_regions)]
        self._create(results, name, operands, successors, rest, rest.properties, location, regions)

    def _open_region(self) -> None:
        op = self.open[-1]
        op.regions.append(Region())
        op.blocks = {}
        op.mentioned = {}
        self.block = None  # the first label, or an operation that comes before any, starts a block

    def _block_header(self, line: str) -> None:
        if not self.open:
            raise Unreadable("an operation: there is no region that a block could be in", 0)
        op = self.open[-1]
        reader = AttributeReader(line, self.aliases)
        label = reader.match(_BLOCK, "a block label")[0]
        block = op.blocks.setdefault(label, Block())
        if block.parent is not None:
            raise Unreadable(f"another label than `{label}`, which this region has already", 0)
        op.mentioned.pop(label, None)
        op.regions[-1].add_block(block)
        self.block = block
        if reader.accept("(") and not reader.accept(")"):
            while True:
                value_name = reader.match(_VALUE, "a block argument")[0]
                reader.expect(":")
                argument = block.insert_arg(reader.type(), len(block.args))
                reader.skip_location()
                self._define(value_name, argument)
                if reader.accept(")"):
                    break
                reader.expect(",", "`,` or `)`")
        reader.expect(":")
        if not reader.at_end() and not reader.at("//"):
            raise Unreadable("nothing after the block's label", reader.position)

    def _close(self, line: str) -> None:
        if not self.open:
            raise Unreadable("an operation: no region is open", 0)
        op = self.open[-1]
        if op.mentioned:
            label, self.line = next(iter(op.mentioned.items()))
            raise Unreadable(f"a block `{label}` in this region, which branches to it", 0)
        if line.endswith("{") and line.replace(" ", "") == "},{":
            self._open_region()
            return
        reader = AttributeReader(line, self.aliases, 1)
        while reader.accept(","):
            reader.expect("{")
            if not reader.accept("}"):
                raise Unreadable("a region on lines of its own", reader.position)
            op.regions.append(Region())
        reader.expect(")", "`)` or `, {`")
        rest, location = self._rest(line[reader.position :], after_regions=True)
        self.open.pop()
        if self.scope is not op.scope:
            self._check_forward(self.scope)
            self.scope = op.scope
        self.block = self.open[-1].regions[-1].last_block if self.open else None
        self._create(
            op.results, op.name, op.operands, op.successors, rest, op.properties, location, op.regions
        )

    # --- the rest of a line ---------------------------------------------------------------------------------

    def _rest(self, text: str, after_regions: bool = False) -> tuple[_Rest, SourceLoc | None]:
        location: SourceLoc | None = None
        key = text
        if alias := _ALIASED_LOCATION.search(text):
            key = text[: alias.start()]
        # What follows a region differs in grammar from what follows a head: tell the keys apart.
        cache_key = f"{')' if after_regions else ''}{'L' if library_wanted() else ''}{key}"
        rest = _rests.get(cache_key)
        if rest is None:
            reader = AttributeReader(key, self.aliases)
            rest = self._read_rest(reader, after_regions)
            if reader.reusable and rest.location is None:
                remember(_rests, cache_key, rest)
        location = rest.location
        if alias:
            location = self.locations.location_named(alias[1])
        return rest, location

    def _read_rest(self, reader: AttributeReader, after_regions: bool) -> _Rest:
        properties: dict[str, Attribute] = {}
        empty_regions = 0
        if not after_regions:
            if reader.accept("<{"):
                reader.position -= 1
                properties = reader.dictionary()
                reader.expect(">")
            if reader.accept("("):
                while True:
                    reader.expect("{")
                    if reader.at_end():
                        return _Rest(properties, {}, [], [], None, empty_regions, True)
                    if not reader.accept("}"):
                        raise Unreadable("a region on lines of its own", reader.position)
                    empty_regions += 1
                    if not reader.accept(","):
                        break
                reader.expect(")")
        attributes = reader.dictionary() if reader.at("{") else {}
        reader.expect(":", "`:` and the operation's types")
        operand_types, result_types = reader.function_type()
        location = None
        if reader.at("loc"):
            location = reader.location()
            reader.reusable = False
        if not reader.at_end() and not reader.at("//"):
            raise Unreadable("the end of the line after the operation's types", reader.position)
        return _Rest(properties, attributes, operand_types, result_types, location, empty_regions, False)

    # --- operations and values ------------------------------------------------------------------------------

    def _create(
        self,
        results: str,
        name: str,
        operands: str,
        successors: str,
        rest: _Rest,
        properties: dict[str, Attribute],
        location: SourceLoc | None,
        regions: list[Region],
    ) -> None:
        names = operands.split(", ") if operands else []
        types = rest.operand_types
        if len(names) != len(types):
            raise Unreadable(f"as many operand types as operands ({len(names)})", 0)
        values = self.scope.values
        arguments: list[SSAValue] = []
        for value_name, type_ in zip(names, types, strict=True):
            value = values.get(value_name)
            if value is None:
                value = self._forward(value_name, type_)
            elif value.type is not type_ and value.type != type_:
                raise Unreadable(f"{value_name} to have type {value.type}, with which it was defined", 0)
            arguments.append(value)
        if properties is not rest.properties:  # of an operation with regions
            self._check_known(name, properties, rest)
        elif name not in rest.fits:
            self._check_known(name, properties, rest)
            rest.fits.add(name)
        attributes = rest.attributes
        undefined = AS_ATTRIBUTES.get(name)
        if undefined is not None and not undefined.isdisjoint(properties):
            attributes = attributes | {key: properties[key] for key in properties if key in undefined}
            properties = {key: properties[key] for key in properties if key not in undefined}
        if location is not None:
            attributes = {**attributes, LOC: location}
        op = operation_class(name).create(
            operands=arguments,
            result_types=rest.result_types,
            properties=properties,
            attributes=attributes,
            successors=self._successors(successors) if successors else (),
            regions=regions,
        )
        if results:
            self._define_results(results, op)
        elif op.results:
            raise Unreadable("names for the operation's results", 0)
        if self.open:
            if self.block is None:  # an entry block without a label
                self.block = Block()
                self.open[-1].regions[-1].add_block(self.block)
            self.block.add_op(op)
        elif isinstance(op, ModuleOp) and self.module is None:
            self.module = op
        else:
            raise Unreadable('one "builtin.module" around everything', 0)

    def _check_known(self, name: str, properties: dict[str, Attribute], rest: _Rest) -> None:
        try:
            check_known(name, properties, len(rest.operand_types), len(rest.result_types))
        except CompileError as error:
            raise error.at(self._kernel_location()) from None

    def _define_results(self, results: str, op: Operation) -> None:
        results_left = list(op.results)
        for part in results.split(","):
            match = _RESULT.fullmatch(part.strip())
            if match is None:
                raise Unreadable("names of results such as `%0` or `%0:2`", 0)
            name, count = match.groups()
            number = int(count) if count else 1
            if number > len(results_left):
                raise Unreadable(f"as many names as results ({len(op.results)})", 0)
            named, results_left = results_left[:number], results_left[number:]
            if count is None:
                self._define(name, named[0])
            else:
                for i, result in enumerate(named):
                    self._define(f"{name}#{i}", result)
                if number == 1:
                    self._define(name, named[0])
        if results_left:
            raise Unreadable(f"as many names as results ({len(op.results)})", 0)

    def _define(self, name: str, value: SSAValue) -> None:
        scope = self.scope
        if scope.forward and (waiting := scope.forward.pop(name, None)):
            placeholder = waiting[0]
            if placeholder.type != value.type:
                raise Unreadable(f"{name} to have type {placeholder.type} as in line {waiting[1] + 1}", 0)
            placeholder.replace_all_uses_with(value)
        scope.values[name] = value
        if not name[1:2].isdigit() and (hint := _HINT.match(name)):
            value.name_hint = hint[1]

    def _forward(self, name: str, type_: Attribute) -> SSAValue:
        if not _VALUE.fullmatch(name):
            raise Unreadable(f"values between parentheses, not `{name}`", 0)
        if name in self.scope.forward:
            value, line = self.scope.forward[name]
            if value.type != type_:
                raise Unreadable(f"{name} to have type {value.type} as in line {line + 1}", 0)
            return value
        value = _Placeholder.create(result_types=[type_]).results[0]
        self.scope.forward[name] = (value, self.line)
        return value

    def _check_forward(self, scope: _Scope) -> None:
        for name, (_, line) in scope.forward.items():
            self.line = line
            raise Unreadable(f"a definition of {name}, which is used here", 0)

    def _successors(self, labels: str) -> list[Block]:
        if not self.open:
            raise Unreadable("an operation without successors: there is no region with blocks", 0)
        op = self.open[-1]
        blocks: list[Block] = []
        for label in map(str.strip, labels.split(",")):
            if not _BLOCK.fullmatch(label):
                raise Unreadable("labels of blocks between brackets", 0)
            if label not in op.blocks:
                op.blocks[label] = Block()
                op.mentioned[label] = self.line
            blocks.append(op.blocks[label])
        return blocks
