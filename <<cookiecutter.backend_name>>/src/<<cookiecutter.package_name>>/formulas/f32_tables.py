"""tanh and erf in f32 by a short polynomial for each of 32 pieces, on a machine that looks its coefficients up.

Errors, in ulp: tanh 2.1; erf 1.3. The argument's magnitude a is i step + r, where i picks the row of a table. The rows
are bits of f32 numbers; ``tests/derive_coefficients.py`` derives them.
"""

from __future__ import annotations

import functools
from typing import Final

from xdsl.dialects.builtin import DenseArrayBase, IntegerType, i64
from xdsl.ir import SSAValue

from ..dialects.isa import alu
from .f32_common import ROUND, nearest
from .formula import Formula

TANH_STEP: Final = 9 / 32
TANH_END: Final = 8.84375
ERF_STEP: Final = 1 / 8
ERF_END: Final = 3.9296875
"""The last piece ends a little before index 32, which would be 0 again. From there on the functions are 1."""

ERF_SLOPE: Final = 1.125
ERF_CUT: Final = 1.0625
"""Up to here erf(a) is computed as a multiple of a plus a small rest, beyond, as a constant plus one."""

# tanh(a) = c[0] + c[1] r + ...: error 2^-23.2.
TANH: Final = """
    00000000 3f800000 3516582b beaaaf55 3a2fe22d 3e043510
    3e8c51cc 3f6cc59a be81c507 be74855c 3e172e21 3d6b21be
    3f028437 3f3d7572 bec12c4a bd5e6e8e 3e1b5524 bd34b8ec
    3f301305 3f06e5d8 beb990d6 3d96c6b4 3d90b9e9 bd7824c9
    3f4f2e5b 3eb0a801 be8ef8a1 3de3473f 3b80f8a5 bd034d43
    3f62fe74 3e5ae6f8 be4219bb 3dc64924 bcb7ae53 bbfa8fec
    3f6f0f5b 3e03094e bdf4be11 3d8d2e1e bcc636f2 3b3233ba
    3f763560 3d99ab06 bd93cccb 3d35d460 bc96ca7b 3b9cff95
    3f7a5feb 3d320845 bd2e1504 3cdde762 bc51d7bc 3b81e0ff
    3f7cc792 3ccccfa5 bcca4080 3c836bad bbf65f67 3b329a25
    3f7e28fb 3c6aa9fd bc69177a 3c191438 bb896934 3ae10f71
    3f7ef334 3c061f35 bc056312 3bb0a363 bb5384ca 3a85b791
    3f7f66b6 3b991c5c bb98f375 3b4ab6c9 baa13172 3a1e6f80
    3f7fa89d 3b2ea7ce bb2e21eb 3ae7f1a5 ba90fc8d 39b6bd21
    3f7fce32 3ac72547 bac7833b 3a847609 b99ff4ba 39528f72
    3f7fe39e 3a630383 ba62fe37 3a172576 b98f6d8a 38f0fcb4
    3f7fefd4 3a015f65 ba0416ae 39ac5d21 39bf95b4 388ab1c2
    3f7ff6c9 399371bb b996e2a9 39448172 397ba965 381decbb
    3f7ffac0 39280857 b92ff7c1 38dffc4e 39ace90d 37b42016
    3f7ffd02 38bf7da2 b8be7e48 387f48a4 b863f369 374cdc04
    3f7ffe4c 385a3877 b883b359 3811778b 3a0a40e1 36ea0f6c
    3f7fff07 37f8adf0 b7b834fd 37a5c78f b9d0f25a 3684adf5
    3f7fff72 378db1b6 b71fe870 373ceb8f b9c615c8 36176606
    3f7fffaf 3721786c b659b344 36d74b38 b9aad7d4 35ac0b5e
    3f7fffd2 36b801ab b6b95f3c 36755649 34728b53 35451a4b
    3f7fffe6 3651b010 b709c67e 360bca42 39865505 34e097d7
    3f7ffff1 35eef3ff b459bb86 359f4d33 b8a88bab 347f6941
    3f7ffff7 358826c4 37356c56 35358983 ba1ce1f4 341107e2
    3f7ffffb 351b274d 364e4969 34cedfba b941d797 33a568ac
    3f7ffffd 34b0cec2 36b502be 346bbecd b997cf4c 333c9cea
    3f7ffffe 34497be3 37292644 34065327 ba082722 32d6809a
    3f800000 34a10fb0 00000000 00000000 00000000 00000000
"""
# erf(a) = (ERF_SLOPE min(a, ERF_CUT) + c[0]) + c[1] r + c[2] r^2 + ...: error 2^-25.9.
ERF: Final = """
    00000000 3b5d7504 32c333f4 bec093ec 388f47cb 3de5953c
    b9a1e5ca bc674177 be0e3174 beb7aac6 3d8c7793 3dd5cc99
    bba1563c bd851750 be87ae76 be9e4b6d 3e01b3e4 3da2fa00
    bc91796a be141e65 bebc3a63 be7082cf 3e2a8d8e 3d39aeb0
    bd2c0852 be7c206b bee0f7cf be15fc4f 3e3b1a60 3c0d7471
    bda39a49 beb91697 bef4516f bd63ff7a 3e33a1fc bcee6a50
    be07c6d1 bef6d1bd bef6e3dc 3cdb6130 3e1c85bc bd507a9d
    be4d1b6d bf19aa4f beeb1765 3dbe4b7d 3debd7d7 bd86069a
    be908986 bf35bb84 bed4855a 3e0db4af 3d7e8360 bd955ba7
    be9d252d 3ea2f4ce beb75756 3e265787 3d1244d6 bd70efe5
    be8b79a2 3e723298 be9762de 3e2b8d10 398a22fb bd3b3fbc
    be7d12e8 3e2e72cb be6fda2e 3e21ba81 bd0b3733 bcfd05f8
    be6ab555 3df391b9 be36ae41 3e0e1546 bd3285c8 bc7640e7
    be5e12d9 3da4cea4 be05e485 3deb3142 bd58eb2a bb0d610f
    be55a5f1 3d582a98 bdbd255b 3db8a49c bd44b640 3bd57369
    be5033c2 3d09675a bd80d2ff 3d8a1e26 bd28d200 3c3dd0d6
    be4cca3d 3ca94dcf bd295d32 3d4585b2 bcfb6305 3c55f1bf
    be4ab7bd 3c4a3127 bcd6cd80 3d075278 bcdebb3d 3c4bddfa
    be497f71 3bea0a1d bc83b58b 3cb1f7e6 bc8c9201 3c2e574c
    be48cd3e 3b8348c6 bc1bf265 3c60f582 bc4b6572 3c0950ac
    be486aae 3b0ec18c bbb2882c 3c08ce70 bc0253dd 3bc90c15
    be4835d7 3a96744c bb4488ed 3ba0401b bc14c7a6 3b8a1b95
    be481a61 3a19b066 bad1cffa 3b34e7f1 bbcb9dfd 3b348de8
    be480c8b 399829c8 ba5e9a8d 3ac4f06b 3af80408 3ae123fc
    be4805ca 39120475 b9e2837c 3a4edb44 3b2af725 3a859f76
    be480298 3887cf0e b95945f7 39d1b930 3a31fba0 3a17c234
    be480121 37f4daf4 b8b73ce8 394d5220 bb108093 39a4f63c
    be48007a 3755f04f b81da7ac 38c228d2 bac98458 392c4ccc
    be480032 36b52cb9 b779b634 38316607 ba8f9a42 38ace782
    be480014 3614b538 b60ece40 379ca543 baca3c38 3826c1d9
    be480008 356c9b8f 3704e8a0 3705b4c4 bb3d4687 379ae0e3
    be480000 35719787 00000000 00000000 00000000 00000000
"""


