"""Real TTIR in generic form, made by the installed Triton with no backend of ours involved.

`generic_ttir` takes a ``@triton.jit`` function through Triton's front end and target-independent passes and
has MLIR print it in generic form (what it falls back to when a module does not verify). `SAMPLES` names the
kernels that the parser and dialect tests go through.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import triton
import triton.language as tl
from triton._C.libtriton import ir, passes
from triton.backends.compiler import BaseBackend, GPUTarget
from triton.compiler.compiler import ASTSource
from triton.language.extra import libdevice


@dataclass(frozen=True)
class _Options:
    num_warps: int = 4
    num_ctas: int = 1
    num_stages: int = 3
    warp_size: int = 1
    enable_fp_fusion: bool = True
    supported_fp8_dtypes: tuple[str, ...] = ("fp8e5", "fp8e4nv", "fp8e4b8", "fp8e5b16")
    deprecated_fp8_dot_operand_dtypes: tuple[str, ...] = ()
    default_dot_input_precision: str = "ieee"
    allowed_dot_input_precisions: tuple[str, ...] = ("ieee", "tf32", "tf32x3", "bf16x3", "bf16x6")
    max_num_imprecise_acc_default: int = 0
    extern_libs: tuple[tuple[str, str], ...] = ()
    debug: bool = False
    sanitize_overflow: bool = False
    arch: str = "none"
    backend_name: str = "none"
    instrumentation_mode: str = ""
    fpsan_homomorphic_casts: bool = False
    ir_override: str | None = None


class _NoBackend(BaseBackend):
    """Just enough of a backend for Triton's front end."""

    binary_ext = "txt"

    @staticmethod
    def supports_target(target: GPUTarget) -> bool:
        return target.backend == "none"

    def hash(self) -> str:
        return "none"

    def parse_options(self, options: dict[str, Any]) -> _Options:
        return _Options()

    def add_stages(self, stages: dict[str, Any], options: Any, language: Any = None) -> None: ...

    def load_dialects(self, ctx: Any) -> None: ...

    def get_module_map(self) -> dict[str, Any]:
        from triton.language.extra.cuda import libdevice as cuda_libdevice

        return {"triton.language.extra.libdevice": cuda_libdevice}

    def get_codegen_implementation(self, options: Any) -> dict[str, Any]:
        return {"min_dot_size": lambda lhs, rhs: (1, 1, 1)}


def generic_ttir(
    function: Any,
    signature: dict[str, str],
    constants: dict[str, Any] | None = None,
    *,
    debug: bool = False,
    locations: bool = True,
    attributes: dict[Any, Any] | None = None,
) -> str:
    """The TTIR of `function`, in generic form, after Triton's target-independent passes.

    `debug` switches device asserts on; `locations` says whether source locations are printed;
    `attributes` maps an argument path such as ``(0,)`` to ``[["tt.divisibility", 16]]``.
    """
    backend = _NoBackend(GPUTarget("none", "none", 1))
    options = _Options(debug=debug)
    context = ir.context()
    ir.load_dialects(context)
    source = ASTSource(function, signature, constants or {}, attributes or {})
    arguments = [
        backend.target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context
    ]  # fmt: skip
    wanted = len(inspect.signature(source.make_ir).parameters)
    module = source.make_ir(*arguments[-wanted:])
    manager = ir.pass_manager(context)
    manager.enable_debug()
    passes.common.add_inliner(manager)
    passes.common.add_canonicalizer(manager)
    passes.ttir.add_combine(manager)
    passes.common.add_cse(manager)
    passes.common.add_symbol_dce(manager)
    passes.ttir.add_loop_unroll(manager)
    manager.run(module, "make_ttir")
    # An attribute that LLVM's dialect refuses: the module does not verify, so MLIR prints generic form.
    module.set_attr("llvm.data_layout", ir.builder(context).get_string_attr("zz"))
    text = str(module) if locations else module.str_nodebug()
    assert '"builtin.module"' in text
    return text


