"""What the lowering drops: instructions without effects whose results nothing uses, whoever defines them."""

from __future__ import annotations

from isa_kernels import parse_kernel
from xdsl.dialects import scf
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.traits import Pure

from <<cookiecutter.package_name>>.dialects.isa import alu, control
from <<cookiecutter.package_name>>.dialects.isa.base import Instruction, Register, mnemonic
from <<cookiecutter.package_name>>.lowering.cleanup import remove_unused


@irdl_op_definition
class Foreign(alu.FloatUnary):
    """An instruction of another package, pure as its base is."""

    name = mnemonic("foreign")


@irdl_op_definition
class Counting(Instruction):
    """One that does something beside its result."""

    name = mnemonic("counting")
    source = operand_def(Register)
    result = result_def(Register)


def test_unused_instructions_of_other_packages_are_dropped() -> None:
    module = parse_kernel({"x": "f32"}, "isa.return")
    kernel = next(op for op in module.walk() if isinstance(op, control.Kernel))
    block = kernel.body.blocks[0]
    (x,) = block.args
    first = Foreign.create(operands=[x], result_types=[x.type])
    second = Foreign.create(operands=[first.result], result_types=[x.type])
    counting = Counting.create(operands=[x], result_types=[x.type])
    block.insert_ops_before([first, second, counting], block.ops.first)  # type: ignore[arg-type]
    assert Foreign.has_trait(Pure) and not Counting.has_trait(Pure)
    remove_unused(kernel)
    assert [type(op) for op in block.ops] == [Counting, control.Return]


def test_terminators_stay() -> None:
    body = """%zero = isa.const 0 : i64 : i64
    scf.for %i = %zero to %n step %n : i64 {
      %dead = isa.addi %i, %n : i64
    }
    isa.return"""
    module = parse_kernel({"n": "i64"}, body)
    remove_unused(module)
    loop = next(op for op in module.walk() if isinstance(op, scf.ForOp))
    assert [type(op) for op in loop.body.blocks[0].ops] == [scf.YieldOp]
