"""``opt``: reads a module, runs passes over it, prints it. xDSL's ``xdsl-opt`` with what this package adds.

Passes go by their own names (``-p lower,expand-special``); those of xDSL (``cse``, ``dce``, ``canonicalize``) work
on our instructions, too. The format of the input is recognised. Source locations are printed with
``--print-debuginfo`` only, as by mlir-opt.
"""

from __future__ import annotations

import argparse
import re
import sys
from io import BytesIO
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass, PassPipeline
from xdsl.printer import Printer
from xdsl.utils.exceptions import DiagnosticException, ParseError
from xdsl.xdsl_opt_main import xDSLOptMain

from ..codegen.emission import EMITTERS
from ..dialects.isa import ISA
from ..dialects.isa.base import Instruction
from ..dialects.locations import LOC
from ..errors import BackendError
from ..language import load_functions
from ..passes.pipeline import load_passes
from ..passes.registry import REGISTRY, STAGES
from ..target import BACKEND_NAME
from ..universe import XDSL_STAGES, LLVMText, TritonIR, passes, renamed

TTIR, LLIR = "ttir", "llir"
"""What Triton IR is called as a format of input, and LLVM IR as one of output (``-t``)."""

_TRITON = re.compile(rb"\btt\.func\b")
"""What every module of Triton IR has, in either form."""


class OptTool(xDSLOptMain):
    """xDSL's driver, with its arguments in the parser of our command line."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        load_passes()
        load_functions()
        self.available_frontends = {}
        self.available_passes = {}
        self.available_targets = {}
        self.ctx = Context()
        self.register_all_dialects()
        self.register_all_frontends()
        self.register_all_passes()
        self.register_all_targets()
        self.register_all_arguments(parser)

    def execute(self, arguments: argparse.Namespace) -> None:
        """Everything after the arguments are known. Raises what xDSL and the passes raise."""
        self.args = arguments
        if arguments.input_file == "-":
            arguments.input_file = None
        # Our locations are attributes. Those that xDSL would print are unknown, and some of them cannot be read back.
        self.with_locations = arguments.print_debuginfo
        arguments.print_debuginfo = False
        self.ctx.allow_unregistered = arguments.allow_unregistered_dialect
        self.setup_pipeline()
        self.run()  # type: ignore[no-untyped-call]

    # --- what there is: xDSL's, what the entry point `xdsl.universe` brings, and ours ---------------------------

    def register_all_dialects(self) -> None:
        super().register_all_dialects()  # type: ignore[no-untyped-call]
        if BACKEND_NAME not in self.ctx.registered_dialect_names:
            self.ctx.register_dialect(BACKEND_NAME, lambda: ISA)
        for instruction in EMITTERS:  # extensions bring instructions of their own
            if issubclass(instruction, Instruction) and self.ctx.get_optional_op(instruction.name) is None:
                self.ctx.load_op(instruction)

    def register_all_frontends(self) -> None:
        super().register_all_frontends()  # type: ignore[no-untyped-call]
        self.available_frontends[TTIR] = lambda: renamed(TritonIR, TTIR)

    def register_all_passes(self) -> None:
        super().register_all_passes()  # type: ignore[no-untyped-call]
        self.available_passes.update(passes())

    def register_all_targets(self) -> None:
        super().register_all_targets()  # type: ignore[no-untyped-call]
        self.available_targets[LLIR] = lambda: renamed(LLVMText, LLIR)

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        super().register_all_arguments(arg_parser)
        arg_parser.add_argument(
            "--print-ir-after-all",
            action="store_true",
            help="print the module after each pass to standard error, as mlir-opt does",
        )

    def output_resulting_program(self, prog: ModuleOp) -> str:
        if not self.with_locations:
            for op in prog.walk():
                op.attributes.pop(LOC, None)
        return super().output_resulting_program(prog)

    # --- how it is run ----------------------------------------------------------------------------------------

    def setup_pipeline(self) -> None:
        for name in re.findall(r"[\w.-]+(?=[,{]|$)", re.sub(r"\{[^}]*\}", "", self.args.passes)):
            if name not in self.available_passes:
                raise BackendError(_unknown_pass(name))
        super().setup_pipeline()  # type: ignore[no-untyped-call]
        verify_and_report = self.pipeline.callback
        assert verify_and_report is not None

        def callback(before: ModulePass | None, module: ModuleOp, after: ModulePass | None) -> None:
            if before is not None and self.args.print_ir_after_all:
                sys.stdout.flush()
                print(f"// -----// IR Dump After {before.name} //----- //", file=sys.stderr)
                Printer(stream=sys.stderr).print_op(module)
                print("\n", file=sys.stderr, flush=True)
            verify_and_report(before, module, after)

        self.pipeline = PassPipeline(self.pipeline.passes, callback)

    def get_input_stream(self) -> tuple[IO[bytes], str]:
        """Any extension will do: the text says what it is."""
        if str(self.args.input_file).endswith(".py"):
            raise BackendError(
                f"{self.args.input_file} is a Python program; this reads Triton IR (.ttir) or instructions "
                f"(.{BACKEND_NAME}ir), as TRITON_KERNEL_DUMP=1 writes them"
            )
        stream, _ = super().get_input_stream()
        return stream, "mlir"

    def parse_chunk(self, chunk: IO[bytes], file_extension: str, start_offset: int = 0) -> ModuleOp | None:
        text = chunk.read()
        is_triton = _TRITON.search(text) is not None
        return super().parse_chunk(BytesIO(text), TTIR if is_triton else file_extension, start_offset)


def _unknown_pass(name: str) -> str:
    for stage in STAGES:
        if stage not in XDSL_STAGES and name in {p.name for p in REGISTRY.passes(stage)}:
            return f"pass {name!r} is of stage {stage!r}, which does not work on xDSL modules: it cannot run here"
    return f"there is no pass {name!r}; a pass must be one of {', '.join(passes())}, or one of xDSL's (see --help)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(tool=OptTool(parser))


def run(arguments: argparse.Namespace) -> int:
    """Print the module; 0, or 1 and what is wrong with it on standard error."""
    try:
        arguments.tool.execute(arguments)
    except (DiagnosticException, ParseError) as error:
        print(error, file=sys.stderr)
        return 1
    except (OSError, ValueError) as error:
        raise BackendError(str(error)) from error
    return 0