@dataclass(frozen=True)
class Sample:
    """A kernel and the arguments it is compiled for."""

    function: Any
    signature: dict[str, str]
    constants: dict[str, Any] = field(default_factory=dict)
    debug: bool = False
    attributes: dict[Any, Any] = field(default_factory=dict)


SAMPLES: dict[str, Sample] = {}


@cache
def sample_text(name: str, locations: bool = True) -> str:
    """Generic TTIR of `SAMPLES[name]` (compiled once a process)."""
    s = SAMPLES[name]
    return generic_ttir(
        s.function, s.signature, s.constants, debug=s.debug, locations=locations, attributes=s.attributes
    )


def _sample(
    *, debug: bool = False, attributes: dict[Any, Any] | None = None, **arguments: Any
) -> Callable[[Any], Any]:
    """Register a kernel: a string argument is a Triton type, anything else a constexpr."""

    def register(function: Any) -> Any:
        signature = {k: v if isinstance(v, str) else "constexpr" for k, v in arguments.items()}
        constants = {k: v for k, v in arguments.items() if not isinstance(v, str)}
        name = function.fn.__name__
        SAMPLES[name] = Sample(function, signature, constants, debug, attributes or {})
        return function

    return register


# --- memory and arithmetic ----------------------------------------------------------------------------------


@_sample(
    x_ptr="*fp32", y_ptr="*fp32", o_ptr="*fp32", n="i32", B=1024, attributes={(0,): [["tt.divisibility", 16]]}
)
@triton.jit
def add(x_ptr, y_ptr, o_ptr, n, B: tl.constexpr):
    offs = tl.program_id(0) * B + tl.arange(0, B)
    m = offs < n
    x = tl.load(x_ptr + offs, mask=m)
    y = tl.load(y_ptr + offs, mask=m)
    tl.store(o_ptr + offs, x + y, mask=m)


@_sample(x_ptr="*fp32", o_ptr="*fp32", n="i32", B=128)
@triton.jit
def cached(x_ptr, o_ptr, n, B: tl.constexpr):
    offs = tl.arange(0, B)
    m = offs < n
    x = tl.load(x_ptr + offs, mask=m, other=0.0, cache_modifier=".cg", eviction_policy="evict_first")
    y = tl.load(x_ptr + offs, volatile=True)
    tl.store(o_ptr + offs, x + y, mask=m, cache_modifier=".wt", eviction_policy="evict_last")


