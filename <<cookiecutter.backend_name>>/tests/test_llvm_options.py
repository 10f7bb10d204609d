"""Flags of LLVM hold for one piece of code; other users of the same LLVM do not see them."""

from __future__ import annotations

import threading

import llvmlite.binding as llvm
import pytest

from <<cookiecutter.package_name>>.codegen import llvm_options
from <<cookiecutter.package_name>>.codegen.llvm_options import flag
from <<cookiecutter.package_name>>.codegen.object_code import KEEPS_ADDRESSES, _machine, compile_llvm
from <<cookiecutter.package_name>>.host_features import HostFeatures

LOOP = """
define void @copy(ptr %to, ptr %from, i64 %step) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %offset = mul i64 %i, %step
  %source = getelementptr i32, ptr %from, i64 %offset
  %value = load volatile i32, ptr %source
  %place = getelementptr i32, ptr %to, i64 %offset
  store volatile i32 %value, ptr %place
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 1000
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""

pytestmark = pytest.mark.skipif(not llvm_options.CAN_LOCK, reason="this llvmlite has no lock")


def code() -> bytes:
    return bytes(_machine(HostFeatures.current()).emit_object(llvm.parse_assembly(LOOP)))


def test_a_flag_holds_inside_only() -> None:
    before = code()
    with flag(KEEPS_ADDRESSES, on=True):
        inside = code()
    assert inside != before == code()
    with flag(KEEPS_ADDRESSES, on=False):
        assert code() == before


def test_an_error_takes_it_back() -> None:
    before = code()
    with pytest.raises(ValueError), flag(KEEPS_ADDRESSES, on=True):
        raise ValueError
    assert code() == before


def test_a_flag_that_llvm_does_not_know() -> None:
    before = code()
    with flag("no-such-flag-of-llvm", on=True):
        assert code() == before


def test_without_a_lock_none_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    before = code()
    monkeypatch.setattr(llvm_options, "CAN_LOCK", False)
    with flag(KEEPS_ADDRESSES, on=True):
        assert code() == before


def test_other_threads_wait() -> None:
    before = code()
    found: list[bytes] = []
    with flag(KEEPS_ADDRESSES, on=True):
        other = threading.Thread(target=lambda: found.append(code()))
        other.start()
        other.join(0.2)
        assert not found
    other.join()
    assert found == [before]


def test_kernels_are_compiled_with_it() -> None:
    host = HostFeatures.current()
    if not host.is_x86:
        pytest.skip("for x86 only")
    with flag(KEEPS_ADDRESSES, on=True):
        expected = code()
    assert compile_llvm(LOOP) == expected != code()