@functools.cache
def columns(table: str) -> list[DenseArrayBase[IntegerType]]:
    """The c[0] of all rows, the c[1], and so on."""
    rows = [[int(bits, 16) for bits in row.split()] for row in table.strip().splitlines()]
    return [DenseArrayBase.from_list(i64, column) for column in zip(*rows, strict=True)]


def tanh(f: Formula, x: SSAValue) -> SSAValue:
    _, index, r = _piece(f, x, TANH_STEP, TANH_END)
    first, *rest = columns(TANH)
    return f(alu.CopySign, f(alu.Fma, _polynomial(f, index, r, rest), r, f.lookup(index, first)), x)


def erf(f: Formula, x: SSAValue) -> SSAValue:
    a, index, r = _piece(f, x, ERF_STEP, ERF_END)
    first, *rest = columns(ERF)
    start = f(alu.Fma, _at_most(f, a, ERF_CUT), ERF_SLOPE, f.lookup(index, first))
    return f(alu.CopySign, f(alu.Fma, _polynomial(f, index, r, rest), r, start), x)


def _at_most(f: Formula, a: SSAValue, limit: float) -> SSAValue:
    """min(a, limit); NaN stays NaN."""
    return f.select(f.compare("ogt", a, limit), limit, a)


def _piece(f: Formula, x: SSAValue, step: float, end: float) -> tuple[SSAValue, SSAValue, SSAValue]:
    """|x|, and i and r of min(|x|, end) = i step + r. Products with `step`, which has few bits, are exact."""
    a = f(alu.AbsF, x)
    within = _at_most(f, a, end)
    index, n = nearest(f, f(alu.Fma, within, 1 / step, ROUND), ROUND)
    return a, index, f(alu.Fma, n, -step, within)


def _polynomial(
    f: Formula, index: SSAValue, r: SSAValue, tables: list[DenseArrayBase[IntegerType]]
) -> SSAValue:
    *lower, highest = tables
    total = f.lookup(index, highest)
    for table in reversed(lower):
        total = f(alu.Fma, total, r, f.lookup(index, table))
    return total