@_sample(
    i_ptr="*i32", j_ptr="*i64", k_ptr="*i8", l_ptr="*u16", f_ptr="*fp32", h_ptr="*fp16", b_ptr="*bf16",
    d_ptr="*fp64", p_ptr="*i1", n="i64", B=32,
)  # fmt: skip
@triton.jit
def arithmetic(i_ptr, j_ptr, k_ptr, l_ptr, f_ptr, h_ptr, b_ptr, d_ptr, p_ptr, n, B: tl.constexpr):
    offs = tl.arange(0, B)
    i = tl.load(i_ptr + offs)
    j = tl.load(j_ptr + offs)
    k = tl.load(k_ptr + offs)
    u = tl.load(l_ptr + offs)
    f = tl.load(f_ptr + offs)
    h = tl.load(h_ptr + offs)
    b = tl.load(b_ptr + offs)
    d = tl.load(d_ptr + offs)
    p = tl.load(p_ptr + offs)
    # Shifts by name: their operators are delimiters of the template that this file is kept in.
    i = (i // 3 + i % 5) ^ i.__lshift__(2) | i.__rshift__(1) & ~i
    u = (u // 3 + u % 5).__rshift__(2)
    j = tl.maximum(j, n) - tl.minimum(j, i) + tl.abs(j)
    k = tl.where(p, k, -k)
    f = tl.where(i > 3, f % 2.0, -f) + h.to(tl.float32) * b.to(tl.float32) / 3.5
    f = tl.fma(f, f, f) + tl.clamp(f, 0.0, 1.0) + tl.div_rn(f, f) + tl.sqrt_rn(tl.abs(f))
    f = tl.maximum(f, 0.1, propagate_nan=tl.PropagateNan.ALL) + tl.minimum(f, f)
    f += tl.exp(f) + tl.exp2(f) + tl.log(f) + tl.log2(f) + tl.sin(f) + tl.cos(f) + tl.erf(f) + tl.rsqrt(f)
    f += tl.sqrt(f) + tl.floor(f) + tl.ceil(f)
    d = d * 0.1 + f.to(tl.float64) + j.to(tl.float64) + float("inf")
    j += d.to(tl.int64) + u.to(tl.int64) + tl.umulhi(i, i).to(tl.int64)
    h = (f.to(tl.float16) + float("nan")) * 1e-3
    b = f.to(tl.bfloat16, fp_downcast_rounding="rtne") - float("inf")
    tl.store(i_ptr + offs, f.to(tl.int32, bitcast=True) + u.to(tl.int32))
    tl.store(j_ptr + offs, j)
    tl.store(k_ptr + offs, k)
    tl.store(l_ptr + offs, f.to(tl.uint16))
    tl.store(h_ptr + offs, h)
    tl.store(b_ptr + offs, b)
    tl.store(d_ptr + offs, d)
    tl.store(p_ptr + offs, p & (f == f))


@_sample(x_ptr="*fp32", o_ptr="*fp32", a="i64", B=16)
@triton.jit
def pointer_casts(x_ptr, o_ptr, a, B: tl.constexpr):
    offs = tl.arange(0, B)
    p = a.to(tl.pointer_type(tl.float32), bitcast=True)
    q = (x_ptr + offs).to(tl.int64)
    r = x_ptr.to(tl.pointer_type(tl.int32), bitcast=True)
    tl.store(o_ptr + offs, tl.load(p + offs) + q.to(tl.float32) + tl.load(r + offs).to(tl.float32))


if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 9):  # 3.9 aborts on a pointer to pointers

    @_sample(p_ptr="*i64", o_ptr="*fp32", B=16)
    @triton.jit
    def pointer_table(p_ptr, o_ptr, B: tl.constexpr):
        offs = tl.arange(0, B)
        table = p_ptr.to(tl.pointer_type(tl.pointer_type(tl.float32)))
        q = tl.load(table + tl.program_id(1))
        tl.store(o_ptr + offs, tl.load(q + offs))


# --- control flow -------------------------------------------------------------------------------------------


@_sample(o_ptr="*fp32", x_ptr="*fp32", xs="i32", os="i32", rows="i32", n="i32", B=1024)
@triton.jit
def softmax(o_ptr, x_ptr, xs, os, rows, n, B: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=2):
        c = tl.arange(0, B)
        m = c < n
        r = tl.load(x_ptr + row * xs + c, mask=m, other=-float("inf"))
        e = tl.exp(r - tl.max(r, axis=0))
        tl.store(o_ptr + row * os + c, e / tl.sum(e, axis=0), mask=m)


@_sample(x_ptr="*i32", n="i32")
@triton.jit
def while_loop(x_ptr, n):
    i = 0
    s = n
    while i < s:
        if s % 2 == 0:
            s = s // 2
        else:
            s = s - 3
            i += 1
    tl.store(x_ptr, i + s)


@_sample(x_ptr="*fp32", n="i32")
@triton.jit
def early_return(x_ptr, n):
    pid = tl.program_id(0)
    if pid >= n:
        return
    x = tl.load(x_ptr + pid)
    if x > 0:
        tl.store(x_ptr + pid, -x)
        return
    tl.store(x_ptr + pid, x * 2.0)


@triton.jit(noinline=True)
def _square_and_double(x, y):
    return x * x, y + y


@_sample(x_ptr="*fp32", B=64)
@triton.jit
def call(x_ptr, B: tl.constexpr):
    a, b = _square_and_double(tl.load(x_ptr), tl.program_id(2))
    tl.store(x_ptr + tl.arange(0, B), a + b)


# --- reductions and scans -----------------------------------------------------------------------------------


@_sample(x="*fp16", y="*fp16", w="*fp16", b="*fp16", stride="i32", n="i32", eps="fp32", B=256)
@triton.jit
def layer_norm(x, y, w, b, stride, n, eps, B: tl.constexpr):
    row = tl.program_id(0)
    acc = tl.zeros([B], dtype=tl.float32)
    for off in range(0, n, B):
        cols = off + tl.arange(0, B)
        acc += tl.load(x + row * stride + cols, mask=cols < n, other=0.0).to(tl.float32)
    mean = tl.sum(acc, axis=0) / n
    for off in range(0, n, B):
        cols = off + tl.arange(0, B)
        m = cols < n
        v = tl.load(x + row * stride + cols, mask=m, other=0.0).to(tl.float32) - mean
        r = v * tl.rsqrt(tl.sum(tl.where(m, v * v, 0.0), axis=0) / n + eps)
        tl.store(y + row * stride + cols, r * tl.load(w + cols, mask=m) + tl.load(b + cols, mask=m), mask=m)


@triton.jit
def _pair(a0, b0, a1, b1):
    return a0 + a1, tl.minimum(b0, b1)


@_sample(x_ptr="*fp32", o_ptr="*i32", M=8, N=16)
@triton.jit
def reductions(x_ptr, o_ptr, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + i)
    tl.store(o_ptr + tl.arange(0, M), tl.argmax(x, axis=1))
    s, t = tl.reduce((x, i), 0, _pair)
    tl.store(o_ptr + tl.arange(0, N), t + s.to(tl.int32))
    tl.store(o_ptr, tl.xor_sum(tl.xor_sum(i, axis=1), axis=0))


@triton.jit
def _linear(a0, b0, a1, b1):
    return a0 * a1, b0 * a1 + b1


@_sample(x_ptr="*fp32", N=64)
@triton.jit
def scans(x_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    y = tl.cumsum(x, 0)
    p, q = tl.associative_scan((x, y), 0, _linear, reverse=True)
    tl.store(x_ptr + i, p + q)
    tl.store(x_ptr + i, tl.sort(x))
    tl.store(x_ptr + tl.arange(0, 16), tl.histogram(i, 16))
    tl.store(x_ptr + tl.arange(0, 16), tl.histogram(i, 16, mask=i < 3))


# --- shapes -------------------------------------------------------------------------------------------------


@_sample(x_ptr="*fp32", M=8, N=16)
@triton.jit
def shapes(x_ptr, M: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + i)
    j = tl.join(x, x + 1.0)
    a, b = tl.split(j)
    t = tl.trans(a + b)
    r = tl.reshape(t, (M, N))
    v = tl.ravel(r, can_reorder=True)
    c = tl.cat(v, v, can_reorder=True)
    tl.store(x_ptr + tl.arange(0, 2 * M * N), c)
    g = tl.gather(x, i % M, axis=0)
    k = tl.permute(tl.reshape(g, (2, M // 2, N)), (2, 0, 1))
    tl.store(x_ptr + tl.arange(0, M * N), tl.ravel(k))
    tl.store(x_ptr, tl.reshape(tl.load(x_ptr + tl.arange(0, 1)), []) if False else tl.load(x_ptr))
    tl.store(x_ptr + tl.arange(0, 1), tl.full((1,), 2.0, tl.float32))
    tl.store(
        x_ptr + tl.arange(0, M), tl.interleave(tl.arange(0, M // 2), tl.arange(0, M // 2)).to(tl.float32)
    )


# --- matrix products ----------------------------------------------------------------------------------------


@_sample(
    a="*fp16", b="*fp16", c="*fp16", M="i32", N="i32", K="i32", sam="i32", sbk="i32", scm="i32",
    BM=32, BN=64, BK=16,
)  # fmt: skip
@triton.jit
def matmul(a, b, c, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    npn = tl.cdiv(N, BN)
    om = (pid // npn * BM + tl.arange(0, BM)) % M
    on = (pid % npn * BN + tl.arange(0, BN)) % N
    ok = tl.arange(0, BK)
    ap = a + om[:, None] * sam + ok[None, :]
    bp = b + ok[:, None] * sbk + on[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(ap, mask=ok[None, :] < K - k * BK, other=0.0)
        y = tl.load(bp, mask=ok[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc, input_precision="tf32x3")
        ap += BK
        bp += BK * sbk
    tl.store(
        c + scm * om[:, None] + on[None, :], acc.to(tl.float16), mask=(om[:, None] < M) & (on[None, :] < N)
    )


@_sample(a="*i8", sa="*i8", b="*u8", sb="*u8", c="*fp32", M=32, N=32, K=64)
@triton.jit
def dot_scaled(a, sa, b, sb, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    x = tl.load(a + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :])
    xs = tl.load(sa + tl.arange(0, M)[:, None] * (K // 32) + tl.arange(0, K // 32)[None, :])
    y = tl.load(b + tl.arange(0, K // 2)[:, None] * N + tl.arange(0, N)[None, :])
    ys = tl.load(sb + tl.arange(0, N)[:, None] * (K // 32) + tl.arange(0, K // 32)[None, :])
    x8 = x.to(tl.float8e4nv, bitcast=True)
    r = tl.dot_scaled(x8, xs.to(tl.uint8, bitcast=True), "e4m3", y, ys, "e2m1")
    r = tl.dot_scaled(x8, None, "e4m3", y, ys, "e2m1", acc=r, fast_math=True)
    tl.store(c + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], r)


@_sample(x_ptr="*fp32", a="*fp8e5", b="*fp8e4nv", c="*fp8e4b8", d="*fp8e5b16", N=32)
@triton.jit
def fp8(x_ptr, a, b, c, d, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(a + i, x.to(tl.float8e5))
    tl.store(a + i, x.to(tl.float8e5, fp_downcast_rounding="rtz"))
    tl.store(b + i, x.to(tl.float8e4nv))
    tl.store(c + i, x.to(tl.float8e4b8))
    tl.store(d + i, x.to(tl.float8e5b16))
    tl.store(x_ptr + i, tl.load(a + i).to(tl.float32) + tl.load(b + i).to(tl.float32))


# --- atomics ------------------------------------------------------------------------------------------------


@_sample(i_ptr="*i32", u_ptr="*u32", f_ptr="*fp32", n="i32", B=32)
@triton.jit
def atomics(i_ptr, u_ptr, f_ptr, n, B: tl.constexpr):
    i = tl.arange(0, B)
    m = i < n
    v = tl.atomic_add(i_ptr + i, 1, mask=m, sem="relaxed", scope="cta")
    v += tl.atomic_max(i_ptr + i, v, sem="acquire")
    v += tl.atomic_min(i_ptr + i, v, sem="release", scope="sys")
    v += tl.atomic_and(i_ptr + i, v) + tl.atomic_or(i_ptr + i, v) + tl.atomic_xor(i_ptr + i, v)
    v += tl.atomic_xchg(i_ptr + i, v)
    u = tl.atomic_max(u_ptr + i, v.to(tl.uint32, bitcast=True)) + tl.atomic_min(u_ptr + i, 3)
    f = tl.atomic_add(f_ptr + i, u.to(tl.float32))
    f += tl.atomic_max(f_ptr + i, f)
    v += tl.atomic_cas(i_ptr + i, v, v + 1)
    while tl.atomic_cas(i_ptr, 0, 1) == 1:
        pass
    tl.debug_barrier()
    tl.store(f_ptr + i, f + v)


# --- descriptors --------------------------------------------------------------------------------------------


@_sample(x_ptr="*fp16", u_ptr="*u8", M="i32", N="i32", B=32)
@triton.jit
def descriptors(x_ptr, u_ptr, M, N, B: tl.constexpr):
    d = tl.make_tensor_descriptor(x_ptr, shape=[M, N], strides=[N, 1], block_shape=[B, B])
    e = tl.make_tensor_descriptor(u_ptr, shape=[M, N], strides=[N, 1], block_shape=[B, B])
    x = d.load([0, B])
    d.store([B, 0], x)
    e.store([B, 0], e.load([0, 0]))
    d.atomic_add([0, 0], x)
    g = tl.make_tensor_descriptor(
        x_ptr, shape=[M, N], strides=[N, 1], block_shape=[1, B], padding_option="nan"
    )
    y = g.gather(tl.arange(0, B), 0)
    g.scatter(y, tl.arange(0, B), 8)


@_sample(d="tensordesc<fp16[16,32]>")
@triton.jit
def descriptor_argument(d):
    d.store([16, 0], d.load([0, 0]))


if hasattr(tl, "make_block_ptr") and hasattr(ir.builder, "create_make_block_ptr"):

    @_sample(x_ptr="*fp16", M="i32", N="i32", B=16)
    @triton.jit
    def block_pointers(x_ptr, M, N, B: tl.constexpr):
        p = tl.make_block_ptr(
            x_ptr, shape=(M, N), strides=(N, 1), offsets=(0, B), block_shape=(B, B), order=(1, 0)
        )
        x = tl.load(p, boundary_check=(0, 1), padding_option="nan")
        p = tl.advance(p, (0, B))
        tl.store(p, x, boundary_check=(1,))


# --- the rest -----------------------------------------------------------------------------------------------


@_sample(x_ptr="*fp32", n="i32", B=16, debug=True)
@triton.jit
def printing(x_ptr, n, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    tl.device_print('x is loc(here) "q"\n', x, i)
    tl.device_print("n", n, hex=True)
    tl.device_print("nothing")
    tl.device_assert(x > 0.0, "é -> \\ {loc(3)} }>")
    tl.assume(n > 3)
    tl.store(x_ptr + i, x)


@triton.jit
def _collatz(x):
    steps = 0
    while x > 1:
        if x % 2 == 0:
            x = x // 2
        else:
            x = 3 * x + 1
        steps += 1
    return steps


@triton.jit
def _sign(x):
    if x > 0:
        return 1
    return -1


@_sample(x_ptr="*i32", B=16)
@triton.jit
def map_elementwise(x_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    tl.store(x_ptr + i, tl.map_elementwise(_collatz, x))
    tl.store(x_ptr + i, tl.map_elementwise(_sign, x))


@_sample(x_ptr="*fp32", o_ptr="*fp32", n="i32", p="fp32", seed="i32", B=128)
@triton.jit
def dropout(x_ptr, o_ptr, n, p, seed, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(o_ptr + i, tl.where(tl.rand(seed, i) > p, x / (1 - p), 0.0), mask=i < n)


@_sample(x_ptr="*fp32", d_ptr="*fp64", B=32)
@triton.jit
def extern(x_ptr, d_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    tl.store(x_ptr + i, libdevice.asin(x) + libdevice.pow(x, x))
    tl.store(d_ptr + i, libdevice.tanh(tl.load(d_ptr + i)))


@_sample(x_ptr="*i32", B=32)
@triton.jit
def inline_asm(x_ptr, B: tl.constexpr):
    i = tl.arange(0, B)
    x = tl.load(x_ptr + i)
    y = tl.inline_asm_elementwise(
        "{ add $0, $1, $2; }", "=r,r,r", [x, i], dtype=tl.int32, is_pure=True, pack=1
    )
    a, b = tl.inline_asm_elementwise(
        "swap $0, $1, $2, $3", "=r,=r,r,r", [x, y], dtype=(tl.int32, tl.int32), is_pure=False, pack=1
    )
    tl.store(x_ptr + i, a + b)


if hasattr(tl, "atomic_poll"):

    @_sample(x_ptr="*i32", B=32)
    @triton.jit
    def atomic_access(x_ptr, B: tl.constexpr):
        i = tl.arange(0, B)
        v = tl.atomic_load(x_ptr + i, mask=i < 3, sem="acquire")
        tl.atomic_store(x_ptr + i, v + 1, mask=i < 3, sem="release", scope="sys")
        tl.atomic_poll(x_ptr, 1)
        reached = tl.atomic_poll(x_ptr, 2, timeout_ns=1000)
        tl.store(x_ptr + i, tl.fdiv(v.to(tl.float32), 3.0, approx=True).to(tl.int32), mask=reached)
