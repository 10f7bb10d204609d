"""Constants of every type and cross-lane instructions."""

from __future__ import annotations

import numpy as np
import pytest
from isa_kernels import HOSTS, TYPES, map_lanes, vector

RNG = np.random.default_rng(6)


@pytest.mark.parametrize("lanes", [1, 16])
def test_constants(lanes: int) -> None:
    values = {
        "i8": (-5, -5), "i16": (-300, -300), "i32": (-(2**31), -(2**31)), "i64": (2**63 - 1, 2**63 - 1),
        "f32": ("0.1", np.float32(0.1)), "f64": ("0.1", 0.1), "f16": ("0.1", np.float16(0.1).view(np.uint16)),
        "bf16": ("0.1", 0x3DCD),
    }  # fmt: skip
    code = {
        ty: (ty, f"%# = isa.const {value} : {ty} : {vector(ty, lanes)}") for ty, (value, _) in values.items()
    }
    code["inf"] = ("f32", f"%# = isa.const 0xFF800000 : f32 : {vector('f32', lanes)}")
    code["nan"] = ("f32", f"%# = isa.const 0x7FC00000 : f32 : {vector('f32', lanes)}")
    code["minus"] = ("f64", f"%# = isa.const -0.0 : f64 : {vector('f64', lanes)}")
    code["tiny"] = ("f32", f"%# = isa.const 1.0e-45 : f32 : {vector('f32', lanes)}")
    code["large"] = ("f16", f"%# = isa.const 0x7C00 : f16 : {vector('f16', lanes)}")
    code["fp8"] = ("f8E4M3FN", f"%# = isa.const 126 : i8 : {vector('f8E4M3FN', lanes)}")
    results = map_lanes({"x": ("i8", np.zeros(16, np.int8))}, code, lanes)
    for ty, (_, expected) in values.items():
        np.testing.assert_array_equal(results[ty], np.full(16, expected, TYPES[ty]), ty)
    assert (results["inf"] == -np.inf).all() and np.isnan(results["nan"]).all()
    assert np.signbit(results["minus"]).all() and (results["minus"] == 0).all()
    assert (results["tiny"] == np.float32(1e-45)).all() and (results["tiny"] > 0).all()
    assert (results["large"] == 0x7C00).all()
    assert (results["fp8"] == 126).all()


@pytest.mark.parametrize(
    ("host", "lanes"),
    [(host, lanes) for host in HOSTS for lanes in ((1, 2, 16, 64) if host == "native" else (1, 16))],
)
def test_lookups(host: str, lanes: int) -> None:
    """Tables of every length; only the low bits of an index count, and any bits may be looked up."""
    index = RNG.integers(-(2**31), 2**31, 256).astype(np.int32)
    index[:33] = np.arange(33)
    tables = {f"t{count}": RNG.integers(0, 2**32, count, np.uint32) for count in (2, 4, 8, 16, 32)}
    tables["t32"][:2] = 0x7F800001, 0x80000000  # a signalling NaN, -0
    code = {
        name + kind: (
            kind,
            f"%# = isa.lookup %i, [{', '.join(map(str, table))}] : {vector('i32', lanes)} -> {vector(kind, lanes)}",
        )
        for name, table in tables.items()
        for kind in ("i32", "f32")
    }
    results = map_lanes({"i": ("i32", index)}, code, lanes, HOSTS[host])
    for name, table in tables.items():
        for kind in ("i32", "f32"):
            np.testing.assert_array_equal(
                results[name + kind].view(np.uint32), table[index & (len(table) - 1)], name + kind
            )


@pytest.mark.parametrize("element", ["i1", "i8", "i16", "i32", "i64", "f32", "f64"])
@pytest.mark.parametrize("lanes", [2, 16, 64])
def test_shuffles(lanes: int, element: str) -> None:
    dtype = np.dtype(TYPES.get(element, np.uint8))
    high = 2 if element == "i1" else 100
    x, y = (RNG.integers(0, high, 2 * lanes).astype(dtype) for _ in range(2))
    ty = vector(element, lanes)
    orders = {
        "reversed": np.arange(lanes)[::-1],
        "interleaved": np.arange(lanes) // 2 + np.arange(lanes) % 2 * lanes,
        "random": RNG.integers(0, 2 * lanes, lanes),
        "half": np.tile(np.arange(lanes // 2), 2),
    }
    code = {
        name: (element, f"%# = isa.shuffle %x, %y, [{', '.join(map(str, order))}] : {ty} -> {ty}")
        for name, order in orders.items()
    }
    scalar, middle = vector(element, 1), lanes // 2
    code["middle"] = (
        element,
        f"%one_# = isa.extract %y[{middle}] : {ty} -> {scalar}\n%# = isa.splat %one_# : {scalar} -> {ty}",
    )
    pick = f"isa.shuffle %x, %y, [{lanes + 1}] : {ty} -> {scalar}"
    code["picked"] = (element, f"%one_# = {pick}\n%# = isa.splat %one_# : {scalar} -> {ty}")
    short = vector(element, lanes // 2)
    upper = f"isa.shuffle %x, %x, [{', '.join(map(str, range(lanes // 2, lanes)))}] : {ty} -> {short}"
    again = ", ".join(["-1" if i % 2 and lanes > 2 else str(i % (lanes // 2)) for i in range(lanes)])
    code["longer"] = (
        element, f"%half_# = {upper}\n%# = isa.shuffle %half_#, %half_#, [{again}] : {short} -> {ty}",
    )  # fmt: skip
    results = map_lanes({"x": (element, x), "y": (element, y)}, code, lanes)
    for row in range(2):
        part = slice(row * lanes, (row + 1) * lanes)
        both = np.concatenate([x[part], y[part]])
        for name, order in orders.items():
            np.testing.assert_array_equal(results[name][part], both[order], name)
        assert (results["middle"][part] == y[part][middle]).all()
        assert (results["picked"][part] == y[part][1]).all()
        expected = np.tile(x[part][lanes // 2 :], 2)
        known = slice(None) if lanes == 2 else slice(0, None, 2)
        np.testing.assert_array_equal(results["longer"][part][known], expected[known])


def test_scalars_make_vectors() -> None:
    x, y = (RNG.integers(0, 100, 8).astype(np.float32) for _ in range(2))
    code = {
        "pair": (
            "f32",
            """%both_# = isa.shuffle %x, %y, [1, 0, 1, 1] : f32 -> vector<4xf32>
            %a_# = isa.extract %both_#[0] : vector<4xf32> -> f32
            %b_# = isa.extract %both_#[1] : vector<4xf32> -> f32
            %# = isa.subf %a_#, %b_# : f32""",
        )
    }
    np.testing.assert_array_equal(map_lanes({"x": ("f32", x), "y": ("f32", y)}, code, 1)["pair"], y - x)


@pytest.mark.parametrize("element", ["i8", "i32", "i64"])
@pytest.mark.parametrize("lanes", [1, 16])
def test_numbered_lanes(lanes: int, element: str) -> None:
    values = [(7 * i - 50) % 128 for i in range(lanes)]
    constant = f"[{', '.join(map(str, values))}]"
    code = {"iota": (element, f"%# = isa.lanes {constant} : {vector(element, lanes)}")}
    results = map_lanes({"x": ("i8", np.zeros(32, np.int8))}, code, lanes)
    np.testing.assert_array_equal(results["iota"], np.tile(values, 32 // lanes))
