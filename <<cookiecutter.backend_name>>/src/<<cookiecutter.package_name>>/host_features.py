"""The CPU that stands in for the accelerator: what its registers and instructions look like to the code generator."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import llvmlite.binding as llvm

from . import llvm_lock as llvm_lock
from .tile_permission import tiles_allowed


@dataclass(frozen=True)
class HostFeatures:
    """CPU ``name`` and ``features`` in LLVM's spelling (``"+avx2,-avx512f,..."``), e.g. ``"znver5"``.

    Together with the versions of LLVM and of this package they determine the object code.
    """

    name: str
    features: str
    triple: str

    @staticmethod
    @functools.cache
    def current() -> HostFeatures:
        """The CPU this process runs on."""
        features = llvm.get_host_cpu_features().flatten()
        if not tiles_allowed():
            features = features.replace("+amx-", "-amx-")
        return HostFeatures(llvm.get_host_cpu_name(), features, llvm.get_process_triple())

    @functools.cached_property
    def enabled(self) -> frozenset[str]:
        """Names of the features that are there."""
        return frozenset(f[1:] for f in self.features.split(",") if f.startswith("+"))

    def has(self, feature: str) -> bool:
        return feature in self.enabled

    @property
    def is_x86(self) -> bool:
        return self.triple.startswith("x86_64")

    @property
    def is_arm64(self) -> bool:
        return self.triple.startswith(("aarch64", "arm64"))

    @property
    def vector_bits(self) -> int:
        """Width of the widest vector register."""
        if self.has("avx512f"):
            return 512
        return 256 if self.has("avx") else 128

    @property
    def streaming_bits(self) -> int:
        """Width of the vectors that loads, stores and arithmetic between them are fastest with.

        Zen 4 takes two rounds for 512 bits and moves them no faster: 1 to 16 million additions took 1.1 to 1.25 times
        as long as with 256 bits. Its matrix products gain from the larger registers all the same.
        """
        return min(self.vector_bits, 256) if self.name == "znver4" else self.vector_bits

    @property
    def vector_registers(self) -> int:
        return 32 if self.has("avx512f") or self.is_arm64 else 16

    @property
    def converts_half(self) -> bool:
        """Whether f16 <-> f32 are instructions. Where they are not, LLVM calls functions that no process has."""
        return self.has("f16c") or self.is_arm64

    @property
    def gathers(self) -> bool:
        """Whether vectors of addresses are loaded from faster than one by one."""
        return self.has("avx512f")

    @property
    def multiplies_bf16(self) -> bool:
        """Whether sums of two products of bf16 in f32 are an instruction."""
        return self.has("avx512bf16") and self.has("avx512vl")

    @property
    def scales_by_powers(self) -> bool:
        """Whether a product with 2^n, n a float, that is rounded once is an instruction (``vscalef``)."""
        return self.has("avx512f") and self.has("avx512vl")

    @property
    def looks_up(self) -> bool:
        """Whether picking elements of two registers by index is an instruction (``vpermt2ps``) where formulas run."""
        return self.has("avx512f") and self.streaming_bits == 512

    @property
    def orders_zeros(self) -> bool:
        """Whether a minimum / maximum with -0 < +0 that prefers numbers to NaN is an instruction (``vrange``)."""
        return self.has("avx512dq") and self.has("avx512vl")
